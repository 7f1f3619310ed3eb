//! A start for long paths: each round sends about the volume that the path has been seen to deliver in a round trip, but at
//! several times the rate, and so learns the rate in few rounds without much more than that volume ever standing in a queue.
//!
//! What was weighed and measured stands in `docs/decisions/0005-long-path-start.md`.

mod arrivals;
mod clumps;
mod delay;
mod parameters;
mod path;
mod steps;
#[cfg(test)]
mod tests;

pub use parameters::PARAMETERS;

use crate::controller::{Ack, Adjust, Loss, Mark, Setup};
use crate::parameter::Values;
use crate::start::{Progress, Start};
use bentpipe_units::{Bytes, Rate, Time};
use parameters::Settings;
use path::Path;
use steps::{Next, Settling, Step};

/// The start.
#[derive(Debug, Clone)]
pub struct LongPath {
    path: Path,
    step: Step,
}

impl LongPath {
    /// A start that waits for the first round trip at the initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        Self { path: Path::new(setup, Settings::new(values)), step: Step::Waiting }
    }

    /// The first round trip: a short one is none of this start's business.
    fn begin(&mut self, ack: &Ack<'_>) -> Next {
        if !ack.app_limited {
            self.path.window += ack.bytes;
        }
        if ack.rtt < self.path.settings.threshold {
            return Next::Over(Progress::Plain);
        }
        self.path.begin(ack);
        Next::Step(Step::Growing(ack.next_number))
    }

    /// More than proven, until a queue forms.
    fn grow(&mut self, ack: &Ack<'_>, first: u64) -> Next {
        let path = &mut self.path;
        for part in [0.06, 0.12, 0.25, 0.5] {
            let rate = path.arrivals.rate(path.scale.mul_f64(part), path.clumps.span(), Time::ZERO);
            path.proven = path.proven.max(rate.unwrap_or_default());
        }
        // The first burst's window and rate stand until it is heard of.
        if ack.newest().number < first {
            return Next::Stay;
        }
        let (window, acked) = (path.window.get() as f64, ack.bytes.get() as f64);
        let proven = path.proven * path.base();
        // Doubling, as any slow start: but the proven volume bounds it, since a queue shows later here than losses do.
        let slow = if ack.app_limited { window } else { window.max((window + acked).min(2.0 * proven)) };
        let volume = (1.0 + path.settings.excess) * proven;
        let window = slow.max(volume.min(window + (path.settings.most_growth - 1.0) * acked));
        let rate = (path.settings.gain * path.proven).max(1.25 * window / path.base());
        // Two rounds of few packets say little: they do not slow it down.
        let least = path.rate.filter(|_| path.round <= 2).unwrap_or_default();
        path.send(window, rate.max(least));
        if path.is_queueing() {
            return Next::Step(Step::Settling(Settling::new(path, ack.now, ack.delivered, ack.next_number)));
        }
        Next::Stay
    }

    fn proceed(&mut self, next: Next) -> Progress {
        match next {
            Next::Stay => Progress::Going,
            Next::Step(step) => {
                self.step = step;
                Progress::Going
            }
            Next::Over(progress) => progress,
        }
    }
}

impl Start for LongPath {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        if !matches!(self.step, Step::Waiting) {
            self.path.note(ack);
        }
        let next = match &mut self.step {
            Step::Waiting => self.begin(ack),
            Step::Growing(first) => {
                let first = *first;
                self.grow(ack, first)
            }
            Step::Settling(settling) => settling.on_ack(&mut self.path, ack),
            Step::Verifying(verifying) => verifying.on_ack(&mut self.path, ack),
            Step::Creeping(creeping) => creeping.on_ack(&mut self.path, ack),
        };
        self.proceed(next)
    }

    fn on_loss(&mut self, loss: &Loss<'_>) -> Progress {
        if loss.persistent {
            return Progress::Congested;
        }
        let path = &mut self.path;
        path.losses.note(loss);
        let next = match &mut self.step {
            Step::Waiting => Next::Over(Progress::Congested),
            Step::Growing(_) if path.losses.exceed(0.05, path.judged(loss.delivered)) => {
                Next::Step(Step::Settling(Settling::new(path, loss.now, loss.delivered, loss.next_number)))
            }
            Step::Growing(_) | Step::Settling(_) => Next::Stay,
            Step::Verifying(verifying) => verifying.on_loss(path, loss),
            Step::Creeping(creeping) => creeping.on_loss(path),
        };
        self.proceed(next)
    }

    fn tolerate(&mut self, losses: f64) {
        // Half as much again: losses that are chance on average are often more than their average.
        self.path.chance = 1.5 * losses;
    }

    fn on_mark(&mut self, mark: &Mark) -> Progress {
        match &self.step {
            Step::Settling(settling) if mark.newest < settling.until() => Progress::Going,
            _ => Progress::Congested,
        }
    }

    /// Another layer sends more than was proven, and answers for it: what comes back of that proves as well as any burst.
    fn moved(&mut self, to: &Adjust) -> bool {
        let growing = matches!(self.step, Step::Growing(_));
        if growing {
            self.path.send(to.window.get() as f64, 1.25 * to.window.get() as f64 / self.path.base());
        }
        growing
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.path.on_mtu(mtu);
    }

    fn window(&self) -> Bytes {
        self.path.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.path.rate.map(|rate| Rate::from_bps((rate * 8.0) as u64).max(Rate::from_bps(8)))
    }

    fn answered(&self) -> u64 {
        if let Step::Settling(settling) = &self.step { settling.until() } else { 0 }
    }

    fn phase(&self) -> &'static str {
        match &self.step {
            Step::Waiting => "first flight",
            Step::Growing(_) => "bursts",
            Step::Settling(_) => "settle",
            Step::Verifying(_) => "verify",
            Step::Creeping(_) => "creep",
        }
    }

    fn clone_box(&self) -> Box<dyn Start> {
        Box::new(self.clone())
    }
}
