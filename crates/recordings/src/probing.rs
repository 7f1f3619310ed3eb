//! A measurement of our own: probes stamped at both ends, and transfers.

use crate::measured::{Direction, Probe};
use bentpipe_units::Rate;
use std::fmt::Write;

/// Bins of 100 ms in a second.
const SECOND: usize = 10;
/// Time for which the lowest RTT says how clocks differ, in nanoseconds.
const WINDOW: i64 = 5_000_000_000;

/// Returns `probes` without the drift of the far clock, and the drift as a ratio: the slope of a
/// line through the clock's offset at the lowest RTT of each 5 s.
///
/// An offset is half of the difference of both delays, so that a path whose delays change in one
/// direction only looks like drift.
pub fn without_drift(probes: &[Probe]) -> (Vec<Probe>, f64) {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut rest = probes;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|probe| probe.sent < first.sent + WINDOW).count();
        let (window, after) = rest.split_at(length.max(1));
        let answered = window.iter().filter_map(|probe| Some((probe.rtt?, probe)));
        if let Some((_, probe)) = answered.min_by_key(|(rtt, _)| *rtt)
            && let Some((up, down)) = probe.one_way
        {
            // The far end may say any time.
            let twice = i128::from(up) - i128::from(down);
            points.push(((probe.sent - probes[0].sent) as f64, twice as f64 / 2.0));
        }
        rest = after;
    }
    let drift = slope(&points);
    let corrected = |probe: &Probe| {
        let by = (drift * (probe.sent - probes[0].sent) as f64).round() as i64;
        let moved = |(up, down): (i64, i64)| (up.saturating_sub(by), down.saturating_add(by));
        Probe { one_way: probe.one_way.map(moved), ..*probe }
    };
    (probes.iter().map(corrected).collect(), drift)
}

/// Returns the slope of the line with the least squares; 0 for fewer than three points.
fn slope(points: &[(f64, f64)]) -> f64 {
    if points.len() < 3 {
        return 0.0;
    }
    let count = points.len() as f64;
    // Offsets of unrelated clocks are large: differences from the first keep the digits.
    let base = points[0].1;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1) - base);
    let (mut across, mut along) = (0.0, 0.0);
    for (at, offset) in points {
        across += (at - x) * (offset - base - y);
        along += (at - x) * (at - x);
    }
    if along > 0.0 { across / along } else { 0.0 }
}

/// Returns probes at an interval (nanoseconds) as irtt would write them.
pub fn irtt_json(probes: &[Probe], interval: i64) -> String {
    let mut text =
        format!("{{\"config\":{{\"params\":{{\"interval\":{interval}}}}},\"round_trips\":[\n");
    for (number, probe) in probes.iter().enumerate() {
        let lost = match (probe.rtt, probe.lost_in) {
            (Some(_), _) => "false",
            (None, Some(Direction::Up)) => "true_up",
            (None, Some(Direction::Down)) => "true_down",
            (None, None) => "true",
        };
        let comma = if number == 0 { "" } else { ",\n" };
        // Writing to a text cannot fail.
        let _ = write!(
            text,
            "{comma}{{\"seqno\":{number},\"lost\":\"{lost}\",\"timestamps\":{{\"client\":\
             {{\"send\":{{\"wall\":{}}}}}}},\"delay\":{{",
            probe.sent
        );
        if let (Some(rtt), Some((up, down))) = (probe.rtt, probe.one_way) {
            let _ = write!(text, "\"rtt\":{rtt},\"send\":{up},\"receive\":{down}");
        }
        text.push_str("}}");
    }
    text.push_str("\n]}\n");
    text
}

/// Returns the highest mean rate of a second of bins of 100 ms, or of all if there are fewer: a
/// lower bound of the path's rate. `None` without any.
pub fn highest_second(bins: &[u64]) -> Option<Rate> {
    let length = bins.len().clamp(1, SECOND);
    let sums = bins.windows(length).map(|second| second.iter().sum::<u64>());
    let bits = sums.max()?.saturating_mul(8 * SECOND as u64);
    Some(Rate::from_bps(bits / length as u64)).filter(|rate| !rate.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Content;

    fn probe(sent: i64, delays: Option<(i64, i64)>, lost_in: Option<Direction>) -> Probe {
        let rtt = delays.map(|(up, down)| up + down);
        let loss = f64::from(u8::from(rtt.is_none()));
        Probe { sent, rtt, one_way: delays, loss, lost_in }
    }

    #[test]
    fn what_is_written_is_read_by_the_import() {
        let start = 1_780_000_000_000_000_000;
        let fates = [
            (Some((20_000_000, 12_000_000)), None),
            (None, Some(Direction::Up)),
            (None, Some(Direction::Down)),
            (None, None),
            // Clocks that differ.
            (Some((-5_000_000_000, 5_031_000_000)), None),
        ];
        let probes: Vec<Probe> = fates
            .into_iter()
            .enumerate()
            .map(|(n, (delays, lost))| probe(start + 10_000_000 * n as i64, delays, lost))
            .collect();
        let text = irtt_json(&probes, 10_000_000);
        let read = crate::read("probes.json", text.into_bytes(), None).expect("it is read");
        assert!(read.times.is_utc());
        assert_eq!(read.content, Content::Probes(probes));
    }

    #[test]
    fn the_drift_of_a_clock_is_found_and_taken_away() {
        // 40 ppm, and an offset of an hour; now and then a probe waits.
        let probes: Vec<Probe> = (0..6000)
            .map(|number| {
                let sent = 10_000_000 * number;
                let offset = 3_600_000_000_000 + sent / 25_000;
                let wait = if number % 7 == 0 { 0 } else { number % 5 * 1_000_000 };
                probe(sent, Some((20_000_000 + wait + offset, 20_000_000 - offset)), None)
            })
            .collect();
        let (corrected, drift) = without_drift(&probes);
        assert!((drift - 4e-5).abs() < 1e-7, "{drift}");
        let up = |probe: &Probe| probe.one_way.map_or(0, |delays| delays.0);
        let (first, last) = (up(&corrected[0]), up(&corrected[5999]));
        assert!((first - last).abs() < 20_000, "{first} and {last}");
        assert!(corrected.iter().all(|probe| probe.one_way.map(|(a, b)| a + b) == probe.rtt));
    }

    #[test]
    fn the_highest_second_is_a_rate() {
        assert_eq!(highest_second(&[]), None);
        assert_eq!(highest_second(&[125_000; 4]), Some(Rate::from_mbps(10)));
        let mut bins = vec![0; 5];
        bins.extend([125_000; 10]);
        bins.extend([60_000; 10]);
        assert_eq!(highest_second(&bins), Some(Rate::from_mbps(10)));
    }
}
