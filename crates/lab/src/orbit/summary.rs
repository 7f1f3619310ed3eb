//! Summary of a flow's routes over time.

use super::FlowRoutes;
use bentpipe_results::quantile;
use bentpipe_units::Span;
use serde::Serialize;

/// RTT, route changes and outages of a flow over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Smallest RTT, in milliseconds. `None` if there never is a route.
    pub rtt_min_ms: Option<f64>,
    /// Median RTT over time, in milliseconds.
    pub rtt_median_ms: Option<f64>,
    /// Largest RTT, in milliseconds.
    pub rtt_max_ms: Option<f64>,
    /// Smallest number of links of a route.
    pub hops_min: Option<usize>,
    /// Largest number of links of a route.
    pub hops_max: Option<usize>,
    /// Number of route changes, including the loss of the route.
    pub changes: usize,
    /// Route changes per minute.
    pub changes_per_minute: f64,
    /// Largest difference in RTT between consecutive routes, in milliseconds.
    pub largest_step_ms: Option<f64>,
    /// Fastest change of the RTT along one route, in microseconds per second.
    pub drift_us_per_s: Option<f64>,
    /// Number of periods without a route.
    pub outages: usize,
    /// Longest period without a route, in seconds.
    pub longest_outage_s: f64,
    /// Share of the time without a route.
    pub outage_share: f64,
}

impl Summary {
    /// Summarises the samples and routes of `flow` over `length`.
    pub(super) fn new(flow: &FlowRoutes, length: Span) -> Self {
        let mut rtts: Vec<f64> = flow.samples.iter().filter_map(|sample| sample.rtt_ms).collect();
        rtts.sort_by(f64::total_cmp);
        let hops = || flow.samples.iter().filter_map(|sample| sample.hops);
        let changes = flow.routes.len().saturating_sub(1);
        let minutes = length.as_secs_f64() / 60.0;
        let (steps, drifts) = steps_and_drifts(flow);
        let largest = |values: Vec<f64>| values.into_iter().max_by(f64::total_cmp);
        let outages = outages(flow, length);
        // `sum` of an empty iterator would be -0.
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

/// Returns the absolute differences in RTT between consecutive routes, in milliseconds, and the
/// absolute rates of change along routes, in microseconds per second.
fn steps_and_drifts(flow: &FlowRoutes) -> (Vec<f64>, Vec<f64>) {
    let (mut steps, mut drifts) = (Vec::new(), Vec::new());
    let mut routes = flow.routes.iter().skip(1).peekable();
    for two in flow.samples.windows(2) {
        let [before, after] = two else { continue };
        let changed = routes.next_if(|route| route.t_s <= after.t_s).is_some();
        let (Some(old), Some(new)) = (before.rtt_ms, after.rtt_ms) else { continue };
        if changed {
            steps.push((new - old).abs());
        } else {
            drifts.push((new - old).abs() * 1e3 / (after.t_s - before.t_s));
        }
    }
    (steps, drifts)
}

/// Returns the lengths of the periods without a route, in seconds.
fn outages(flow: &FlowRoutes, length: Span) -> Vec<f64> {
    let ends = flow.routes.iter().skip(1).map(|route| route.t_s).chain([length.as_secs_f64()]);
    let outages = flow.routes.iter().zip(ends).filter(|(route, _)| route.ids.is_empty());
    outages.map(|(route, end)| end - route.t_s).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Sample, TimedRoute};
    use super::*;
    use bentpipe_orbit::Node;

    fn flow(rtts: &[(f64, Option<f64>)], routes: &[(f64, &[u32])]) -> FlowRoutes {
        let sample = |(t_s, rtt_ms): &(f64, Option<f64>)| Sample {
            t_s: *t_s,
            rtt_ms: *rtt_ms,
            hops: rtt_ms.map(|_| 2),
            visible: [1, 1],
            attached: [1, 1],
        };
        let route = |(t_s, ids): &(f64, &[u32])| TimedRoute {
            t_s: *t_s,
            rtt_ms: None,
            nodes: Vec::new(),
            ids: ids.iter().map(|id| Node(*id)).collect(),
        };
        FlowRoutes {
            flow: "main".to_owned(),
            from: "a".to_owned(),
            to: "b".to_owned(),
            distance_km: 1.0,
            summary: Summary::default(),
            routes: routes.iter().map(route).collect(),
            disjoint: Vec::new(),
            samples: rtts.iter().map(sample).collect(),
        }
    }

    #[test]
    fn route_changes_give_steps_and_the_time_between_gives_drift() {
        let rtts = [
            (0.0, Some(10.0)),
            (1.0, Some(10.02)),
            (2.0, Some(15.0)),
            (3.0, None),
            (4.0, None),
            (5.0, Some(11.0)),
        ];
        let flow =
            flow(&rtts, &[(0.0, &[0, 1, 2]), (2.0, &[0, 3, 2]), (3.0, &[]), (5.0, &[0, 1, 2])]);
        let summary = Summary::new(&flow, Span::from_secs(6));
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
    fn a_flow_without_routes_has_one_outage() {
        let flow = flow(&[(0.0, None), (1.0, None)], &[(0.0, &[])]);
        let summary = Summary::new(&flow, Span::from_secs(1));
        assert_eq!((summary.rtt_median_ms, summary.changes, summary.outages), (None, 0, 1));
        assert_eq!((summary.longest_outage_s, summary.outage_share), (1.0, 1.0));
    }
}
