//! The running loss process of a link.

use super::ModelProcess;
use super::bernoulli::BernoulliProcess;
use crate::random::Stream;
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

    /// Returns when the last of the given times ends: [`Time::MAX`] if they repeat, `None` if the
    /// process is always active.
    pub fn last_change(&self) -> Option<Time> {
        let last = self.windows.last()?;
        Some(self.repeat.map_or(Time::ZERO + last.to, |_| Time::MAX))
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
