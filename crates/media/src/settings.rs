//! What a call sends, and how its receiver plays it.

use crate::e_model::Codec;
use bentpipe_units::{Bytes, Rate, Ratio, Span};

/// Headers of a packet in bytes: RTP without extensions (RFC 3550 §5.1), UDP and IP.
pub const HEADERS: u32 = 40;
/// Largest payload of a packet in bytes, above [`HEADERS`]: what WebRTC uses.
pub const MAX_PAYLOAD: u32 = 1200;
/// Size of a keyframe request in bytes: a Picture Loss Indication (RFC 4585 §6.3.1) in an RTCP
/// packet of its own (RFC 5506), UDP and IP.
pub const REQUEST_BYTES: u32 = 40;
/// Audio frames per second: 20 ms each, as of most codecs.
pub const AUDIO_FRAMES: u32 = 50;

/// One direction of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Its audio.
    pub audio: Option<Audio>,
    /// Its video.
    pub video: Option<Video>,
    /// When frames are played.
    pub playout: Playout,
    /// What the codec does about lost audio.
    pub codec: Codec,
    /// Time from the start of the call from which the delays of frames count.
    pub delays_from: Span,
    /// How the rate of the video adapts, [`Video::rate`] at most; `None` if it does not.
    pub adaptation: Option<Adaptation>,
}

/// Audio: a frame every 20 ms, without pauses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Audio {
    /// Rate of the payload.
    pub rate: Rate,
}

impl Audio {
    /// Returns the size of a frame.
    pub fn frame(&self) -> Bytes {
        Bytes::new((self.rate.as_bps() / 8 / u64::from(AUDIO_FRAMES)).max(1))
    }
}

/// Video: groups of a keyframe and frames that depend on all before them in the group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Video {
    /// Mean rate of the payload.
    pub rate: Rate,
    /// Frames per second.
    pub fps: u32,
    /// Frames of a group, the keyframe included.
    pub group: u32,
    /// Size of a keyframe in sizes of other frames.
    pub keyframe_size: u32,
    /// Coefficient of variation of the lognormal distribution of sizes.
    pub size_variation: Ratio,
    /// Time over which the packets of a frame are sent; zero for a burst.
    pub pacing: Span,
    /// True if a lost or late frame makes the receiver ask for a keyframe.
    pub keyframe_request: bool,
}

impl Video {
    /// Returns the mean sizes of a keyframe and of another frame.
    pub fn frames(&self) -> (Bytes, Bytes) {
        let in_group =
            self.rate.as_bps() as f64 / 8.0 * f64::from(self.group) / f64::from(self.fps.max(1));
        let shares = f64::from(self.group.saturating_sub(1)) + f64::from(self.keyframe_size);
        let other = (in_group / shares).max(1.0);
        let bytes = |size: f64| Bytes::new(size.round() as u64);
        (bytes(other * f64::from(self.keyframe_size)), bytes(other))
    }
}

/// The algorithms by which the rate of a video adapts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Skips frames while media waits at the sender, and halves the rate after three; ours.
    Queue,
    /// SCReAM V2.
    Scream,
}

impl Algorithm {
    /// Returns true if receivers send reports for it.
    pub fn needs_feedback(self) -> bool {
        self == Self::Scream
    }
}

/// How the video of a call adapts. Its largest rate is that of the video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adaptation {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Smallest rate.
    pub min_rate: Rate,
    /// Rate at the start.
    pub start_rate: Rate,
    /// True if packets are ECT(1), so that marks are those of L4S (RFC 9331).
    pub l4s: bool,
}

/// When a frame is played: its playout delay after its capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Playout {
    /// This long after the smallest delay so far.
    Fixed(Span),
    /// Adapted to the delays of earlier frames at the start of each second.
    Adaptive,
}

/// A kind of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaKind {
    /// Audio.
    Audio,
    /// Video.
    Video,
}

impl MediaKind {
    /// `audio` or `video`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }
}
