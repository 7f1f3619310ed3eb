//! What the time was spent on, over time.

use crate::account::{CapturedTransfer, Interval};
use bentpipe_timeseries::{Series, TimePart};
use bentpipe_units::{Span, Time};

/// Number of bins: about one for each two pixels of a wide plot.
const BINS: u64 = 512;
/// Shortest bin.
const SHORTEST: Span = Span::from_micros(1);

/// Returns the share that each part of the account took of each bin, in per cent. Time in which
/// nothing held the transfer up is that of its data on the link.
pub(super) fn shares(recorded: &CapturedTransfer) -> Vec<Series> {
    let Some(end) = end(recorded) else { return Vec::new() };
    let width = (end.since_start() / BINS).max(SHORTEST);
    let begin = |bin: usize| Time::ZERO + width * bin as u64;
    let bins = (end.since_start().as_nanos() / width.as_nanos()).min(BINS) as usize;
    let mut times = vec![[Span::ZERO; TimePart::COUNT]; bins.max(1)];
    for Interval { part, from, to } in &recorded.intervals {
        let first = from.since_start().as_nanos() / width.as_nanos();
        for (bin, parts) in times.iter_mut().enumerate().skip(first as usize) {
            let (from, to) = ((*from).max(begin(bin)), (*to).min(begin(bin + 1)));
            if to <= from {
                break;
            }
            if let Some(time) = parts.get_mut(*part as usize) {
                *time += to.since(from);
            }
        }
    }
    for parts in &mut times {
        let held = parts.iter().fold(Span::ZERO, |sum, time| sum + *time);
        parts[TimePart::Serialisation as usize] += width.saturating_sub(held);
    }
    let share = |time: Span| 100.0 * time.as_secs_f64() / width.as_secs_f64();
    let of = |part: TimePart| {
        let points: Vec<(Time, f64)> = times
            .iter()
            .enumerate()
            .map(|(bin, parts)| (begin(bin), share(parts[part as usize])))
            .collect();
        let is_used = points.iter().any(|(_, share)| *share > 0.0);
        is_used.then(|| Series { name: part.metric(), unit: "%", points, downsampled: false })
    };
    TimePart::ALL.into_iter().filter_map(of).collect()
}

/// Returns the end of the transfer in the file's time; `None` if nothing says it.
fn end(recorded: &CapturedTransfer) -> Option<Time> {
    let held = recorded.intervals.iter().map(|one| one.to);
    let came = recorded.exchanges.iter().map(|one| one.last);
    held.chain(came).max().filter(|end| *end > Time::ZERO)
}
