//! The links: a bottleneck with a queue in bytes, frames, jitter, policers and loss, and the return
//! link.

use super::{ACK, Draw, PACKET};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// A token bucket in front of the bottleneck.
#[derive(Debug, Clone, Copy)]
pub struct Policer {
    rate: Rate,
    /// Bucket size.
    bucket: Bytes,
    /// True if non-conforming packets are dropped; otherwise they wait in the bottleneck's queue.
    drops: bool,
}

/// A path.
#[derive(Debug, Clone)]
pub struct Path {
    /// Rate of the forward link.
    pub forward: Rate,
    /// Rate of the return link.
    pub back: Rate,
    /// RTT of the idle path, without frames.
    pub rtt: Span,
    /// Capacity of the bottleneck's queue.
    pub queue: Bytes,
    /// Capacity of the return link's queue.
    pub back_queue: Bytes,
    /// Packets only leave at multiples of this; zero disables frames.
    pub forward_frame: Span,
    /// The same for ACKs.
    pub back_frame: Span,
    /// Maximum jitter in either direction. Packets stay in order.
    pub jitter: Span,
    /// Fraction of data packets lost at random.
    pub loss: f64,
    /// Maximum number of packets per ACK.
    pub ack_every: usize,
    /// Policer in front of the bottleneck.
    pub policer: Option<Policer>,
}

impl Path {
    /// Returns a clean path with queues of one bandwidth-delay product in both directions and an
    /// ACK for every second packet.
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

    /// Returns the bandwidth-delay product.
    pub fn bdp(&self) -> Bytes {
        self.policer
            .map_or(self.forward, |policer| policer.rate.min(self.forward))
            .bytes_in(self.rtt)
    }

    /// Sets the queue to `bdps` bandwidth-delay products.
    pub fn queue(mut self, bdps: f64) -> Self {
        self.queue = self.bdp().mul_f64(bdps).max(Bytes::new(2 * PACKET));
        self
    }

    /// Sets the number of packets per ACK.
    pub fn ack(mut self, every: usize) -> Self {
        self.ack_every = every;
        self
    }

    /// Adds the frames of a DVB-S2/RCS2 system (10 ms and 26.5 ms), and jitter.
    pub fn frames(mut self, jitter_ms: u64) -> Self {
        self.forward_frame = Span::from_millis(10);
        self.back_frame = Span::from_micros(26_500);
        self.jitter = Span::from_millis(jitter_ms);
        self
    }

    /// Adds random loss of data packets.
    pub fn loss(mut self, share: f64) -> Self {
        self.loss = share;
        self
    }

    /// Adds a policer of `mbps` with a bucket of `kilobytes`; the rate of the link stays.
    pub fn policed(mut self, mbps: f64, kilobytes: u64, drops: bool) -> Self {
        let rate = Rate::from_bps((mbps * 1e6) as u64);
        self.policer = Some(Policer { rate, bucket: Bytes::new(1000 * kilobytes), drops });
        self
    }
}

/// A link with a queue in front.
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

    /// Returns the end of the packet's transmission, which starts at `not_before` or later. `None`
    /// if the queue is full.
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
    /// Offsets of the frames.
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

    /// Returns the arrival of a data packet; `Err(true)` if the queue or the policer dropped it,
    /// `Err(false)` for random loss.
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

    /// Returns the arrival of an ACK, unless it is dropped.
    pub(super) fn back(&mut self, now: Time, bytes: u64) -> Option<Time> {
        let out = self.back.pass(now, bytes, Time::ZERO)?;
        let (frame, jitter) = (self.path.back_frame, self.path.jitter);
        let at = framed(out, frame, self.offsets.1)
            + self.path.rtt / 2
            + jitter.mul_f64(self.jitters.unit());
        self.back.last_out = self.back.last_out.max(at);
        Some(self.back.last_out)
    }

    /// Returns the time from which the packet conforms. `None` if it is dropped.
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

/// Returns the first end of a frame at or after `at`.
fn framed(at: Time, frame: Span, offset: Span) -> Time {
    if frame.is_zero() {
        return at;
    }
    let (at, frame, offset) = (at.as_nanos(), frame.as_nanos(), offset.as_nanos());
    Time::from_nanos(at.saturating_sub(offset).div_ceil(frame) * frame + offset)
}
