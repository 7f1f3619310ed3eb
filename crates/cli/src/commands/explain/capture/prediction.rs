//! What the transfer of a file takes with Bentpipe's defaults: a range, from what the file leaves
//! open about its path.

use super::simulated::{FASTER, Simulated, completions};
use super::words::{loses_in_bursts, of_handshake};
use bentpipe_captures::{CapturedTransfer, Evidence};
use bentpipe_results::Results;
use bentpipe_timeseries::TimePart;
use bentpipe_units::Bytes;

/// What a simulation of the known path may be off by, to each side, as a share.
const OFF: f64 = 0.12;
/// The same to the upper side if the rate is known from bursts only, which come faster than the
/// link carries them for long.
const OFF_BURSTS: f64 = 0.27;
/// Share of the rate that was held for a round trip below which it is known from bursts.
const HELD: f64 = 0.8;
/// Widest range that is worth saying.
const WIDEST: f64 = 3.0;
/// Losses in so many episodes or less are those of a start that filled a queue.
const FEW: usize = 2;
/// Times of the path itself, which need not come again.
const OF_PATH: [TimePart; 5] = [
    TimePart::Outage,
    TimePart::Capacity,
    TimePart::PathChange,
    TimePart::OtherFlows,
    TimePart::ReturnLink,
];
/// Share of packets out of order from which on nothing is said: what that costs depends on how.
const REORDERED: f64 = 0.01;
/// Runs of a path with losses, for their scatter.
const RUNS: usize = 5;
/// Packets of the shortest queue that a path with losses may have.
const SHORT_QUEUE: u64 = 10;

/// A range of completion times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub low_s: f64,
    pub high_s: f64,
}

/// What has been simulated.
pub(super) struct Prediction {
    /// The run on the path as it was seen; `None` if it cannot be simulated.
    pub results: Option<Results>,
    /// The range; `None` if the file leaves too much open.
    pub range: Option<Range>,
}

/// Simulates the data of `recorded` in one transfer, on each path that the file allows.
pub(super) fn predict(recorded: &CapturedTransfer) -> Prediction {
    let seen = Simulated::of(recorded);
    let Some(results) = seen.run() else { return Prediction { results: None, range: None } };
    let mut times = completions(&results);
    for path in others(recorded, &seen) {
        times.extend(path.run().iter().flat_map(completions));
    }
    let mut of_path: f64 = OF_PATH.iter().map(|part| recorded.budget.get(*part)).sum();
    // Timeouts of the handshake are those of lost packets, too.
    of_path += of_handshake(recorded);
    let low = times.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - OFF);
    let held = recorded.path.proven.as_bps() as f64 >= HELD * seen.rate.as_bps() as f64;
    let off = if held { OFF } else { OFF_BURSTS };
    let high = times.iter().copied().fold(0.0, f64::max) * (1.0 + off) + of_path;
    // Of encrypted data that this end sent nothing is known but when it left.
    let is_seen = !(recorded.is_encrypted && recorded.is_sender);
    let is_known =
        is_seen && low > 0.0 && high <= WIDEST * low && recorded.evidence.reordered <= REORDERED;
    let is_known = is_known && !loses_in_bursts(&recorded.evidence);
    let range = is_known.then_some(Range { low_s: low, high_s: high });
    Prediction { results: Some(results), range }
}

/// Returns the other paths that the file allows.
fn others(recorded: &CapturedTransfer, seen: &Simulated) -> Vec<Simulated> {
    let mut others = Vec::new();
    let path = &recorded.path;
    if !path.is_filled {
        others.push(Simulated { rate: seen.rate.mul_f64(FASTER), ..seen.clone() });
        others.push(Simulated { rate: path.proven, ..seen.clone() });
    }
    let Evidence { lost, lost_at_queue, loss_episodes, .. } = recorded.evidence;
    if lost > lost_at_queue {
        let by_episode = seen.loss * (loss_episodes as f64 / lost as f64).min(1.0);
        others.push(Simulated { loss: by_episode, runs: RUNS, ..seen.clone() });
        others.push(Simulated { runs: RUNS, ..seen.clone() });
        if loss_episodes <= FEW {
            others.push(Simulated { loss: 0.0, ..seen.clone() });
        }
        // What a receiver misses may have been dropped by a queue that it does not see.
        let short = seen.rate.time_for(Bytes::new(SHORT_QUEUE * 1500));
        if !path.is_full && path.queue < short.max(path.rtt.mul_f64(0.1)) {
            let queue = short.max(path.queue);
            others.push(Simulated { loss: 0.0, queue, ..seen.clone() });
        }
    }
    others
}
