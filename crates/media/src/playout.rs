//! When frames are played.

use crate::settings::{MediaKind, Playout};
use bentpipe_units::Span;

/// Weight of the past in the estimates (Ramjee et al., INFOCOM 1994, algorithm 1).
const SMOOTHING: f64 = 0.998_002;
/// Deviations above the mean (the same).
const DEVIATIONS: f64 = 4.0;
/// Playout buffer before the first second has been measured. Our choice: that of fixed playout in
/// the examples.
const FIRST: Span = Span::from_millis(60);
/// Seconds whose largest delay the playout of video covers.
const SECONDS: usize = 10;

/// The playout delay of a stream: from the capture of a frame until it is played.
///
/// Adaptive playout of audio changes at the start of each second, which stands for a talk spurt:
/// the smoothed delay and four smoothed deviations. Keyframes take longer than other frames by
/// design, so that video is played after the largest delay of the last ten seconds instead.
#[derive(Debug)]
pub struct PlayoutDelay {
    rule: Playout,
    kind: MediaKind,
    smallest: Option<Span>,
    mean_ns: f64,
    deviation_ns: f64,
    /// The second of the latest frame, and its playout delay.
    second: Option<u64>,
    current: Span,
    /// Largest delays of the latest seconds.
    largest: [Span; SECONDS],
}

impl PlayoutDelay {
    /// Creates the playout of a stream that has not begun.
    pub fn new(rule: Playout, kind: MediaKind) -> Self {
        Self {
            rule,
            kind,
            smallest: None,
            mean_ns: 0.0,
            deviation_ns: 0.0,
            second: None,
            current: Span::ZERO,
            largest: [Span::ZERO; SECONDS],
        }
    }

    /// Returns the playout delay; `None` before the first frame.
    pub fn current(&self) -> Option<Span> {
        self.smallest.map(|smallest| match self.rule {
            Playout::Fixed(after) => smallest + after,
            Playout::Adaptive => self.current,
        })
    }

    /// Handles the delay of a frame that was captured in this second of the call. Returns true if
    /// it is in time.
    pub fn arrived(&mut self, second: u64, delay: Span) -> bool {
        let first = self.smallest.is_none();
        self.smallest = Some(self.smallest.map_or(delay, |smallest| smallest.min(delay)));
        if first {
            self.mean_ns = delay.as_nanos() as f64;
            self.current = delay + FIRST;
        }
        if self.rule == Playout::Adaptive {
            self.adapt(second, first);
            let nanos = delay.as_nanos() as f64;
            self.mean_ns += (nanos - self.mean_ns) * (1.0 - SMOOTHING);
            let deviation = (nanos - self.mean_ns).abs();
            self.deviation_ns += (deviation - self.deviation_ns) * (1.0 - SMOOTHING);
            let largest = &mut self.largest[second as usize % SECONDS];
            *largest = delay.max(*largest);
        }
        self.current().is_none_or(|current| delay <= current)
    }

    /// Sets the playout delay at the start of a second.
    fn adapt(&mut self, second: u64, first: bool) {
        let before = self.second;
        if before.is_some_and(|before| second <= before) {
            return;
        }
        self.second = Some(second);
        if !first {
            self.current = match self.kind {
                MediaKind::Audio => {
                    Span::from_nanos((self.mean_ns + DEVIATIONS * self.deviation_ns) as u64)
                }
                MediaKind::Video => self.largest.iter().copied().max().unwrap_or_default(),
            };
        }
        // The seconds that have passed since make room.
        for passed in before.map_or(second, |before| before + 1)..=second {
            self.largest[passed as usize % SECONDS] = Span::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_playout_follows_the_smallest_delay() {
        let mut playout =
            PlayoutDelay::new(Playout::Fixed(Span::from_millis(60)), MediaKind::Audio);
        assert_eq!(playout.current(), None);
        assert!(playout.arrived(0, Span::from_millis(300)));
        assert!(playout.arrived(0, Span::from_millis(360)));
        assert!(!playout.arrived(0, Span::from_millis(361)));
        assert!(playout.arrived(0, Span::from_millis(290)));
        assert_eq!(playout.current(), Some(Span::from_millis(350)));
    }

    #[test]
    fn adaptive_playout_of_constant_delay_is_that_delay() {
        let mut playout = PlayoutDelay::new(Playout::Adaptive, MediaKind::Audio);
        for frame in 0..200 {
            assert!(playout.arrived(frame / 50, Span::from_millis(300)));
        }
        assert_eq!(playout.current(), Some(Span::from_millis(300)));
    }

    #[test]
    fn adaptive_playout_covers_varying_delays_after_a_while() {
        let mut playout = PlayoutDelay::new(Playout::Adaptive, MediaKind::Audio);
        let late = (0..5_000_u64)
            .filter(|frame| !playout.arrived(frame / 50, Span::from_millis(300 + frame % 10)));
        // The deviation is learnt in the first seconds.
        assert!(late.max().is_none_or(|last| last < 500));
        let current = playout.current().unwrap().as_millis_f64();
        // The mean of 0 to 9 ms and four times their mean deviation of 2.5 ms.
        assert!((current - 314.5).abs() < 0.5, "{current}");
    }

    #[test]
    fn adaptive_playout_of_video_covers_keyframes() {
        let mut playout = PlayoutDelay::new(Playout::Adaptive, MediaKind::Video);
        for frame in 0..600_u64 {
            let delay = if frame % 30 == 0 { 331 } else { 303 };
            assert!(playout.arrived(frame / 30, Span::from_millis(delay)));
        }
        assert_eq!(playout.current(), Some(Span::from_millis(331)));
        // Ten seconds after the last large one it is forgotten.
        for frame in 600..960_u64 {
            playout.arrived(frame / 30, Span::from_millis(303));
        }
        assert_eq!(playout.current(), Some(Span::from_millis(303)));
    }
}
