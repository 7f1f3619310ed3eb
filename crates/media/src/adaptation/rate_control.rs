//! What an algorithm that adapts the rate of a video does, and what it begins with.

use super::feedback::Feedback;
use crate::settings::{AUDIO_FRAMES, Call, HEADERS, MAX_PAYLOAD};
use bentpipe_units::{Rate, Span, Time};
use std::fmt::Debug;

/// Media that may wait at the sender before its encoder skips frames: that of `queue`, and our
/// choice for SCReAM, whose draft leaves frame skipping open.
pub const SKIP_ABOVE: Span = Span::from_millis(100);

/// What a rate control begins with.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Smallest rate of the video.
    pub min: Rate,
    /// Largest rate of the video.
    pub max: Rate,
    /// Rate of the video at the start.
    pub start: Rate,
    /// Rate of the audio with its headers, which does not adapt.
    pub audio: Rate,
    /// Frames of the video per second.
    pub fps: u32,
    /// True if marks are those of L4S.
    pub l4s: bool,
    /// Start of the call.
    pub begun: Time,
}

impl Setup {
    /// Returns the setup of a call that begins at a time; `None` without video that adapts.
    pub fn new(call: &Call, begun: Time) -> Option<Self> {
        let (video, adaptation) = (call.video?, call.adaptation?);
        let audio = call.audio.map_or(Rate::from_bps(0), |audio| {
            let packet = audio.frame().get() + u64::from(HEADERS);
            Rate::from_bps(packet * 8 * u64::from(AUDIO_FRAMES))
        });
        let min = adaptation.min_rate.min(video.rate);
        let start = adaptation.start_rate.clamp(min, video.rate);
        let (l4s, fps, max) = (adaptation.l4s, video.fps, video.rate);
        Some(Self { min, max, start, audio, fps, l4s, begun })
    }

    /// Returns the rate of the video within its limits.
    pub fn clamp(&self, bps: f64) -> Rate {
        // A number that is none becomes 0.
        Rate::from_bps(bps as u64).clamp(self.min, self.max)
    }

    /// Returns the rate of IP packets, audio included, at a rate of the video, in bit/s.
    pub fn on_wire(&self, video: Rate) -> f64 {
        let headers = f64::from(MAX_PAYLOAD + HEADERS) / f64::from(MAX_PAYLOAD);
        self.audio.as_bps() as f64 + video.as_bps() as f64 * headers
    }

    /// Returns the rate of the video at a rate of IP packets in bit/s.
    pub fn of_wire(&self, bps: f64) -> Rate {
        let payload = f64::from(MAX_PAYLOAD) / f64::from(MAX_PAYLOAD + HEADERS);
        self.clamp((bps - self.audio.as_bps() as f64) * payload)
    }
}

/// The frames that wait at the sender when the encoder is to take the next one.
#[derive(Debug, Clone, Copy)]
pub struct Backlog {
    /// For how long the oldest packet has waited, or how long what waits takes.
    pub waits: Span,
    /// Size of the frame before, in bytes.
    pub last_frame: u64,
}

/// Sets the rate of a video, and says when its packets may be sent.
pub trait RateControl: Debug + Send {
    /// Returns the rate at which the encoder takes the frame that is captured now; `None` if it
    /// skips this frame.
    fn frame(&mut self, now: Time, backlog: Backlog) -> Option<Rate>;

    /// Returns the rate of the video.
    fn rate(&self) -> Rate;

    /// Returns true if a packet of the video, of `bytes` with headers, may be sent now.
    fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let _ = (now, bytes);
        true
    }

    /// Returns when to ask again whether a packet may be sent that was not admitted.
    fn next_send(&self, bytes: u32) -> Option<Time> {
        let _ = bytes;
        None
    }

    /// Handles that a packet is sent, the next in order. `paced` is true for one that was admitted.
    fn sent(&mut self, now: Time, bytes: u32, paced: bool) {
        let _ = (now, bytes, paced);
    }

    /// Handles what the receiver has reported.
    fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        let _ = (now, feedback);
    }
}

#[cfg(test)]
pub mod fixtures {
    //! A setup for tests.

    use super::*;

    /// A rate in kbps.
    pub const fn kbps(kbps: u64) -> Rate {
        Rate::from_bps(kbps * 1_000)
    }

    /// A video of 100 kbps to 2 Mbps and its audio.
    pub const SETUP: Setup = Setup {
        min: kbps(100),
        max: kbps(2_000),
        start: kbps(300),
        audio: kbps(48),
        fps: 30,
        l4s: true,
        begun: Time::ZERO,
    };
}
