//! The running loss process of a link.

use super::ModelProcess;
use super::bernoulli::BernoulliProcess;
use crate::random::Stream;
use crate::recorded::clock::ReplayClock;
use crate::recorded::source::RecordedSource;
use crate::schedule::Window;
use bentpipe_units::{Ratio, Span, Time};
use std::sync::Arc;

/// A loss process whose files are read, from which links are built.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoadedLoss {
    pub process: ModelProcess,
    pub windows: Arc<[Window]>,
    pub repeat: Option<Span>,
}

impl LoadedLoss {
    /// Creates independent losses with probability `ratio` in these windows.
    pub fn bernoulli(ratio: Ratio, windows: Arc<[Window]>) -> Self {
        Self {
            process: ModelProcess::Bernoulli(BernoulliProcess::new(ratio)),
            windows,
            repeat: None,
        }
    }

    /// Returns true if every packet is lost in the given times.
    pub fn is_total(&self) -> bool {
        matches!(&self.process, ModelProcess::Bernoulli(process) if process.is_total())
    }

    /// Returns the given times that begin by `end`, from and until; none if it is always active.
    pub fn times(&self, end: Time) -> impl Iterator<Item = (Time, Time)> {
        let cycles = (0..).map_while(move |cycle| match self.repeat {
            Some(period) => Some(Time::ZERO + period * cycle),
            None => (cycle == 0).then_some(Time::ZERO),
        });
        let cycles = cycles.take_while(move |start| *start <= end && !self.windows.is_empty());
        let of = |start: Time| self.windows.iter().map(move |w| (start + w.from, start + w.to));
        cycles.flat_map(of).filter(move |(from, _)| *from <= end)
    }

    /// Returns when the last of the given times ends, or the recorded ratio changes for the last
    /// time: [`Time::MAX`] if they repeat, `None` if nothing changes.
    pub fn last_change(&self) -> Option<Time> {
        let recorded = match &self.process {
            ModelProcess::Recording(process) => process.last_change(),
            _ => None,
        };
        let windows = self.windows.last().map(|last| match self.repeat {
            Some(_) => Time::MAX,
            None => Time::ZERO + last.to,
        });
        windows.max(recorded)
    }

    /// Returns the recording that the process follows, if it does.
    pub fn recorded_source(&self) -> Option<RecordedSource> {
        match &self.process {
            ModelProcess::Recording(process) => Some(process.source().clone()),
            _ => None,
        }
    }

    /// Returns the process as `clock` replays its recording, if it has one.
    pub fn replayed(&self, clock: &ReplayClock) -> Self {
        let process = match &self.process {
            ModelProcess::Recording(process) => ModelProcess::Recording(process.replayed(clock)),
            process => process.clone(),
        };
        Self { process, ..self.clone() }
    }
}

/// The running loss process of a link.
#[derive(Debug, Clone)]
pub(crate) struct LossProcess {
    process: ModelProcess,
    random: Stream,
    windows: Arc<[Window]>,
    repeat: Option<Span>,
}

impl LossProcess {
    /// Starts the process in a state drawn from the long-run distribution.
    pub fn new(loaded: &LoadedLoss, mut random: Stream) -> Self {
        let LoadedLoss { mut process, windows, repeat } = loaded.clone();
        process.start(&mut random);
        Self { process, random, windows, repeat }
    }

    /// Returns true if the next packet, which leaves the transmitter at `at`, is lost.
    #[inline]
    pub fn loses(&mut self, at: Time) -> bool {
        (self.windows.is_empty() || self.is_active(at)) && self.process.loses(at, &mut self.random)
    }

    fn is_active(&self, at: Time) -> bool {
        let mut within = at.since_start();
        if let Some(period) = self.repeat {
            within = Span::from_nanos(within.as_nanos() % period.as_nanos());
        }
        let after = self.windows.partition_point(|window| window.from <= within);
        after > 0 && within < self.windows[after - 1].to
    }
}
