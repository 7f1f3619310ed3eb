//! Lines of the study.

use crate::draw::{Case, SLOW_STARTS};
use crate::measure::{Download, Measured};
use serde_json::{Value, json};

/// Prints the results of a case as a line of JSON, for `tools/atlas/random-paths-rows`.
pub fn print(case: &Case, measured: &Measured) {
    let downloads: Vec<Value> = measured
        .iter()
        .flat_map(|(bytes, runs)| {
            SLOW_STARTS.iter().zip(runs).map(move |(start, run)| {
                json!({
                    "bytes": bytes,
                    "slow_start": start,
                    "seconds": run.seconds,
                    "lost_early": run.lost_early,
                    "lost": run.lost,
                    "sent": run.sent,
                })
            })
        })
        .collect();
    let line = json!({
        "case": case.number,
        "path": case.to_string(),
        "queue_bdp": case.queue,
        "downloads": downloads,
    });
    println!("{line}");
}

/// Prints the scenario and the results of one case.
pub fn print_case(case: &Case, measured: &Measured) {
    println!("{}", case.scenario());
    for (bytes, runs) in measured {
        for (start, run) in SLOW_STARTS.iter().zip(runs) {
            let seconds = run
                .seconds
                .map_or_else(|| "incomplete".to_owned(), |seconds| format!("{seconds:.3} s"));
            let Download { lost_early, lost, sent, .. } = run;
            println!(
                "# {} MB {start}: {seconds}, {sent} sent, {lost_early} dropped in 10 s, {lost} in \
                 all",
                *bytes as f64 / 1e6
            );
        }
    }
}
