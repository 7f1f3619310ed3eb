//! `scream`: SCReAM V2, written from the text of draft-ietf-ccwg-rfc8298bis-screamv2 of 11 August
//! 2026, without what it says is optional (`REDUCE_JITTER` is false).
//!
//! Names in brackets are those of its constants. Where it leaves something open, a comment says
//! what is ours.

mod delay;
mod sent;
mod window;

use self::delay::QueueDelay;
use self::sent::SentPackets;
use self::window::{Observed, ReferenceWindow, VIRTUAL_RTT};
use super::feedback::Feedback;
use super::rate_control::{Backlog, RateControl, SKIP_ABOVE, Setup};
use bentpipe_units::{Rate, Span, Time};

/// Weights of a larger and a smaller share of marked packets (`L4S_AVG_G_UP`, `L4S_AVG_G_DOWN`).
const ALPHA_UP: f64 = 1.0 / 8.0;
const ALPHA_DOWN: f64 = 1.0 / 128.0;
/// Shortest time between two updates of this share.
const ALPHA_INTERVAL: Span = Span::from_millis(10);
/// Weight of a round in the share of rounds with losses. The draft leaves it open; that of its
/// implementation.
const LOSS_WEIGHT: f64 = 0.02;
/// Bytes in flight in windows (`REF_WND_OVERHEAD_MAX`: less is for what is optional).
const OVERHEAD: f64 = 3.0;
/// Smallest rate of packets in bit/s before the headroom (`RATE_PACE_MIN`).
const PACE_MIN: f64 = 50_000.0;
/// Pacing above the rate (`PACKET_PACING_HEADROOM`), and more of it near the largest rate
/// (`MAX_RELAXED_PACING_FACTOR`, `RELAXED_PACING_LIMIT_LOW`).
const PACE_HEADROOM: f64 = 1.5;
const PACE_RELAXED: f64 = 4.0;
const RELAXED_FROM: f64 = 0.8;
/// Gain of the reaction to frames that wait (`RATE_ADJUST_GAIN`), and weight of large frames
/// (`FRAME_SIZE_DEV_ALPHA`).
const ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_WEIGHT: f64 = 1.0 / 64.0;
/// What the rate is below that of the window: room for frames of different sizes.
const MARGIN: f64 = 1.2;
/// Weight of a sample in the smoothed RTT (RFC 6298).
const SRTT_WEIGHT: f64 = 1.0 / 8.0;
/// RTT before the first report, and the shortest time without one after which all in flight is
/// given up; three RTTs if that is more. The draft has no such timer: ours.
const INITIAL_RTT: Span = Span::from_secs(1);
const SILENT_RTTS: u64 = 3;

/// The rate control.
#[derive(Debug)]
pub struct Scream {
    setup: Setup,
    packets: SentPackets,
    delay: QueueDelay,
    window: ReferenceWindow,
    srtt: Option<Span>,
    /// Share of marked packets, and those of the time since its last update: all and marked.
    alpha: f64,
    alpha_at: Time,
    delivered: (u32, u32),
    /// Start of the round, whether it had losses, and the share of such rounds.
    round_at: Time,
    round_lost: bool,
    loss_rate: f64,
    /// Most bytes in flight in this round and in the one before.
    in_flight: (u64, u64),
    /// Rate of IP packets in bit/s that the window gives.
    target: f64,
    /// How much frames wait, and how much larger than their mean they are.
    adjust: f64,
    frame_deviation: f64,
    /// Until when the rate is halved, after the delays were forgotten.
    halved_until: Time,
    next_paced: Time,
    /// Since when a packet is in flight without a report.
    silent_since: Option<Time>,
}

impl Scream {
    pub fn new(setup: Setup) -> Self {
        let target = setup.on_wire(setup.start);
        // What the start takes in a second may be in flight before the first report.
        let window = target / 8.0 * INITIAL_RTT.as_secs_f64() / OVERHEAD;
        Self {
            setup,
            packets: SentPackets::default(),
            delay: QueueDelay::new(),
            window: ReferenceWindow::new(window, setup.l4s),
            srtt: None,
            alpha: 0.0,
            alpha_at: setup.begun,
            delivered: (0, 0),
            round_at: setup.begun,
            round_lost: false,
            loss_rate: 0.0,
            in_flight: (0, 0),
            target,
            adjust: 0.0,
            frame_deviation: 0.0,
            halved_until: setup.begun,
            next_paced: setup.begun,
            silent_since: None,
        }
    }

    fn has_room(&self, bytes: u32) -> bool {
        let in_flight = self.packets.in_flight();
        in_flight == 0 || (in_flight + u64::from(bytes)) as f64 <= self.window.bytes() * OVERHEAD
    }

    /// Returns when all in flight is given up; `None` if nothing is.
    fn silent_until(&self) -> Option<Time> {
        let timeout = INITIAL_RTT.max(self.srtt.unwrap_or(INITIAL_RTT) * SILENT_RTTS);
        Some(self.silent_since? + timeout)
    }

    /// Gives up what is in flight after long without a report.
    fn check_silence(&mut self, now: Time) {
        if self.silent_until().is_some_and(|until| now >= until) {
            self.packets.forget();
            self.window.collapse(now);
            self.silent_since = None;
            self.set_target(now);
        }
    }

    /// Sets the rate from the window.
    fn set_target(&mut self, now: Time) {
        let srtt = self.srtt.unwrap_or(INITIAL_RTT).as_secs_f64();
        let small = 1.0 - (self.window.small() - 0.1).clamp(0.0, 0.2);
        let divisor = MARGIN + self.adjust + self.frame_deviation;
        let halved = if now < self.halved_until { 0.5 } else { 1.0 };
        let target = small / divisor * halved * 8.0 * self.window.bytes() / srtt.max(1e-6);
        let limits = [self.setup.min, self.setup.max].map(|rate| self.setup.on_wire(rate));
        self.target = target.clamp(limits[0], limits[1]);
    }

    /// Returns the rate of packets in bit/s.
    fn pace(&self) -> f64 {
        let most = self.setup.on_wire(self.setup.max);
        let relaxed = (self.target / most - RELAXED_FROM) / (1.0 - RELAXED_FROM);
        let scale = (1.0 - relaxed.min(1.0)).clamp(1.0 / PACE_RELAXED, 1.0);
        self.target.max(PACE_MIN) * PACE_HEADROOM / scale
    }

    /// Averages the share of marked packets: fast up, slowly down.
    fn update_alpha(&mut self, now: Time, srtt: Span, (packets, marked): (u32, u32)) {
        self.delivered.0 += packets;
        self.delivered.1 += marked;
        if now < self.alpha_at + ALPHA_INTERVAL.min(srtt) || self.delivered.0 == 0 {
            return;
        }
        let share = f64::from(self.delivered.1) / f64::from(self.delivered.0);
        if share >= self.alpha {
            self.alpha += (share - self.alpha) * ALPHA_UP;
        } else {
            self.alpha *= 1.0 - ALPHA_DOWN;
        }
        (self.alpha_at, self.delivered) = (now, (0, 0));
    }

    /// Ends the round after an RTT.
    fn update_round(&mut self, now: Time, srtt: Span, lost: bool) {
        self.round_lost |= lost;
        if now < self.round_at + srtt {
            return;
        }
        let had_losses = if std::mem::take(&mut self.round_lost) { 1.0 } else { 0.0 };
        self.loss_rate += (had_losses - self.loss_rate) * LOSS_WEIGHT;
        self.in_flight = (self.packets.in_flight(), self.in_flight.0);
        if self.delay.end_round() {
            self.halved_until = now + (srtt * 5).max(Span::from_millis(200));
        }
        self.round_at = now;
    }
}

impl Scream {
    /// Handles the report of a packet that no report before has shown, or one after it.
    fn on_newest(&mut self, now: Time, sent: Time, feedback: &Feedback) {
        self.silent_since = (self.packets.in_flight() > 0).then_some(now);
        let sample = now.since(sent).saturating_sub(feedback.held);
        let srtt = match self.srtt {
            None => {
                let wire = self.setup.on_wire(self.setup.start);
                self.window.set(wire / 8.0 * sample.as_secs_f64() * MARGIN);
                sample
            }
            Some(srtt) => srtt.mul_f64(1.0 - SRTT_WEIGHT) + sample.mul_f64(SRTT_WEIGHT),
        };
        self.srtt = Some(srtt);
        let one_way = feedback.arrived.since(sent);
        self.delay.on_sample(now, one_way, VIRTUAL_RTT.min(srtt));
        self.delay.adjust_target(now, self.loss_rate);
    }
}

impl RateControl for Scream {
    fn frame(&mut self, now: Time, backlog: Backlog) -> Option<Rate> {
        self.check_silence(now);
        let period = 1.0 / f64::from(self.setup.fps.max(1));
        let error = (backlog.waits.as_secs_f64() - period / 4.0) / period;
        self.adjust = (self.adjust + error * ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = (self.rate().as_bps() as f64 * period / 8.0).max(1.0);
        let larger = (backlog.last_frame as f64 / nominal - 1.0).max(0.0);
        let deviation = self.frame_deviation + (larger - self.frame_deviation) * FRAME_WEIGHT;
        self.frame_deviation = deviation.min(0.2);
        if self.srtt.is_some() {
            self.set_target(now);
        }
        (backlog.waits <= SKIP_ABOVE).then(|| self.rate())
    }

    fn rate(&self) -> Rate {
        self.setup.of_wire(self.target)
    }

    fn admits(&mut self, now: Time, bytes: u32) -> bool {
        self.check_silence(now);
        now >= self.next_paced && self.has_room(bytes)
    }

    fn next_send(&self, bytes: u32) -> Option<Time> {
        if self.has_room(bytes) { Some(self.next_paced) } else { self.silent_until() }
    }

    fn sent(&mut self, now: Time, bytes: u32, paced: bool) {
        self.packets.push(now, bytes);
        self.silent_since.get_or_insert(now);
        self.in_flight.0 = self.in_flight.0.max(self.packets.in_flight());
        if paced {
            self.next_paced = now + Span::from_secs_f64(f64::from(bytes) * 8.0 / self.pace());
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let acked = self.packets.on_feedback(now, feedback);
        // A report that was overtaken says nothing of the present delay.
        if let Some(sent) = acked.newest {
            self.on_newest(now, sent, feedback);
        }
        let Some(srtt) = self.srtt else { return };
        self.update_alpha(now, srtt, (acked.packets, acked.marked));
        let observed = Observed {
            unmarked_bytes: acked.bytes.saturating_sub(acked.marked_bytes),
            lost: acked.lost > 0,
            marked: acked.marked > 0,
            alpha: self.alpha,
            srtt,
            in_flight: (self.in_flight.0.max(self.in_flight.1), self.in_flight.1),
            floor: self.setup.on_wire(self.setup.min) / 8.0 * srtt.as_secs_f64(),
            at_limit: self.target >= self.setup.on_wire(self.setup.max),
        };
        self.window.update(now, &observed, &self.delay);
        self.update_round(now, srtt, acked.lost > 0);
        self.set_target(now);
    }
}

#[cfg(test)]
mod tests;
