//! Each wait is counted once.
//!
//! The delay of a probe is propagation, the wait for a grant, that in an outage and the queue. A
//! rate trace makes packets wait for grants and in outages itself. So beside a trace the delay is
//! the median of its slot, less the mean wait for a grant: what varies within a slot is the wait.

use crate::outages::{Outage, grant_wait_ms};
use crate::statistics::{median, quantile, sorted};

/// Time before an outage at which delays may already show it, in milliseconds.
const BEFORE_MS: f64 = 100.0;
/// Time after an outage at which delays still show it, in milliseconds.
const AFTER_MS: f64 = 250.0;
/// Time on each side of an outage whose median its delays are bounded by, in milliseconds.
const SIDE_MS: f64 = 10_000.0;

/// One-way delays without what a rate trace makes packets wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// Times in milliseconds, ascending, and delays in milliseconds from then on.
    pub steps: Vec<(f64, f64)>,
    /// Number of delays that an outage had raised.
    pub clipped: usize,
    /// Mean wait for a grant in milliseconds.
    pub grant_wait_ms: f64,
    /// Number of slots.
    pub slots: usize,
}

/// Returns delays (time in milliseconds, delay in milliseconds, ascending) without the waits that
/// the trace `millis` with these outages makes.
pub fn beside_trace(delays: &[(f64, f64)], millis: &[u32], outages: &[Outage]) -> Base {
    let mut delays = delays.to_vec();
    let clipped = clip(&mut delays, outages);
    let wait = grant_wait_ms(millis, outages);
    let slot = |at: f64| outages.partition_point(|outage| f64::from(outage.at_ms) <= at);
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut from = 0;
    while from < delays.len() {
        let this = slot(delays[from].0);
        let to = from + delays[from..].partition_point(|(at, _)| slot(*at) == this);
        let level = median(delays[from..to].iter().map(|(_, delay)| *delay));
        steps.push((delays[from].0, (level - wait).max(0.0)));
        from = to;
    }
    Base { slots: steps.len(), steps, clipped, grant_wait_ms: wait }
}

/// Bounds the delays in and shortly after each outage by the median before or after it. Returns how
/// many were higher.
fn clip(delays: &mut [(f64, f64)], outages: &[Outage]) -> usize {
    let original = delays.to_vec();
    let index = |at: f64| original.partition_point(|(time, _)| *time < at);
    let level = |from: usize, to: usize| {
        let side = sorted(original[from..to].iter().map(|(_, delay)| *delay));
        if side.is_empty() { f64::MAX } else { quantile(&side, 0.5) }
    };
    let mut clipped = 0;
    for outage in outages {
        let (at, end) = (f64::from(outage.at_ms), f64::from(outage.end_ms()));
        let (from, to) = (index(at - BEFORE_MS), index(end + AFTER_MS));
        let before = level(index(at - BEFORE_MS - SIDE_MS), from);
        let after = level(to, index(end + AFTER_MS + SIDE_MS));
        for (time, delay) in &mut delays[from..to] {
            let most = if *time < (at + end) / 2.0 { before } else { after };
            if *delay > most {
                *delay = most;
                clipped += 1;
            }
        }
    }
    clipped
}
