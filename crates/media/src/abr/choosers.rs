//! How players choose the level of the next segment.

use super::estimate::{HarmonicMean, MovingAverages, throughput};
use super::ladder::{AdaptiveVideo, Algorithm};
use super::mpc;
use bentpipe_units::{Bytes, Span};

/// Share of the estimated throughput that a level may take: that of dash.js.
const SAFETY: f64 = 0.9;
/// Buffer in seconds below which `buffer` chooses the lowest level, and the range in which it rises
/// to the highest: those of Pensieve.
const RESERVOIR: f64 = 5.0;
const CUSHION: f64 = 10.0;
/// Buffer in seconds at which BOLA leaves the lowest level, and what each level adds: dash.js.
const BOLA_LOWEST: f64 = 10.0;
const BOLA_PER_LEVEL: f64 = 2.0;
/// Buffer in seconds at which `dynamic` turns to BOLA, and back below half of it: dash.js.
const FULL_BUFFER: f64 = 18.0;
/// What remains of the placeholder of BOLA from one segment to the next: dash.js.
const PLACEHOLDER_DECAY: f64 = 0.99;
/// Levels with which model-predictive control begins, and for how many segments: Pensieve.
const MPC_FIRST: (usize, usize) = (1, 1);

/// Chooses levels by what earlier segments needed.
#[derive(Debug)]
pub struct Chooser {
    algorithm: Algorithm,
    averages: MovingAverages,
    mean: HarmonicMean,
    bola: Bola,
    /// True while `dynamic` uses BOLA.
    by_buffer: bool,
    downloads: usize,
}

impl Chooser {
    /// Creates the chooser of a video.
    pub fn new(video: &AdaptiveVideo) -> Self {
        Self {
            algorithm: video.algorithm,
            averages: MovingAverages::default(),
            mean: HarmonicMean::default(),
            bola: Bola::new(video),
            by_buffer: false,
            downloads: 0,
        }
    }

    /// Counts the download of a segment.
    pub fn downloaded(&mut self, bytes: Bytes, time: Span) {
        let mbps = throughput(bytes, time);
        self.averages.record(mbps, time.as_secs_f64());
        self.mean.record(mbps);
        self.downloads += 1;
    }

    /// Returns the level of a segment. `last` is that of the segment before, and `buffer` what is
    /// in the buffer in seconds.
    pub fn choose(
        &mut self,
        video: &AdaptiveVideo,
        segment: usize,
        last: Option<usize>,
        buffer: f64,
    ) -> usize {
        match self.algorithm {
            Algorithm::Throughput => self.by_throughput(video),
            Algorithm::Buffer => by_buffer(video.top(), buffer),
            Algorithm::Bola => self.bola_level(video, buffer),
            Algorithm::Dynamic => {
                self.by_buffer =
                    buffer >= if self.by_buffer { FULL_BUFFER / 2.0 } else { FULL_BUFFER };
                let by_throughput = self.by_throughput(video);
                // BOLA follows the buffer in either case.
                let by_bola = self.bola_level(video, buffer);
                if self.by_buffer { by_bola } else { by_throughput }
            }
            Algorithm::RobustMpc => match self.mean.cautious() {
                Some(mbps) if self.downloads > MPC_FIRST.1 => {
                    mpc::choose(video, segment, last, buffer, mbps)
                }
                _ => MPC_FIRST.0.min(video.top()),
            },
        }
    }

    /// Returns the buffer in seconds above which nothing is requested, if the algorithm has a limit
    /// of its own.
    pub fn pauses_above(&self) -> Option<f64> {
        (self.algorithm == Algorithm::Bola).then(|| self.bola.pauses_above())
    }

    fn by_throughput(&self, video: &AdaptiveVideo) -> usize {
        self.averages.estimate().map_or(0, |mbps| video.highest_within(SAFETY * mbps))
    }

    /// Until the buffer first holds a segment, BOLA takes the level of the throughput.
    fn bola_level(&mut self, video: &AdaptiveVideo, buffer: f64) -> usize {
        if self.bola.has_started {
            return self.bola.choose(buffer);
        }
        let level = self.by_throughput(video);
        self.bola.start_with(level, buffer);
        self.bola.has_started = buffer >= video.segment.as_secs_f64();
        level
    }
}

/// Returns the level of a buffer-based player.
fn by_buffer(top: usize, buffer: f64) -> usize {
    let share = ((buffer - RESERVOIR) / CUSHION).clamp(0.0, 1.0);
    (top as f64 * share) as usize
}

/// BOLA: each level has a utility, and the level with the best sum of utility and room in the
/// buffer for each of its bits is chosen.
#[derive(Debug)]
struct Bola {
    /// Bitrates in Mbps.
    rates: Vec<f64>,
    /// Utilities: the logarithm of the bitrate over the lowest, and one.
    utilities: Vec<f64>,
    gp: f64,
    vp: f64,
    /// Buffer in seconds that is added to the real one, so that the start does not count as a
    /// shortage.
    placeholder: f64,
    has_started: bool,
}

impl Bola {
    fn new(video: &AdaptiveVideo) -> Self {
        let rates: Vec<f64> = (0..video.ladder.len()).map(|level| video.mbps(level)).collect();
        let lowest = rates.first().copied().unwrap_or(1.0);
        let utilities: Vec<f64> = rates.iter().map(|rate| libm::log(rate / lowest) + 1.0).collect();
        let full = FULL_BUFFER.max(BOLA_LOWEST + BOLA_PER_LEVEL * rates.len() as f64);
        let best = utilities.last().copied().unwrap_or(1.0);
        // One level has no choice, whatever the parameters.
        let gp = ((best - 1.0) / (full / BOLA_LOWEST - 1.0)).max(f64::MIN_POSITIVE);
        Self { vp: BOLA_LOWEST / gp, rates, utilities, gp, placeholder: 0.0, has_started: false }
    }

    fn score(&self, level: usize, buffer: f64) -> f64 {
        (self.vp * (self.utilities[level] + self.gp) - buffer) / self.rates[level]
    }

    fn best(&self, buffer: f64) -> usize {
        // Of equal ones the highest.
        (0..self.rates.len())
            .max_by(|one, other| self.score(*one, buffer).total_cmp(&self.score(*other, buffer)))
            .unwrap_or(0)
    }

    /// Returns the smallest buffer at which a level is better than all below it.
    fn least_buffer(&self, level: usize) -> f64 {
        let rate = |at: usize| self.rates[at];
        let crossing = |below: usize| {
            let worth = |at: usize| self.vp * (self.utilities[at] + self.gp);
            (worth(below) * rate(level) - worth(level) * rate(below)) / (rate(level) - rate(below))
        };
        (0..level).map(crossing).fold(0.0, f64::max)
    }

    fn start_with(&mut self, level: usize, buffer: f64) {
        self.placeholder = (self.least_buffer(level) - buffer).max(0.0);
    }

    fn choose(&mut self, buffer: f64) -> usize {
        self.placeholder *= PLACEHOLDER_DECAY;
        let room = (self.pauses_above() - buffer).max(0.0);
        self.placeholder = self.placeholder.min(room);
        self.best(buffer + self.placeholder)
    }

    fn pauses_above(&self) -> f64 {
        let best = self.utilities.last().copied().unwrap_or(1.0);
        self.vp * (best + self.gp)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PENSIEVE, video};
    use super::*;

    #[test]
    fn the_buffer_alone_gives_the_levels_of_pensieve() {
        for tenths in 0..300 {
            let buffer = f64::from(tenths) / 10.0;
            let expected = match buffer {
                low if low < 5.0 => 0,
                high if high >= 15.0 => 5,
                _ => (5.0 * (buffer - 5.0) / 10.0).floor() as usize,
            };
            assert_eq!(by_buffer(5, buffer), expected, "{buffer}");
        }
    }

    #[test]
    fn bola_changes_levels_at_the_known_buffers() {
        let bola = Bola::new(&video(PENSIEVE, Algorithm::Bola));
        let known = [11.75, 15.11, 17.15, 19.10, 21.01];
        for (level, expected) in (1..).zip(known) {
            assert!((bola.least_buffer(level) - expected).abs() < 0.005, "{level}");
            assert_eq!(bola.best(expected - 0.01), level - 1);
            assert_eq!(bola.best(expected + 0.01), level);
        }
        assert!((bola.pauses_above() - 26.51).abs() < 0.005, "{}", bola.pauses_above());
    }

    #[test]
    fn a_placeholder_keeps_the_level_of_the_start() {
        let video = video(PENSIEVE, Algorithm::Bola);
        let mut chooser = Chooser::new(&video);
        assert_eq!(chooser.choose(&video, 0, None, 0.0), 0);
        chooser.downloaded(Bytes::new(150_000), Span::from_millis(24));
        assert_eq!(chooser.choose(&video, 1, Some(0), 3.9), 5);
        assert_eq!(chooser.choose(&video, 2, Some(5), 7.8), 5);
    }

    #[test]
    fn throughput_takes_nine_tenths_of_its_estimate() {
        let video = video(PENSIEVE, Algorithm::Throughput);
        let mut chooser = Chooser::new(&video);
        assert_eq!(chooser.choose(&video, 0, None, 0.0), 0);
        // 4.26 Mbps, of which 3.83 count: 4,300 kbps would fit into 5 Mbps, but 2,850 are taken.
        chooser.downloaded(Bytes::new(532_500), Span::from_secs(1));
        assert_eq!(chooser.choose(&video, 1, Some(0), 4.0), 4);
    }

    #[test]
    fn dynamic_turns_to_bola_with_a_full_buffer() {
        let video = video(PENSIEVE, Algorithm::Dynamic);
        let mut chooser = Chooser::new(&video);
        // 1 Mbps: throughput takes 750 kbps, BOLA the top level at 22 s.
        chooser.downloaded(Bytes::new(125_000), Span::from_secs(1));
        let levels = [10.0, 17.9, 22.0, 12.0, 8.9].map(|b| chooser.choose(&video, 1, None, b));
        assert_eq!((levels[0], levels[1], levels[2], levels[4]), (1, 1, 5, 1));
        assert_ne!(levels[3], 0, "the buffer is above half of the switching level");
    }
}
