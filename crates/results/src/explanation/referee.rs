//! Doubts about what runs can show, from their time budgets.

use super::account::{Account, accounts, pairs};
use super::words::difference;
use crate::document::Results;
use std::collections::BTreeSet;

/// Share of the completion time from which a limit that is not the controller's counts as the
/// limit of the transfer.
const MOST_OF_THE_TIME: f64 = 0.5;
/// Share of the completion time below which a controller has not limited its sender.
const NEVER: f64 = 0.01;
/// Most doubts of a kind.
const MOST_DOUBTS: usize = 4;

/// Returns reasons to doubt conclusions from `results`, each a sentence.
pub fn doubts(results: &Results) -> Vec<String> {
    let accounts = accounts(results);
    let mut doubts = Vec::new();
    doubts.extend(controllers_without_effect(results, &accounts));
    doubts.extend(accounts.iter().flat_map(other_limits).take(MOST_DOUBTS));
    doubts.extend(differences_within_the_scatter(&accounts));
    doubts
}

/// Variants differ in their controllers, and those of some never limited their senders after slow
/// start: what is compared there is how they start.
fn controllers_without_effect(results: &Results, accounts: &[Account<'_>]) -> Option<String> {
    let mut controllers: Vec<(&str, &str)> = Vec::new();
    for run in &results.runs {
        for flow in run.flows.iter().filter(|flow| flow.time_budget.is_some()) {
            let pair = (flow.congestion.as_str(), run.variant.as_str());
            if !controllers.contains(&pair) {
                controllers.push(pair);
            }
        }
    }
    controllers.sort_unstable();
    let acted = |variant: &str| {
        accounts.iter().filter(|account| account.variant == variant).any(|account| {
            let time = account.time_s("congestion_window_s") + account.time_s("pacing_s");
            // A full queue has ended its start, even if it then kept the link busy.
            let never_started = account.time_s("slow_start_s") == 0.0;
            time >= NEVER * account.mean_s() || never_started || account.losses.of_congestion()
        })
    };
    let mut names: Vec<&str> = controllers.iter().map(|(name, _)| *name).collect();
    names.dedup();
    let idle: Vec<&str> =
        controllers.iter().map(|(_, variant)| *variant).filter(|name| !acted(name)).collect();
    if names.len() < 2 || idle.is_empty() {
        return None;
    }
    if idle.len() == controllers.len() {
        return Some(format!(
            "the controllers {} are not compared: no sender was ever limited by its controller \
             after slow start",
            names.join(", ")
        ));
    }
    let more = idle.len().saturating_sub(MOST_DOUBTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let idle: Vec<String> = idle.iter().take(MOST_DOUBTS).map(|name| format!("`{name}`")).collect();
    Some(format!(
        "the controller of {}{more} never left its start: it never limited its sender after slow \
         start",
        idle.join(", ")
    ))
}

/// Runs are random, variants differ, and each has a single run: nothing tells a difference from
/// chance.
pub fn single_runs(results: &Results, is_random: bool) -> Option<String> {
    let variants: BTreeSet<&str> = results.runs.iter().map(|run| run.variant.as_str()).collect();
    let several = results.runs.iter().any(|run| run.run > 0);
    (is_random && !several && variants.len() > 1).then(|| {
        "runs are random, and each variant has one: a difference may be chance; `repeat` decides"
            .to_owned()
    })
}

/// Something else than the transport limited a transfer most of the time.
fn other_limits(account: &Account<'_>) -> Option<String> {
    let limits = [("flow_control_s", "flow control"), ("application_s", "the application")];
    limits.into_iter().find_map(|(name, words)| {
        let share = account.time_s(name) / account.mean_s();
        (share >= MOST_OF_THE_TIME).then(|| {
            format!(
                "variant `{}`, flow `{}`, visit {}: {words} limited the sender for {:.0} % of \
                 the time",
                account.variant,
                account.flow,
                account.visit,
                share * 100.0
            )
        })
    })
}

/// Differences that the scatter of the runs explains as well.
fn differences_within_the_scatter(accounts: &[Account<'_>]) -> Option<String> {
    let doubtful: Vec<String> = pairs(accounts)
        .into_iter()
        .filter(|(base, other)| base.variant != other.variant)
        .filter(|(base, other)| {
            let difference = difference(base, other);
            difference.within_scatter && !difference.is_none()
        })
        .map(|(base, other)| format!("`{}` and `{}`", base.variant, other.variant))
        .collect();
    let mut names = doubtful.clone();
    names.dedup();
    let more = names.len().saturating_sub(MOST_DOUBTS);
    names.truncate(MOST_DOUBTS);
    let more = if more > 0 { format!(" and {more} more pairs") } else { String::new() };
    (!names.is_empty()).then(|| {
        format!(
            "the mean completion times of {}{more} differ by less than their runs scatter (95 %): \
             more repeats would decide",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Flow, Point, Run};
    use crate::time_budget::TimeBudget;
    use serde_json::json;

    fn results(flows: &[(&str, &str, f64, TimeBudget)]) -> Results {
        let runs: Vec<Run> = flows
            .iter()
            .enumerate()
            .map(|(index, (variant, congestion, completion, budget))| {
                let flow: Flow = serde_json::from_value(json!({
                    "name": "main", "visit": 1, "transport": "quic", "congestion": congestion,
                    "connections": 1, "direction": "download", "bytes": 1, "completed": true,
                    "start_s": 0.0, "completion_s": completion, "time_budget": budget,
                    "reverse_bytes": {}, "objects": [], "error": null,
                }))
                .unwrap();
                Run {
                    variant: (*variant).to_owned(),
                    point: Point::new(),
                    run: index as u64,
                    flows: vec![flow],
                    links: Vec::new(),
                    fairness: None,
                    populations: Vec::new(),
                    emulation: None,
                }
            })
            .collect();
        serde_json::from_value(json!({
            "version": "0", "clock": "virtual", "scenario": "test", "seed": 1, "runs": runs, "summary": [],
            "expectations": [], "published": [],
        }))
        .unwrap()
    }

    #[test]
    fn controllers_that_never_acted_are_not_compared() {
        let start = TimeBudget { slow_start_s: 2.0, ..TimeBudget::default() };
        let found = doubts(&results(&[("a", "cubic", 2.0, start), ("b", "bbr3", 2.0, start)]));
        assert!(found[0].starts_with("the controllers bbr3, cubic are not compared"), "{found:?}");
        let acted = TimeBudget { pacing_s: 1.0, slow_start_s: 1.0, ..TimeBudget::default() };
        let found = doubts(&results(&[("a", "cubic", 2.0, start), ("b", "bbr3", 2.0, acted)]));
        assert!(found[0].starts_with("the controller of `a` never left its start"), "{found:?}");
        let mut dropped = results(&[("a", "cubic", 2.0, start), ("b", "bbr3", 2.0, acted)]);
        dropped.runs[0].flows[0].metrics.packets_lost_queue = 3;
        assert!(doubts(&dropped).is_empty(), "a full queue ends a start");
        let found = doubts(&results(&[("a", "cubic", 2.0, acted), ("b", "bbr3", 2.0, acted)]));
        assert!(found.is_empty(), "{found:?}");
        let found = doubts(&results(&[("a", "cubic", 2.0, start), ("b", "cubic", 2.0, start)]));
        assert!(found.is_empty(), "nothing is compared: {found:?}");
    }

    #[test]
    fn single_runs_of_random_scenarios_decide_nothing() {
        let budget = TimeBudget { pacing_s: 1.0, ..TimeBudget::default() };
        let mut two = results(&[("a", "cubic", 2.0, budget), ("b", "cubic", 3.0, budget)]);
        two.runs.iter_mut().for_each(|run| run.run = 0);
        assert!(single_runs(&two, true).is_some_and(|text| text.contains("may be chance")));
        assert_eq!(single_runs(&two, false), None);
        two.runs[1].run = 1;
        assert_eq!(single_runs(&two, true), None);
    }

    #[test]
    fn a_limit_outside_the_transport_is_named() {
        let budget = TimeBudget { flow_control_s: 6.0, ..TimeBudget::default() };
        let found = doubts(&results(&[("a", "cubic", 10.0, budget)]));
        assert_eq!(
            found,
            ["variant `a`, flow `main`, visit 1: flow control limited the sender for 60 % of the \
              time"]
        );
    }

    #[test]
    fn a_difference_within_the_scatter_needs_more_repeats() {
        let budget = TimeBudget { pacing_s: 1.0, ..TimeBudget::default() };
        let runs = [("a", 1.0), ("a", 3.0), ("b", 1.5), ("b", 3.5)];
        let runs = runs.map(|(variant, time)| (variant, "cubic", time, budget));
        let found = doubts(&results(&runs));
        assert!(
            found[0].contains("`a` and `b` differ by less than their runs scatter"),
            "{found:?}"
        );
    }
}
