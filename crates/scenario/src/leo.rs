//! Model of a path over a low orbit: the delay and the rate change every fifteen seconds, when
//! terminals switch satellites.
//!
//! At each reconfiguration, an RTT around the base and a rate within factors of the base are drawn.
//! With some probability the reconfiguration starts with an outage, in which packets are lost or
//! wait. The whole network reconfigures at once, so both
//! directions change at the same times. The time of the first change is random, because a transfer
//! may start anywhere between two.

use crate::reconfiguration::{RAMP_STEP, Reconfiguration, RttLevels};
use bentpipe_link::loss::Bernoulli;
use bentpipe_link::random::{Stream, stream};
use bentpipe_link::{
    DelayConfig, DelayStep, DirectionConfig, Distribution, LossProcessConfig, RateConfig, RateStep,
    Reset, Window,
};
use bentpipe_units::{Rate, Ratio, Span};

/// A hop as a run draws it.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnHop {
    /// Direction towards the client.
    pub forward: DirectionConfig,
    /// Direction towards the server.
    pub reverse: DirectionConfig,
    /// Time and outage of each change within the schedule, which repeats.
    pub changes: Vec<(Span, Span)>,
}

/// Returns the hop named `hop` with the changes of run `run`. A rate or a delay that is not
/// constant stays as it is, but a rate on demand falls to its base at each change.
pub fn draw(
    base: (&DirectionConfig, &DirectionConfig),
    change: &Reconfiguration,
    seed: u64,
    run: u64,
    hop: &str,
) -> DrawnHop {
    let (mut forward, mut reverse) = (base.0.clone(), base.1.clone());
    let mut random = stream(seed, run, &format!("{hop}/reconfiguration"));
    let edges = edges(change, &mut random);
    // Streams of their own: paths that do not use them keep their draws.
    let mut levels = Levels::new(change, stream(seed, run, &format!("{hop}/reconfiguration/rtt")));
    let mut fates = stream(seed, run, &format!("{hop}/reconfiguration/outage"));
    let mut changes = Vec::with_capacity(edges.len());
    for &at in &edges {
        let rtt_share = between(&mut random, -1.0, 1.0);
        let forward_factor = between(&mut random, change.rate_factor.0, change.rate_factor.1);
        let reverse_factor = between(&mut random, change.rate_factor.0, change.rate_factor.1);
        let (shortest, longest) = change.outage;
        let length = between(&mut random, shortest.as_secs_f64(), longest.as_secs_f64());
        let has_outage = random.chance(change.outage_probability);
        let is_lost = change.outage_loss >= 1.0 || fates.chance(change.outage_loss);
        let rtt = levels.next().unwrap_or(rtt_share * change.rtt_step.as_secs_f64());
        let end = (at + Span::from_secs_f64(length)).min(change.length);
        changes.push(Change {
            at,
            rtt,
            factors: [forward_factor, reverse_factor],
            // The first entry is the initial state, not a change.
            outage: (has_outage && !at.is_zero() && end > at).then_some((end, is_lost)),
        });
    }
    let ramps = [&change.ramp.forward, &change.ramp.reverse];
    for (index, direction) in [&mut forward, &mut reverse].into_iter().enumerate() {
        apply(direction, change.length, &changes, index, ramps[index]);
    }
    let outage = |change: &Change| change.outage.map_or(Span::ZERO, |(end, _)| end - change.at);
    let begun = changes.iter().filter(|change| !change.at.is_zero());
    let changes = begun.map(|change| (change.at, outage(change))).collect();
    DrawnHop { forward, reverse, changes }
}

/// A change of the path.
struct Change {
    at: Span,
    /// Difference of the RTT from the base, in seconds.
    rtt: f64,
    /// Multiples of the base rates, forward and return.
    factors: [f64; 2],
    /// End of an outage that begins with the change, and whether it loses all packets.
    outage: Option<(Span, bool)>,
}

/// Draws the levels of the RTT.
struct Levels {
    levels: Option<RttLevels>,
    random: Stream,
    z: Option<f64>,
}

impl Levels {
    fn new(change: &Reconfiguration, random: Stream) -> Self {
        Self { levels: change.rtt, random, z: None }
    }

    /// Returns the next difference from the base in seconds; `None` without levels.
    fn next(&mut self) -> Option<f64> {
        let levels = self.levels?;
        let new = self.random.normal();
        let rho = levels.correlation;
        let z = match self.z {
            None => new,
            Some(before) => rho * before + libm::sqrt(1.0 - rho * rho) * new,
        };
        self.z = Some(z);
        Some(levels.difference(z))
    }
}

/// Returns zero, then the time of every change before the end of the schedule.
fn edges(change: &Reconfiguration, random: &mut Stream) -> Vec<Span> {
    let mut edges = vec![Span::ZERO];
    let drawn = Span::from_nanos(1 + random.below(change.period.as_nanos()));
    let mut at = change.first.unwrap_or(drawn);
    if at.is_zero() {
        at += change.period;
    }
    while at < change.length {
        edges.push(at);
        at += change.period.max(Span::from_millis(1));
    }
    edges
}

fn between(random: &mut Stream, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit()
}

/// Applies changes to the direction with number `index`, whose rate rises by `ramp` after outages.
fn apply(
    direction: &mut DirectionConfig,
    length: Span,
    changes: &[Change],
    index: usize,
    ramp: &[f64],
) {
    let repeat = Some(length);
    if let DelayConfig::Constant(base) = direction.delay {
        // Each direction has half of the RTT's difference.
        let delay = |change: &Change| base.as_secs_f64() + change.rtt / 2.0;
        let schedule = changes
            .iter()
            .map(|change| DelayStep::new(change.at, Span::from_secs_f64(delay(change))))
            .collect();
        direction.delay = DelayConfig::Schedule {
            schedule,
            interpolate: false,
            repeat,
            distribution: Distribution::default(),
            keep_order: true,
        };
    }
    if let RateConfig::Constant(base) = direction.rate {
        let mut schedule = Vec::with_capacity(changes.len());
        for change in changes {
            rates(&mut schedule, change, base.mul_f64(change.factors[index]), ramp);
        }
        schedule.retain(|step| step.at < length);
        direction.rate = RateConfig::Schedule { schedule, repeat };
    }
    if let RateConfig::Demand(demand) = &mut direction.rate {
        demand.resets = resets(changes, length);
        demand.repeat = repeat.filter(|_| !demand.resets.is_empty());
    }
    let lost = |change: &Change| match change.outage {
        Some((to, true)) => Some(Window { from: change.at, to }),
        _ => None,
    };
    let windows: Vec<Window> = changes.iter().filter_map(lost).collect();
    if !windows.is_empty() {
        let model = Bernoulli { ratio: Ratio::ONE }.into();
        direction.loss.processes.push(LossProcessConfig { model, windows, repeat });
    }
}

/// Returns the falls of a rate on demand: at each change, after an outage, and before `length`, at
/// which the schedule begins again at the base.
fn resets(changes: &[Change], length: Span) -> Vec<Reset> {
    let last = length.saturating_sub(Span::from_micros(1));
    let begun = changes.iter().filter(|change| !change.at.is_zero());
    begun
        .map(|change| match change.outage {
            Some((end, false)) => {
                Reset { at: change.at, outage: end.min(last).saturating_sub(change.at) }
            }
            // Packets are lost meanwhile; what has grown then is lost at its end, too.
            Some((end, true)) => Reset { at: end, outage: Span::ZERO },
            None => Reset { at: change.at, outage: Span::ZERO },
        })
        .filter(|reset| reset.at < last)
        .collect()
}

/// Adds the rates from a change on: nothing in an outage in which packets wait, then the ramp.
fn rates(schedule: &mut Vec<RateStep>, change: &Change, rate: Rate, ramp: &[f64]) {
    let mut at = change.at;
    if let Some((end, is_lost)) = change.outage {
        if !is_lost {
            schedule.push(RateStep { at, rate: Rate::ZERO });
            at = end;
        } else if !ramp.is_empty() {
            schedule.push(RateStep { at, rate });
            at = end;
        }
    }
    // Before the first change nothing has begun.
    for share in ramp.iter().filter(|_| !change.at.is_zero()) {
        schedule.push(RateStep { at, rate: rate.mul_f64(*share) });
        at += RAMP_STEP;
    }
    schedule.push(RateStep { at, rate });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::{Profile, idle_delay, profile};
    use proptest::prelude::*;

    fn of(profile: &Profile, seed: u64, run: u64) -> (DirectionConfig, DirectionConfig) {
        let change = profile.reconfiguration.as_ref().expect("it changes");
        let hop = draw((&profile.forward, &profile.reverse), change, seed, run, "access");
        (hop.forward, hop.reverse)
    }

    fn delays(direction: &DirectionConfig) -> &[DelayStep] {
        match &direction.delay {
            DelayConfig::Schedule { schedule, .. } => schedule,
            other => panic!("the delay has no schedule: {other:?}"),
        }
    }

    proptest! {
        #[test]
        fn every_draw_is_a_valid_path(seed in any::<u64>(), run in 0u64..1000) {
            for name in ["leo", "starlink-2023", "starlink-2026"] {
                let (forward, reverse) = of(profile(name).unwrap(), seed, run);
                prop_assert_eq!(forward.check(), Ok(()));
                prop_assert_eq!(reverse.check(), Ok(()));
                prop_assert!((40..=41).contains(&delays(&forward).len()));
            }
            let (forward, _) = of(profile("leo").unwrap(), seed, run);
            for step in delays(&forward) {
                let allowed = Span::from_micros(17_500)..=Span::from_micros(32_500);
                prop_assert!(allowed.contains(&step.delay));
            }
        }
    }

    #[test]
    fn a_run_always_has_the_same_path_and_another_run_another() {
        let leo = profile("leo").unwrap();
        assert_eq!(of(leo, 1, 3), of(leo, 1, 3));
        assert_ne!(of(leo, 1, 3), of(leo, 1, 4));
    }

    fn quantile(sorted: &[f64], share: f64) -> f64 {
        let at = (sorted.len() - 1) as f64 * share;
        let (low, high) = (at.floor() as usize, at.ceil() as usize);
        sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
    }

    /// S14 of specs/starlink-as-measured.md: RTTs to the point of presence, frames included, as
    /// measured in 14,476 slots of FjordLink.
    #[test]
    fn levels_have_the_measured_quantiles_and_steps() {
        let starlink = profile("starlink-2026").unwrap();
        let frames = idle_delay(&starlink.forward) + idle_delay(&starlink.reverse);
        let (mut levels, mut steps) = (Vec::new(), Vec::new());
        let (mut sum, mut squares, mut products, mut pairs) = (0.0, 0.0, 0.0, 0.0);
        for run in 0..2000 {
            let (forward, reverse) = of(starlink, 14, run);
            let fixed =
                [&starlink.forward, &starlink.reverse].map(|direction| match direction.delay {
                    DelayConfig::Constant(delay) => delay.as_millis_f64(),
                    _ => panic!("constant"),
                });
            let waits = frames.as_millis_f64() - fixed[0] - fixed[1];
            let own: Vec<f64> = delays(&forward)
                .iter()
                .zip(delays(&reverse))
                .map(|(a, b)| a.delay.as_millis_f64() + b.delay.as_millis_f64() + waits)
                .collect();
            for pair in own.windows(2) {
                steps.push((pair[1] - pair[0]).abs());
                // Of the logarithm above the minimum, the deviate that is autoregressive.
                let z = |level: f64| ((level - 18.0) / 9.68).ln() / 0.565;
                let (a, b) = (z(pair[0]), z(pair[1]));
                (sum, squares) = (sum + a, squares + a * a);
                (products, pairs) = (products + a * b, pairs + 1.0);
            }
            levels.extend(own);
        }
        levels.sort_by(f64::total_cmp);
        steps.sort_by(f64::total_cmp);
        for (share, ms) in
            [(0.05, 21.9), (0.25, 24.5), (0.5, 27.7), (0.75, 32.4), (0.95, 42.5), (0.99, 53.0)]
        {
            let found = quantile(&levels, share);
            assert!((found - ms).abs() < 0.04 * ms, "level {share}: {found}, measured {ms}");
        }
        for (share, ms) in [(0.1, 0.42), (0.25, 1.18), (0.5, 2.75), (0.75, 5.44), (0.9, 9.2)] {
            let found = quantile(&steps, share);
            assert!((found - ms).abs() < 0.15 * ms, "step {share}: {found}, measured {ms}");
        }
        let mean = sum / pairs;
        let correlation = (products / pairs - mean * mean) / (squares / pairs - mean * mean);
        assert!((correlation - 0.7).abs() < 0.02, "{correlation}");
    }

    /// M2 of specs/recorded-paths.md: the rate after an outage, as in LeoCC's uplink.
    #[test]
    fn the_rate_rises_after_an_outage_as_in_the_recording() {
        let starlink = profile("starlink-2023").unwrap();
        let (_, reverse) = of(starlink, 1, 0);
        let RateConfig::Schedule { schedule, .. } = &reverse.rate else { panic!("no schedule") };
        let outages = schedule.windows(12).filter(|steps| steps[0].rate.is_zero());
        let mut seen = 0;
        for steps in outages {
            let outage = steps[1].at - steps[0].at;
            assert!((Span::from_millis(59)..=Span::from_millis(135)).contains(&outage), "{outage}");
            let level = steps[11].rate.as_mbps_f64();
            for (step, share) in
                steps[1..].iter().zip([0.32, 0.68, 0.83, 0.86, 0.88, 0.93, 0.94, 0.95, 1.01, 0.94])
            {
                let found = step.rate.as_mbps_f64() / level;
                assert!((found - share).abs() < 0.1, "{found}, measured {share}");
            }
            seen += 1;
        }
        assert!(seen > 15, "{seen} of 40 changes have an outage in which packets wait");
    }

    #[test]
    fn the_changes_of_a_hop_are_those_of_its_delay_with_their_outages() {
        let starlink = profile("starlink-2026").unwrap();
        let change = starlink.reconfiguration.as_ref().unwrap();
        let hop = draw((&starlink.forward, &starlink.reverse), change, 1, 0, "access");
        let times: Vec<Span> = delays(&hop.forward)[1..].iter().map(|step| step.at).collect();
        assert_eq!(hop.changes.iter().map(|(at, _)| *at).collect::<Vec<_>>(), times);
        let measured = Span::from_millis(59)..=Span::from_millis(135);
        let whole = hop.changes.iter().filter(|(at, _)| *at + *measured.end() < change.length);
        assert!(whole.clone().all(|(_, outage)| measured.contains(outage)), "{:?}", hop.changes);
    }

    #[test]
    fn packets_wait_in_some_outages_and_are_lost_in_the_others() {
        let starlink = profile("starlink-2026").unwrap();
        let (mut waiting, mut losing) = (0, 0);
        for run in 0..50 {
            let (forward, _) = of(starlink, 1, run);
            let RateConfig::Demand(demand) = &forward.rate else { panic!("no demand") };
            waiting += demand.resets.iter().filter(|reset| !reset.outage.is_zero()).count();
            losing += forward.loss.processes.iter().map(|loss| loss.windows.len()).sum::<usize>();
        }
        let share = losing as f64 / (waiting + losing) as f64;
        assert!(waiting + losing >= 50 * 39 && (share - 0.3).abs() < 0.04, "{share}");
    }
}
