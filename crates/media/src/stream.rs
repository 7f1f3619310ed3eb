//! The receiving end of one stream of a call: audio or video.

use crate::frame_clock::FrameClock;
use crate::freezes::Freezes;
use crate::jitter::Jitter;
use crate::packet::Packet;
use crate::playout::PlayoutDelay;
use crate::settings::{MediaKind, Playout};
use bentpipe_timeseries::{BoundedSeries, SpanHistogram};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;

/// How long after the capture and the smallest delay a receiver waits for the rest of a frame.
/// Nothing plays a frame this late; our choice, which bounds the frames in memory.
const GIVE_UP: Span = Span::from_secs(10);
/// Time between two requests for a keyframe that has not come. Our choice: longer than an RTT over
/// GEO.
const ASK_AGAIN: Span = Span::from_secs(1);

/// A frame that has not been played or given up.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    /// Number of its packets; 0 before the first has arrived.
    packets: u16,
    arrived: u16,
    bytes: u32,
    keyframe: bool,
    /// True if it was complete in time; `None` while it is not complete.
    in_time: Option<bool>,
    /// True if the encoder has skipped it.
    skipped: bool,
}

/// Frames of a stream that are decided: played, late or lost.
#[derive(Debug, Default)]
pub struct Counts {
    /// Played in time.
    pub in_time: u64,
    /// Complete after their playout, or not there at the end without being lost.
    pub late: u64,
    /// Never complete.
    pub lost: u64,
    /// Runs of frames that were not in time.
    pub bursts: u64,
    /// Payload of the frames that were played or shown, in bytes.
    pub shown_bytes: u64,
    /// Keyframes that the receiver has asked for.
    pub requests: u64,
    /// Decided, but skipped by the encoder: not among the others.
    pub skipped: u64,
}

/// The receiver of one stream.
#[derive(Debug)]
pub struct StreamReceiver {
    kind: MediaKind,
    clock: FrameClock,
    pub(crate) playout: PlayoutDelay,
    /// Number of the first of `frames`.
    base: u32,
    frames: VecDeque<Frame>,
    /// The next frame to play.
    next: u32,
    /// The frame before was not in time.
    in_burst: bool,
    /// A frame of the group was not in time, so that those after it cannot be shown.
    broken: bool,
    asks: bool,
    /// Frames arrive on streams, which send again what is lost: each as a whole, in any order.
    pub(crate) on_streams: bool,
    /// Capture time from which the delays of frames count.
    pub(crate) delays_from: Time,
    awaits_keyframe: bool,
    asked: Option<Time>,
    pub(crate) counts: Counts,
    pub(crate) delays: SpanHistogram,
    pub(crate) largest_delay: Span,
    pub(crate) jitter: Jitter,
    pub(crate) freezes: Freezes,
    /// Sum of the playout delays of the frames that were decided, in ns.
    playout_sum: u128,
    pub(crate) series: Option<BoundedSeries>,
}

impl StreamReceiver {
    /// Creates the receiver of a stream. If it `asks`, it wants a keyframe after a loss.
    pub fn new(
        kind: MediaKind,
        clock: FrameClock,
        playout: Playout,
        asks: bool,
        series: Option<BoundedSeries>,
    ) -> Self {
        Self {
            kind,
            clock,
            playout: PlayoutDelay::new(playout, kind),
            base: 0,
            frames: VecDeque::new(),
            next: 0,
            in_burst: false,
            broken: false,
            asks,
            on_streams: false,
            delays_from: clock.begun(),
            awaits_keyframe: false,
            asked: None,
            counts: Counts::default(),
            delays: SpanHistogram::default(),
            largest_delay: Span::ZERO,
            jitter: Jitter::default(),
            freezes: Freezes::new(clock.interval()),
            playout_sum: 0,
            series,
        }
    }

    /// Handles a packet. Returns true if it wants a keyframe now.
    pub fn received(&mut self, now: Time, packet: &Packet) -> bool {
        let is_part = packet.index < packet.packets;
        if packet.frame < self.base || self.clock.captured(packet.frame).is_none() || !is_part {
            return false;
        }
        self.jitter.record(now, packet.captured);
        let place = (packet.frame - self.base) as usize;
        if place >= self.frames.len() {
            self.notice_loss(packet);
            self.frames.resize(place + 1, Frame::default());
        }
        for before in place.saturating_sub(packet.skipped.into())..place {
            self.frames[before].skipped = true;
        }
        let frame = &mut self.frames[place];
        frame.packets = packet.packets;
        frame.keyframe = packet.keyframe;
        frame.arrived += 1;
        frame.bytes += packet.payload;
        if frame.arrived == frame.packets {
            self.complete(now, packet, place);
        }
        self.play(now);
        self.forget(now);
        self.wants_keyframe(now)
    }

    /// Handles the last packet of a frame.
    fn complete(&mut self, now: Time, packet: &Packet, place: usize) {
        let delay = now.since(packet.captured);
        if packet.captured >= self.delays_from {
            self.delays.record(delay);
            self.largest_delay = self.largest_delay.max(delay);
        }
        if let Some(series) = &mut self.series {
            series.push(now, delay.as_millis_f64());
        }
        let in_time = self.playout.arrived(self.clock.second(packet.captured), delay);
        if packet.frame < self.next {
            // It was due before, and counts as late now that it is known not to be lost.
            self.frames[place].in_time = Some(false);
            self.counts.late += 1;
            self.awaits_keyframe = true;
            return;
        }
        self.frames[place].in_time = Some(in_time);
        self.awaits_keyframe = (self.awaits_keyframe && !packet.keyframe) || !in_time;
    }

    /// Notices that frames before a packet, the first of its frame, have not arrived as a whole.
    /// Packets keep their order, so that what is missing is lost, unless streams send it again.
    fn notice_loss(&mut self, packet: &Packet) {
        if self.on_streams {
            return;
        }
        let next = self.base as usize + self.frames.len();
        let is_gap = packet.frame as usize > next + usize::from(packet.skipped);
        let is_part = self.frames.back().is_some_and(|last| last.arrived < last.packets);
        if !packet.keyframe && (is_gap || is_part) {
            self.awaits_keyframe = true;
        }
    }

    fn wants_keyframe(&mut self, now: Time) -> bool {
        let waits = self.asked.is_some_and(|asked| now < asked + ASK_AGAIN);
        if !self.asks || !self.awaits_keyframe || waits {
            return false;
        }
        self.asked = Some(now);
        self.counts.requests += 1;
        true
    }

    /// Plays the frames whose time has come, as far as their fate is known.
    fn play(&mut self, now: Time) {
        let Some(delay) = self.playout.current() else { return };
        while let Some(&frame) = self.frames.get((self.next - self.base) as usize) {
            let Some(captured) = self.clock.captured(self.next) else { return };
            let played = captured + delay;
            let is_after_the_end = played > self.clock.ends();
            let may_come = frame.in_time.is_none() && !frame.skipped;
            if is_after_the_end || (may_come && now <= played) {
                return;
            }
            self.decide(frame, played, delay);
        }
    }

    /// Plays or skips the next frame.
    fn decide(&mut self, frame: Frame, played: Time, delay: Span) {
        self.next += 1;
        if frame.skipped {
            self.counts.skipped += 1;
            return;
        }
        self.playout_sum += u128::from(delay.as_nanos());
        let in_time = frame.in_time == Some(true);
        self.broken = !in_time || (self.broken && !frame.keyframe);
        if in_time {
            self.counts.in_time += 1;
        } else {
            self.counts.late += u64::from(frame.in_time.is_some());
            self.counts.bursts += u64::from(!self.in_burst);
        }
        self.in_burst = !in_time;
        let shown = if self.kind == MediaKind::Video { !self.broken } else { in_time };
        if shown {
            self.counts.shown_bytes += u64::from(frame.bytes);
            self.freezes.shown(played);
        }
    }

    /// Forgets frames that were decided, except those whose rest may still come.
    fn forget(&mut self, now: Time) {
        let Some(delay) = self.playout.current() else { return };
        while let Some(&frame) = self.frames.front().filter(|_| self.base < self.next) {
            let due = self.clock.captured(self.base).map(|captured| captured + delay);
            let is_given_up = due.is_none_or(|due| due + GIVE_UP < now);
            if frame.in_time.is_none() && !frame.skipped {
                if !is_given_up {
                    return;
                }
                self.counts.lost += 1;
            }
            self.frames.pop_front();
            self.base += 1;
        }
    }

    /// Returns the capture time of a frame; `None` after the end of the call.
    pub fn captured(&self, frame: u32) -> Option<Time> {
        self.clock.captured(frame)
    }

    /// Decides all frames whose playout ends before the call does, `now`.
    pub fn finish(&mut self, now: Time) {
        let last_arrived = self.base as usize + self.frames.len();
        while let Some(captured) = self.clock.captured(self.next) {
            let delay = self.playout.current();
            // Without any packet there is no playout, and every frame has failed to arrive.
            if delay.is_some_and(|delay| captured + delay > now) {
                break;
            }
            let place = (self.next - self.base) as usize;
            let frame = self.frames.get(place).copied().unwrap_or_default();
            self.decide(frame, captured, delay.unwrap_or_default());
        }
        for number in self.base..self.next {
            let place = (number - self.base) as usize;
            let is_missing = |frame: &Frame| frame.in_time.is_none() && !frame.skipped;
            if self.frames.get(place).is_none_or(is_missing) {
                // What came after it has arrived, so that it is lost; otherwise it is under way.
                let is_gap = !self.on_streams && (number as usize) + 1 < last_arrived;
                let is_lost = is_gap || last_arrived == 0;
                *(if is_lost { &mut self.counts.lost } else { &mut self.counts.late }) += 1;
            }
        }
        self.freezes.finish(self.clock.begun(), now);
    }

    /// Returns the number of frames that were decided, without those that the encoder skipped.
    pub fn decided(&self) -> u64 {
        u64::from(self.next) - self.counts.skipped
    }

    /// Returns the mean playout delay of the frames that were decided; `None` without an arrival.
    pub fn mean_playout(&self) -> Option<Span> {
        self.playout.current()?;
        let mean = self.playout_sum.checked_div(u128::from(self.decided()))?;
        Some(Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// Kind of its media.
    pub fn kind(&self) -> MediaKind {
        self.kind
    }

    /// Length of the call.
    pub fn duration(&self) -> Span {
        self.clock.duration()
    }
}
