//! Adaptive coding and modulation (ACM): what a fade makes of a carrier's rate.
//!
//! The receiver measures Es/N0 and tells the transmitter, which takes the most efficient MODCOD whose threshold and margin lie below it; what it takes at
//! one time goes by the Es/N0 of one loop delay before. Where the fade eats the margin before the loop has closed, the MODCOD in use cannot be decoded, and
//! packets are lost until the next one is. Below the most robust MODCOD there is nothing to change to: it stays in use, and what its threshold says is lost.
//! There is no hysteresis: a MODCOD comes back as soon as the margin does.

mod modcods;

pub use modcods::{Modcod, ModcodTable};

use crate::config::AcmConfig;
use crate::model::{LossKind, LossProcessModel, RateModel};
use crate::timeline::Timeline;
use crate::{RateStep, Window};
use bentpipe_units::{Ratio, Span};
use std::sync::Arc;

/// A fade as straight lines between points of time, in seconds, and attenuation, in dB; constant before the first and after the last.
pub(crate) struct Fade(pub Vec<(f64, f64)>);

impl Fade {
    fn at(&self, t: f64) -> f64 {
        let next = self.0.partition_point(|(at, _)| *at <= t);
        match (next.checked_sub(1).and_then(|last| self.0.get(last)), self.0.get(next)) {
            (Some((t0, a)), Some((t1, b))) => a + (b - a) * (t - t0) / (t1 - t0),
            (Some((_, db)), None) | (None, Some((_, db))) => *db,
            (None, None) => 0.0,
        }
    }

    /// The times at which it passes `level`.
    fn crossings(&self, level: f64) -> impl Iterator<Item = f64> {
        let lines = self.0.iter().zip(self.0.iter().skip(1));
        lines
            .filter(move |((_, a), (_, b))| (a < &level) != (b < &level))
            .map(move |((t0, a), (t1, b))| t0 + (t1 - t0) * (level - a) / (b - a))
    }
}

/// What becomes of the rate over time, and when nothing can be decoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Course {
    pub steps: Vec<RateStep>,
    pub windows: Vec<Window>,
}

impl AcmConfig {
    /// Goes through the fade.
    pub(crate) fn course(&self) -> Course {
        let fade = self.fade.line();
        let (clear, margin, loop_s) = (self.clear_sky.get(), self.margin.get(), self.loop_delay.as_secs_f64());
        let modcods = self.modcods.modcods();
        // Nothing changes but where the fade passes what a MODCOD bears, or, one loop later, what it bears with its margin.
        let mut times = vec![0.0];
        for modcod in modcods {
            times.extend(fade.crossings(clear - modcod.threshold));
            times.extend(fade.crossings(clear - modcod.threshold - margin).map(|at| at + loop_s));
        }
        times.sort_by(f64::total_cmp);
        let mut course = Course { steps: Vec::new(), windows: Vec::new() };
        for (index, &from) in times.iter().enumerate() {
            let to = times.get(index + 1).copied();
            let (at, end) = (Span::from_secs_f64(from), to.map_or(Span::MAX, Span::from_secs_f64));
            if at == end {
                continue;
            }
            let middle = to.map_or(from + 1.0, |to| (from + to) / 2.0);
            let modcod = self.chosen(clear - fade.at((middle - loop_s).max(0.0)));
            let rate = self.symbol_rate.carrying(modcod.efficiency * self.framing.get());
            if course.steps.last().is_none_or(|step| step.rate != rate) {
                course.steps.push(RateStep { at, rate });
            }
            if clear - fade.at(middle) < modcod.threshold {
                match course.windows.last_mut().filter(|window| window.to == at) {
                    Some(window) => window.to = end,
                    None => course.windows.push(Window { from: at, to: end }),
                }
            }
        }
        course
    }

    /// The MODCOD that is taken where the receiver reports so many dB.
    fn chosen(&self, es_n0: f64) -> &'static Modcod {
        let modcods = self.modcods.modcods();
        let good = modcods.iter().filter(|modcod| modcod.threshold + self.margin.get() <= es_n0);
        let best = good.max_by(|a, b| a.efficiency.total_cmp(&b.efficiency));
        best.unwrap_or(self.modcods.most_robust())
    }
}

impl Course {
    /// The rate as a link takes it.
    pub fn rate(self) -> RateModel {
        RateModel::Schedule {
            timeline: Arc::new(Timeline::new(self.steps.iter().map(|step| step.at), None)),
            rates: self.steps.iter().map(|step| step.rate).collect(),
        }
    }

    /// The losses, where there are any: each packet with probability `ratio` while nothing can be decoded.
    pub fn loss(self, ratio: Ratio) -> Option<LossProcessModel> {
        let kind = LossKind::Bernoulli { ratio: ratio.get() };
        (!self.windows.is_empty()).then(|| LossProcessModel { kind, windows: self.windows.into(), repeat: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FadeConfig;
    use bentpipe_units::{Decibels, Rate};

    fn acm(fade: &str) -> AcmConfig {
        let text = format!(
            "symbol_rate = \"10 MBd\"\nmodcods = \"dvb-s2\"\nclear_sky_esn0 = \"13 dB\"\nmargin = \"1 dB\"\nloop_delay = \"1.5 s\"\nframing = 1\nfade = {fade}"
        );
        toml::from_str(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
    }
    /// Milliseconds, and Mbps.
    fn steps(course: &Course) -> Vec<(u64, f64)> {
        course.steps.iter().map(|step| (step.at.as_nanos() / 1_000_000, step.rate.as_mbps_f64())).collect()
    }

    #[test]
    fn a_clear_sky_has_one_modcod() {
        // 16APSK 5/6 needs 11.61 dB; 32APSK 3/4, 12.73, would leave no margin.
        let course = acm("[{ at = \"0 s\", attenuation_db = 0 }]").course();
        assert_eq!(course.steps, [RateStep { at: Span::ZERO, rate: Rate::from_bps(33_001_840) }]);
        assert_eq!(course.windows, []);
    }

    #[test]
    fn a_slow_fade_changes_the_rate_one_loop_after_the_margin_is_reached() {
        // 0.1 dB/s: the margin of 1 dB lasts for 10 s, the loop takes 1.5 s.
        let course = acm("[{ at = \"0 s\", attenuation_db = 0 }, { at = \"20 s\", attenuation_db = 2 }]").course();
        // 13 - 11.61 - 1 = 0.39 dB after 3.9 s; then 16APSK 4/5 (11.03) until 0.97 dB, and 3/4 (10.21) until 1.79 dB.
        assert_eq!(
            steps(&course),
            [(0, 33.00184), (5_400, 31.65623), (11_200, 29.66728), (19_400, 26.37201)],
            "8PSK 8/9, at 10.69 dB, carries less than 16APSK 3/4 does; 16APSK 2/3, at 8.97, is the next"
        );
        assert_eq!(course.windows, []);
    }

    #[test]
    fn a_fast_fade_loses_what_is_sent_until_the_loop_has_closed() {
        // 2 dB/s: the margin is gone in 0.5 s, and the loop closes a second later.
        let course = acm("{ at = \"10 s\", slope = \"2 dB/s\", depth = \"1.9 dB\", hold = \"60 s\" }").course();
        // 16APSK 5/6 is given up for what is there at 10.195 s, when 0.39 dB are gone; and cannot be decoded once 1.39 are.
        let first = course.windows[0];
        assert_eq!((first.from, first.to), (Span::from_millis(10_695), Span::from_millis(11_695)));
    }

    #[test]
    fn a_lost_link_keeps_the_most_robust_modcod() {
        let course = acm("[{ at = \"0 s\", attenuation_db = 0 }, { at = \"1 s\", attenuation_db = 20 }, { at = \"9 s\", attenuation_db = 20 }, { at = \"10 s\", attenuation_db = 0 }]").course();
        assert_eq!(course.steps.iter().map(|step| step.rate).min(), Some(Rate::from_bps(4_902_430)));
        let lost = course.windows.iter().map(|window| window.to - window.from).max().unwrap();
        assert!(lost > Span::from_secs(8), "{:?}", course.windows);
        // And all is well again in the end.
        assert_eq!(course.steps.last().map(|step| step.rate), course.steps.first().map(|step| step.rate));
    }

    #[test]
    fn an_event_is_its_four_points() {
        let points = "[{ at = \"0 s\", attenuation_db = 0 }, { at = \"10 s\", attenuation_db = 0 }, { at = \"14 s\", attenuation_db = 8 }, { at = \"34 s\", attenuation_db = 8 }, { at = \"38 s\", attenuation_db = 0 }]";
        let event = "{ at = \"10 s\", slope = \"2 dB/s\", depth = \"8 dB\", hold = \"20 s\" }";
        assert!(matches!(acm(event).fade, FadeConfig::Event(event) if event.depth == Decibels::new(8.0).unwrap()));
        assert_eq!(acm(event).course(), acm(points).course());
    }
}
