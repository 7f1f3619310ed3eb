//! A slow start for long paths. Each round sends about the volume that the path has been shown to
//! deliver per RTT, but half of it at several times the proven rate. It thus finds the rate in a
//! few rounds, and hardly more than that volume ever queues.
//!
//! For alternatives and measurements, see `docs/decisions/0005-long-path-start.md` and
//! `0044-first-bursts-behind-a-queue.md`.

mod ack_aggregation;
mod arrivals;
mod delay;
mod frames;
mod parameters;
mod path;
mod sharing;
mod steps;
#[cfg(test)]
mod tests;

pub use parameters::Parameters;

use super::algorithm::{Progress, SlowStart};
use crate::controller::{Ack, ControllerConfig, EcnCe, Loss, Restart, SentPacket};
use bentpipe_units::{Bytes, Rate};
use parameters::Tuning;
use path::Path;
use steps::{Next, Settling, Step};

/// The long-path slow start.
#[derive(Debug, Clone)]
pub struct LongPath {
    path: Path,
    step: Step,
    /// The start as it would be without the losses that have ended its bursts, until the next step.
    /// It takes over if they prove to be spurious.
    without_loss: Option<Box<LongPath>>,
}

impl LongPath {
    /// Creates a slow start that waits for the first RTT sample with the initial window.
    pub fn new(config: &ControllerConfig, parameters: &Parameters) -> Self {
        let path = Path::new(config, Tuning::new(parameters));
        Self { path, step: Step::Waiting, without_loss: None }
    }

    /// Handles the first RTT sample. On short paths the controller's own slow start continues.
    fn begin(&mut self, ack: &Ack<'_>) -> Next {
        if !ack.app_limited {
            self.path.window += ack.bytes;
        }
        if ack.rtt < self.path.tuning.threshold {
            return Next::Over(Progress::Fallback);
        }
        self.path.begin(ack);
        Next::Step(Step::Growing(ack.next_number))
    }

    /// Sends faster than proven, until a queue forms.
    fn grow(&mut self, ack: &Ack<'_>, first: u64) -> Next {
        let path = &mut self.path;
        for part in [0.06, 0.12, 0.25, 0.5] {
            let window = path.scale.mul_f64(part);
            let rates = path.arrivals.rates(window, path.ack_aggregation.span());
            let (rate, of_whole_frames) = rates.unwrap_or_default();
            path.proven = path.proven.max(rate);
            path.proven_by_frames = path.proven_by_frames.max(of_whole_frames);
        }
        if path.tuning.whole_frames && path.frames.found() {
            path.proven = path.proven.max(path.proven_by_frames);
        }
        // Window and rate of the first burst stay until it is acknowledged.
        if ack.newest().number < first {
            return Next::Stay;
        }
        let window = path.window.get() as f64;
        let (before, acked) = path.growth();
        let proven = path.proven * path.base();
        let volume = path.full_volume();
        // Doubles, as any slow start does, but within the proven volume, since losses reveal a
        // queue earlier than delay here. After a jump, on a path that others may use, the window
        // stays within the volume of a burst. Both limits count from the start of the round, or
        // from a jump: the rate is proven only by later ACKs, and growth is not doubled again.
        let most = if path.jumped() && path.busy { volume } else { 2.0 * proven };
        let slow = if ack.app_limited { window } else { (before + acked).min(most) };
        let window = window.max(slow).max(volume.min(before + (path.max_growth() - 1.0) * acked));
        path.window = Bytes::new(window as u64);
        path.burst.get_or_insert_default();
        path.set_burst_rate();
        if path.is_queueing() {
            return Next::Step(Step::Settling(Settling::new(
                path,
                ack.now,
                ack.delivered,
                ack.next_number,
            )));
        }
        Next::Stay
    }

    fn proceed(&mut self, next: Next) -> Progress {
        match next {
            Next::Stay => Progress::Continue,
            Next::Step(step) => {
                self.step = step;
                self.without_loss = None;
                Progress::Continue
            }
            Next::Over(progress) => progress,
        }
    }
}

impl SlowStart for LongPath {
    fn on_packet_sent(&mut self, packet: &SentPacket) {
        if let Some(without_loss) = &mut self.without_loss {
            without_loss.on_packet_sent(packet);
        }
        if let (Step::Growing(_), Some(burst)) = (&self.step, &mut self.path.burst) {
            *burst += packet.bytes;
            self.path.set_burst_rate();
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        let goes_on = |start: &mut Box<LongPath>| start.on_ack(ack) == Progress::Continue;
        self.without_loss = self.without_loss.take_if(goes_on);
        match self.step {
            Step::Waiting => {}
            Step::Growing(first) => self.path.note(ack, ack.newest().number >= first),
            _ => self.path.note(ack, true),
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
        // Controllers that tolerate losses are slower for it: decision 118.
        let kept = matches!(self.step, Step::Growing(_)) && self.path.chance <= 0.0;
        let before = kept.then(|| Box::new(self.clone()));
        let path = &mut self.path;
        // Losses of packets sent before the bursts are no evidence about them. A handshake packet
        // alone takes several with it, whose keys then come late.
        let first = if let Step::Growing(first) = self.step { first } else { 0 };
        path.losses.note_from(loss, first);
        path.lossless = false;
        path.sharing.on_loss();
        let next = match &mut self.step {
            Step::Waiting => Next::Over(Progress::Congested),
            Step::Growing(_) if path.losses_show_congestion(loss.delivered) => Next::Step(
                Step::Settling(Settling::new(path, loss.now, loss.delivered, loss.next_number)),
            ),
            Step::Settling(settling) => {
                settling.losses.note(loss);
                Next::Stay
            }
            Step::Growing(_) => Next::Stay,
            Step::Verifying(verifying) => verifying.on_loss(path, loss),
            Step::Creeping(creeping) => creeping.on_loss(path),
        };
        let progress = self.proceed(next);
        if matches!(self.step, Step::Settling(_)) && before.is_some() {
            self.without_loss = before;
        }
        progress
    }

    fn on_spurious_loss(&mut self) {
        if let Some(without_loss) = self.without_loss.take() {
            *self = *without_loss;
        }
    }

    fn set_shares(&mut self, shares: &dyn Fn() -> u64) {
        if matches!(self.step, Step::Waiting) {
            self.path.shares = shares();
        }
    }

    fn set_loss_tolerance(&mut self, losses: f64) {
        // 1.5 times the fraction, since random losses often exceed their mean.
        self.path.chance = 1.5 * losses;
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) -> Progress {
        match &self.step {
            Step::Settling(settling) if ecn_ce.newest < settling.until() => Progress::Continue,
            _ => Progress::Congested,
        }
    }

    /// Continues with the window of another layer that sends more than was proven, and takes
    /// responsibility for it.
    fn on_restart(&mut self, to: &Restart) -> bool {
        let growing = matches!(self.step, Step::Growing(_));
        if growing {
            self.path.resume(to.window);
        }
        growing
    }

    fn measures_path(&self) -> bool {
        true
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.path.on_mtu_update(mtu);
    }

    fn window(&self) -> Bytes {
        self.path.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.path.rate.map(|rate| Rate::from_bps((rate * 8.0) as u64).max(Rate::from_bps(8)))
    }

    fn recovery_start(&self) -> u64 {
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

    fn clone_box(&self) -> Box<dyn SlowStart> {
        Box::new(self.clone())
    }
}
