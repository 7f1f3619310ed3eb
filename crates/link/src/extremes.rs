//! The extremes of a direction over a run of any length. Windows and timeouts are sized by them.

use crate::delay::model::DelayModel;
use crate::loss::process::LoadedLoss;
use crate::model::DirectionModel;
use crate::rate::delivery_trace::DeliveryTrace;
use crate::rate::model::RateModel;
use crate::schedule::Timeline;
use bentpipe_units::{Rate, Span};

impl DirectionModel {
    /// Returns the longest delay of a schedule; otherwise, [`DirectionModel::base_delay`].
    pub fn longest_delay(&self) -> Span {
        match &self.delay {
            DelayModel::Schedule { delays, .. } => delays.iter().copied().max().unwrap_or_default(),
            _ => self.base_delay(),
        }
    }

    /// Returns the highest rate: of a trace, the highest mean over any `window`.
    pub fn peak_rate(&self, window: Span) -> Rate {
        match &self.rate {
            RateModel::Constant(rate) => *rate,
            RateModel::Schedule { rates, .. } => rates.iter().copied().max().unwrap_or_default(),
            RateModel::Trace(trace) => trace.peak_rate(window),
            RateModel::Demand(demand) => demand.ceiling,
        }
    }

    /// Returns the lowest rate above zero; zero for a trace, which can stop at any time.
    pub fn least_rate(&self) -> Rate {
        match &self.rate {
            RateModel::Constant(rate) => *rate,
            RateModel::Schedule { rates, .. } => {
                let rates = rates.iter().copied().filter(|rate| !rate.is_zero());
                rates.min().unwrap_or_default()
            }
            RateModel::Trace(_) => Rate::default(),
            RateModel::Demand(demand) => demand.base,
        }
    }

    /// Returns the longest time during which the direction delivers nothing, because its rate is
    /// zero or all packets are lost. Zero if there is none, or none that ends.
    pub fn longest_gap(&self) -> Span {
        let rate = match &self.rate {
            RateModel::Constant(_) => Span::ZERO,
            RateModel::Schedule { timeline, rates, .. } => {
                longest_stop(timeline, |step| rates[step].is_zero())
            }
            RateModel::Trace(trace) => trace.longest_gap(),
            RateModel::Demand(demand) => {
                longest_stop(&demand.timeline, |step| !demand.is_open[step])
            }
        };
        // A loss may begin where a rate of zero ends.
        let losses = self.losses.iter().filter(|loss| loss.is_total());
        losses.map(longest_loss).fold(rate, |gap, loss| gap + loss)
    }
}

/// Returns the longest time of consecutive steps for which `stops` is true.
fn longest_stop(timeline: &Timeline, stops: impl Fn(usize) -> bool) -> Span {
    let cycles = if timeline.repeat().is_some() { 2 } else { 1 };
    let steps = timeline.lengths().enumerate().collect::<Vec<_>>();
    longest_run(
        (0..cycles)
            .flat_map(|_| &steps)
            .map(|(step, length)| if stops(*step) { Some(*length) } else { None }),
    )
}

/// Returns the longest sum of consecutive lengths; `None` ends a sum.
fn longest_run(lengths: impl Iterator<Item = Option<Span>>) -> Span {
    let (mut longest, mut run) = (Span::ZERO, Span::ZERO);
    for length in lengths {
        run = length.map_or(Span::ZERO, |length| run + length);
        longest = longest.max(run);
    }
    longest
}

/// Returns the longest time without interruption in which `loss` is active.
fn longest_loss(loss: &LoadedLoss) -> Span {
    let cycles = if loss.repeat.is_some() { 2 } else { 1 };
    let shifts = (0..cycles).map(|cycle| loss.repeat.unwrap_or_default() * cycle);
    let windows = shifts.flat_map(|shift| {
        loss.windows.iter().map(move |window| (window.from + shift, window.to + shift))
    });
    let mut longest = Span::ZERO;
    let mut current: Option<(Span, Span)> = None;
    for (from, to) in windows {
        let begin = current.filter(|(_, end)| *end >= from).map_or(from, |(begin, _)| begin);
        current = Some((begin, to));
        longest = longest.max(to.saturating_sub(begin));
    }
    longest
}

impl DeliveryTrace {
    /// Returns the highest mean rate over any `window`, which is at least a millisecond.
    fn peak_rate(&self, window: Span) -> Rate {
        let window = window.max(Span::from_millis(1));
        let wide = window.as_nanos().div_ceil(1_000_000).min(self.period().as_nanos() / 1_000_000);
        // The trace repeats, so that a window can cross its end.
        let period = self.period().as_nanos() / 1_000_000;
        let twice: Vec<u64> = [0, period]
            .into_iter()
            .flat_map(|shift| self.millis.iter().map(move |ms| u64::from(*ms) + shift))
            .collect();
        let (mut first, mut most) = (0, 0);
        for (last, ms) in twice.iter().enumerate() {
            while ms - twice[first] >= wide.max(1) {
                first += 1;
            }
            most = most.max(last + 1 - first);
        }
        Self::rate(most as u64, Span::from_millis(wide.max(1)))
    }

    /// Returns the longest time between two opportunities.
    fn longest_gap(&self) -> Span {
        // From the last one to the first of the next cycle, then between the others.
        let (Some(first), Some(last)) = (self.millis.first(), self.millis.last()) else {
            return self.period();
        };
        let between = self.millis.windows(2).map(|pair| pair[1] - pair[0]);
        let longest = between.fold(self.period_ms - last + first, u32::max);
        Span::from_millis(longest.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Bernoulli;
    use crate::{
        DelayConfig, DelayStep, DirectionConfig, Distribution, LossProcessConfig, RateConfig,
        RateStep, Window,
    };
    use bentpipe_units::Ratio;
    use std::path::Path;
    use std::sync::Arc;

    fn load(config: &DirectionConfig) -> DirectionModel {
        config.load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap_or_else(|error| panic!("{error}"))
    }
    fn plain() -> DirectionConfig {
        DirectionConfig::new(Rate::from_mbps(8), Span::from_millis(20))
    }
    fn rates(steps: &[(u64, u64)], repeat: Option<u64>) -> DirectionModel {
        let step = |&(at, mbps): &(u64, u64)| RateStep {
            at: Span::from_secs(at),
            rate: Rate::from_mbps(mbps),
        };
        let schedule = steps.iter().map(step).collect();
        let repeat = repeat.map(Span::from_secs);
        load(&DirectionConfig { rate: RateConfig::Schedule { schedule, repeat }, ..plain() })
    }

    #[test]
    fn a_path_that_does_not_change_is_its_own_extreme() {
        let model = load(&plain());
        assert_eq!(model.longest_delay(), model.base_delay());
        assert_eq!(model.peak_rate(Span::from_secs(1)), model.nominal_rate());
        assert_eq!((model.least_rate(), model.longest_gap()), (Rate::from_mbps(8), Span::ZERO));
    }

    #[test]
    fn the_longest_delay_is_that_of_any_step() {
        let schedule = [(0, 30), (5, 300), (9, 40)]
            .map(|(at, delay)| DelayStep::new(Span::from_secs(at), Span::from_millis(delay)));
        let delay = DelayConfig::Schedule {
            schedule: schedule.to_vec(),
            interpolate: false,
            repeat: None,
            distribution: Distribution::Uniform,
            keep_order: true,
        };
        let model = load(&DirectionConfig { delay, ..plain() });
        assert_eq!(model.longest_delay(), Span::from_millis(300));
    }

    #[test]
    fn gaps_join_across_steps_and_repetitions() {
        let gap = |steps: &[(u64, u64)], repeat| rates(steps, repeat).longest_gap().as_secs_f64();
        assert_eq!(gap(&[(0, 8), (10, 0), (25, 4)], None), 15.0);
        // Two contacts of ten minutes in four hours.
        assert_eq!(gap(&[(0, 20), (600, 0), (7200, 20), (7800, 0)], Some(14_400)), 6_600.0);
        // Zero at both ends of the period.
        assert_eq!(gap(&[(0, 0), (10, 8), (20, 0)], Some(30)), 20.0);
        // The last step never ends.
        assert_eq!(gap(&[(0, 8), (10, 0)], None), 0.0);
    }

    #[test]
    fn times_of_total_loss_are_gaps() {
        let window = |from, to| Window { from: Span::from_secs(from), to: Span::from_secs(to) };
        let lossy = |ratio, repeat| {
            let mut config = plain();
            config.loss.processes = vec![LossProcessConfig {
                model: Bernoulli { ratio }.into(),
                windows: vec![window(0, 5), window(20, 90), window(90, 100)],
                repeat,
            }];
            load(&config).longest_gap()
        };
        assert_eq!(lossy(Ratio::ONE, None), Span::from_secs(80));
        assert_eq!(lossy(Ratio::ONE, Some(Span::from_secs(100))), Span::from_secs(85));
        assert_eq!(lossy(Ratio::ZERO, None), Span::ZERO);
    }

    #[test]
    fn the_peak_of_a_trace_is_that_of_its_best_window() {
        // Ten opportunities within 10 ms, then one at 1 s.
        let millis = (1..=10).chain([1000]).collect();
        let model = DirectionModel {
            rate: RateModel::Trace(Arc::new(DeliveryTrace { millis, period_ms: 1000 })),
            ..load(&plain())
        };
        assert_eq!(model.peak_rate(Span::from_millis(10)), Rate::from_bps(12_000_000));
        assert_eq!(model.peak_rate(Span::from_secs(5)), model.nominal_rate());
        assert_eq!(model.longest_gap(), Span::from_millis(990));
    }
}
