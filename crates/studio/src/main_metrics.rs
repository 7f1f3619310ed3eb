//! The main metrics of a run, for the table beside its report.

use bentpipe_results::{Headlines, MAIN_METRICS, Results, Summary, is_size_class};

/// Most rows of the metrics after the first one; the report has all.
const MAX_ROWS: usize = 600;

/// Returns the rows of the main metrics: first what the scenario and its workloads are about. Each
/// metric has all of its rows, since they are drawn along the sweep.
pub fn main_metrics(results: &Results) -> Vec<Summary> {
    let headlines = Headlines::of(results);
    let users = results.runs.iter().flat_map(|run| &run.populations);
    let named = results.headline.as_deref().into_iter();
    let of_workloads = headlines.iter().map(|headline| headline.row.name);
    let about = named.chain(of_workloads).chain(users.map(|own| own.metrics.usual()));
    let mut names: Vec<&str> = Vec::new();
    for name in about.chain(MAIN_METRICS) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let known = |row: &&Summary| row.median.is_some() && !is_size_class(&row.flow);
    let mut rows: Vec<Summary> = Vec::new();
    for name in names {
        let of_metric = || results.summary.iter().filter(|row| row.metric == name).filter(known);
        if rows.is_empty() || rows.len() + of_metric().count() <= MAX_ROWS {
            rows.extend(of_metric().cloned());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(flow: &str, metric: &str) -> Value {
        json!({
            "variant": "a", "point": {}, "flow": flow, "visit": 1, "metric": metric, "n": 1,
            "median": 1.0, "p5": null, "p95": null, "mean": 1.0, "ci95_low": null,
            "ci95_high": null,
        })
    }

    #[test]
    fn what_a_scenario_is_about_comes_first() {
        let results: Results = serde_json::from_value(json!({
            "scenario": "t", "seed": 1, "clock": "virtual", "version": "0.1.0",
            "headline": "link_share_percent",
            "runs": [], "expectations": [], "published": [],
            "summary": [
                row("one", "completion_s"),
                row("one", "rtt_mean_ms"),
                row("group", "link_share_percent"),
                row("group/up-to-1-MB", "link_share_percent"),
            ],
        }))
        .unwrap();
        let rows = main_metrics(&results);
        let shown: Vec<_> = rows.iter().map(|row| (&row.flow[..], &row.metric[..])).collect();
        assert_eq!(shown, [("group", "link_share_percent"), ("one", "completion_s")]);
    }
    #[test]
    fn each_metric_has_all_of_its_rows_or_none() {
        let results = |points: usize| -> Results {
            let of = |metric: &'static str| (0..points).map(move |_| row("one", metric));
            let summary: Vec<_> = of("completion_s").chain(of("goodput_mbps")).collect();
            serde_json::from_value(json!({
                "scenario": "t", "seed": 1, "clock": "virtual", "version": "0.1.0",
                "runs": [], "expectations": [], "published": [], "summary": summary,
            }))
            .unwrap()
        };
        let counted = |points: usize| {
            let rows = main_metrics(&results(points));
            let of = |metric: &str| rows.iter().filter(|row| row.metric == metric).count();
            (of("completion_s"), of("goodput_mbps"))
        };
        assert_eq!(counted(300), (300, 300));
        assert_eq!(counted(301), (301, 0));
        assert_eq!(counted(800), (800, 0));
    }
}
