//! Probes as rows of recordings.

use crate::measured::{Direction, Probe};
use crate::scenario_text::Row;

const MILLI: f64 = 1e6;
const NANOS: i64 = 1_000_000_000;
/// Number of median steps for which a scenario holds a value by itself.
const HELD_STEPS: i64 = 5;

/// Returns the place of a direction in a pair: up, then down.
pub fn place(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

/// Returns times in milliseconds and half RTTs in milliseconds.
pub fn one_way(probes: &[Probe]) -> Vec<(f64, f64)> {
    let value = |probe: &Probe| Some((probe.sent as f64 / MILLI, probe.rtt? as f64 / 2.0 / MILLI));
    probes.iter().filter_map(value).collect()
}

/// Returns steps (milliseconds, delay in milliseconds) as rows for every second and every step.
pub fn every_second(steps: &[(f64, f64)], end_ms: f64) -> Vec<Row> {
    let mut times: Vec<i64> = (0..=(end_ms / 1e3) as i64).map(|second| second * NANOS).collect();
    times.extend(steps.iter().map(|(at, _)| (at * MILLI).round() as i64));
    times.sort_unstable();
    times.dedup();
    let row = |at: i64| {
        let index = steps.partition_point(|(from, _)| (from * MILLI).round() as i64 <= at);
        let (_, delay) = steps.get(index.saturating_sub(1))?;
        Some(Row { at, delay: Some((delay * MILLI).round() as i64), loss: None })
    };
    times.into_iter().filter_map(row).collect()
}

/// Returns a row for each probe, up and down.
pub fn probe_rows(probes: &[Probe], lost_in: Direction) -> [Vec<Row>; 2] {
    let mut steps: Vec<i64> = probes.windows(2).map(|pair| pair[1].sent - pair[0].sent).collect();
    steps.sort_unstable();
    let step = steps.get(steps.len() / 2).copied().unwrap_or(NANOS).max(1);
    // Clocks of both ends differ, so that only the change of a one-way delay is known: the sum of
    // both minima is that of the RTT.
    let least = |of: fn((i64, i64)) -> i64| probes.iter().filter_map(|p| p.one_way).map(of).min();
    let least = least(|pair| pair.0).zip(least(|pair| pair.1));
    let mut rows = [Vec::new(), Vec::new()];
    for (index, probe) in probes.iter().enumerate() {
        let next = probes.get(index + 1).map(|next| next.sent);
        if next == Some(probe.sent) {
            continue;
        }
        for direction in [Direction::Up, Direction::Down] {
            let up = direction == Direction::Up;
            let delay = match (probe.rtt, probe.one_way.zip(least)) {
                (Some(rtt), Some((own, least))) => {
                    let (own, base) = if up { (own.0, least.0) } else { (own.1, least.1) };
                    let half = least.0.saturating_add(least.1) / 2;
                    // A clock that was set is no delay: neither way takes longer than both.
                    Some(own.saturating_sub(base).saturating_add(half).min(rtt))
                }
                (Some(rtt), None) => Some(if up { rtt / 2 } else { rtt - rtt / 2 }),
                (None, _) => None,
            };
            let lost = probe.lost_in.unwrap_or(lost_in) == direction;
            let loss = if lost { probe.loss } else { 0.0 };
            let rows = &mut rows[place(direction)];
            rows.push(Row {
                at: probe.sent,
                delay: delay.map(|delay| delay.max(0)),
                loss: Some(loss),
            });
            // Nobody looked until the next probe: a loss says nothing of that time.
            let unobserved = next.is_some_and(|next| next - probe.sent > 2 * step);
            if loss > 0.0 && unobserved {
                rows.push(Row { at: probe.sent + step, delay: None, loss: Some(0.0) });
            }
        }
    }
    rows
}

/// Returns true if rows are further apart than a scenario holds a value by itself.
pub fn has_gap(times: impl Iterator<Item = i64>) -> bool {
    let times: Vec<i64> = times.collect();
    let mut steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable();
    let median = steps.get(steps.len() / 2).copied().unwrap_or(1);
    steps.last().is_some_and(|longest| *longest > HELD_STEPS * median)
}
