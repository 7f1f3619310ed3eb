//! The sending end of one direction of a call.

use crate::adaptation::{Adapting, Feedback};
use crate::frame_clock::FrameClock;
use crate::packet::Packet;
use crate::settings::{AUDIO_FRAMES, Call, MAX_PAYLOAD, MediaKind, Video};
use bentpipe_link::random::{Stream, stream};
use bentpipe_timeseries::{BoundedSeries, SeriesLimit};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Most packets of a frame: what the number of a packet can be.
const MAX_PACKETS: u64 = u16::MAX as u64;

/// Cuts the frames of one direction of a call into packets.
///
/// Call [`Sender::poll`] at the time of [`Sender::due`] until it returns `None`. Audio goes before
/// video that is due at the same time. With [`Call::adaptation`], video may wait until it is
/// admitted.
#[derive(Debug)]
pub struct Sender {
    audio: Option<FrameSource>,
    video: Option<FrameSource>,
    adapting: Option<Adapting>,
}

impl Sender {
    /// Creates the sender of a call between two times. `seed` and `run` determine the sizes of
    /// frames, a stream of draws for each `purpose`.
    pub fn new(
        call: &Call,
        (begun, ends): (Time, Time),
        (seed, run): (u64, u64),
        purpose: &str,
    ) -> Self {
        let source = |per_second, sizes| FrameSource::new(begun, ends, per_second, sizes);
        let draws = || stream(seed, run, purpose);
        Self {
            audio: call.audio.map(|audio| source(AUDIO_FRAMES, Sizes::Audio(audio.frame()))),
            video: call.video.map(|video| source(video.fps, Sizes::video(video, draws()))),
            adapting: Adapting::new(call, begun),
        }
    }

    /// Makes it record the rate of a video that adapts.
    #[must_use]
    pub fn with_series(mut self, limit: Option<SeriesLimit>) -> Self {
        if let Some(adapting) = &mut self.adapting {
            adapting.series = limit.map(BoundedSeries::new);
        }
        self
    }

    /// Sets the largest payload of a packet, [`MAX_PAYLOAD`] otherwise.
    #[must_use]
    pub fn with_max_payload(mut self, bytes: u32) -> Self {
        for source in [&mut self.audio, &mut self.video].into_iter().flatten() {
            source.max_payload = bytes.max(1);
        }
        self
    }

    /// Returns when the next packet is to be sent; `None` after the last one.
    pub fn due(&self) -> Option<Time> {
        let due = |source: &Option<FrameSource>| source.as_ref()?.due;
        let waiting = self.adapting.as_ref().and_then(Adapting::due);
        [due(&self.audio), due(&self.video), waiting].into_iter().flatten().min()
    }

    /// Returns the next packet to send `now`.
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        let poll = |source: &mut Option<FrameSource>| source.as_mut()?.poll(now);
        let Some(adapting) = &mut self.adapting else {
            return poll(&mut self.audio).or_else(|| poll(&mut self.video));
        };
        // Audio waits for nothing.
        if let Some(packet) = poll(&mut self.audio) {
            return Some(adapting.number(now, packet, false));
        }
        if let Some(video) = &mut self.video {
            while let Some(packet) = video.poll_adapting(now, adapting) {
                adapting.push(packet);
            }
        }
        adapting.release(now)
    }

    /// Returns true if the video adapts.
    pub fn adapts(&self) -> bool {
        self.adapting.is_some()
    }

    /// Handles a report of the receiver.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        if let Some(adapting) = &mut self.adapting {
            adapting.on_feedback(now, feedback);
        }
    }

    /// Sets how many bytes of sent packets wait in the carrier.
    pub fn set_in_carrier(&mut self, bytes: u64) {
        if let Some(adapting) = &mut self.adapting {
            adapting.in_carrier = bytes;
        }
    }

    /// Takes the rates of a video that adapts, in Mbps, if they were recorded.
    pub fn take_rates(&mut self) -> Option<BoundedSeries> {
        self.adapting.as_mut()?.series.take()
    }

    /// Makes the next frame of the video a keyframe, from which a group starts.
    pub fn request_keyframe(&mut self) {
        if let Some(video) = &mut self.video {
            video.in_group = 0;
        }
    }

    /// Returns the bytes of the frames of a kind that it has begun to send.
    pub fn sent(&self, kind: MediaKind) -> Bytes {
        let source = match kind {
            MediaKind::Audio => &self.audio,
            MediaKind::Video => &self.video,
        };
        Bytes::new(source.as_ref().map_or(0, |source| source.sent))
    }
}

/// Frames of a stream.
#[derive(Debug)]
struct FrameSource {
    clock: FrameClock,
    sizes: Sizes,
    /// Largest payload of a packet.
    max_payload: u32,
    /// Number of the next frame.
    next: u32,
    /// Frames since the last keyframe.
    in_group: u32,
    /// Frames that were skipped before the current one.
    skipped: u8,
    current: Option<Frame>,
    /// Time of the next packet.
    due: Option<Time>,
    /// Bytes of all frames.
    sent: u64,
}

/// A frame of which packets are left to send.
#[derive(Debug)]
struct Frame {
    /// The next packet, except for its payload.
    packet: Packet,
    /// Bytes that are left.
    left: u32,
}

/// Sizes of frames.
#[derive(Debug)]
enum Sizes {
    Audio(Bytes),
    Video {
        video: Video,
        /// Mean sizes of a keyframe and of another frame.
        mean: (Bytes, Bytes),
        /// Standard deviation of the logarithm of a size.
        sigma: f64,
        draws: Stream,
    },
}

impl Sizes {
    fn video(video: Video, draws: Stream) -> Self {
        let variation = video.size_variation.get();
        let sigma = libm::sqrt(libm::log(1.0 + variation * variation));
        Self::Video { video, mean: video.frames(), sigma, draws }
    }

    /// Sets the mean sizes to those of a rate of the video.
    fn set_rate(&mut self, rate: Rate) {
        if let Self::Video { video, mean, .. } = self
            && video.rate != rate
        {
            video.rate = rate;
            *mean = video.frames();
        }
    }

    fn next(&mut self, keyframe: bool) -> u64 {
        match self {
            Self::Audio(bytes) => bytes.get(),
            Self::Video { mean, sigma, draws, .. } => {
                let mean = if keyframe { mean.0 } else { mean.1 };
                if *sigma > 0.0 {
                    // The mean of the factor is 1.
                    mean.mul_f64(libm::exp(*sigma * draws.normal() - *sigma * *sigma / 2.0)).get()
                } else {
                    mean.get()
                }
            }
        }
    }
}

impl FrameSource {
    fn new(begun: Time, ends: Time, per_second: u32, sizes: Sizes) -> Self {
        let clock = FrameClock::new(begun, ends, per_second);
        let due = clock.captured(0);
        let max_payload = MAX_PAYLOAD;
        Self {
            clock,
            sizes,
            max_payload,
            next: 0,
            in_group: 0,
            skipped: 0,
            current: None,
            due,
            sent: 0,
        }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.due.filter(|&due| due <= now)?;
        if self.current.is_none() {
            self.capture()?;
        }
        let Frame { packet, left } = self.current.as_mut()?;
        let payload = (*left).min(self.max_payload);
        let sent = Packet { payload, ..*packet };
        *left -= payload;
        packet.index += 1;
        let next = *packet;
        if *left == 0 {
            self.current = None;
            self.due = self.clock.captured(self.next);
        } else {
            self.due = Some(next.captured + self.paced(&next));
        }
        Some(sent)
    }

    /// Returns the next packet of frames that adapt.
    fn poll_adapting(&mut self, now: Time, adapting: &mut Adapting) -> Option<Packet> {
        while self.current.is_none() && self.due.is_some_and(|due| due <= now) {
            if let Some((rate, skipped)) = adapting.frame(now) {
                self.sizes.set_rate(rate);
                self.skipped = skipped;
                self.capture()?;
                adapting.last_frame = self.current.as_ref().map_or(0, |frame| frame.left.into());
            } else {
                self.next += 1;
                self.due = self.clock.captured(self.next);
            }
        }
        self.poll(now)
    }

    /// Captures the next frame.
    fn capture(&mut self) -> Option<()> {
        let captured = self.clock.captured(self.next)?;
        let (kind, group) = match &self.sizes {
            Sizes::Audio(_) => (MediaKind::Audio, 1),
            Sizes::Video { video, .. } => (MediaKind::Video, video.group.max(1)),
        };
        let keyframe = self.in_group == 0;
        self.in_group = (self.in_group + 1) % group;
        let most = MAX_PACKETS * u64::from(self.max_payload);
        let left = self.sizes.next(keyframe).clamp(1, most) as u32;
        let packets = left.div_ceil(self.max_payload) as u16;
        let frame = self.next;
        self.next += 1;
        self.sent += u64::from(left);
        let (index, payload, sequence) = (0, 0, 0);
        let skipped = self.skipped;
        let packet =
            Packet { kind, frame, keyframe, index, packets, payload, captured, sequence, skipped };
        self.current = Some(Frame { packet, left });
        Some(())
    }

    /// Returns how long after the capture a packet is sent.
    fn paced(&self, packet: &Packet) -> Span {
        match &self.sizes {
            Sizes::Video { video, .. } => {
                video.pacing * u64::from(packet.index) / u64::from(packet.packets.max(1))
            }
            Sizes::Audio(_) => Span::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e_model::Codec;
    use crate::settings::{Audio, Playout};
    use bentpipe_units::{Rate, Ratio};

    const VIDEO: Video = Video {
        // 37,500 and 29 times 3,750 bytes each second.
        rate: Rate::from_bps(1_170_000),
        fps: 30,
        group: 30,
        keyframe_size: 10,
        size_variation: Ratio::ZERO,
        pacing: Span::ZERO,
        keyframe_request: true,
    };

    fn packets(audio: bool, video: Option<Video>, requested: Option<u64>) -> Vec<(Time, Packet)> {
        let call = Call {
            audio: audio.then_some(Audio { rate: Rate::from_bps(32_000) }),
            video,
            playout: Playout::Adaptive,
            codec: Codec::CONCEALING,
            delays_from: Span::ZERO,
            adaptation: None,
        };
        let times = (Time::from_secs(5), Time::from_secs(7));
        let mut sender = Sender::new(&call, times, (1, 0), "call");
        let mut all = Vec::new();
        while let Some(now) = sender.due() {
            if requested.is_some_and(|ms| Time::from_millis(ms) == now) {
                sender.request_keyframe();
            }
            all.extend(std::iter::from_fn(|| Some((now, sender.poll(now)?))));
        }
        all
    }

    #[test]
    fn audio_has_a_packet_of_80_bytes_every_20_ms() {
        let all = packets(true, None, None);
        assert_eq!(all.len(), 100);
        for (number, (at, packet)) in (0..).zip(&all) {
            assert_eq!(*at, Time::from_millis(5_000 + 20 * number));
            assert_eq!((packet.payload, packet.packets, packet.captured), (80, 1, *at));
        }
    }

    #[test]
    fn video_has_groups_with_a_keyframe() {
        let all = packets(false, Some(VIDEO), None);
        let payload: u32 = all.iter().map(|(_, packet)| packet.payload).sum();
        assert_eq!(payload, 2 * (37_500 + 29 * 3_750));
        let keyframes = all.iter().filter(|(_, packet)| packet.keyframe);
        // 31 packets of 1,200 bytes and one of 300.
        assert_eq!(keyframes.clone().count(), 2 * 32);
        assert!(keyframes.clone().all(|(_, packet)| packet.frame % 30 == 0));
        assert!(keyframes.clone().any(|(_, packet)| (packet.index, packet.payload) == (31, 300)));
    }

    #[test]
    fn a_request_starts_a_group() {
        let all = packets(false, Some(VIDEO), Some(5_500));
        let keyframes = all.iter().filter(|(_, packet)| packet.keyframe && packet.index == 0);
        let frames: Vec<u32> = keyframes.map(|(_, packet)| packet.frame).collect();
        assert_eq!(frames, [0, 15, 45]);
    }

    #[test]
    fn pacing_spreads_a_frame() {
        let pacing = Span::from_millis(8);
        let all = packets(false, Some(Video { pacing, ..VIDEO }), None);
        // A frame of 3,750 bytes has four packets, two milliseconds apart.
        let of_frame = all.iter().filter(|(_, packet)| packet.frame == 3);
        let times: Vec<Span> = of_frame.map(|(at, _)| at.since(Time::from_millis(5_100))).collect();
        assert_eq!(times, [0, 2, 4, 6].map(Span::from_millis));
    }

    #[test]
    fn sizes_vary_around_their_mean() {
        let size_variation = Ratio::new(0.3).unwrap();
        let mut sizes = Sizes::video(Video { size_variation, ..VIDEO }, stream(1, 0, "sizes"));
        let (n, mean) = (20_000, 3_750.0);
        let draws: Vec<f64> = (0..n).map(|_| sizes.next(false) as f64 / mean).collect();
        let average = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|draw| (draw - 1.0).powi(2)).sum::<f64>() / f64::from(n);
        // Five standard errors of the mean.
        assert!((average - 1.0).abs() < 5.0 * 0.3 / f64::from(n).sqrt(), "{average}");
        assert!((variance.sqrt() - 0.3).abs() < 0.015, "{variance}");
    }
}
