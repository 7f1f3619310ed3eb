//! Second visits over a short path that has become longer, in the minimal simulator: what memory
//! gains, and what it leaves to others. It produces figures of
//! `docs/decisions/0139-short-jumps-after-chance-losses.md`.
//!
//! ```text
//! cargo run --release -p bentpipe-congestion --example short_jumps -- [SEEDS]
//! ```

#[path = "../tests/all/lean/mod.rs"]
mod lean;

use bentpipe_congestion::Controller;
use bentpipe_units::{Span, Time};
use lean::{Path, Transfer, filtered, parallel, remembering, run};

/// Data of a visit.
const SIZE: u64 = 10_000_000;
/// Time at which the first visit begins, and from which the data of others counts.
const VISIT: Time = Time::from_millis(8_000);
/// Time at which a run ends. A visit that has not ended by then counts with 30 s.
const END: Span = Span::from_secs(16);

/// Returns means over `seeds` runs: seconds of the visit, its dropped packets, megabytes of others.
fn visits(
    path: &Path,
    others: u64,
    seeds: u64,
    make: &dyn Fn() -> Box<dyn Controller>,
) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for seed in 0..seeds {
        let mut transfers: Vec<(Transfer, Box<dyn Controller>)> = Vec::new();
        for other in 0..others {
            let at = Time::from_millis(300 * other);
            let transfer = Transfer { counted_from: VISIT, at, ..Transfer::of(60_000_000_000) };
            transfers.push((transfer, lean::cubic("standard", &[])));
        }
        let at = VISIT + Span::from_millis(37 * seed);
        transfers.push((Transfer { at, ..Transfer::of(SIZE) }, make()));
        let mut outcomes = run(path, transfers, seed, END);
        if let Some(visit) = outcomes.pop() {
            sums[0] += visit.seconds().min(30.0);
            sums[1] += visit.dropped as f64;
        }
        sums[2] += outcomes.iter().map(|other| other.counted.get() as f64 / 1e6).sum::<f64>();
    }
    sums.map(|sum| sum / seeds as f64)
}

fn main() {
    let seeds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(24);
    let paths = [
        ("100/20 55 q1", Path::new(100.0, 20.0, 55)),
        ("100/20 55 q.1", Path::new(100.0, 20.0, 55).queue(0.1)),
        ("100/20 55 q.02", Path::new(100.0, 20.0, 55).queue(0.02)),
        ("100/20 55 policed 25 64k", Path::new(100.0, 20.0, 55).policed(25.0, 64, true)),
        ("40/10 55 q.25", Path::new(40.0, 10.0, 55).queue(0.25)),
        ("20/5 55 q.1", Path::new(20.0, 5.0, 55).queue(0.1)),
    ];
    let mut jobs = Vec::new();
    for (name, path) in paths {
        for loss in [0.0, 0.001] {
            for others in [0, 1, 3] {
                jobs.push((name, path.clone().loss(loss), others));
            }
        }
    }
    parallel(&jobs, |(name, path, others)| {
        // The path has become longer since.
        let before = path.rtt - Span::from_millis(15);
        let plain = visits(path, *others, seeds, &filtered);
        let memory =
            visits(path, *others, seeds, &|| Box::new(remembering(filtered(), path, before).0));
        let row = |[seconds, dropped, megabytes]: [f64; 3]| {
            format!("{seconds:5.2} s, {dropped:4.0} dropped, others {megabytes:4.1} MB")
        };
        let loss = path.loss * 100.0;
        format!("{name:24} {loss:4.1} % beside {others} | {} | memory {}", row(plain), row(memory))
    });
}
