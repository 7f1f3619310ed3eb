//! The links: a bottleneck with a queue in bytes, frames, jitter, policers, loss; and the way back.

use super::{ACK, Draw, PACKET};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A token bucket in front of the bottleneck.
#[derive(Debug, Clone, Copy)]
pub struct Policer {
    rate: Rate,
    /// Its depth.
    bucket: Bytes,
    /// Whether what does not conform is dropped; otherwise it waits in the bottleneck's queue.
    drops: bool,
}

/// A path.
#[derive(Debug, Clone)]
pub struct Path {
    /// Rate towards the receiver.
    pub forward: Rate,
    /// Rate of the way back.
    pub back: Rate,
    /// Round trip of an idle path, without frames.
    pub rtt: Span,
    /// Bytes that wait for the bottleneck at most.
    pub queue: Bytes,
    /// Bytes that wait for the way back at most.
    pub back_queue: Bytes,
    /// Packets leave at multiples of this; zero for no frames.
    pub forward_frame: Span,
    /// The same for acknowledgements.
    pub back_frame: Span,
    /// Packets are held up to so long in either direction, in order.
    pub jitter: Span,
    /// Share of data packets lost at random.
    pub loss: f64,
    /// The receiver acknowledges at the latest every so many packets.
    pub ack_every: usize,
    /// A policer.
    pub policer: Option<Policer>,
}

impl Path {
    /// A clean path with queues of one bandwidth-delay product either way, acknowledged every
    /// second packet.
    pub fn new(forward_mbps: f64, back_mbps: f64, rtt_ms: u64) -> Self {
        let forward = Rate::from_bps((forward_mbps * 1e6) as u64);
        let back = Rate::from_bps((back_mbps * 1e6) as u64);
        let rtt = Span::from_millis(rtt_ms);
        Self {
            forward,
            back,
            rtt,
            queue: forward.bytes_in(rtt),
            back_queue: back.bytes_in(rtt),
            forward_frame: Span::ZERO,
            back_frame: Span::ZERO,
            jitter: Span::ZERO,
            loss: 0.0,
            ack_every: 2,
            policer: None,
        }
    }

    /// Bandwidth-delay product.
    pub fn bdp(&self) -> Bytes {
        self.policer
            .map_or(self.forward, |policer| policer.rate.min(self.forward))
            .bytes_in(self.rtt)
    }

    /// With a queue of so many bandwidth-delay products.
    pub fn queue(mut self, bdps: f64) -> Self {
        self.queue = self.bdp().mul_f64(bdps).max(Bytes::new(2 * PACKET));
        self
    }

    /// With an acknowledgement for so many packets.
    pub fn ack(mut self, every: usize) -> Self {
        self.ack_every = every;
        self
    }

    /// With frames of a DVB-S2/RCS2 system (10 ms and 26.5 ms) and jitter.
    pub fn frames(mut self, jitter_ms: u64) -> Self {
        self.forward_frame = Span::from_millis(10);
        self.back_frame = Span::from_micros(26_500);
        self.jitter = Span::from_millis(jitter_ms);
        self
    }

    /// With random loss of data packets.
    pub fn loss(mut self, share: f64) -> Self {
        self.loss = share;
        self
    }

    /// With a policer of `mbps` and `kilobytes`, behind which the link is as fast as it is.
    pub fn policed(mut self, mbps: f64, kilobytes: u64, drops: bool) -> Self {
        let rate = Rate::from_bps((mbps * 1e6) as u64);
        self.policer = Some(Policer { rate, bucket: Bytes::new(1000 * kilobytes), drops });
        self
    }
}

/// A server of a rate with a queue in front.
#[derive(Debug, Clone)]
struct Serve {
    rate: Rate,
    queue: Bytes,
    free_at: Time,
    last_out: Time,
}

impl Serve {
    fn new(rate: Rate, queue: Bytes, packet: u64) -> Self {
        Self {
            rate,
            queue: queue.max(Bytes::new(2 * packet)),
            free_at: Time::ZERO,
            last_out: Time::ZERO,
        }
    }

    /// When the packet has been sent, not before `not_before`; `None` where the queue is full.
    fn pass(&mut self, now: Time, bytes: u64, not_before: Time) -> Option<Time> {
        let from = self.free_at.max(now);
        if self.rate.bytes_in(from.since(now)) + Bytes::new(bytes) > self.queue {
            return None;
        }
        self.free_at = (from + self.rate.time_for(Bytes::new(bytes))).max(not_before);
        Some(self.free_at)
    }
}

/// The state of a path's links.
pub(super) struct Links {
    path: Path,
    forward: Serve,
    back: Serve,
    tokens: f64,
    tokens_at: Time,
    losses: Draw,
    jitters: Draw,
    /// Frames begin at these offsets.
    offsets: (Span, Span),
}

impl Links {
    pub(super) fn new(path: &Path, seed: u64) -> Self {
        let mut draw = Draw(seed);
        let offset = |draw: &mut Draw, frame: Span| frame.mul_f64(draw.unit());
        let offsets = (offset(&mut draw, path.forward_frame), offset(&mut draw, path.back_frame));
        Self {
            forward: Serve::new(path.forward, path.queue, PACKET),
            back: Serve::new(path.back, path.back_queue, ACK),
            tokens: path.policer.map_or(0.0, |policer| policer.bucket.get() as f64),
            tokens_at: Time::ZERO,
            losses: Draw(draw.next()),
            jitters: Draw(draw.next()),
            offsets,
            path: path.clone(),
        }
    }

    /// When a data packet arrives; `Err(true)` where the queue or the policer dropped it,
    /// `Err(false)` where chance did.
    pub(super) fn forward(&mut self, now: Time, bytes: u64) -> Result<Time, bool> {
        let conforms = self.police(now, bytes).ok_or(true)?;
        let out = self.forward.pass(now, bytes, conforms).ok_or(true)?;
        if self.losses.unit() < self.path.loss {
            return Err(false);
        }
        let (frame, jitter) = (self.path.forward_frame, self.path.jitter);
        let at = framed(out, frame, self.offsets.0)
            + self.path.rtt / 2
            + jitter.mul_f64(self.jitters.unit());
        self.forward.last_out = self.forward.last_out.max(at);
        Ok(self.forward.last_out)
    }

    /// When an acknowledgement arrives, if it does.
    pub(super) fn back(&mut self, now: Time, bytes: u64) -> Option<Time> {
        let out = self.back.pass(now, bytes, Time::ZERO)?;
        let (frame, jitter) = (self.path.back_frame, self.path.jitter);
        let at = framed(out, frame, self.offsets.1)
            + self.path.rtt / 2
            + jitter.mul_f64(self.jitters.unit());
        self.back.last_out = self.back.last_out.max(at);
        Some(self.back.last_out)
    }

    /// From when on the packet conforms; `None` where it is dropped.
    fn police(&mut self, now: Time, bytes: u64) -> Option<Time> {
        let Some(policer) = self.path.policer else { return Some(now) };
        let rate = policer.rate.as_bps() as f64 / 8.0;
        let earned = rate * now.since(self.tokens_at).as_secs_f64();
        self.tokens = (self.tokens + earned).min(policer.bucket.get() as f64);
        self.tokens_at = now;
        let missing = bytes as f64 - self.tokens;
        if missing > 0.0 && (policer.drops || -self.tokens > self.path.queue.get() as f64) {
            return None;
        }
        self.tokens -= bytes as f64;
        Some(now + Span::from_secs_f64(missing.max(0.0) / rate))
    }
}

/// The first end of a frame at or after `at`.
fn framed(at: Time, frame: Span, offset: Span) -> Time {
    if frame.is_zero() {
        return at;
    }
    let (at, frame, offset) = (at.as_nanos(), frame.as_nanos(), offset.as_nanos());
    Time::from_nanos(at.saturating_sub(offset).div_ceil(frame) * frame + offset)
}
