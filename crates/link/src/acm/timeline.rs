//! Rate and losses of a carrier over time.

use super::config::AcmConfig;
use super::curve::Curve;
use super::modcods::Modcod;
use crate::loss::process::LoadedLoss;
use crate::rate::model::RateModel;
use crate::schedule::{RateStep, Timeline, Window};
use bentpipe_units::{Rate, Ratio, Span};
use std::path::Path;
use std::sync::Arc;

/// The rate over time, and the windows in which nothing can be decoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AcmTimeline {
    pub steps: Vec<RateStep>,
    /// Name of the MODCOD of each step.
    pub modcods: Vec<&'static str>,
    pub windows: Vec<Window>,
    /// Period in which all of that repeats.
    pub repeat: Option<Span>,
}

impl AcmConfig {
    /// Computes the rates and loss windows of the whole fade that the scenario gives.
    ///
    /// # Errors
    /// It is a recording: the file.
    pub(crate) fn timeline(&self) -> Result<AcmTimeline, &Path> {
        self.fade.curve().map(|curve| self.over(&curve))
    }

    /// Computes the rates and loss windows over the attenuation `curve`, from zero on.
    pub(super) fn over(&self, curve: &Curve) -> AcmTimeline {
        let (clear, margin, loop_s) =
            (self.clear_sky.get(), self.margin.get(), self.loop_delay.as_secs_f64());
        let modcods = self.modcods.modcods();
        // The rate only changes when the fade crosses the threshold of a MODCOD or, one loop delay
        // later, its threshold plus margin.
        let mut times = vec![0.0];
        for modcod in modcods {
            times.extend(curve.crossings(clear - modcod.threshold, 0.0));
            times.extend(curve.crossings(clear - modcod.threshold - margin, loop_s));
        }
        // A recording may have begun before the run.
        times.retain(|at| *at >= 0.0);
        times.sort_by(f64::total_cmp);
        let repeat = curve.period().map(Span::from_secs_f64);
        let mut timeline =
            AcmTimeline { steps: Vec::new(), modcods: Vec::new(), windows: Vec::new(), repeat };
        for (index, &from) in times.iter().enumerate() {
            let to = times.get(index + 1).copied().or(curve.period());
            let (at, end) = (Span::from_secs_f64(from), to.map_or(Span::MAX, Span::from_secs_f64));
            if at == end {
                continue;
            }
            let middle = to.map_or(from + 1.0, |to| (from + to) / 2.0);
            let modcod = self.chosen(clear - curve.at(middle - loop_s));
            let rate = self.rate_of(modcod);
            if timeline.steps.last().is_none_or(|step| step.rate != rate) {
                timeline.steps.push(RateStep { at, rate });
                timeline.modcods.push(modcod.name);
            }
            if clear - curve.at(middle) < modcod.threshold {
                match timeline.windows.last_mut().filter(|window| window.to == at) {
                    Some(window) => window.to = end,
                    None => timeline.windows.push(Window { from: at, to: end }),
                }
            }
        }
        timeline
    }

    /// Returns the MODCOD that the transmitter selects if the receiver reports `es_n0` dB.
    pub(super) fn chosen(&self, es_n0: f64) -> &'static Modcod {
        let modcods = self.modcods.modcods();
        let good = modcods.iter().filter(|modcod| modcod.threshold + self.margin.get() <= es_n0);
        let best = good.max_by(|a, b| a.efficiency.total_cmp(&b.efficiency));
        best.unwrap_or(self.modcods.most_robust())
    }

    /// Returns the rate of the carrier with a MODCOD.
    pub(super) fn rate_of(&self, modcod: &Modcod) -> Rate {
        self.symbol_rate.carrying(modcod.efficiency * self.framing.get())
    }
}

impl AcmTimeline {
    /// Returns the highest rate.
    pub fn highest(&self) -> Rate {
        self.steps.iter().map(|step| step.rate).max().unwrap_or_default()
    }

    /// Returns the rate model of a link that `nominal` sizes.
    pub fn rate(self, nominal: Rate) -> RateModel {
        let starts = self.steps.iter().map(|step| step.at);
        RateModel::Schedule {
            timeline: Arc::new(Timeline::new(starts, self.repeat)),
            nominal,
            rates: self.steps.iter().map(|step| step.rate).collect(),
            modcods: self.modcods.into(),
        }
    }

    /// Returns the loss process: each packet is lost with probability `ratio` while nothing can be
    /// decoded. `None` if that never happens.
    pub fn loss(&self, ratio: Ratio) -> Option<LoadedLoss> {
        let windows: Arc<[Window]> = self.windows.as_slice().into();
        (!windows.is_empty())
            .then(|| LoadedLoss { repeat: self.repeat, ..LoadedLoss::bernoulli(ratio, windows) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FadeConfig;
    use bentpipe_units::Decibels;

    fn acm(fade: &str) -> AcmConfig {
        let text = format!(
            "symbol_rate = \"10 MBd\"\nmodcods = \"dvb-s2\"\nclear_sky_esn0 = \"13 dB\"\n\
             margin = \"1 dB\"\nloop_delay = \"1.5 s\"\nframing = 1\nfade = {fade}"
        );
        toml::from_str(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
    }
    /// Steps in milliseconds and Mbps.
    fn steps(timeline: &AcmTimeline) -> Vec<(u64, f64)> {
        timeline
            .steps
            .iter()
            .map(|step| (step.at.as_nanos() / 1_000_000, step.rate.as_mbps_f64()))
            .collect()
    }

    #[test]
    fn clear_sky_uses_a_single_modcod() {
        // 16APSK 5/6 needs 11.61 dB. 32APSK 3/4 needs 12.73 dB, which would leave no margin.
        let timeline = acm("[{ at = \"0 s\", attenuation_db = 0 }]").timeline().unwrap();
        assert_eq!(timeline.steps, [RateStep { at: Span::ZERO, rate: Rate::from_bps(33_001_840) }]);
        assert_eq!(timeline.windows, []);
    }

    #[test]
    fn a_slow_fade_changes_the_rate_one_loop_after_the_margin_is_reached() {
        // At 0.1 dB/s, the margin of 1 dB lasts for 10 s; the loop takes 1.5 s.
        let timeline =
            acm("[{ at = \"0 s\", attenuation_db = 0 }, { at = \"20 s\", attenuation_db = 2 }]")
                .timeline()
                .unwrap();
        // 13 - 11.61 - 1 = 0.39 dB after 3.9 s; then 16APSK 4/5 (11.03) until 0.97 dB, and 3/4
        // (10.21) until 1.79 dB.
        assert_eq!(
            steps(&timeline),
            [(0, 33.00184), (5_400, 31.65623), (11_200, 29.66728), (19_400, 26.37201)],
            "8PSK 8/9, at 10.69 dB, carries less than 16APSK 3/4 does; 16APSK 2/3, at 8.97, is the \
                next"
        );
        assert_eq!(timeline.windows, []);
    }

    #[test]
    fn a_fast_fade_loses_packets_until_the_loop_has_closed() {
        // At 2 dB/s, the margin is gone in 0.5 s, and the loop closes a second later.
        let timeline =
            acm("{ at = \"10 s\", slope = \"2 dB/s\", depth = \"1.9 dB\", hold = \"60 s\" }")
                .timeline()
                .unwrap();
        // The transmitter leaves 16APSK 5/6 because of the measurement at 10.195 s, 0.39 dB into
        // the fade. The MODCOD cannot be decoded beyond 1.39 dB.
        let first = timeline.windows[0];
        assert_eq!((first.from, first.to), (Span::from_millis(10_695), Span::from_millis(11_695)));
    }

    #[test]
    fn a_lost_link_keeps_the_most_robust_modcod() {
        let timeline = acm("[{ at = \"0 s\", attenuation_db = 0 }, \
            { at = \"1 s\", attenuation_db = 20 }, { at = \"9 s\", attenuation_db = 20 }, \
            { at = \"10 s\", attenuation_db = 0 }]")
        .timeline()
        .unwrap();
        assert_eq!(
            timeline.steps.iter().map(|step| step.rate).min(),
            Some(Rate::from_bps(4_902_430))
        );
        let lost = timeline.windows.iter().map(|window| window.to - window.from).max().unwrap();
        assert!(lost > Span::from_secs(8), "{:?}", timeline.windows);
        // The first rate returns at the end.
        assert_eq!(
            timeline.steps.last().map(|step| step.rate),
            timeline.steps.first().map(|step| step.rate)
        );
    }

    #[test]
    fn an_event_has_four_points() {
        let points = "[{ at = \"0 s\", attenuation_db = 0 }, \
            { at = \"10 s\", attenuation_db = 0 }, { at = \"14 s\", attenuation_db = 8 }, \
            { at = \"34 s\", attenuation_db = 8 }, { at = \"38 s\", attenuation_db = 0 }]";
        let event = "{ at = \"10 s\", slope = \"2 dB/s\", depth = \"8 dB\", hold = \"20 s\" }";
        assert!(matches!(acm(event).fade, FadeConfig::Event(event)
                if event.depth == Decibels::new(8.0).unwrap()));
        assert_eq!(acm(event).timeline(), acm(points).timeline());
    }
}
