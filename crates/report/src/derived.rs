//! Values of each run that `results.json` does not have as fields of its flows: times of segments,
//! scores of calls. The page shows each run as a dot; medians alone come from the summary.

use bentpipe_results::{Flow, Headlines, Results, Run, flow_metrics};
use schemars::JsonSchema;
use serde::Serialize;

/// A metric of a visit of a flow in each run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct DerivedMetric {
    /// Name of the flow.
    flow: String,
    /// Number of the visit, from 1.
    visit: usize,
    /// Name of the metric.
    metric: &'static str,
    /// Its value in each run, in the order of the runs; `null` if a run has none.
    values: Vec<Option<f64>>,
}

/// Returns the values in `runs`, which are some of those of `results`, of metrics that are not
/// details and of which some run has a value.
pub(crate) fn derived(results: &Results, runs: &[Run]) -> Vec<DerivedMetric> {
    let mut all = Vec::new();
    for visit in Headlines::of(results).iter() {
        let is_own = |one: &&Flow| one.name == visit.flow && one.visit == visit.visit;
        let own: Vec<Option<&Flow>> =
            runs.iter().map(|run| run.flows.iter().find(is_own)).collect();
        for metric in flow_metrics().filter(|metric| metric.is_derived() && !metric.row.detail) {
            let values: Vec<Option<f64>> =
                own.iter().map(|own| metric.read((*own)?).map(rounded)).collect();
            if values.iter().any(Option::is_some) {
                all.push(DerivedMetric {
                    flow: visit.flow.clone(),
                    visit: visit.visit,
                    metric: metric.row.name,
                    values,
                });
            }
        }
    }
    all
}

/// Returns a value with six significant digits, more than a plot can show.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn video(run: u64, times: &[f64]) -> serde_json::Value {
        let objects: Vec<_> = (1u32..)
            .zip(times)
            .map(|(n, time)| {
                json!({ "name": format!("segment-{n}"), "bytes": 1000, "start_s": 0.0,
                    "completion_s": time })
            })
            .collect();
        json!({ "variant": "a", "point": {}, "run": run, "links": [], "flows": [{
            "name": "main", "visit": 1, "workload": "video", "transport": "quic",
            "congestion": "cubic", "connections": 1, "direction": "download", "bytes": 1000,
            "completed": true, "start_s": 0.0, "reverse_bytes": {}, "objects": objects,
        }] })
    }

    #[test]
    fn each_run_has_its_value() {
        let runs = [video(0, &[1.0, 2.0]), video(1, &[3.0, 3.0])];
        let results: Results = serde_json::from_value(json!({
            "scenario": "t", "seed": 1, "clock": "virtual", "version": "0.1.0", "runs": runs,
            "summary": [], "expectations": [], "published": [],
        }))
        .unwrap();
        let found = derived(&results, &results.runs);
        let mean = found.iter().find(|one| one.metric == "segment_mean_s").unwrap();
        assert_eq!(mean.values, [Some(1.5), Some(3.0)]);
        assert_eq!((mean.flow.as_str(), mean.visit), ("main", 1));
        // A page may show fewer runs. No other workload has the metric of a probe.
        assert_eq!(derived(&results, &results.runs[1..])[0].values.len(), 1);
        assert!(found.iter().all(|one| one.metric != "response_p50_ms" && one.metric != "mos"));
    }

    #[test]
    fn values_have_six_digits() {
        assert_eq!(rounded(1.0 / 3.0), 0.333333);
        assert_eq!((rounded(0.0), rounded(123_456_789.0)), (0.0, 123_457_000.0));
    }
}
