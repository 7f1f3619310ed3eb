//! The clocks of two files, aligned by the packets that passed between their ends.
//!
//! The shortest times there and back add up to the RTT without a queue. How it divides into the two
//! directions no clock says: as if they took the same time, which satellites in the same orbit
//! there and back do.

use super::packets::Pair;
use bentpipe_units::{Span, Time};

/// Largest drift between clocks that is corrected, in millionths: crystals are within 100 each.
const MAX_DRIFT: f64 = 200.0;
/// Smallest drift over the whole transfer that is, in nanoseconds.
const LEAST_DRIFT: f64 = 200_000.0;
/// Share of the transfer at each end of it between which drift is measured.
const ENDS: f64 = 0.25;
/// Packets of a direction in each of them.
const LEAST_PACKETS: usize = 8;
/// Share of the drift by which the RTT may change meanwhile: a queue changes one direction only.
const QUEUE: f64 = 0.3;

/// What two clocks differ by.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// Shortest times there and back in nanoseconds, between the two clocks.
    there: i64,
    back: i64,
    /// Nanoseconds that the second clock gains in one of the first.
    drift: f64,
    /// Time by the first clock from which it counts.
    from: i64,
}

impl Clocks {
    /// Aligns two clocks; `None` if nothing passed in one direction, or more came than had left.
    pub fn align(there: &[Pair], back: &[Pair]) -> Option<Self> {
        let from = there.first().map_or(0, |pair| nanos(pair.sent));
        let mut clocks = Self { there: 0, back: 0, drift: 0.0, from };
        (clocks.there, clocks.back) = (shortest(there)?, shortest(back)?);
        if let Some(drift) = clocks.measured_drift(there, back) {
            clocks.drift = drift;
            let least = |pairs: &[Pair], is_there| {
                pairs.iter().filter_map(|pair| clocks.took(pair, is_there)).min()
            };
            let (there, back) = (least(there, true)?, least(back, false)?);
            (clocks.there, clocks.back) = (there, back);
        }
        (clocks.there.saturating_add(clocks.back) > 0).then_some(clocks)
    }

    /// Returns the gain of the second clock, if it can be told from queues.
    fn measured_drift(&self, there: &[Pair], back: &[Pair]) -> Option<f64> {
        let (first, last) = (there.first()?.sent, there.last()?.sent);
        let all = last.since(first).as_nanos() as f64;
        let part = Span::from_nanos((all * ENDS) as u64);
        // The first quarter by the clock of each end: they differ by little beside it.
        let change = |pairs: &[Pair]| {
            let (from, to) = (pairs.first()?.sent, pairs.last()?.sent);
            let begin = pairs.partition_point(|pair| pair.sent <= from + part);
            let end = pairs.partition_point(|pair| pair.sent < to.saturating_sub(part));
            let (begin, end) = (pairs.get(..begin)?, pairs.get(end..)?);
            let enough = begin.len().min(end.len()) >= LEAST_PACKETS;
            let change = shortest(end)?.saturating_sub(shortest(begin)?);
            enough.then_some(change as f64)
        };
        let (there, back) = (change(there)?, change(back)?);
        let drift = (there - back) / 2.0;
        let over = all * (1.0 - ENDS);
        let is_drift = drift.abs() >= LEAST_DRIFT
            && drift.abs() <= over * MAX_DRIFT * 1e-6
            && (there + back).abs() <= QUEUE * drift.abs();
        is_drift.then(|| drift / over)
    }

    /// Returns the time that a packet took, between the two clocks without their drift.
    fn took(&self, pair: &Pair, is_there: bool) -> Option<i64> {
        let took = took(pair)?;
        let near = if is_there { nanos(pair.sent) } else { nanos(pair.arrived?) };
        let gained = self.gained(near);
        Some(if is_there { took.saturating_sub(gained) } else { took.saturating_add(gained) })
    }

    /// Returns what the second clock has gained by a time of the first.
    fn gained(&self, near: i64) -> i64 {
        (near.saturating_sub(self.from) as f64 * self.drift) as i64
    }

    /// Returns for how much longer than the shortest of its direction a packet took.
    pub fn wait(&self, pair: &Pair, is_there: bool) -> Option<Span> {
        let shortest = if is_there { self.there } else { self.back };
        let wait = self.took(pair, is_there)?.saturating_sub(shortest).max(0);
        Some(Span::from_nanos(wait.unsigned_abs()))
    }

    /// Returns the shortest time there and back.
    pub fn rtt(&self) -> Span {
        Span::from_nanos(self.there.saturating_add(self.back).max(0).unsigned_abs())
    }

    /// Returns a time of the second clock by the first one.
    pub fn near_nanos(&self, far: Time) -> i64 {
        // Half of what the times there and back differ by is the clocks'.
        let offset = (self.there.saturating_sub(self.back)) / 2;
        let near = nanos(far).saturating_sub(offset);
        near.saturating_sub(self.gained(near))
    }

    /// Returns by how many millionths the second clock runs faster.
    pub fn drift_ppm(&self) -> f64 {
        self.drift * 1e6
    }
}

/// Returns a time in nanoseconds.
fn nanos(at: Time) -> i64 {
    i64::try_from(at.since_start().as_nanos()).unwrap_or(i64::MAX)
}

/// Returns the time from sending to arrival in nanoseconds, between the two clocks.
fn took(pair: &Pair) -> Option<i64> {
    pair.arrived.map(|arrived| nanos(arrived).saturating_sub(nanos(pair.sent)))
}

fn shortest(pairs: &[Pair]) -> Option<i64> {
    pairs.iter().filter_map(took).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets each 10 ms that take `ms`, with `offset_ms` and a gain in millionths between clocks.
    fn pairs(offset_ms: i64, gain: f64, is_there: bool, ms: impl Fn(u64) -> f64) -> Vec<Pair> {
        let far = |near: f64| near * (1.0 + gain * 1e-6) + offset_ms as f64 * 1e6;
        let at = |nanos: f64| Time::from_nanos(nanos as u64);
        let of = |index: u64| {
            let (sent, took) = (index as f64 * 1e7, ms(index) * 1e6);
            let (sent, arrived) = if is_there {
                (at(sent), at(far(sent + took)))
            } else {
                (at(far(sent)), at(sent + took))
            };
            Pair { number: index, has_data: true, sent, arrived: Some(arrived) }
        };
        (0..2000).map(of).collect()
    }

    #[test]
    fn waits_do_not_depend_on_what_the_clocks_differ_by() {
        // A queue of 50 ms on the way back in the middle.
        let wait = |index: u64| if (800..1000).contains(&index) { 50.0 } else { 0.0 };
        for (offset, gain) in [(0, 0.0), (700, 0.0), (3, 80.0), (900, -60.0)] {
            let there = pairs(offset, gain, true, |_| 100.0);
            let back = pairs(offset, gain, false, |index| 100.0 + wait(index));
            let clocks = Clocks::align(&there, &back).expect("aligned");
            let off = |span: Span, ms: f64| (span.as_millis_f64() - ms).abs();
            assert!(off(clocks.rtt(), 200.0) < 0.3, "{offset} {gain}: {}", clocks.rtt());
            assert!((clocks.drift_ppm() - gain).abs() < 5.0, "{offset} {gain}: {clocks:?}");
            for (index, one) in back.iter().enumerate() {
                let waited = clocks.wait(one, false).expect("all arrive");
                assert!(off(waited, wait(index as u64)) < 0.3, "{offset} {gain} {index}: {waited}");
            }
            let near = clocks.near_nanos(there[1500].arrived.expect("all arrive"));
            assert!((near as f64 - 15.1e9).abs() < 5e5, "{offset} {gain}: {near}");
        }
    }

    #[test]
    fn a_queue_that_grows_is_no_drift() {
        let there = pairs(5, 0.0, true, |index| 100.0 + index as f64 * 0.001);
        let back = pairs(5, 0.0, false, |_| 100.0);
        let clocks = Clocks::align(&there, &back).expect("aligned");
        assert_eq!(clocks.drift_ppm(), 0.0);
        assert!(Clocks::align(&there, &[]).is_none());
    }
}
