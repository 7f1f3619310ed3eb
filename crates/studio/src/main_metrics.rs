//! The main metrics of a run, for the table beside its report.

use bentpipe_results::{Headlines, MAIN_METRICS, Results, Summary, is_size_class};

/// Largest number of rows of that table; the report has all.
const MAX_ROWS: usize = 600;

/// Returns the rows of the main metrics: first what the scenario and its workloads are about.
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
    let rows =
        names.iter().flat_map(|name| results.summary.iter().filter(move |row| row.metric == *name));
    rows.filter(known).take(MAX_ROWS).cloned().collect()
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
}
