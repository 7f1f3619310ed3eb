//! Compares how controllers respond to announced path changes, and what an RTT drift costs them,
//! with flows that start at five times within the motion of the path.
//!
//! ```text
//! cargo run -p bentpipe-congestion --example path_change >RUNS
//! ```
//!
//! Each run is a line: path, controller, response, share of the link in percent, mean time in the
//! queue in ms, separated by tabs. `tools/atlas/path-change-rows` makes the results of the book
//! from them.

#[path = "../tests/all/bottleneck/mod.rs"]
mod bottleneck;

use bentpipe_congestion::{PathChangeNotice, PathChangeResponse};
use bentpipe_units::Span;
use bottleneck::moving::{
    DRIFTS, NONE, RESPONSES, handover_notices, handovers, names, path, queueing, run, share,
    step_notices, steps,
};
use bottleneck::{Path, Run};

/// Flows behind each figure. Their start times differ, so that the first change meets each
/// controller at a different point of its cycle.
const DRAWS: u64 = 5;
const APART: Span = Span::from_millis(1_460);

fn draws(
    path: &Path,
    name: &str,
    response: PathChangeResponse,
    notices: &[PathChangeNotice],
) -> Vec<Run> {
    (0..DRAWS)
        .map(|draw| run(Path { offset: APART * draw, ..path.clone() }, name, response, notices))
        .collect()
}

fn print(path: &str, name: &str, response: &str, run: &Run, (from, to): (u64, u64)) {
    let (share, queue) = (share(run, from, to), queueing(run));
    println!("{path}\t{name}\t{response}\t{share:.3}\t{queue:.3}");
}

fn compare(title: &str, path: &Path, notices: &[PathChangeNotice], times: (u64, u64)) {
    for name in names() {
        for (label, response) in RESPONSES {
            for run in draws(path, name, response, notices) {
                print(title, name, label, &run, times);
            }
        }
    }
}

fn main() {
    // Flows start up to 5.8 s into the motion, and so meet its steps earlier.
    compare("longer", &path(steps), &step_notices(), (14, 33));
    compare("handovers", &handovers(), &handover_notices(), (10, 60));
    for name in names() {
        for (label, motion) in DRIFTS {
            let run = run(path(motion), name, NONE, &[]);
            print(&format!("drift: {label}"), name, "none", &run, (10, 60));
        }
    }
}
