//! What stands between the encoder of a video that adapts and the network.

use super::algorithms::control;
use super::feedback::Feedback;
use super::rate_control::{Backlog, RateControl, Setup};
use crate::packet::Packet;
use crate::settings::{Call, HEADERS};
use crate::wire::MAX_SKIPPED;
use bentpipe_timeseries::BoundedSeries;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::VecDeque;

/// The rate control of a direction, and the packets that it has not admitted yet.
#[derive(Debug)]
pub struct Adapting {
    control: Box<dyn RateControl>,
    audio: Rate,
    waiting: VecDeque<Packet>,
    /// Bytes that wait below, in the carrier.
    pub(crate) in_carrier: u64,
    next_sequence: u32,
    /// Frames skipped since the last one that was taken.
    skipped: u8,
    /// Size of the frame that was last taken.
    pub(crate) last_frame: u64,
    /// Rates of the video in Mbps, if recorded.
    pub(crate) series: Option<BoundedSeries>,
}

impl Adapting {
    /// Creates the rate control of a call that begins at a time; `None` if it does not adapt.
    pub fn new(call: &Call, begun: Time) -> Option<Self> {
        let (algorithm, setup) = (call.adaptation?.algorithm, Setup::new(call, begun)?);
        Some(Self {
            control: control(algorithm, setup),
            audio: setup.audio,
            waiting: VecDeque::new(),
            in_carrier: 0,
            next_sequence: 0,
            skipped: 0,
            last_frame: 0,
            series: None,
        })
    }

    /// Returns the rate of the frame that is captured now, and the number of frames skipped before
    /// it; `None` if this one is skipped, too.
    pub fn frame(&mut self, now: Time) -> Option<(Rate, u8)> {
        let backlog = Backlog { waits: self.waits(now), last_frame: self.last_frame };
        let before = self.control.rate();
        let taken = self.control.frame(now, backlog);
        let rate = self.control.rate();
        if let Some(series) = self.series.as_mut().filter(|all| all.is_empty() || rate != before) {
            series.push(now, rate.as_mbps_f64());
        }
        // Half a second at 30 frames per second, and what a header can say.
        if taken.is_none() && self.skipped < MAX_SKIPPED {
            self.skipped += 1;
            return None;
        }
        Some((rate, std::mem::take(&mut self.skipped)))
    }

    /// Returns how long packets wait: as long as the oldest one has waited here, or as long as what
    /// is in the carrier takes to leave, if that is more.
    fn waits(&self, now: Time) -> Span {
        let oldest = self.waiting.front().map_or(Span::ZERO, |packet| now.since(packet.captured));
        let rate = Rate::from_bps(self.control.rate().as_bps() + self.audio.as_bps());
        oldest.max(rate.time_for(Bytes::new(self.in_carrier)))
    }

    /// Adds a packet that waits to be admitted.
    pub fn push(&mut self, packet: Packet) {
        self.waiting.push_back(packet);
    }

    /// Returns the next packet that waits, if it may be sent now.
    pub fn release(&mut self, now: Time) -> Option<Packet> {
        let bytes = self.waiting.front()?.payload + HEADERS;
        if !self.control.admits(now, bytes) {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        Some(self.number(now, packet, true))
    }

    /// Gives a packet that is sent now its place in the order of all.
    pub fn number(&mut self, now: Time, mut packet: Packet, paced: bool) -> Packet {
        packet.sequence = self.next_sequence;
        self.next_sequence = self.next_sequence.wrapping_add(1);
        self.control.sent(now, packet.payload + HEADERS, paced);
        packet
    }

    /// Returns when a packet that waits may be sent; `None` if none waits.
    pub fn due(&self) -> Option<Time> {
        self.control.next_send(self.waiting.front()?.payload + HEADERS)
    }

    /// Handles what the receiver has reported.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.control.on_feedback(now, feedback);
    }
}
