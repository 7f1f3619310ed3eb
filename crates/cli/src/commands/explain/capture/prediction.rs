//! What the transfer of a file takes with Bentpipe's defaults: a range, from what the file leaves
//! open about its path.

use super::simulated::{FASTER, Run, Simulated};
use super::words::{Ends, MOST_TRIPS, REORDERED, loses_in_bursts, of_handshake, seconds};
use bentpipe_captures::{CapturedTransfer, Evidence, PathEstimate};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Rate, Span};
use std::panic::resume_unwind;

/// What a simulation of the known path may be off by, to each side, as a share.
const OFF: f64 = 0.12;
/// The same to the lower and to the upper side if the rate is known from bursts only: they may come
/// faster than the link carries them for long, and acknowledgements of them later.
const OFF_BURSTS: (f64, f64) = (0.17, 0.20);
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
/// Share of the time that they took from which on nothing is said: how much of them another
/// transfer meets depends on when it sends, and how often.
const MOST_OF_PATH: f64 = 0.1;
/// Rate that a file shows which has the acknowledgement of any data.
pub(super) const LEAST_PROVEN: Rate = Rate::from_bps(1000);
/// Round trips that a start takes at most, about.
const START_TRIPS: f64 = 10.0;
/// Runs of a path with losses, for their scatter.
const RUNS: usize = 5;
/// Length of a queue that no start fills on a short path, as access networks have it.
const LONG_QUEUE: Span = Span::from_millis(500);
/// Packets of the shortest queue that a path with losses may have.
const SHORT_QUEUE: u64 = 10;

/// A range of completion times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub low_s: f64,
    pub high_s: f64,
}

/// Why nothing is said of what Bentpipe would take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The path that was seen cannot be simulated.
    NotSimulated,
    /// The sender's packets are encrypted.
    Encrypted,
    /// This trouble of the path took much of the time.
    OfPath(TimePart),
    /// Several of them did together.
    Waits,
    /// The handshake took longer than its round trips.
    Handshake,
    /// Silences of a connection that is not opened took much of the time.
    Silences,
    /// Packets came out of order.
    Reordered,
    /// Packets were lost in bursts.
    Bursts,
    /// The link was never full, so that its rate is not known.
    Rate,
    /// The losses may be by chance or a queue's.
    Losses,
}

impl Unknown {
    /// Returns what leaves it open.
    pub fn words(self) -> String {
        let text = match self {
            Self::NotSimulated => "the path cannot be simulated as the file shows it",
            Self::Encrypted => "without keys, the file of a sender shows no rate of the path",
            Self::OfPath(part) => {
                return format!(
                    "{} took much of the time, and the file does not show how much of that \
                     another transfer would meet",
                    part.words()
                );
            }
            Self::Waits => {
                "outages and waits on the path took much of the time, and the file does not show \
                 how much of that another transfer would meet"
            }
            Self::Handshake => {
                "the handshake took much longer than its round trips, and the file does not show \
                 whether its packets waited on the path or its ends were slow"
            }
            Self::Silences => {
                "without keys, the file does not show whether its silences are outages of the path"
            }
            Self::Reordered => {
                "packets came out of order, and what that costs depends on how a stack tells losses"
            }
            Self::Bursts => {
                "packets were lost in bursts, as at a policer or a short queue, and the file shows \
                 what came through, not what would"
            }
            Self::Rate => {
                "the link was never full, and may be much faster than the file shows \
                 (`--rate` says how fast it is)"
            }
            Self::Losses => "the file does not show whether its losses are by chance or at a queue",
        };
        text.to_owned()
    }
}

/// Share of the time of a transfer from which on its application is what a range presumes away.
const OF_APPLICATION: f64 = 0.1;

/// Returns what Bentpipe would take, and what that presumes, or why it is not said.
pub(super) fn text(
    range: Result<Range, Unknown>,
    recorded: &CapturedTransfer,
    ends: &Ends,
) -> String {
    let Range { low_s, high_s } = match range {
        Ok(range) => range,
        Err(unknown) => {
            return format!("what Bentpipe would take is not said: {}", unknown.words());
        }
    };
    let least = OF_APPLICATION * recorded.completion.as_secs_f64();
    let presumed = if recorded.evidence.reading.is_some() {
        format!(" if the {} read at once", ends.asker)
    } else if recorded.budget.get(TimePart::Application) >= least {
        " without the pauses of the application".to_owned()
    } else {
        String::new()
    };
    let once = if recorded.exchanges.len() > 1 { " for the same data in one transfer" } else { "" };
    format!(
        "Bentpipe, with its defaults and no memory of the path, would take {} to {} s\
         {once}{presumed}",
        seconds(low_s),
        seconds(high_s)
    )
}

/// What has been simulated.
pub(super) struct Prediction {
    /// The run on the path as it was seen; `None` if it cannot be simulated.
    pub run: Option<Run>,
    /// The range, or what the file leaves open.
    pub range: Result<Range, Unknown>,
}

/// Simulates the data of `recorded` in one transfer, on each path that the file allows. The run on
/// the path as it was seen is left out if no range is known, unless it `is_shown`.
pub(super) fn predict(recorded: &CapturedTransfer, is_shown: bool) -> Prediction {
    let seen = Simulated::of(recorded);
    let unknown = unknown(recorded).or_else(|| hides_rate(recorded, &seen));
    if let Some(unknown) = unknown.filter(|_| !is_shown) {
        let unknown = if seen.is_possible() { unknown } else { Unknown::NotSimulated };
        return Prediction { run: None, range: Err(unknown) };
    }
    let Some(run) = seen.run() else {
        return Prediction { run: None, range: Err(Unknown::NotSimulated) };
    };
    if let Some(unknown) = unknown {
        return Prediction { run: Some(run), range: Err(unknown) };
    }
    let mut times = run.completions();
    let others = others(recorded, &seen);
    times.extend(std::thread::scope(|scope| {
        let runs: Vec<_> = others.iter().map(|path| scope.spawn(|| path.run())).collect();
        // What is wrong in one of them is not hidden.
        let done = runs
            .into_iter()
            .filter_map(|run| run.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flat_map(|run| run.completions()).collect::<Vec<f64>>()
    }));
    let mut of_path = OF_PATH.map(|part| (part, recorded.budget.get(part))).to_vec();
    // Timeouts of the handshake are those of lost packets, too.
    of_path.push((TimePart::Timeout, of_handshake(recorded)));
    let longest = of_path.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(part, _)| *part);
    let of_path: f64 = of_path.iter().map(|(_, time)| *time).sum();
    let (below, above) = if is_held(recorded) { (OFF, OFF) } else { OFF_BURSTS };
    let low = times.iter().copied().fold(f64::INFINITY, f64::min) * (1.0 - below);
    let high = times.iter().copied().fold(0.0, f64::max) * (1.0 + above) + of_path;
    let range = if low > 0.0 && high <= WIDEST * low {
        Ok(Range { low_s: low, high_s: high })
    } else if high - of_path <= WIDEST * low {
        Err(Unknown::OfPath(longest.unwrap_or(TimePart::Timeout)))
    } else if recorded.path.is_filled {
        Err(Unknown::Losses)
    } else {
        Err(Unknown::Rate)
    };
    Prediction { run: Some(run), range }
}

/// Returns that the rate is not known of a link that was never full, if the range would be too wide
/// for that alone: over a faster link, the transfer takes much less than this one lets it. Without
/// this, a long transfer is simulated on each path for nothing.
fn hides_rate(recorded: &CapturedTransfer, seen: &Simulated) -> Option<Unknown> {
    if recorded.path.is_filled {
        return None;
    }
    let least = seen.rate.time_for(seen.bytes).as_secs_f64();
    if least < WIDEST * (least / FASTER + START_TRIPS * seen.rtt.as_secs_f64()) {
        return None;
    }
    let (below, above) = if is_held(recorded) { (OFF, OFF) } else { OFF_BURSTS };
    let fast = Simulated { rate: seen.rate.mul_f64(FASTER), ..seen.clone() }.completion_s()?;
    (least * (1.0 + above) > WIDEST * fast * (1.0 - below)).then_some(Unknown::Rate)
}

/// Returns what the file leaves open, whatever simulations show.
fn unknown(recorded: &CapturedTransfer) -> Option<Unknown> {
    let least = MOST_OF_PATH * recorded.completion.as_secs_f64();
    // Acknowledgements that are late show the sender no rate of the other direction, and one that
    // paces sends at no higher rate than they let it think there is.
    let parts = || OF_PATH.into_iter().chain([TimePart::HeldAcks]);
    if let Some(part) = parts().find(|part| recorded.budget.get(*part) >= least) {
        return Some(Unknown::OfPath(part));
    }
    // Several lost packets of the handshake in a row are an outage that it met, whose length the
    // timeouts do not show.
    if of_handshake(recorded) >= least {
        return Some(Unknown::OfPath(TimePart::Timeout));
    }
    let of_path: f64 = parts().map(|part| recorded.budget.get(part)).sum();
    let (waits, late) = (of_path + of_handshake(recorded), late_handshake(recorded));
    if waits + late >= least {
        return Some(if late > waits { Unknown::Handshake } else { Unknown::Waits });
    }
    // Of encrypted data that this end sent nothing is known but when it left.
    if recorded.is_encrypted && recorded.is_sender && recorded.both.is_none() {
        return Some(Unknown::Encrypted);
    }
    // An application that pauses in an answer, and timeouts of losses that are not seen.
    let silences =
        recorded.evidence.sender_pauses.as_secs_f64() + recorded.budget.get(TimePart::Timeout);
    if recorded.is_encrypted && !recorded.is_sender && silences >= least {
        return Some(Unknown::Silences);
    }
    if recorded.path.proven < LEAST_PROVEN {
        return Some(Unknown::Rate);
    }
    // What that costs depends on how.
    if recorded.evidence.reordered > REORDERED {
        return Some(Unknown::Reordered);
    }
    loses_in_bursts(&recorded.evidence).then_some(Unknown::Bursts)
}

/// Returns the seconds for which the handshake took longer than round trips: its packets waited on
/// their way.
fn late_handshake(recorded: &CapturedTransfer) -> f64 {
    let took = recorded.budget.get(TimePart::Handshake);
    let rtt = recorded.path.rtt.as_secs_f64();
    let trips = (took / rtt.max(1e-9)).round().clamp(1.0, MOST_TRIPS);
    (took - trips * rtt).max(0.0)
}

/// Returns true if the rate was held for a round trip, and is not known from bursts only.
fn is_held(recorded: &CapturedTransfer) -> bool {
    let PathEstimate { proven, rate, .. } = recorded.path;
    proven.as_bps() as f64 >= HELD * rate.as_bps() as f64
}

/// Returns the other paths that the file allows.
fn others(recorded: &CapturedTransfer, seen: &Simulated) -> Vec<Simulated> {
    let mut others = Vec::new();
    let path = &recorded.path;
    if !path.is_filled {
        others.push(Simulated { rate: seen.rate.mul_f64(FASTER), ..seen.clone() });
        others.push(Simulated { rate: path.proven, ..seen.clone() });
    }
    // A queue that was never full may be longer: then the start of the transfer loses nothing.
    if !path.is_full {
        others.push(Simulated { queue: seen.queue.max(LONG_QUEUE), ..seen.clone() });
    }
    let Evidence { lost, lost_at_queue, loss_episodes, .. } = recorded.evidence;
    if lost > lost_at_queue {
        let by_episode = seen.loss * (loss_episodes as f64 / lost as f64).min(1.0);
        others.push(Simulated { loss: by_episode, runs: RUNS, ..seen.clone() });
        others.push(Simulated { runs: RUNS, ..seen.clone() });
        // Bursts of windows that losses keep small are spread by a sender that paces them.
        if path.is_filled && !is_held(recorded) {
            others.push(Simulated { rate: seen.rate.mul_f64(FASTER), runs: RUNS, ..seen.clone() });
        }
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

#[cfg(test)]
mod tests {
    use super::super::sample::limited;
    use super::*;
    use bentpipe_captures::{Interval, LimitKind};
    use bentpipe_units::Time;

    #[test]
    fn without_keys_a_receiver_does_not_know_what_its_silences_were() {
        let recorded = |is_encrypted, silent_s| {
            let mut recorded =
                CapturedTransfer { is_encrypted, is_sender: false, ..limited(LimitKind::Stream) };
            recorded.budget.add(TimePart::Timeout, silent_s);
            unknown(&recorded)
        };
        assert_eq!(recorded(true, 1.0), Some(Unknown::Silences));
        assert_eq!(recorded(true, 0.1), None);
        assert_eq!(recorded(false, 1.0), None);
    }

    #[test]
    fn a_long_transfer_over_a_link_that_was_never_full_is_not_simulated_on_all_paths() {
        let recorded = |mb| {
            let mut recorded = limited(LimitKind::Stream);
            recorded.path.is_filled = false;
            recorded.bytes = Bytes::from_mb(mb);
            recorded
        };
        let hides = |mb| {
            let recorded = recorded(mb);
            hides_rate(&recorded, &Simulated::of(&recorded))
        };
        assert_eq!((hides(40), hides(2)), (Some(Unknown::Rate), None));
        // With the runs on all paths, it is the same.
        let (long, shown) = (predict(&recorded(40), false), predict(&recorded(40), true));
        assert!(long.run.is_none() && shown.run.is_some());
        assert_eq!((long.range, shown.range), (Err(Unknown::Rate), Err(Unknown::Rate)));
    }

    #[test]
    fn waits_of_several_kinds_add_up() {
        let recorded = |held_s, late_s| {
            let mut recorded = limited(LimitKind::Stream);
            recorded.budget.add(TimePart::Outage, 0.2);
            recorded.budget.add(TimePart::HeldAcks, held_s);
            // One round trip of 200 ms, and what its packets waited.
            recorded.budget.add(TimePart::Handshake, 0.2 + late_s);
            unknown(&recorded)
        };
        // Of 4.4 s.
        assert_eq!(recorded(0.3, 0.0), Some(Unknown::Waits));
        assert_eq!(recorded(0.2, 0.06), Some(Unknown::Waits));
        assert_eq!(recorded(0.2, 0.0), None);
    }

    #[test]
    fn a_handshake_that_its_ends_may_have_slowed_down_is_no_wait_on_the_path() {
        let mut recorded = limited(LimitKind::Stream);
        recorded.budget.add(TimePart::Handshake, 0.2 + 0.5);
        recorded.path.rtt = Span::from_millis(20);
        assert_eq!(unknown(&recorded), Some(Unknown::Handshake));
    }

    #[test]
    fn bursts_between_losses_by_chance_leave_open_how_fast_the_link_is() {
        let rates = |proven_mbps| {
            let mut recorded = limited(LimitKind::Stream);
            recorded.path.is_full = true;
            recorded.path.proven = Rate::from_mbps(proven_mbps);
            (recorded.evidence.lost, recorded.evidence.loss_episodes) = (10, 10);
            recorded.path.loss = 0.01;
            let others = others(&recorded, &Simulated::of(&recorded));
            others.into_iter().map(|path| path.rate.as_mbps_f64() as u64).max()
        };
        assert_eq!(rates(2), Some(200));
        assert_eq!(rates(20), Some(20));
    }

    #[test]
    fn of_data_that_is_not_acknowledged_no_rate_is_known() {
        let mut recorded = limited(LimitKind::Stream);
        recorded.path.proven = Rate::from_bps(100);
        assert_eq!(unknown(&recorded), Some(Unknown::Rate));
    }

    #[test]
    fn a_queue_that_was_never_full_may_be_longer_and_one_that_was_is_known() {
        let queues = |is_full| {
            let mut recorded = limited(LimitKind::Stream);
            recorded.path.is_full = is_full;
            let others = others(&recorded, &Simulated::of(&recorded));
            others.into_iter().map(|path| path.queue).collect::<Vec<_>>()
        };
        assert_eq!(queues(false), [LONG_QUEUE]);
        assert_eq!(queues(true), []);
    }

    #[test]
    fn a_handshake_that_met_an_outage_does_not_show_how_long_that_was() {
        let recorded = |millis| {
            let mut recorded = limited(LimitKind::Stream);
            let (from, to) = (Time::ZERO, Time::from_millis(millis));
            recorded.intervals.push(Interval { part: TimePart::Timeout, from, to });
            recorded.budget.add(TimePart::Timeout, to.since(from).as_secs_f64());
            unknown(&recorded)
        };
        assert_eq!(recorded(1000), Some(Unknown::OfPath(TimePart::Timeout)));
        assert_eq!(recorded(200), None);
    }
}
