//! Model-predictive control of a player.

use super::ladder::{AdaptiveVideo, STALL_PENALTY};

/// Segments that the model looks ahead.
const HORIZON: usize = 5;

/// Returns the first level of the best plan for the next segments: of all plans, the one with the
/// largest linear quality of experience if downloads have this throughput in Mbps. `buffer` is in
/// seconds. Of equal plans, the last in ascending order is taken, as Pensieve's baseline does.
pub fn choose(
    video: &AdaptiveVideo,
    segment: usize,
    last: Option<usize>,
    buffer: f64,
    mbps: f64,
) -> usize {
    let end = (segment + HORIZON).min(video.segments());
    let search = Search { video, end, mbps };
    search.best(segment, last.unwrap_or(0), buffer).1
}

struct Search<'a> {
    video: &'a AdaptiveVideo,
    /// The segment after the last one of a plan.
    end: usize,
    mbps: f64,
}

impl Search<'_> {
    /// Returns the quality of the best plan from a segment on, and its first level.
    fn best(&self, segment: usize, last: usize, buffer: f64) -> (f64, usize) {
        if segment >= self.end {
            return (0.0, 0);
        }
        let mut best = (f64::NEG_INFINITY, 0);
        for level in 0..=self.video.top() {
            let bits = self.video.size(segment, level).get() as f64 * 8.0;
            let time = bits / (self.mbps * 1e6);
            let stall = (time - buffer).max(0.0);
            let filled = (buffer - time).max(0.0) + self.video.segment.as_secs_f64();
            let own = self.video.quality(level, last) - STALL_PENALTY * stall;
            let quality = own + self.best(segment + 1, level, filled).0;
            if quality >= best.0 {
                best = (quality, level);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::ladder::Algorithm;
    use super::super::testing::{PENSIEVE, video};
    use super::*;

    /// Returns the first level of the best of all plans, written down one after the other.
    fn exhaustive(
        video: &AdaptiveVideo,
        first: usize,
        last: usize,
        buffer: f64,
        mbps: f64,
    ) -> usize {
        let length = HORIZON.min(video.segments() - first);
        let levels = video.ladder.len();
        let mut best = (f64::NEG_INFINITY, 0);
        for number in 0..levels.pow(length as u32) {
            let plan: Vec<usize> = (0..length)
                .map(|at| number / levels.pow((length - 1 - at) as u32) % levels)
                .collect();
            let (mut buffer, mut stall, mut rates, mut changes) = (buffer, 0.0, 0.0, 0.0);
            let mut before = last;
            for (segment, &level) in (first..).zip(&plan) {
                let time = video.sizes[segment][level] as f64 * 8.0 / 1e6 / mbps;
                if time > buffer {
                    stall += time - buffer;
                    buffer = 0.0;
                } else {
                    buffer -= time;
                }
                buffer += 4.0;
                rates += video.mbps(level);
                changes += (video.mbps(level) - video.mbps(before)).abs();
                before = level;
            }
            let reward = rates - 4.3 * stall - changes;
            if reward >= best.0 {
                best = (reward, plan[0]);
            }
        }
        best.1
    }

    #[test]
    fn the_search_finds_the_best_of_all_plans() {
        let video = video(PENSIEVE, Algorithm::RobustMpc);
        let mut last = 1;
        let mut chosen = Vec::new();
        for segment in 2..video.segments() {
            // A synthetic trace: 0.4 to 5.8 Mbps, and a buffer that follows it.
            let mbps = 3.1 + 2.7 * libm::sin(segment as f64 * 0.7);
            let buffer = 9.0 + 8.0 * libm::sin(segment as f64 * 0.7 - 1.0);
            let level = choose(&video, segment, Some(last), buffer, mbps);
            assert_eq!(level, exhaustive(&video, segment, last, buffer, mbps), "{segment}");
            chosen.push(level);
            last = level;
        }
        // The trace makes it use low and high levels.
        assert!(chosen.contains(&5) && chosen.iter().any(|level| *level < 3), "{chosen:?}");
    }
}
