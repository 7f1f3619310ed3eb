//! Runs cases in the simulator.

use crate::draw::Case;
use bentpipe_lab::{Changes, LabError, Plan};
use bentpipe_sim::{RunOutcome, run};
use bentpipe_units::{Span, Time};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Time from the start in which losses count as early.
const EARLY: Span = Span::from_secs(10);

/// Result of one download.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Download {
    /// Time since the client's first packet, in seconds. `None` if the time limit was reached.
    pub seconds: Option<f64>,
    /// Packets of the sender that queues dropped in the first ten seconds.
    pub lost_early: u64,
    /// Packets of the sender that queues dropped.
    pub lost: u64,
    /// Packets that the sender sent.
    pub sent: u64,
}

/// For each size in bytes, the downloads with `standard` and with `auto` slow start.
pub type Measured = Vec<(u64, [Download; 2])>;

/// Runs every size of `case` with both slow-start algorithms.
///
/// # Errors
/// The scenario is invalid, or the simulator fails.
pub fn measure(case: &Case) -> Result<Measured, String> {
    let text = case.scenario();
    let plan = Plan::parse("case", &text, Path::new("."), &Changes::default())
        .map_err(|error| error.to_string())?;
    let mut downloads = Vec::new();
    for task in &plan.tasks {
        let spec = plan.spec(*task).map_err(|error: LabError| error.to_string())?;
        let bytes = spec.flows[0].visits[0].objects[0].bytes.get();
        let outcome = run(&spec, &AtomicBool::new(false)).map_err(|error| error.to_string())?;
        downloads.push((bytes, download(&outcome)));
    }
    // Tasks are ordered by point and then by variant.
    Ok(downloads.chunks_exact(2).map(|pair| (pair[0].0, [pair[0].1, pair[1].1])).collect())
}

fn download(outcome: &RunOutcome) -> Download {
    let flow = &outcome.flows[0];
    let traces = outcome.trace.iter().flat_map(|trace| &trace.flows);
    let drops =
        traces.flat_map(|flow| &flow.series).filter(|series| series.name == "dropped_queue");
    let early =
        drops.flat_map(|series| &series.points).filter(|(at, _)| at.since(Time::ZERO) < EARLY);
    Download {
        seconds: flow.completion.filter(|_| flow.completed).map(Span::as_secs_f64),
        lost_early: early.count() as u64,
        lost: flow.packets_lost_queue,
        sent: flow.packets_sent,
    }
}
