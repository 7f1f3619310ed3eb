//! What hints of path changes do for each controller, and what a drift of the round trip costs it:
//! means over flows that begin at five times within the path's motion. `cargo run -p
//! bentpipe-congestion --example path_change`

#[path = "../tests/bottleneck/mod.rs"]
mod bottleneck;

use bentpipe_congestion::{PathChangeNotice, PathChangeResponse};
use bentpipe_units::Span;
use bottleneck::moving::{
    DRIFTS, NONE, RESPONSES, handover_notices, handovers, names, path, queueing, run, share,
    step_notices, steps,
};
use bottleneck::{Path, Run};

/// Flows behind each figure, a little apart: the first change comes at different places of a
/// controller's cycle.
const DRAWS: u64 = 5;
const APART: Span = Span::from_millis(1_460);

/// Mean and standard deviation of `figure` over the draws.
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
    hints: &[PathChangeNotice],
) -> Vec<Run> {
    (0..DRAWS)
        .map(|draw| run(Path { offset: APART * draw, ..path.clone() }, name, response, hints))
        .collect()
}

fn compare(title: &str, path: &Path, hints: &[PathChangeNotice], (from, to): (u64, u64)) {
    println!(
        "\n{title}: share of the link from {from} to {to} s in %, its standard deviation, time in \
            the queue in ms\n"
    );
    println!("| controller | {} |", RESPONSES.map(|(label, _)| label).join(" | "));
    println!("|---|{}", "---|".repeat(RESPONSES.len()));
    for name in names() {
        let cells = RESPONSES.map(|(_, response)| {
            let draws = draws(path, name, response, hints);
            let ((mean, deviation), (queue, _)) =
                (over(&draws, |run| share(run, from, to)), over(&draws, queueing));
            format!("{mean:.1} ± {deviation:.1}, {queue:.1}")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn main() {
    // Draws begin up to 5.8 s into the motion, and so come to its steps earlier.
    compare("40, 70, 40 ms", &path(steps), &step_notices(), (14, 33));
    compare("changes of satellite that lose packets", &handovers(), &handover_notices(), (10, 60));
    println!("\ndrift: share of the link from 10 to 60 s in %, time in the queue in ms\n");
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
