//! The E-model of narrowband telephony (ITU-T G.107, default values): from delay and loss to the
//! mean opinion score of listeners.
//!
//! R = 93.2 - Idd - Ie,eff. There is no echo, so that delay disturbs conversation alone (Idd). The
//! curve of Idd is G.107's own, not the straight lines 0.024 d + 0.11 (d - 177.3) of Cole and
//! Rosenbluth (2001), which give other values.

use bentpipe_units::Span;

/// R of a call without delay, loss and coding: all default values of G.107.
const BEST_RATING: f64 = 93.2;
/// Delay that disturbs nobody, in ms.
const UNNOTICED_MS: f64 = 100.0;

/// How a codec suffers from loss (ITU-T G.113, appendix I).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codec {
    /// Equipment impairment factor Ie without loss.
    pub impairment: f64,
    /// Packet-loss robustness factor Bpl.
    pub robustness: f64,
}

impl Codec {
    /// G.711 whose receiver conceals lost frames.
    pub const CONCEALING: Self = Self { impairment: 0.0, robustness: 25.1 };
    /// G.711 whose receiver plays silence for lost frames.
    pub const PLAIN: Self = Self { impairment: 0.0, robustness: 4.3 };

    /// Returns the effective equipment impairment factor Ie,eff with a share of lost frames.
    /// `burst_ratio` is the mean length of bursts of loss over that of independent loss.
    pub fn effective_impairment(self, lost_percent: f64, burst_ratio: f64) -> f64 {
        let scale = lost_percent / burst_ratio.max(1.0) + self.robustness;
        self.impairment + (95.0 - self.impairment) * lost_percent / scale
    }
}

/// Returns the delay impairment factor Idd of the delay from mouth to ear.
pub fn delay_impairment(delay: Span) -> f64 {
    let ms = delay.as_millis_f64();
    if ms <= UNNOTICED_MS {
        return 0.0;
    }
    let x = libm::log2(ms / UNNOTICED_MS);
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Returns the transmission rating R: 93.2 is the best, and may be below 0.
pub fn rating(delay: Span, codec: Codec, lost_percent: f64, burst_ratio: f64) -> f64 {
    BEST_RATING - delay_impairment(delay) - codec.effective_impairment(lost_percent, burst_ratio)
}

/// Returns the mean opinion score of a rating: 1 (bad) to 4.5 (best), G.107 annex B.
pub fn mean_opinion_score(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    let score = 1.0 + 0.035 * rating + 7e-6 * rating * (rating - 60.0) * (100.0 - rating);
    // The polynomial falls below the scale for ratings under 6.5.
    score.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
    }

    #[test]
    fn delay_gives_the_known_ratings() {
        let known = [
            (100, 93.2, 4.41),
            (150, 93.0, 4.41),
            (200, 90.2, 4.34),
            (250, 84.3, 4.18),
            (300, 78.4, 3.96),
            (380, 70.7, 3.63),
            (400, 69.1, 3.56),
            (500, 62.6, 3.23),
        ];
        for (ms, expected, score) in known {
            let rating = rating(Span::from_millis(ms), Codec::CONCEALING, 0.0, 1.0);
            near(rating, expected, 0.05);
            near(mean_opinion_score(rating), score, 0.005);
        }
    }

    #[test]
    fn loss_gives_the_known_impairments() {
        let known = [(1.0, 3.6, 4.33), (2.0, 7.0, 4.23), (5.0, 15.8, 3.92), (10.0, 27.1, 3.41)];
        for (percent, expected, score) in known {
            near(Codec::CONCEALING.effective_impairment(percent, 1.0), expected, 0.05);
            let rating = rating(Span::from_millis(100), Codec::CONCEALING, percent, 1.0);
            near(mean_opinion_score(rating), score, 0.005);
        }
        // Without concealment, and in bursts, the same loss is worse.
        let concealed = Codec::CONCEALING.effective_impairment(2.0, 1.0);
        assert!(Codec::PLAIN.effective_impairment(2.0, 1.0) > concealed);
        assert!(Codec::CONCEALING.effective_impairment(2.0, 4.0) > concealed);
    }

    #[test]
    fn scores_stay_on_the_scale() {
        near(mean_opinion_score(-20.0), 1.0, 0.0);
        near(mean_opinion_score(120.0), 4.5, 0.0);
        for tenth in 0..1000 {
            let rating = f64::from(tenth) / 10.0;
            let (score, next) = (mean_opinion_score(rating), mean_opinion_score(rating + 0.1));
            assert!((1.0..=4.5).contains(&score) && next >= score, "{rating}");
        }
    }
}
