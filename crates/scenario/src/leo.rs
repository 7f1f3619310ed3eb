//! A low orbit seen from below: every fifteen seconds another satellite, and with it another delay
//! and another rate.
//!
//! The recipe (specs/satellite-link.md §6): at each reconfiguration draw a round trip within ± a
//! step of the base, and a rate within factors of the base; with some probability the edge is an
//! interruption in which everything is lost. The whole network reconfigures at once, so both
//! directions share the edges; when the first comes is drawn too, since a transfer may start
//! anywhere between two.

use crate::profiles::Profile;
use bentpipe_link::loss::Bernoulli;
use bentpipe_link::random::{Stream, stream};
use bentpipe_link::{
    DelayConfig, DelayStep, DirectionConfig, LossProcessConfig, RateConfig, RateStep, Window,
};
use bentpipe_units::{Ratio, Span};
use serde::{Deserialize, Serialize};

/// How a path changes from one satellite to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconfiguration {
    /// Time between two changes.
    pub period: Span,
    /// Time that is drawn; after it the same changes come again.
    pub length: Span,
    /// Smallest and largest rate, in units of the base rate.
    pub rate_factor: (f64, f64),
    /// Largest distance of a round trip from the base.
    pub rtt_step: Span,
    /// Shortest and longest interruption at a change.
    pub interruption: (Span, Span),
    /// Share of changes that interrupt.
    pub interruption_share: f64,
}

/// The two directions of `profile` as run `run` meets them on the hop named `hop`.
pub fn draw(
    profile: &Profile,
    seed: u64,
    run: u64,
    hop: &str,
) -> (DirectionConfig, DirectionConfig) {
    let (mut forward, mut reverse) = (profile.forward.clone(), profile.reverse.clone());
    let Some(change) = &profile.reconfiguration else { return (forward, reverse) };
    let mut random = stream(seed, run, &format!("{hop}/reconfiguration"));
    let edges = edges(change, &mut random);
    let mut delays = Vec::with_capacity(edges.len());
    let (mut forward_rates, mut reverse_rates) = (Vec::new(), Vec::new());
    let mut windows = Vec::new();
    for &at in &edges {
        delays.push((at, between(&mut random, -1.0, 1.0)));
        forward_rates.push((at, between(&mut random, change.rate_factor.0, change.rate_factor.1)));
        reverse_rates.push((at, between(&mut random, change.rate_factor.0, change.rate_factor.1)));
        let (shortest, longest) = change.interruption;
        let length = between(&mut random, shortest.as_secs_f64(), longest.as_secs_f64());
        let interrupts = random.chance(change.interruption_share);
        // At the beginning of the run there is no change, only a state.
        if interrupts && !at.is_zero() {
            windows.push(Window {
                from: at,
                to: (at + Span::from_secs_f64(length)).min(change.length),
            });
        }
    }
    for (direction, rates) in [(&mut forward, &forward_rates), (&mut reverse, &reverse_rates)] {
        apply(direction, change, &delays, rates, &windows);
    }
    (forward, reverse)
}

/// Zero, then every change before the drawn time ends.
fn edges(change: &Reconfiguration, random: &mut Stream) -> Vec<Span> {
    let mut edges = vec![Span::ZERO];
    let mut at = Span::from_nanos(1 + random.below(change.period.as_nanos()));
    while at < change.length {
        edges.push(at);
        at += change.period.max(Span::from_millis(1));
    }
    edges
}

fn between(random: &mut Stream, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit()
}

fn apply(
    direction: &mut DirectionConfig,
    change: &Reconfiguration,
    delays: &[(Span, f64)],
    rates: &[(Span, f64)],
    windows: &[Window],
) {
    let repeat = Some(change.length);
    if let DelayConfig::Constant(base) = direction.delay {
        // Half of the round trip's step falls on each direction.
        let step = |share: f64| base.as_secs_f64() + share * change.rtt_step.as_secs_f64() / 2.0;
        let schedule = delays
            .iter()
            .map(|&(at, share)| DelayStep { at, delay: Span::from_secs_f64(step(share)) })
            .collect();
        direction.delay =
            DelayConfig::Schedule { schedule, interpolate: false, repeat, keep_order: true };
    }
    if let RateConfig::Constant(base) = direction.rate {
        let schedule =
            rates.iter().map(|&(at, factor)| RateStep { at, rate: base.mul_f64(factor) }).collect();
        direction.rate = RateConfig::Schedule { schedule, repeat };
    }
    if !windows.is_empty() {
        let model = Bernoulli { ratio: Ratio::ONE }.into();
        direction.loss.processes.push(LossProcessConfig {
            model,
            windows: windows.to_vec(),
            repeat,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::profile;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_draw_is_a_path_that_can_be_built(seed in any::<u64>(), run in 0u64..1000) {
            let leo = profile("leo").unwrap();
            let (forward, reverse) = draw(leo, seed, run, "access");
            prop_assert_eq!(forward.check(), Ok(()));
            prop_assert_eq!(reverse.check(), Ok(()));
            let DelayConfig::Schedule { schedule, .. } = &forward.delay else { panic!("no schedule") };
            prop_assert!(schedule.len() >= 40 && schedule.len() <= 41);
            for step in schedule {
                prop_assert!(step.delay >= Span::from_micros(17_500) && step.delay <= Span::from_micros(32_500));
            }
        }
    }

    #[test]
    fn a_run_always_meets_the_same_path_and_another_run_another() {
        let leo = profile("leo").unwrap();
        assert_eq!(draw(leo, 1, 3, "access"), draw(leo, 1, 3, "access"));
        assert_ne!(draw(leo, 1, 3, "access"), draw(leo, 1, 4, "access"));
    }
}
