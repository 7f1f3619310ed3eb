//! The receiving end of one direction of a call.

use crate::e_model::{mean_opinion_score, rating};
use crate::frame_clock::FrameClock;
use crate::packet::Packet;
use crate::sender::Sender;
use crate::settings::{AUDIO_FRAMES, Call, MediaKind};
use crate::stream::StreamReceiver;
use bentpipe_timeseries::{BoundedSeries, SeriesLimit, SpanHistogram};
use bentpipe_units::{Rate, Span, Time};

/// Plays one direction of a call, and measures it.
#[derive(Debug)]
pub struct Receiver {
    call: Call,
    streams: Vec<StreamReceiver>,
}

/// What the receiver of a stream of a call has measured.
#[derive(Debug, Clone)]
pub struct StreamOutcome {
    /// Kind of its media.
    pub kind: MediaKind,
    /// Frames that were to be played before the call ended.
    pub frames: u64,
    /// Frames that the encoder skipped instead, if the call adapts.
    pub skipped: Option<u64>,
    /// Of [`Self::frames`], those that were complete after their playout, or still under way at
    /// the end.
    pub late: u64,
    /// Of these, frames that never were complete.
    pub lost: u64,
    /// Delays of complete frames, from capture to the arrival of the last packet; of all that were
    /// captured from [`Call::delays_from`] on.
    pub delays: SpanHistogram,
    /// The largest of these delays.
    pub largest_delay: Option<Span>,
    /// Interarrival jitter of its packets (RFC 3550): mean, and after the last packet.
    pub jitter: Option<(Span, Span)>,
    /// Mean time from the capture of a frame until it was played.
    pub playout: Option<Span>,
    /// Freezes of a video, and their total time.
    pub freezes: Option<(u64, Span)>,
    /// Length of the call.
    pub duration: Span,
    /// Mean rate of the payload of the frames that were sent.
    pub sent: Rate,
    /// Mean rate of the payload of those that were played or shown.
    pub shown: Rate,
    /// Keyframes that the receiver has asked for.
    pub keyframe_requests: u64,
    /// Mean opinion score of the E-model, for audio.
    pub mos: Option<f64>,
    /// Delays of frames in ms over time, if recorded.
    pub series: Option<BoundedSeries>,
}

impl Receiver {
    /// Creates the receiver of a call between two times. With a limit, it records time series.
    pub fn new(call: &Call, (begun, ends): (Time, Time), series: Option<SeriesLimit>) -> Self {
        let stream = |kind, per_second, asks| {
            let clock = FrameClock::new(begun, ends, per_second);
            let mut stream = StreamReceiver::new(
                kind,
                clock,
                call.playout,
                asks,
                series.map(BoundedSeries::new),
            );
            stream.delays_from = begun + call.delays_from;
            stream
        };
        let audio = call.audio.map(|_| stream(MediaKind::Audio, AUDIO_FRAMES, false));
        let video = call.video;
        let video = video.map(|video| stream(MediaKind::Video, video.fps, video.keyframe_request));
        Self { call: *call, streams: audio.into_iter().chain(video).collect() }
    }

    /// Makes it receive video on streams: frames arrive as a whole and in any order, and one that
    /// is missing is late, not lost.
    #[must_use]
    pub fn with_video_on_streams(mut self) -> Self {
        for stream in &mut self.streams {
            stream.on_streams = stream.kind() == MediaKind::Video;
        }
        self
    }

    /// Returns the capture time of a frame; `None` if the call has no such frame.
    pub fn captured(&self, kind: MediaKind, frame: u32) -> Option<Time> {
        self.streams.iter().find(|stream| stream.kind() == kind)?.captured(frame)
    }

    /// Handles a packet. Returns true if the sender is to be asked for a keyframe.
    pub fn received(&mut self, now: Time, packet: &Packet) -> bool {
        let stream = self.streams.iter_mut().find(|stream| stream.kind() == packet.kind);
        stream.is_some_and(|stream| stream.received(now, packet))
    }

    /// Ends the call of `sender`, and returns what was measured, audio first.
    pub fn finish(self, now: Time, sender: &Sender) -> Vec<StreamOutcome> {
        let call = self.call;
        let streams = self.streams.into_iter();
        streams.map(|stream| outcome(stream, now, &call, sender)).collect()
    }
}

fn outcome(mut stream: StreamReceiver, now: Time, call: &Call, sender: &Sender) -> StreamOutcome {
    stream.finish(now);
    let kind = stream.kind();
    let duration = stream.duration();
    let playout = stream.mean_playout();
    let counts = &stream.counts;
    let is_audio = kind == MediaKind::Audio;
    let some = !stream.delays.is_empty();
    StreamOutcome {
        kind,
        frames: stream.decided(),
        skipped: (!is_audio && sender.adapts()).then_some(counts.skipped),
        late: counts.late,
        lost: counts.lost,
        largest_delay: some.then_some(stream.largest_delay),
        jitter: stream.jitter.mean().zip(stream.jitter.last()),
        playout,
        freezes: (!is_audio).then(|| stream.freezes.total()),
        duration,
        sent: Rate::over(sender.sent(kind), duration),
        shown: Rate::over(bentpipe_units::Bytes::new(counts.shown_bytes), duration),
        keyframe_requests: counts.requests,
        mos: is_audio.then(|| mos(&stream, call, playout)).flatten(),
        delays: stream.delays,
        series: stream.series,
    }
}

/// Returns the mean opinion score of the audio; `None` if no frame was to be played.
///
/// The delay from mouth to ear is the time for which a frame is recorded, and that from its capture
/// until it is played.
fn mos(stream: &StreamReceiver, call: &Call, playout: Option<Span>) -> Option<f64> {
    let frames = stream.decided();
    if frames == 0 {
        return None;
    }
    let Some(playout) = playout else { return Some(1.0) };
    let frame = Span::from_secs(1) / u64::from(AUDIO_FRAMES);
    let missing = stream.counts.late + stream.counts.lost;
    let share = missing as f64 / frames as f64;
    // Independent losses of this share have a mean length of 1 / (1 - share).
    let burst_ratio = missing as f64 / stream.counts.bursts.max(1) as f64 * (1.0 - share);
    Some(mean_opinion_score(rating(playout + frame, call.codec, share * 100.0, burst_ratio)))
}
