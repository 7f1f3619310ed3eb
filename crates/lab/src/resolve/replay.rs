//! How each run replays the recordings of its path.

use super::path_changes::HopChanges;
use bentpipe_link::random::stream;
use bentpipe_link::{AtEnd, ReplayClock};
use bentpipe_sim::HopSpec;
use bentpipe_units::Span;

/// Name of the random stream of the start of each run.
const STREAM: &str = "path/recording";
/// The clock of a path's recordings, and how each run draws its start.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    /// Clock of runs that all begin at the same time.
    pub clock: ReplayClock,
    /// Step in which each run draws its start; `None` if all begin at the same time.
    pub drawn: Option<Span>,
    /// Time in the recordings of a change, which the clock's period repeats.
    pub change: Option<Span>,
}

impl Replay {
    /// Returns the clock of run number `run` with `seed`.
    fn clock(&self, seed: u64, run: u64) -> ReplayClock {
        let Some(step) = self.drawn else { return self.clock };
        let starts = self.clock.length.as_nanos() / step.as_nanos();
        let start = step * stream(seed, run, STREAM).below(starts);
        ReplayClock { start, ..self.clock }
    }

    /// Returns what is left of recordings which no run may outlast.
    pub fn left(&self) -> Option<Span> {
        let ReplayClock { start, length, at_end, .. } = self.clock;
        (at_end == AtEnd::End).then(|| length.saturating_sub(start))
    }

    /// Returns true if each run draws its start.
    pub fn is_random(&self) -> bool {
        self.drawn.is_some()
    }

    /// Makes the directions of `hops` replay their recordings as in run number `run`. Returns the
    /// changes of the path that they have.
    pub(super) fn apply(&self, hops: &mut [HopSpec], seed: u64, run: u64) -> Option<HopChanges> {
        let clock = self.clock(seed, run);
        replay(hops, &clock);
        let (change, period) = (self.change?, clock.period?);
        // Before the first change lies less than a period.
        let begun = Span::from_nanos(clock.start.as_nanos() % period.as_nanos());
        let first = if change >= begun { change - begun } else { change + period - begun };
        Some(HopChanges::recorded(first, period))
    }
}

/// Makes the directions of `hops` replay their recordings by `clock`.
pub(super) fn replay(hops: &mut [HopSpec], clock: &ReplayClock) {
    for hop in hops {
        hop.forward = hop.forward.replayed(clock);
        hop.reverse = hop.reverse.replayed(clock);
    }
}
