//! A way over time in a few numbers.

use super::Pair;
use bentpipe_results::quantile;
use bentpipe_units::Span;
use serde::Serialize;

/// The round trip of a way over time, how it changes, and when there is none.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Smallest round trip; null where there never is a way.
    pub rtt_min_ms: Option<f64>,
    /// Median over time.
    pub rtt_median_ms: Option<f64>,
    /// Largest.
    pub rtt_max_ms: Option<f64>,
    /// Fewest links on the way.
    pub hops_min: Option<usize>,
    /// Most.
    pub hops_max: Option<usize>,
    /// Changes from one way to another, or to none.
    pub changes: usize,
    /// The same, a minute.
    pub changes_per_minute: f64,
    /// Largest difference of round trips between one way and the next.
    pub largest_step_ms: Option<f64>,
    /// Fastest change of the round trip along one way, microseconds a second.
    pub drift_us_per_s: Option<f64>,
    /// Times without a way.
    pub outages: usize,
    /// The longest of them.
    pub longest_outage_s: f64,
    /// Share of the time without a way.
    pub outage_share: f64,
}

impl Summary {
    /// Of the samples and routes of `pair`, over `length`.
    pub(super) fn new(pair: &Pair, length: Span) -> Self {
        let mut rtts: Vec<f64> = pair.samples.iter().filter_map(|sample| sample.rtt_ms).collect();
        rtts.sort_by(f64::total_cmp);
        let hops = || pair.samples.iter().filter_map(|sample| sample.hops);
        let changes = pair.routes.len().saturating_sub(1);
        let minutes = length.as_secs_f64() / 60.0;
        let (steps, drifts) = moves(pair);
        let largest = |values: Vec<f64>| values.into_iter().max_by(f64::total_cmp);
        let outages = outages(pair, length);
        // Not `sum`, which of nothing is -0.
        let total = outages.iter().fold(0.0, |total, outage| total + outage);
        Self {
            rtt_min_ms: rtts.first().copied(),
            rtt_median_ms: if rtts.is_empty() { None } else { Some(quantile(&rtts, 0.5)) },
            rtt_max_ms: rtts.last().copied(),
            hops_min: hops().min(),
            hops_max: hops().max(),
            changes,
            changes_per_minute: if minutes > 0.0 { changes as f64 / minutes } else { 0.0 },
            largest_step_ms: largest(steps),
            drift_us_per_s: largest(drifts),
            outages: outages.len(),
            longest_outage_s: largest(outages).unwrap_or_default(),
            outage_share: if length.is_zero() { 0.0 } else { total / length.as_secs_f64() },
        }
    }
}

/// Differences of round trips from one way to the next, ms, and rates of change along routes, us/s;
/// both without sign.
fn moves(pair: &Pair) -> (Vec<f64>, Vec<f64>) {
    let (mut steps, mut drifts) = (Vec::new(), Vec::new());
    let mut routes = pair.routes.iter().skip(1).peekable();
    for two in pair.samples.windows(2) {
        let [before, after] = two else { continue };
        let changed = routes.next_if(|way| way.t_s <= after.t_s).is_some();
        let (Some(old), Some(new)) = (before.rtt_ms, after.rtt_ms) else { continue };
        if changed {
            steps.push((new - old).abs());
        } else {
            drifts.push((new - old).abs() * 1e3 / (after.t_s - before.t_s));
        }
    }
    (steps, drifts)
}

/// How long each time without a way is, seconds.
fn outages(pair: &Pair, length: Span) -> Vec<f64> {
    let ends = pair.routes.iter().skip(1).map(|way| way.t_s).chain([length.as_secs_f64()]);
    let routes = pair.routes.iter().zip(ends).filter(|(way, _)| way.ids.is_empty());
    routes.map(|(way, end)| end - way.t_s).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Sample, WayFrom};
    use super::*;
    use bentpipe_orbit::Node;

    fn pair(rtts: &[(f64, Option<f64>)], routes: &[(f64, &[u32])]) -> Pair {
        let sample = |(t_s, rtt_ms): &(f64, Option<f64>)| Sample {
            t_s: *t_s,
            rtt_ms: *rtt_ms,
            hops: rtt_ms.map(|_| 2),
            visible: [1, 1],
            attached: [1, 1],
        };
        let way = |(t_s, ids): &(f64, &[u32])| WayFrom {
            t_s: *t_s,
            rtt_ms: None,
            nodes: Vec::new(),
            ids: ids.iter().map(|id| Node(*id)).collect(),
        };
        Pair {
            flow: "main".to_owned(),
            from: "a".to_owned(),
            to: "b".to_owned(),
            distance_km: 1.0,
            summary: Summary::default(),
            routes: routes.iter().map(way).collect(),
            disjoint: Vec::new(),
            samples: rtts.iter().map(sample).collect(),
        }
    }

    #[test]
    fn steps_come_from_changes_and_drift_from_the_time_between() {
        let rtts = [
            (0.0, Some(10.0)),
            (1.0, Some(10.02)),
            (2.0, Some(15.0)),
            (3.0, None),
            (4.0, None),
            (5.0, Some(11.0)),
        ];
        let pair =
            pair(&rtts, &[(0.0, &[0, 1, 2]), (2.0, &[0, 3, 2]), (3.0, &[]), (5.0, &[0, 1, 2])]);
        let summary = Summary::new(&pair, Span::from_secs(6));
        assert_eq!((summary.rtt_min_ms, summary.rtt_max_ms), (Some(10.0), Some(15.0)));
        assert_eq!((summary.changes, summary.changes_per_minute), (3, 30.0));
        assert!((summary.largest_step_ms.unwrap() - 4.98).abs() < 1e-9);
        assert!((summary.drift_us_per_s.unwrap() - 20.0).abs() < 1e-6);
        assert_eq!(
            (summary.outages, summary.longest_outage_s, summary.outage_share),
            (1, 2.0, 2.0 / 6.0)
        );
    }

    #[test]
    fn ends_that_never_meet_are_one_outage() {
        let pair = pair(&[(0.0, None), (1.0, None)], &[(0.0, &[])]);
        let summary = Summary::new(&pair, Span::from_secs(1));
        assert_eq!((summary.rtt_median_ms, summary.changes, summary.outages), (None, 0, 1));
        assert_eq!((summary.longest_outage_s, summary.outage_share), (1.0, 1.0));
    }
}
