//! Jitter of a poor Wi-Fi: most packets wait about a millisecond for the channel, and some for
//! tens of milliseconds.
//!
//! The model of picoquic's simulator (`sim_link.c`, `picoquictest_sim_link_wifi_jitter`), which its
//! author derived from measurements: a Poisson number of slots of a millisecond, and for a fraction
//! of packets a Poisson number of longer ones, each sum less a uniform part of a slot.

use crate::random::Stream;
use bentpipe_units::Span;

/// Length of a short slot, and the mean number of slots that a packet waits.
const SHORT: (f64, f64) = (1e6, 1.0);
/// The same of a long slot.
const LONG: (f64, f64) = (7.5e6, 12.0);
/// Part of the target beyond a short slot at which every packet waits long slots, in ns.
const ALL: f64 = 84e6;

/// Returns the jitter of a packet. `target` is about its mean, from 1 ms on.
pub(super) fn draw(random: &mut Stream, target: Span) -> Span {
    let beyond = target.as_nanos() as f64 - SHORT.0;
    let mut jitter = slots(random, SHORT, 0);
    if beyond > 0.0 && random.chance(beyond / ALL) {
        jitter += slots(random, LONG, 1);
    }
    Span::from_nanos(jitter as u64)
}

/// Draws a number of slots, and returns their sum in nanoseconds, less a uniform part of one if
/// there are more than `least`.
fn slots(random: &mut Stream, (length, mean): (f64, f64), least: u32) -> f64 {
    let number = poisson(random, mean);
    let part = if number > least { random.unit() } else { 0.0 };
    (f64::from(number) - part) * length
}

/// Returns a draw from the Poisson distribution (Knuth's method, for small means).
fn poisson(random: &mut Stream, mean: f64) -> u32 {
    let limit = libm::exp(-mean);
    let (mut number, mut product) = (0, random.unit());
    while product > limit {
        number += 1;
        product *= random.unit();
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn draws(target: Span) -> Vec<f64> {
        let mut random = stream(1, 0, "wifi");
        (0..200_000).map(|_| draw(&mut random, target).as_millis_f64()).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn the_mean_is_that_of_the_sums() {
        // A millisecond less half a slot for the 63 % with one; and 7.5 x 12 - 3.75 ms for one in
        // fourteen. Their deviations are 0.9 and 23 ms: five standard errors of the mean.
        assert!((mean(&draws(Span::from_millis(1))) - 0.684).abs() < 0.01);
        assert!((mean(&draws(Span::from_millis(7))) - 6.84).abs() < 0.26);
    }

    #[test]
    fn one_packet_in_fourteen_waits_long_at_a_target_of_seven_milliseconds() {
        let draws = draws(Span::from_millis(7));
        let long = draws.iter().filter(|jitter| **jitter > 20.0).count() as f64;
        assert!((long / draws.len() as f64 - 6.0 / 84.0).abs() < 0.003, "{long}");
    }

    #[test]
    fn a_target_of_a_millisecond_or_less_has_short_slots_only() {
        assert!(draws(Span::from_micros(500)).iter().all(|jitter| *jitter < 12.0));
    }
}
