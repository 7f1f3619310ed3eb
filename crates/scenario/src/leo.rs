//! Model of a path over a low orbit: the delay and the rate change every fifteen seconds, when
//! terminals switch satellites.
//!
//! At each reconfiguration, an RTT within ± a step of the base and a rate within factors of the
//! base are drawn (specs/satellite-link.md §6). With some probability the reconfiguration starts
//! with an outage that loses all packets. The whole network reconfigures at once, so both
//! directions change at the same times. The time of the first change is random, because a transfer
//! may start anywhere between two.

use crate::profiles::{Profile, Reconfiguration};
use bentpipe_link::loss::Bernoulli;
use bentpipe_link::random::{Stream, stream};
use bentpipe_link::{
    DelayConfig, DelayStep, DirectionConfig, LossProcessConfig, RateConfig, RateStep, Window,
};
use bentpipe_units::{Ratio, Span};

/// Returns the forward and the return direction of `profile` in run `run` on the hop named `hop`.
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
        let (shortest, longest) = change.outage;
        let length = between(&mut random, shortest.as_secs_f64(), longest.as_secs_f64());
        let has_outage = random.chance(change.outage_probability);
        // The first entry is the initial state, not a change.
        if has_outage && !at.is_zero() {
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

/// Returns zero, then the time of every change before the end of the schedule.
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
        // Each direction has half of the RTT's step.
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
        fn every_draw_is_a_valid_path(seed in any::<u64>(), run in 0u64..1000) {
            let leo = profile("leo").unwrap();
            let (forward, reverse) = draw(leo, seed, run, "access");
            prop_assert_eq!(forward.check(), Ok(()));
            prop_assert_eq!(reverse.check(), Ok(()));
            let DelayConfig::Schedule { schedule, .. } = &forward.delay else {
                panic!("the delay has no schedule")
            };
            prop_assert!(schedule.len() >= 40 && schedule.len() <= 41);
            for step in schedule {
                let allowed = Span::from_micros(17_500)..=Span::from_micros(32_500);
                prop_assert!(allowed.contains(&step.delay));
            }
        }
    }

    #[test]
    fn a_run_always_has_the_same_path_and_another_run_another() {
        let leo = profile("leo").unwrap();
        assert_eq!(draw(leo, 1, 3, "access"), draw(leo, 1, 3, "access"));
        assert_ne!(draw(leo, 1, 3, "access"), draw(leo, 1, 4, "access"));
    }
}
