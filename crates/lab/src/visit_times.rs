//! When measured visits begin on a path that changes.

use crate::plan::Plan;
use bentpipe_results::Run;
use bentpipe_units::Time;
use std::collections::BTreeMap;

/// Smallest difference between mean beginnings that is noted, in seconds: after it, a path may have
/// changed.
const APART_S: f64 = 1.0;

/// Returns a note if variants that are compared met the path at different times, and it changes.
pub fn different_times(plan: &Plan, runs: &[Run]) -> Option<String> {
    let changing: Vec<_> = plan
        .cases
        .iter()
        .filter(|case| case.last_path_change().is_some())
        .map(|case| (&case.variant, &case.point))
        .collect();
    if changing.is_empty() {
        return None;
    }
    // Sum and number of beginnings by point and flow, and by variant.
    let mut groups: BTreeMap<_, BTreeMap<&str, (f64, f64)>> = BTreeMap::new();
    for run in runs.iter().filter(|run| changing.contains(&(&run.variant, &run.point))) {
        for flow in &run.flows {
            let variants = groups.entry((&run.point, &flow.name)).or_default();
            let (sum, count) = variants.entry(&run.variant).or_default();
            *sum += flow.start_s;
            *count += 1.0;
        }
    }
    let spread = |variants: &BTreeMap<&str, (f64, f64)>| {
        let mut means: Vec<(f64, String)> =
            variants.iter().map(|(name, (sum, n))| (sum / n, (*name).to_owned())).collect();
        means.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some((means.first()?.clone(), means.last()?.clone()))
    };
    let ((early, one), (late, other)) = groups
        .values()
        .filter_map(spread)
        .max_by(|a, b| (a.1.0 - a.0.0).total_cmp(&(b.1.0 - b.0.0)))?;
    (late - early > APART_S).then(|| {
        format!(
            "the path changes with time, and measured visits of `{one}` begin {early:.1} s after \
             the start of a run, those of `{other}` after {late:.1} s: they meet different \
             conditions; a longer `align_visits`, or `start_time` of flows, can begin them together"
        )
    })
}

/// Returns a note if aligned visits begin only after the last change of the path, so that no
/// measured visit meets a change that the scenario describes.
pub fn after_all_changes(plan: &Plan, runs: &[Run]) -> Option<String> {
    let cases: BTreeMap<_, f64> = plan
        .cases
        .iter()
        .filter(|case| case.visits_are_aligned())
        .filter_map(|case| {
            let last = case.last_path_change().filter(|last| *last < Time::MAX)?;
            Some(((&case.variant, &case.point), last.as_secs_f64()))
        })
        .collect();
    let flows: Vec<(f64, f64)> = runs
        .iter()
        .filter_map(|run| Some((run, *cases.get(&(&run.variant, &run.point))?)))
        .flat_map(|(run, last)| run.flows.iter().map(move |flow| (last, flow.start_s)))
        .collect();
    let (last, start) = *flows.first()?;
    flows.iter().all(|(last, start)| start > last).then(|| {
        format!(
            "the path changes for the last time {last:.1} s after the start of a run, and measured \
             visits begin later, after {start:.1} s: they meet no change; `align_visits` sets when \
             they begin, and `repeat` in a schedule repeats it"
        )
    })
}
