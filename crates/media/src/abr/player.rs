//! The player of an adaptive video.

use super::choosers::Chooser;
use super::ladder::{AdaptiveVideo, STALL_PENALTY};
use bentpipe_timeseries::{BoundedSeries, SeriesLimit};
use bentpipe_units::{Rate, Span, Time};
use std::sync::Arc;

/// A player, which requests one segment after the other.
///
/// [`Player::request`] when a segment is requested, [`Player::arrived`] when all of it has arrived,
/// which returns when to request the next one.
#[derive(Debug)]
pub struct Player {
    video: Arc<AdaptiveVideo>,
    chooser: Chooser,
    /// Levels of the segments that were requested.
    levels: Vec<usize>,
    requested: Time,
    arrived: usize,
    begun: Time,
    /// Media time in the buffer at `seen`.
    buffer: Span,
    seen: Time,
    state: State,
    startup: Option<Span>,
    stalls: u64,
    stalled: Span,
    series: Option<PlayerSeries>,
}

/// What the player does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Fills its buffer for the first time.
    Starts,
    Plays,
    /// Has stood still since then, with an empty buffer.
    Stalls(Time),
}

/// Time series of a player.
#[derive(Debug)]
pub struct PlayerSeries {
    /// Media time in the buffer in seconds.
    pub buffer: BoundedSeries,
    /// Bitrate of the segments in Mbps, at their requests.
    pub level: BoundedSeries,
}

impl PlayerSeries {
    /// Returns the series with their names and units.
    pub fn into_series(self) -> [(&'static str, &'static str, BoundedSeries); 2] {
        [("player_buffer", "s", self.buffer), ("player_bitrate", "Mbps", self.level)]
    }
}

/// What a player has played.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerOutcome {
    /// Time from the start of the visit until it played.
    pub startup: Option<Span>,
    /// Number of stalls after that.
    pub stalls: u64,
    /// Their total time.
    pub stalled: Span,
    /// The same in percent of the time from the start of playing to the end of the video.
    pub stall_percent: f64,
    /// Mean bitrate of the segments that arrived.
    pub mean_bitrate: Rate,
    /// Changes of the level from one segment to the next.
    pub switches: u64,
    /// Sum of the changes in Mbps.
    pub switch_sum_mbps: f64,
    /// Linear quality of experience: the sum of bitrates less changes, in Mbps, and 4.3 for each
    /// second of stalls.
    pub quality: f64,
}

impl Player {
    /// Creates a player that starts `now`. With a limit, it records time series.
    pub fn new(video: Arc<AdaptiveVideo>, now: Time, series: Option<SeriesLimit>) -> Self {
        let new = |limit| PlayerSeries {
            buffer: BoundedSeries::new(limit),
            level: BoundedSeries::new(limit),
        };
        Self {
            chooser: Chooser::new(&video),
            levels: Vec::with_capacity(video.segments()),
            video,
            requested: now,
            arrived: 0,
            begun: now,
            buffer: Span::ZERO,
            seen: now,
            state: State::Starts,
            startup: None,
            stalls: 0,
            stalled: Span::ZERO,
            series: series.map(new),
        }
    }

    /// Requests the next segment, and returns its size in bytes.
    pub fn request(&mut self, now: Time) -> u64 {
        self.play(now);
        let segment = self.levels.len();
        let last = self.levels.last().copied();
        let level = self.chooser.choose(&self.video, segment, last, self.buffer.as_secs_f64());
        self.levels.push(level);
        self.requested = now;
        let mbps = self.video.mbps(level);
        if let Some(series) = &mut self.series {
            series.level.push(now, mbps);
        }
        self.video.size(segment, level).get()
    }

    /// Handles that the requested segment has arrived. Returns when to request the next one; `None`
    /// after the last.
    pub fn arrived(&mut self, now: Time) -> Option<Time> {
        self.play(now);
        let segment = self.arrived;
        let level = self.levels.get(segment).copied()?;
        self.arrived += 1;
        self.chooser.downloaded(self.video.size(segment, level), now.since(self.requested));
        self.buffer += self.video.segment;
        self.sample(now);
        let is_last = self.arrived == self.video.segments();
        match self.state {
            State::Starts if is_last || self.buffer >= self.video.start_buffer => {
                self.startup = Some(now.since(self.begun));
                self.state = State::Plays;
            }
            State::Stalls(since) => {
                self.stalled += now.since(since);
                self.state = State::Plays;
            }
            State::Starts | State::Plays => {}
        }
        if is_last {
            return None;
        }
        let own = self.chooser.pauses_above().map(Span::from_secs_f64);
        let most = own.map_or(self.video.max_buffer, |own| own.min(self.video.max_buffer));
        let plays = self.state == State::Plays;
        Some(if plays { now + self.buffer.saturating_sub(most) } else { now })
    }

    /// Plays what the buffer holds until `now`.
    fn play(&mut self, now: Time) {
        let passed = now.since(self.seen);
        self.seen = now;
        if self.state != State::Plays {
            return;
        }
        if passed > self.buffer && self.arrived < self.video.segments() {
            self.stalls += 1;
            self.state = State::Stalls(now.saturating_sub(passed - self.buffer));
        }
        self.buffer = self.buffer.saturating_sub(passed);
        self.sample(now);
    }

    fn sample(&mut self, now: Time) {
        let seconds = self.buffer.as_secs_f64();
        if let Some(series) = &mut self.series {
            series.buffer.push(now, seconds);
        }
    }

    /// Ends the visit `now`, and returns what was played.
    pub fn finish(&mut self, now: Time) -> PlayerOutcome {
        self.play(now);
        if let State::Stalls(since) = self.state {
            self.stalled += now.since(since);
            self.state = State::Plays;
        }
        let levels = &self.levels[..self.arrived.min(self.levels.len())];
        let media = self.video.segment * levels.len() as u64;
        let played = (media + self.stalled).as_secs_f64();
        let bits: f64 = levels.iter().map(|&level| self.video.mbps(level)).sum();
        let pairs = levels.iter().zip(levels.iter().skip(1));
        let change =
            |(&one, &next): (&usize, &usize)| (self.video.mbps(next) - self.video.mbps(one)).abs();
        let switch_sum_mbps: f64 = pairs.clone().map(change).sum();
        let stalled = self.stalled.as_secs_f64();
        let mean_bps = bits * 1e6 / levels.len().max(1) as f64;
        PlayerOutcome {
            startup: self.startup,
            stalls: self.stalls,
            stalled: self.stalled,
            stall_percent: if played > 0.0 { stalled / played * 100.0 } else { 0.0 },
            mean_bitrate: Rate::from_bps(mean_bps.round() as u64),
            switches: pairs.filter(|(one, next)| one != next).count() as u64,
            switch_sum_mbps,
            quality: bits - STALL_PENALTY * stalled - switch_sum_mbps,
        }
    }

    /// Takes the time series, if they were recorded.
    pub fn take_series(&mut self) -> Option<PlayerSeries> {
        self.series.take()
    }

    /// Levels of the segments that were requested.
    pub fn levels(&self) -> &[usize] {
        &self.levels
    }
}

#[cfg(test)]
mod tests {
    use super::super::ladder::Algorithm;
    use super::super::testing::{PENSIEVE, video};
    use super::*;

    /// Plays a video over a path of this rate and RTT, one request after the other.
    fn play(video: AdaptiveVideo, mbps: f64, rtt: Span) -> (PlayerOutcome, Vec<usize>) {
        let begun = Time::from_secs(3);
        let mut player = Player::new(Arc::new(video), begun, None);
        let (mut next, mut now) = (Some(begun), begun);
        while let Some(at) = next {
            let bytes = player.request(at);
            now = at + rtt + Span::from_secs_f64(bytes as f64 * 8.0 / (mbps * 1e6));
            next = player.arrived(now);
        }
        let outcome = player.finish(now);
        (outcome, player.levels().to_vec())
    }

    const ALL: [Algorithm; 5] = [
        Algorithm::Throughput,
        Algorithm::Buffer,
        Algorithm::Bola,
        Algorithm::Dynamic,
        Algorithm::RobustMpc,
    ];

    #[test]
    fn every_algorithm_reaches_the_top_of_a_fast_path() {
        for algorithm in ALL {
            let (outcome, levels) = play(video(PENSIEVE, algorithm), 50.0, Span::from_millis(40));
            assert_eq!(levels.last(), Some(&5), "{algorithm:?}: {levels:?}");
            assert_eq!((outcome.stalls, outcome.stalled), (0, Span::ZERO), "{algorithm:?}");
            let most = if algorithm == Algorithm::Buffer { 5 } else { 2 };
            assert!(outcome.switches <= most, "{algorithm:?}: {levels:?}");
        }
    }

    #[test]
    fn a_path_slower_than_the_lowest_level_stalls_for_the_difference() {
        let lowest = [304, 755, 1_206, 1_856, 2_860, 4_309];
        for algorithm in ALL {
            if algorithm == Algorithm::RobustMpc {
                // It begins with the second level.
                continue;
            }
            let (outcome, _) = play(video(lowest, algorithm), 0.2, Span::ZERO);
            // 304 / 200 - 1 of each segment but the first, 48 of 49.
            let expected = 0.52 * 4.0 * 48.0;
            assert!((outcome.stalled.as_secs_f64() - expected).abs() < 0.01, "{outcome:?}");
            assert!((outcome.stall_percent - 34.2).abs() < 0.7, "{outcome:?}");
        }
    }

    #[test]
    fn serial_requests_over_a_long_path_measure_less_than_its_rate() {
        // At 5 Mbps, 4,300 kbps fit. A segment of that takes 0.6 s more than its transmission.
        let (outcome, levels) =
            play(video(PENSIEVE, Algorithm::Throughput), 5.0, Span::from_millis(600));
        assert_eq!(levels.last(), Some(&4), "{levels:?}");
        assert_eq!(outcome.stalls, 0);
    }

    #[test]
    fn the_player_waits_above_its_largest_buffer() {
        let short = AdaptiveVideo {
            max_buffer: Span::from_secs(12),
            ..video(PENSIEVE, Algorithm::Throughput)
        };
        let mut player = Player::new(Arc::new(short), Time::ZERO, None);
        let mut now = Time::ZERO;
        for expected in [0, 0, 0, 4] {
            player.request(now);
            // At once: the buffer grows by 4 s with each segment.
            let next = player.arrived(now).unwrap();
            assert_eq!(next.since(now), Span::from_secs(expected));
            now = next;
        }
        let outcome = player.finish(now);
        assert_eq!((outcome.startup, outcome.stalls), (Some(Span::ZERO), 0));
    }

    #[test]
    fn the_quality_counts_bitrates_changes_and_stalls() {
        let mut player =
            Player::new(Arc::new(video(PENSIEVE, Algorithm::Buffer)), Time::ZERO, None);
        // The buffer has 4 s after the first segment; the second one comes 2 s too late.
        player.request(Time::ZERO);
        player.arrived(Time::from_secs(1));
        player.request(Time::from_secs(1));
        player.arrived(Time::from_secs(7));
        let outcome = player.finish(Time::from_secs(7));
        assert_eq!((outcome.stalls, outcome.stalled), (1, Span::from_secs(2)));
        assert!((outcome.quality - (2.0 * 0.3 - 2.0 * 4.3)).abs() < 1e-9, "{outcome:?}");
        assert_eq!(outcome.mean_bitrate, Rate::from_bps(300_000));
        assert_eq!(outcome.switches, 0);
    }
}
