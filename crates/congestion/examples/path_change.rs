//! Compares how controllers respond to announced path changes, and what an RTT drift costs them.
//! Figures are means over flows that start at five times within the motion of the path. `cargo run
//! -p bentpipe-congestion --example path_change`

#[path = "../tests/bottleneck/mod.rs"]
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

/// Returns mean and standard deviation of `figure` over the runs.
fn over(draws: &[Run], figure: impl Fn(&Run) -> f64) -> (f64, f64) {
    let count = draws.len() as f64;
    let mean = draws.iter().map(&figure).sum::<f64>() / count;
    let variance = draws.iter().map(|run| (figure(run) - mean) * (figure(run) - mean)).sum::<f64>()
        / (count - 1.0);
    (mean, libm::sqrt(variance))
}

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

fn compare(title: &str, path: &Path, notices: &[PathChangeNotice], (from, to): (u64, u64)) {
    println!(
        "\n{title}: share of the link from {from} to {to} s in %, its standard deviation, time in \
            the queue in ms\n"
    );
    println!("| controller | {} |", RESPONSES.map(|(label, _)| label).join(" | "));
    println!("|---|{}", "---|".repeat(RESPONSES.len()));
    for name in names() {
        let cells = RESPONSES.map(|(_, response)| {
            let draws = draws(path, name, response, notices);
            let ((mean, deviation), (queue, _)) =
                (over(&draws, |run| share(run, from, to)), over(&draws, queueing));
            format!("{mean:.1} ± {deviation:.1}, {queue:.1}")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn main() {
    // Flows start up to 5.8 s into the motion, and so meet its steps earlier.
    compare("40, 70, 40 ms", &path(steps), &step_notices(), (14, 33));
    compare("handovers that lose packets", &handovers(), &handover_notices(), (10, 60));
    println!("\ndrift: utilisation from 10 to 60 s in %, queueing delay in ms\n");
    println!("| controller | {} |", DRIFTS.map(|(label, _)| label).join(" | "));
    println!("|---|{}", "---|".repeat(DRIFTS.len()));
    for name in names() {
        let cells = DRIFTS.map(|(_, motion)| {
            let run = run(path(motion), name, NONE, &[]);
            format!("{:.1}, {:.1}", share(&run, 10, 60), queueing(&run))
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}
