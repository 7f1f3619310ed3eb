//! What the transfer of a file takes with Bentpipe's defaults: a range, from what the file leaves
//! open about its path.

use super::simulated::Simulated;
use bentpipe_captures::{CapturedTransfer, Evidence};
use bentpipe_results::Results;
use bentpipe_timeseries::TimePart;

/// Times the rate that was seen that a link may have which was never filled.
const FASTER: f64 = 10.0;
/// What a simulation of the known path may be off by, to each side, as a share.
const OFF: f64 = 0.07;
/// Widest range that is worth saying.
const WIDEST: f64 = 3.0;
/// Losses in so many episodes or less are those of a start that filled a queue.
const FEW: usize = 2;
/// Times of the path itself, which need not come again.
const OF_PATH: [TimePart; 4] =
    [TimePart::Outage, TimePart::Capacity, TimePart::PathChange, TimePart::OtherFlows];

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
    let mut times: Vec<f64> = completion(&results).into_iter().collect();
    for path in others(recorded, &seen) {
        times.extend(path.completion_s());
    }
    let of_path: f64 = OF_PATH.iter().map(|part| recorded.budget.get(*part)).sum();
    let low = times.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - OFF);
    let high = times.iter().copied().fold(0.0, f64::max) * (1.0 + OFF) + of_path;
    let range = (low > 0.0 && high <= WIDEST * low).then_some(Range { low_s: low, high_s: high });
    Prediction { results: Some(results), range }
}

/// Returns the other paths that the file allows.
fn others(recorded: &CapturedTransfer, seen: &Simulated) -> Vec<Simulated> {
    let mut others = Vec::new();
    if !recorded.path.is_filled {
        others.push(Simulated { rate: seen.rate.mul_f64(FASTER), ..seen.clone() });
    }
    let Evidence { lost, lost_at_queue, loss_episodes, .. } = recorded.evidence;
    if lost > lost_at_queue {
        let by_episode = seen.loss * (loss_episodes as f64 / lost as f64).min(1.0);
        others.push(Simulated { loss: by_episode, ..seen.clone() });
        if loss_episodes <= FEW {
            others.push(Simulated { loss: 0.0, ..seen.clone() });
        }
    }
    others
}

fn completion(results: &Results) -> Option<f64> {
    results.runs.first()?.flows.first()?.metrics.completion_s
}
