//! A start for long paths: each round sends about the volume that the path has been seen to deliver in a round trip, but at
//! several times the rate, and so learns the rate in few rounds without much more than that volume ever standing in a queue.
//!
//! What was weighed and measured stands in `docs/decisions/0005-long-path-start.md`.

mod arrivals;
mod delay;
mod parameters;

pub use parameters::PARAMETERS;

use crate::controller::{Ack, Loss, Mark, Setup};
use crate::newreno::minimum_window;
use crate::parameter::Values;
use crate::start::{Found, Progress, Start};
use arrivals::Arrivals;
use bentpipe_units::{Bytes, Rate, Span, Time};
use delay::Delay;
use parameters::Settings;

/// Longest round trip that windows are sized for; beyond it a smaller one is assumed, which only makes it slower.
const LONGEST: Span = Span::from_secs(10);

/// The start.
#[derive(Debug, Clone)]
pub struct LongPath {
    settings: Settings,
    mtu: Bytes,
    window: Bytes,
    /// Bytes a second.
    rate: Option<f64>,
    stage: Stage,
}

/// How far it is.
#[derive(Debug, Clone)]
enum Stage {
    /// No round trip has been measured yet.
    Waiting,
    /// Something has.
    Measuring(Box<Path>, Step),
}

/// What is known of the path.
#[derive(Debug, Clone)]
struct Path {
    /// The round trip at the start: the scale of everything.
    scale: Span,
    arrivals: Arrivals,
    delay: Delay,
    /// The proven rate, bytes a second.
    proven: f64,
    /// Packets before this one were sent before the start began.
    first: u64,
    /// Bytes and packets lost in this round.
    lost: Bytes,
    lost_packets: u64,
    /// Delivered bytes when the round began.
    round_delivered: Bytes,
    round: u64,
}

/// What it is doing.
#[derive(Debug, Clone)]
enum Step {
    /// Sending faster than proven.
    Growing,
    /// Waiting until what was sent too much has gone, and measuring once more.
    Settling(Settling),
    /// Trying whether there is more after all.
    Verifying(Verifying),
}

#[derive(Debug, Clone)]
struct Settling {
    since: Time,
    delivered: Bytes,
    /// Over when this packet is acknowledged; losses before it are answered.
    until: u64,
    /// The proven rate before the exit, and after it.
    highest: f64,
    exit: f64,
    /// The best rate measured since.
    measured: f64,
    /// Windows begin after this: the last gap in the acknowledgements.
    gap: Time,
    lost: Bytes,
}

#[derive(Debug, Clone)]
struct Verifying {
    growth: f64,
    /// The rate to be beaten.
    rate: f64,
    /// The window before.
    before: Bytes,
    /// Measured from the acknowledgement of this packet on.
    first: u64,
    since: Option<(Time, Bytes)>,
    lost: Bytes,
    lost_packets: u64,
}

impl LongPath {
    /// A start that waits for the first round trip at the initial window.
    pub fn new(setup: &Setup, values: &Values) -> Self {
        Self {
            settings: Settings::new(values),
            mtu: setup.mtu,
            window: setup.initial_window.max(minimum_window(setup.mtu)),
            rate: None,
            stage: Stage::Waiting,
        }
    }

    /// The first round trip: on a long path, the first burst.
    fn begin(&mut self, ack: &Ack<'_>) -> Progress {
        if !ack.app_limited {
            self.window += ack.bytes;
        }
        if ack.rtt < self.settings.threshold {
            return Progress::Plain;
        }
        let scale = ack.rtt.min(LONGEST);
        let burst = (10.0 * scale.as_secs_f64() / 0.05).min(self.settings.first_flight);
        self.window = self.window.max(self.mtu.mul_f64(burst));
        self.rate = Some(self.window.get() as f64 / (0.1 * scale.as_secs_f64()));
        let mut path = Path {
            scale,
            arrivals: Arrivals::new(scale / 2),
            delay: Delay::new(ack.rtt, self.settings.clump),
            proven: 0.0,
            first: ack.next_number,
            lost: Bytes::ZERO,
            lost_packets: 0,
            round_delivered: ack.delivered,
            round: 0,
        };
        path.arrivals.note(ack.now, ack.delivered, ack.newest().sent_at);
        self.stage = Stage::Measuring(Box::new(path), Step::Growing);
        Progress::Going
    }

    fn set(&mut self, window: f64, rate: f64) {
        self.window = Bytes::new(window as u64).max(minimum_window(self.mtu));
        self.rate = Some(rate.max(1.0));
    }
}

impl Path {
    fn note(&mut self, ack: &Ack<'_>) {
        self.arrivals.note(ack.now, ack.delivered, ack.newest().sent_at);
        self.delay.note(ack.now, ack.rtt, ack.round_start);
        if ack.round_start {
            self.round += 1;
            self.lost = Bytes::ZERO;
            self.lost_packets = 0;
            self.round_delivered = ack.delivered;
        }
    }

    fn found(&self, window: Bytes, answered: u64) -> Progress {
        let rate = Some(Rate::from_bps((self.proven * 8.0) as u64)).filter(|rate| !rate.is_zero());
        Progress::Found(Found { window, rate, min_rtt: self.delay.base(), answered })
    }

    /// Bytes in a round trip at the rate.
    fn volume(&self, rate: f64) -> f64 {
        rate * self.delay.base().as_secs_f64()
    }

    /// Whether the round trip has grown by more than the path does by itself.
    fn is_queueing(&self, settings: &Settings) -> bool {
        let swing = self.delay.swing().mul_f64(1.5).min(self.scale / 4);
        self.delay.queue() >= settings.rise.max(self.scale / 8).max(swing)
    }

    fn settle(&mut self, now: Time, delivered: Bytes, next_number: u64, clump: Span) -> Settling {
        let highest = self.proven;
        if let Some(last) = self.arrivals.rate((self.scale / 8).max(Span::from_millis(80)), clump, Time::ZERO) {
            self.proven = self.proven.min(last);
        }
        Settling {
            since: now,
            delivered,
            until: next_number,
            highest,
            exit: self.proven,
            measured: 0.0,
            gap: now,
            lost: self.lost,
        }
    }
}

impl LongPath {
    fn growing(&mut self, path: &mut Path, ack: &Ack<'_>) -> Option<Step> {
        let Settings { clump, .. } = self.settings;
        for part in [0.06, 0.12, 0.25, 0.5] {
            if let Some(rate) = path.arrivals.rate(path.scale.mul_f64(part), clump, Time::ZERO) {
                path.proven = path.proven.max(rate);
            }
        }
        if ack.newest().number < path.first {
            return None;
        }
        let window = self.window.get() as f64;
        let acked = ack.bytes.get() as f64;
        let slow = if ack.app_limited { window } else { window + acked };
        let proven = (1.0 + self.settings.excess) * path.volume(path.proven);
        let most = window + (self.settings.most_growth - 1.0) * acked;
        let window = slow.max(proven.min(most));
        let rate = (self.settings.gain * path.proven).max(1.25 * window / path.delay.base().as_secs_f64());
        let rate = if path.round <= 2 { rate.max(self.rate.unwrap_or(0.0)) } else { rate };
        self.set(window, rate);
        path.is_queueing(&self.settings).then(|| {
            let settling = path.settle(ack.now, ack.delivered, ack.next_number, clump);
            Step::Settling(settling)
        })
    }

    fn settling(&mut self, path: &mut Path, mut at: Settling, ack: &Ack<'_>, quiet: Span) -> Result<Step, Progress> {
        if quiet > (path.scale / 8).max(Span::from_millis(75)) {
            at.gap = ack.now;
        }
        for part in [4, 2] {
            if let Some(rate) = path.arrivals.rate(path.scale / part, self.settings.clump / 2, at.gap) {
                at.measured = at.measured.max(rate.min(1.25 * at.highest));
            }
        }
        let delivered = ack.delivered.saturating_sub(at.delivered).get() as f64;
        let enough = delivered >= at.exit * path.scale.as_secs_f64() / 8.0 && at.measured > 0.0;
        path.proven = if enough { at.measured.max(0.3 * at.exit) } else { at.exit.max(at.measured) };
        self.set(self.settings.margin * path.volume(path.proven), self.settings.margin * path.proven);
        if ack.newest().number < at.until {
            return Ok(Step::Settling(at));
        }
        if at.lost.get() as f64 > 0.02 * self.window.get() as f64 {
            return Err(path.found(self.window, at.until));
        }
        Ok(Step::Verifying(self.verify(path, 0.5, path.proven, ack.next_number)))
    }

    fn verify(&mut self, path: &Path, growth: f64, rate: f64, first: u64) -> Verifying {
        let before = self.window;
        let window = before.get() as f64 * (1.0 + growth);
        self.set(window, window / path.delay.base().as_secs_f64());
        Verifying { growth, rate, before, first, since: None, lost: Bytes::ZERO, lost_packets: 0 }
    }

    fn verifying(&mut self, path: &mut Path, mut at: Verifying, ack: &Ack<'_>) -> Result<Step, Progress> {
        let Some((since, delivered)) = at.since else {
            if ack.newest().number >= at.first {
                at.since = Some((ack.now, ack.delivered));
            }
            return Ok(Step::Verifying(at));
        };
        let time = ack.now.since(since);
        if time < path.scale / 2 {
            return Ok(Step::Verifying(at));
        }
        let rate = ack.delivered.saturating_sub(delivered).get() as f64 / time.as_secs_f64();
        if rate >= at.rate * (1.0 + 0.6 * at.growth) {
            path.proven = rate;
            return Ok(Step::Verifying(self.verify(path, (2.0 * at.growth).min(1.0), rate, ack.next_number)));
        }
        let window = Bytes::new((1.05 * path.volume(rate)) as u64).min(self.window).max(at.before);
        Err(path.found(window, ack.next_number))
    }
}

impl Start for LongPath {
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        let Stage::Measuring(mut path, step) = std::mem::replace(&mut self.stage, Stage::Waiting) else {
            return self.begin(ack);
        };
        let quiet = path.arrivals.last_at().map_or(Span::ZERO, |last| ack.now.since(last));
        path.note(ack);
        let next = match step {
            Step::Growing => Ok(self.growing(&mut path, ack).unwrap_or(Step::Growing)),
            Step::Settling(at) => self.settling(&mut path, at, ack, quiet),
            Step::Verifying(at) => self.verifying(&mut path, at, ack),
        };
        match next {
            Ok(step) => {
                self.stage = Stage::Measuring(path, step);
                Progress::Going
            }
            Err(progress) => {
                if let Progress::Found(found) = progress {
                    self.window = found.window;
                }
                progress
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) -> Progress {
        let Stage::Measuring(path, step) = &mut self.stage else { return Progress::Congested };
        if loss.persistent {
            return Progress::Congested;
        }
        path.lost += loss.bytes;
        path.lost_packets += loss.packets.len() as u64;
        match step {
            Step::Growing => {
                let sent = loss.delivered.saturating_sub(path.round_delivered) + path.lost;
                if path.lost_packets >= 4 && path.lost.get() as f64 > 0.05 * sent.get() as f64 {
                    let settling = path.settle(loss.now, loss.delivered, loss.next_number, self.settings.clump);
                    let proven = path.proven;
                    let volume = path.volume(proven);
                    *step = Step::Settling(settling);
                    self.set(self.settings.margin * volume, self.settings.margin * proven);
                }
            }
            Step::Settling(at) => at.lost += loss.bytes,
            Step::Verifying(at) => {
                at.lost += loss.bytes;
                at.lost_packets += loss.packets.len() as u64;
                if at.lost_packets >= 4 && at.lost.get() as f64 > 0.02 * self.window.get() as f64 {
                    let found = path.found(at.before, loss.next_number);
                    self.window = at.before;
                    return found;
                }
            }
        }
        Progress::Going
    }

    fn on_mark(&mut self, mark: &Mark) -> Progress {
        match &self.stage {
            Stage::Measuring(_, Step::Settling(at)) if mark.newest < at.until => Progress::Going,
            _ => Progress::Congested,
        }
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    fn window(&self) -> Bytes {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate.map(|rate| Rate::from_bps((rate * 8.0) as u64).max(Rate::from_bps(8)))
    }

    fn phase(&self) -> &'static str {
        match &self.stage {
            Stage::Waiting => "first flight",
            Stage::Measuring(_, Step::Growing) => "bursts",
            Stage::Measuring(_, Step::Settling(_)) => "settle",
            Stage::Measuring(_, Step::Verifying(_)) => "verify",
        }
    }

    fn clone_box(&self) -> Box<dyn Start> {
        Box::new(self.clone())
    }
}
