//! A copy of a capture with the account as comments on its packets, for Wireshark.

use super::request::ChosenRequest;
use super::words::{Ends, seconds, statement};
use bentpipe_captures::{CapturedTransfer, Interval, Recording};
use bentpipe_lab::LabError;
use bentpipe_timeseries::TimePart;
use bentpipe_units::Time;
use std::num::NonZeroUsize;
use std::path::Path;

/// Most waits, losses and requests that have comments: the longest waits, and the first others.
const MOST: usize = 1000;
/// Shortest wait that has one, as a share of the completion time and in seconds.
const SHORTEST: (f64, f64) = (0.001, 0.001);

/// Writes the copy. Links are not followed.
pub(super) fn write(
    recording: &Recording,
    index: usize,
    recorded: &CapturedTransfer,
    ends: &Ends,
    file: &Path,
) -> Result<(), LabError> {
    let Some(copy) = recording.annotated(index, &comments(recorded, ends)) else {
        let reason = "the file has no packets to comment on; allowed with a pcap or pcapng capture";
        return Err(LabError::Usage { argument: "--annotate", reason: reason.to_owned() });
    };
    bentpipe_lab::write_file(file, &copy)
}

/// Returns the comments with their times, since the first packet of the connection.
fn comments(recorded: &CapturedTransfer, ends: &Ends) -> Vec<(Time, String)> {
    let mut comments = vec![(Time::ZERO, format!("the transfer {}", statement(recorded, ends)))];
    comments.extend(waits(recorded).into_iter().map(|one| {
        let Interval { part, from, to } = one;
        let took = seconds(to.since(from).as_secs_f64());
        // Of what every transfer needs, the words say no place.
        let what = match part {
            TimePart::Request => "round trip of a request",
            part => part.words(),
        };
        (to, format!("{took} s until here: {what}"))
    }));
    comments.extend(recorded.losses.iter().take(MOST).map(|(at, at_queue)| {
        let text = match (recorded.is_sender, at_queue) {
            (true, true) => "lost, at a full queue",
            (true, false) => "lost",
            (false, _) => "repairs a loss",
        };
        (*at, text.to_owned())
    }));
    // One request is the whole transfer.
    let requests = recorded.exchanges.iter().enumerate();
    let requests = requests.take(if recorded.exchanges.len() > 1 { MOST } else { 0 });
    comments.extend(requests.filter_map(|(index, one)| {
        let number = NonZeroUsize::new(index + 1)?;
        let text = ChosenRequest::of(recorded, number).ok()?.statement(recorded, ends);
        Some((one.begin(), text))
    }));
    comments
}

/// Returns the longest waits.
fn waits(recorded: &CapturedTransfer) -> Vec<Interval> {
    let least = SHORTEST.1.max(SHORTEST.0 * recorded.completion.as_secs_f64());
    let long = |one: &&Interval| one.to.since(one.from).as_secs_f64() >= least;
    let mut waits: Vec<Interval> = recorded.intervals.iter().filter(long).copied().collect();
    waits.sort_by_key(|one| std::cmp::Reverse(one.to.since(one.from)));
    waits.truncate(MOST);
    waits
}
