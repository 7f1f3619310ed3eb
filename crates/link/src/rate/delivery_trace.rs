//! Delivery traces.

use crate::input_files::{ReadFiles, shown_line};
use crate::recorded::clock::ReplayClock;
use crate::trace_file;
use crate::{ConfigError, LinkError};
use bentpipe_units::{Rate, Span, Time};
use std::path::Path;

/// Delivery opportunities over time, in mahimahi's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeliveryTrace {
    /// Times in milliseconds, in ascending order and up to the period.
    pub millis: Vec<u32>,
    /// Time in milliseconds after which the trace repeats: in a file, that of the last line.
    pub period_ms: u32,
}

impl DeliveryTrace {
    /// Bytes per opportunity.
    ///
    /// Mahimahi counts packets as its TUN device delivers them, with 4 bytes before the IP header:
    /// an opportunity of 1504 bytes is one packet of 1500.
    pub const OPPORTUNITY: u32 = 1504;
    /// Bytes that the TUN device puts before each packet.
    pub const OVERHEAD: u32 = 4;

    pub fn period(&self) -> Span {
        Span::from_millis(self.period_ms.into())
    }

    /// Returns the rate for full packets of 1500 bytes.
    pub fn mean_rate(&self) -> Rate {
        Self::rate(self.millis.len() as u64, self.period())
    }

    /// Returns the number of opportunities from `from` to `to`, both included.
    pub fn opportunities(&self, from: Time, to: Time) -> u64 {
        let period = self.period().as_nanos();
        // Counts opportunities before `nanos`. The trace repeats from the time of its last line,
        // which belongs to the previous cycle.
        let before = |nanos: u64| {
            let (whole, within) = (nanos / period, nanos % period);
            let rounds = whole * self.millis.len() as u64;
            let in_round = |limit: u64| {
                self.millis.partition_point(|ms| u64::from(*ms) * 1_000_000 < limit) as u64
            };
            match (whole, within) {
                // Opportunities at the very end of the previous cycle are at `nanos`, not before
                // it.
                (1.., 0) => rounds - (self.millis.len() as u64 - in_round(period)),
                _ => rounds + in_round(within),
            }
        };
        before(to.as_nanos().saturating_add(1)).saturating_sub(before(from.as_nanos()))
    }

    /// Returns the rate of `opportunities` in `span`.
    pub fn rate(opportunities: u64, span: Span) -> Rate {
        let bits = u128::from(opportunities * u64::from(Self::OPPORTUNITY - Self::OVERHEAD)) * 8;
        let bps = bits * 1_000_000_000 / u128::from(span.as_nanos().max(1));
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    fn parse(text: &str) -> Result<Self, (usize, ConfigError)> {
        let mut millis: Vec<u32> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let refused = |problem: String, allowed: &str| {
                (index + 1, ConfigError::refused(line, problem, allowed))
            };
            let at = line.trim().parse().map_err(|_| {
                let allowed = "whole milliseconds, one delivery opportunity per line";
                (index + 1, ConfigError::refused(shown_line(line), "is not a time", allowed))
            })?;
            if let Some(last) = millis.last().filter(|last| at < **last) {
                return Err(refused(
                    format!("comes before the line above, {last}"),
                    "times in ascending order",
                ));
            }
            millis.push(at);
        }
        match millis.last().copied() {
            None => Err((
                1,
                ConfigError::refused("", "contains no delivery opportunity", "at least one line"),
            )),
            Some(0) => {
                let problem = "is the last time, so that the trace has no duration";
                Err((millis.len(), ConfigError::refused("0", problem, "a last line above 0")))
            }
            Some(last) => {
                let trace = Self { millis, period_ms: last };
                if trace.mean_rate().is_zero() {
                    let problem = format!(
                        "is the last time of {} opportunities, which is less than 1 bit per second",
                        trace.millis.len()
                    );
                    let allowed = "a mean rate of at least 1 bit per second";
                    return Err((trace.millis.len(), ConfigError::refused(last, problem, allowed)));
                }
                Ok(trace)
            }
        }
    }

    /// Returns the trace as `clock` replays it: cut to the clock's length, the time after its start
    /// first. An opportunity at the start itself is the last one.
    pub fn replayed(&self, clock: &ReplayClock) -> Self {
        let millis = |span: Span| u32::try_from(span.as_nanos() / 1_000_000).unwrap_or(u32::MAX);
        let (start, length) = (millis(clock.start), millis(clock.length).max(1));
        let kept = &self.millis[..self.millis.partition_point(|ms| *ms <= length)];
        let (before, after) = if start == 0 {
            (&kept[..0], kept)
        } else {
            kept.split_at(kept.partition_point(|ms| *ms <= start))
        };
        let after = after.iter().map(|ms| ms - start);
        let before = before.iter().map(|ms| ms + (length - start.min(length)));
        Self { millis: after.chain(before).collect(), period_ms: length }
    }

    pub fn load(files: &dyn ReadFiles, name: &Path) -> Result<Self, LinkError> {
        trace_file::read(files, name, Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_every_millisecond_is_12_mbps() {
        let trace = DeliveryTrace::parse("1\n2\n3\n4\n").unwrap();
        assert_eq!(trace.mean_rate(), Rate::from_mbps(12));
        assert_eq!(trace.period(), Span::from_millis(4));
    }

    #[test]
    fn a_replay_keeps_the_distance_of_opportunities() {
        let trace = DeliveryTrace::parse("0\n2\n2\n5\n9\n").unwrap();
        let replayed = |start, length| {
            let clock = ReplayClock::repeating(Span::from_millis(length));
            trace.replayed(&ReplayClock { start: Span::from_millis(start), ..clock }).millis
        };
        assert_eq!(replayed(0, 9), trace.millis);
        assert_eq!(replayed(0, 6), [0, 2, 2, 5]);
        assert_eq!(replayed(2, 9), [3, 7, 7, 9, 9]);
        assert_eq!(replayed(3, 6), [2, 3, 5, 5]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line, word) in [
            ("1\n1.5 ms\n", 2, "`1.5 ms` is not a time"),
            ("1\nroot:$y$secret\n", 2, "`the line` is not a time"),
            ("", 1, "no delivery"),
            ("5\n3\n", 2, "`3`"),
            ("0\n0\n", 2, "no duration"),
            ("1\n\n", 2, "``"),
            // Found by fuzzing: a rate that rounds to zero.
            ("50105251\n", 1, "less than 1 bit per second"),
        ] {
            let (at, error) = DeliveryTrace::parse(text).unwrap_err();
            assert_eq!(at, line, "{text:?}: {error}");
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
