//! What a direction offers over time, which is known before any packet is sent.

use crate::DirectionModel;
use crate::rate::model::RateModel;
use bentpipe_units::{Rate, Span, Time};

impl DirectionModel {
    /// Returns the rate at `at`; of a trace, the mean of the 100 ms from then on; on demand, the
    /// highest one.
    pub fn rate_at(&self, at: Time) -> Rate {
        self.rate.rate_from(at)
    }

    /// Returns the delay, without jitter, of a packet that leaves the transmitter at `at`. Zero if
    /// the caller sets it.
    pub fn delay_at(&self, at: Time) -> Span {
        self.delay.at(at)
    }

    /// Returns the times at which the delay follows another step, up to `end`.
    pub fn delay_changes(&self, end: Time) -> impl Iterator<Item = Time> {
        self.delay.changes(end)
    }

    /// Returns when each thing that changes has changed in every way it does: the last step of
    /// rate, delay and times of loss, or the end of their periods. Zero if nothing changes.
    pub fn pattern(&self) -> Span {
        let rate = match &self.rate {
            RateModel::Constant(_) => Span::ZERO,
            RateModel::Schedule { timeline, .. } => timeline.pattern(),
            RateModel::Trace(trace) => trace.period(),
            RateModel::Demand(demand) => demand.timeline.pattern(),
        };
        let losses = self.losses.iter().map(|loss| {
            let finite = loss.windows.iter().flat_map(|window| [window.from, window.to]);
            loss.repeat.or_else(|| finite.filter(|at| *at < Span::MAX).max()).unwrap_or_default()
        });
        losses.fold(rate.max(self.delay.pattern()), Span::max)
    }

    /// Returns the time, the rate and the MODCOD of each step of a carrier with adaptive coding, up
    /// to `end`; nothing for other carriers.
    pub fn modcods(&self, end: Time) -> impl Iterator<Item = (Time, Rate, &'static str)> {
        let steps = match &self.rate {
            RateModel::Schedule { timeline, rates, modcods, .. } if !modcods.is_empty() => {
                Some((timeline, rates, modcods))
            }
            _ => None,
        };
        steps.into_iter().flat_map(move |(timeline, rates, modcods)| {
            let times = std::iter::once(Time::ZERO).chain(timeline.changes(end));
            times.zip(rates.iter().zip(modcods.iter())).map(|(at, (rate, name))| (at, *rate, *name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirectionConfig;
    use std::path::Path;

    fn model(text: &str) -> DirectionModel {
        let config: DirectionConfig =
            toml::from_str(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        config.load(Path::new("")).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_constant_direction_has_no_pattern() {
        let model = model("rate = \"1 Mbps\"\ndelay = \"300 ms\"");
        let end = Time::from_secs(10);
        assert_eq!(model.pattern(), Span::ZERO);
        assert_eq!(model.delay_at(end), Span::from_millis(300));
        assert_eq!(model.delay_changes(end).count() + model.total_losses(end).count(), 0);
        assert_eq!(model.modcods(end).count(), 0);
    }

    #[test]
    fn delays_follow_their_schedule() {
        let model = model(
            "rate = \"1 Mbps\"\n\
             delay = { schedule = [{ at = \"0 s\", delay = \"10 ms\" }, \
             { at = \"4 s\", delay = \"30 ms\" }], interpolate = true, repeat = \"6 s\" }",
        );
        assert_eq!(model.pattern(), Span::from_secs(6));
        let changes: Vec<u64> = model
            .delay_changes(Time::from_secs(12))
            .map(|at| at.as_nanos() / 1_000_000_000)
            .collect();
        assert_eq!(changes, [4, 6, 10, 12]);
        for (at, ms) in [(0, 10), (2, 20), (4, 30), (5, 20), (8, 20)] {
            assert_eq!(model.delay_at(Time::from_secs(at)), Span::from_millis(ms), "at {at} s");
        }
    }

    #[test]
    fn times_of_total_loss_repeat() {
        let model = model(
            "rate = \"1 Mbps\"\ndelay = \"1 ms\"\n\
             loss = [{ model = \"bernoulli\", ratio = 1, repeat = \"10 s\", \
             active = [{ from = \"2 s\", to = \"3 s\" }] }, 0.5]",
        );
        let from: Vec<f64> =
            model.total_losses(Time::from_secs(13)).map(|(from, _)| from.as_secs_f64()).collect();
        assert_eq!((from, model.pattern()), (vec![2.0, 12.0], Span::from_secs(10)));
    }

    #[test]
    fn a_fade_names_its_modcods() {
        let model = model(
            "delay = \"1 ms\"\n\
             [rate.acm]\nsymbol_rate = \"10 MBd\"\nmodcods = \"dvb-s2\"\n\
             clear_sky_esn0 = \"13 dB\"\nmargin = \"1 dB\"\nloop_delay = \"1.5 s\"\nframing = 1\n\
             fade = [{ at = \"0 s\", attenuation_db = 0 }, { at = \"20 s\", attenuation_db = 2 }]",
        );
        let names: Vec<&str> =
            model.modcods(Time::from_secs(60)).map(|(_, _, name)| name).collect();
        assert_eq!(names, ["16APSK 5/6", "16APSK 4/5", "16APSK 3/4", "16APSK 2/3"]);
        assert_eq!(model.pattern(), Span::from_millis(19_400));
    }
}
