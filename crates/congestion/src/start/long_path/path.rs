//! What is known of the path, and what the start answers while it goes on.

use super::arrivals::Arrivals;
use super::clumps::Clumps;
use super::delay::Delay;
use super::parameters::Settings;
use crate::controller::{Ack, Loss, Setup};
use crate::newreno::minimum_window;
use crate::start::{Found, Progress};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Longest round trip that windows of time are sized for: a longer one only makes the start slower.
const LONGEST: Span = Span::from_secs(10);

/// Shortest time for which acknowledgements may have been gathered: senders and receivers themselves do so for a few
/// milliseconds, with timers, batches and acknowledgements of ten packets.
const LEAST_CLUMP: Span = Span::from_millis(5);

/// Losses in a round.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Losses {
    bytes: Bytes,
    packets: u64,
}

impl Losses {
    pub(super) fn note(&mut self, loss: &Loss<'_>) {
        self.bytes += loss.bytes;
        self.packets = self.packets.saturating_add(loss.packets.len() as u64);
    }

    /// Whether they are more than `share` of `of`. Fewer than four packets are nothing: one burst of noise.
    pub(super) fn exceed(&self, share: f64, of: Bytes) -> bool {
        self.packets >= 4 && self.bytes.get() as f64 > share * of.get() as f64
    }
}

/// Measurements that every step shares.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) settings: Settings,
    mtu: Bytes,
    /// Bytes that may be in flight.
    pub(super) window: Bytes,
    /// How fast to send, in bytes a second.
    pub(super) rate: Option<f64>,
    /// Volume of the first burst.
    pub(super) first_flight: Bytes,
    /// The round trip at the start: the scale of all times.
    pub(super) scale: Span,
    pub(super) arrivals: Arrivals,
    pub(super) delay: Delay,
    pub(super) clumps: Clumps,
    /// When the last gap in the acknowledgements ended: rates across it would count the silence.
    pub(super) gap: Time,
    /// The proven rate in bytes a second.
    pub(super) proven: f64,
    /// Rounds so far, bytes delivered when this one began, its acknowledgements and losses.
    pub(super) round: u64,
    round_delivered: Bytes,
    acks: u64,
    pub(super) losses: Losses,
    /// Share of losses that is chance to the controller.
    pub(super) chance: f64,
    /// How much the round trip swings by itself, as seen until the bursts ended.
    swing: Option<Span>,
    /// Bytes for each acknowledgement in the last round.
    pub(super) bytes_per_ack: f64,
}

impl Path {
    /// Nothing is known yet.
    pub(super) fn new(setup: &Setup, settings: Settings) -> Self {
        Self {
            mtu: setup.mtu,
            window: setup.initial_window.max(minimum_window(setup.mtu)),
            rate: None,
            first_flight: Bytes::ZERO,
            scale: Span::ZERO,
            arrivals: Arrivals::new(Span::ZERO),
            delay: Delay::new(Span::MAX, settings.clump),
            clumps: Clumps::new(LEAST_CLUMP, settings.clump),
            gap: Time::ZERO,
            proven: 0.0,
            round: 0,
            round_delivered: Bytes::ZERO,
            acks: 0,
            losses: Losses::default(),
            chance: 0.0,
            swing: None,
            bytes_per_ack: f64::INFINITY,
            settings,
        }
    }

    /// The first round trip: window and rate of the first burst.
    pub(super) fn begin(&mut self, ack: &Ack<'_>) {
        self.scale = ack.rtt.min(LONGEST);
        self.arrivals = Arrivals::new(self.scale);
        self.round_delivered = ack.delivered;
        let burst = (10.0 * self.scale.as_secs_f64() / 0.05).min(self.settings.first_flight);
        let window = self.mtu.mul_f64(burst).max(self.window);
        self.first_flight = window;
        // Over a tenth of the round trip: shorter, and rates over steps of milliseconds could not prove it; longer, and there
        // would be less to prove.
        self.send(window.get() as f64, window.get() as f64 / (0.1 * self.scale.as_secs_f64()));
        self.note(ack);
    }

    /// Takes an acknowledgement into every measurement.
    pub(super) fn note(&mut self, ack: &Ack<'_>) {
        if ack.round_start {
            let delivered = ack.delivered.saturating_sub(ack.bytes).saturating_sub(self.round_delivered);
            if self.acks > 0 {
                self.bytes_per_ack = delivered.get() as f64 / self.acks as f64;
            }
            self.round += 1;
            self.round_delivered = ack.delivered.saturating_sub(ack.bytes);
            self.acks = 0;
            self.losses = Losses::default();
        }
        self.acks += 1;
        let quiet = self.arrivals.last_at().map_or(Span::MAX, |last| ack.now.since(last));
        let idle = (self.scale / 8).max(Span::from_millis(75));
        if quiet > idle {
            self.gap = ack.now;
        }
        self.clumps.note(ack.now, ack.delivered, self.proven, idle);
        self.arrivals.note(ack.now, ack.delivered, ack.newest().sent_at);
        self.delay.note(ack.now, ack.rtt, ack.round_start);
    }

    /// The largest packet has another size now.
    pub(super) fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.window = self.window.max(minimum_window(mtu));
    }

    /// Sets window and rate, in bytes and bytes a second.
    pub(super) fn send(&mut self, window: f64, rate: f64) {
        self.window = Bytes::new(window as u64).max(minimum_window(self.mtu));
        self.rate = Some(rate.max(1.0));
    }

    /// Smallest round trip in seconds, a millisecond at least.
    pub(super) fn base(&self) -> f64 {
        self.delay.base().as_secs_f64().max(0.001)
    }

    /// Bytes that have arrived or been lost in this round.
    pub(super) fn judged(&self, delivered: Bytes) -> Bytes {
        delivered.saturating_sub(self.round_delivered) + self.losses.bytes
    }

    /// Whether the round trip has grown by more than the path does by itself.
    pub(super) fn is_queueing(&self) -> bool {
        let swing = self.swing.unwrap_or(self.delay.swing()).mul_f64(1.5).min(self.scale / 4);
        self.delay.queue() >= self.settings.rise.max(self.scale / 8).max(swing)
    }

    /// Whether the round trip is as short as ever, but for what frames do.
    pub(super) fn is_empty(&self) -> bool {
        self.delay.queue() < self.settings.clump
    }

    /// Whether the acknowledgements alone may be what fills the way back: they are many enough for a slow one, and whoever
    /// waits for them sees the same as before a full bottleneck.
    pub(super) fn may_be_return(&self) -> bool {
        /// Bits of an IP packet with an acknowledgement of QUIC.
        const ACK_BITS: f64 = 8.0 * 75.0;
        self.proven / self.bytes_per_ack.max(1.0) * ACK_BITS >= self.settings.return_doubt
    }

    /// The capacity is found.
    pub(super) fn found(&mut self, window: Bytes, answered: u64) -> Progress {
        self.window = window.max(minimum_window(self.mtu));
        let rate = Some(Rate::from_bps((self.proven * 8.0) as u64)).filter(|rate| !rate.is_zero());
        Progress::Found(Found { window: self.window, rate, min_rtt: self.delay.base(), answered })
    }

    /// Bytes a second delivered in the last round trip.
    pub(super) fn round_trip_rate(&self) -> f64 {
        self.arrivals.rate(self.scale, Span::ZERO, Time::ZERO).unwrap_or_default()
    }

    /// The bursts are over: from now on the queue drains, and falls of the round trip say nothing of the path. The rate of
    /// the last while, and that of the last round trip, in bytes a second.
    pub(super) fn end_bursts(&mut self, now: Time) -> (Option<f64>, f64) {
        self.swing = Some(self.delay.swing());
        let window = (self.scale / 8).max(Span::from_millis(80));
        let since = Time::from_nanos(now.as_nanos().saturating_sub(window.as_nanos())).max(self.gap);
        let last = self.arrivals.rate_since(since, self.clumps.span());
        (last, self.round_trip_rate())
    }
}
