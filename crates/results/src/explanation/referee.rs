//! Doubts about what runs can show, from their time budgets.

use super::account::{Account, accounts, pairs};
use super::words::difference;
use crate::document::Results;
use crate::expect::point_text;
use crate::headline::is_paced;
use std::collections::BTreeSet;

/// Share of the completion time from which a limit that is not the controller's counts as the
/// limit of the transfer.
const MOST_OF_THE_TIME: f64 = 0.5;
/// Share of the completion time below which a controller has not limited its sender.
const NEVER: f64 = 0.01;
/// The part of a time in which the application had nothing to send.
const APPLICATION: &str = "application_s";
/// Most doubts of a kind.
const MOST_DOUBTS: usize = 4;
/// Most places that a doubt names.
const MOST_PLACES: usize = 2;

/// Returns reasons to doubt conclusions from `results`, each a sentence.
pub fn doubts(results: &Results) -> Vec<String> {
    let accounts = accounts(results);
    let mut doubts = Vec::new();
    let explained: Vec<Account<'_>> =
        accounts.iter().filter(|account| account.has_parts()).cloned().collect();
    doubts.extend(controllers_without_effect(results, &explained));
    let flows = results.runs.iter().flat_map(|run| &run.flows);
    let paced: BTreeSet<&str> =
        flows.filter(|flow| is_paced(&flow.workload)).map(|flow| flow.name.as_str()).collect();
    doubts.extend(other_limits(&explained, &paced));
    doubts.extend(differences_within_the_scatter(&accounts));
    doubts
}

/// Variants differ in their controllers, and those of some never limited their senders after slow
/// start: what is compared there is how they start.
fn controllers_without_effect(results: &Results, accounts: &[Account<'_>]) -> Option<String> {
    let mut controllers: Vec<(&str, &str)> = Vec::new();
    // A variant that never completed has no account, and is not compared.
    let compared = |variant: &str| accounts.iter().any(|account| account.variant == variant);
    for run in results.runs.iter().filter(|run| compared(&run.variant)) {
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
            time >= NEVER * account.completion_s || never_started || account.losses.of_congestion()
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

/// Something else than the transport limited a transfer most of the time: once for each transfer of
/// a variant and each limit, with the points of the sweep. That the application limits a flow is
/// expected of those that are `paced` by theirs.
fn other_limits(accounts: &[Account<'_>], paced: &BTreeSet<&str>) -> Vec<String> {
    let limits = [("flow_control_s", "flow control"), (APPLICATION, "the application")];
    let transfers = grouped(accounts.iter().map(|one| ((one.variant, one.flow, one.visit), one)));
    let mut texts = Vec::new();
    for ((variant, flow, visit), transfers) in transfers {
        for (name, words) in limits {
            if name == APPLICATION && paced.contains(flow) {
                continue;
            }
            let share = |account: &Account<'_>| account.time_s(name) / account.completion_s;
            let limited: Vec<&Account<'_>> = transfers
                .iter()
                .copied()
                .filter(|account| share(account) >= MOST_OF_THE_TIME)
                .collect();
            let percent = |one: &&Account<'_>| (share(one) * 100.0).round_ties_even() as u64;
            let shares = limited.iter().map(percent);
            let (Some(least), Some(most)) = (shares.clone().min(), shares.max()) else { continue };
            let span = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let places: Vec<String> = limited.iter().map(|one| point_text(one.point)).collect();
            texts.push(format!(
                "variant `{variant}`, flow `{flow}`, visit {visit}{}: {words} limited the sender \
                 for {span} % of the time",
                match places_text(&places, transfers.len(), "at every point") {
                    text if text.is_empty() => text,
                    text => format!(", {text}"),
                }
            ));
        }
    }
    texts.truncate(MOST_DOUBTS);
    texts
}

/// Differences that the scatter of the runs explains as well: each pair of variants once, with the
/// points and flows for which that is so.
fn differences_within_the_scatter(accounts: &[Account<'_>]) -> Option<String> {
    let several_flows = accounts.iter().any(|account| account.flow != accounts[0].flow);
    let visits_differ = |a: &Account<'_>, b: &Account<'_>| {
        (a.variant, a.point, a.flow) == (b.variant, b.point, b.flow) && a.visit != b.visit
    };
    let several_visits = accounts.windows(2).any(|two| visits_differ(&two[0], &two[1]));
    let compared =
        pairs(accounts).into_iter().filter(|(base, other)| base.variant != other.variant);
    let variants = compared.map(|(base, other)| ((base.variant, other.variant), (base, other)));
    let mut doubtful = Vec::new();
    for ((base, other), pairs) in grouped(variants) {
        let within = pairs.iter().filter(|(base, other)| {
            let difference = difference(base, other);
            difference.within_scatter && !difference.is_none()
        });
        let places: Vec<String> = within
            .map(|(_, other)| {
                let flow = several_flows.then(|| format!("flow `{}`", other.flow));
                let visit = several_visits.then(|| format!("visit {}", other.visit));
                let point = (!other.point.is_empty()).then(|| point_text(other.point));
                let parts: Vec<String> = [flow, visit, point].into_iter().flatten().collect();
                parts.join(", ")
            })
            .collect();
        if !places.is_empty() {
            let everywhere = match (accounts.iter().any(|one| !one.point.is_empty()), several_flows)
            {
                (true, true) => "in every flow at every point",
                (true, false) => "at every point",
                (false, true) => "in every flow",
                (false, false) => "in every visit",
            };
            let places = places_text(&places, pairs.len(), everywhere);
            let places = if places.is_empty() { places } else { format!(" ({places})") };
            doubtful.push(format!("`{base}` and `{other}`{places}"));
        }
    }
    let more = doubtful.len().saturating_sub(MOST_DOUBTS);
    doubtful.truncate(MOST_DOUBTS);
    let more = match more {
        0 => String::new(),
        1 => " and of 1 more pair".to_owned(),
        more => format!(" and of {more} more pairs"),
    };
    (!doubtful.is_empty()).then(|| {
        format!(
            "the medians of {}{more} differ by less than their runs scatter (95 %): \
             more repeats would decide",
            doubtful.join(", of ")
        )
    })
}

/// Groups values by their keys, in the order of the first of each.
fn grouped<K: Ord + Copy, V>(values: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in values {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Returns the places in words: none if there is only one place at all, `everywhere` if they are
/// all of several, else the first of them and the number of the others.
fn places_text(places: &[String], all: usize, everywhere: &str) -> String {
    match places {
        _ if all == 1 => String::new(),
        places if places.len() == all => everywhere.to_owned(),
        places => {
            let named = places.iter().take(MOST_PLACES).cloned().collect::<Vec<_>>().join("; ");
            match places.len().saturating_sub(MOST_PLACES) {
                0 => named,
                more => format!("{named}; {more} more of {all}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Flow, Point, Run};
    use bentpipe_timeseries::{TimeBudget, TimePart};
    use serde_json::json;

    fn results(flows: &[(&str, &str, f64, TimeBudget<f64>)]) -> Results {
        let runs: Vec<Run> = flows
            .iter()
            .enumerate()
            .map(|(index, (variant, congestion, completion, budget))| {
                let mut flow: Flow = serde_json::from_value(json!({
                    "name": "main", "visit": 1, "transport": "quic", "congestion": congestion,
                    "connections": 1, "direction": "download", "bytes": 1, "completed": true,
                    "start_s": 0.0, "completion_s": completion,
                    "reverse_bytes": {}, "objects": [], "error": null,
                }))
                .unwrap();
                flow.time_budget = Some(*budget);
                Run {
                    variant: (*variant).to_owned(),
                    point: Point::new(),
                    run: index as u64,
                    flows: vec![flow],
                    links: Vec::new(),
                    fairness: None,
                    populations: Vec::new(),
                    reconfigurations: Vec::new(),
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
        let start = TimeBudget::from_iter([(TimePart::SlowStart, 2.0)]);
        let found = doubts(&results(&[("a", "cubic", 2.0, start), ("b", "bbr3", 2.0, start)]));
        assert!(found[0].starts_with("the controllers bbr3, cubic are not compared"), "{found:?}");
        let acted = TimeBudget::from_iter([(TimePart::Pacing, 1.0), (TimePart::SlowStart, 1.0)]);
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
    fn controllers_of_variants_that_never_completed_are_not_spoken_of() {
        let start = TimeBudget::from_iter([(TimePart::SlowStart, 1.5)]);
        let mut two = results(&[("a", "cubic", 2.0, start), ("b", "bbr3", 2.0, start)]);
        let fail = |run: &mut Run| {
            run.flows[0].completed = false;
            run.flows[0].metrics.completion_s = None;
        };
        two.runs.iter_mut().for_each(fail);
        assert!(doubts(&two).is_empty(), "{:?}", doubts(&two));
    }

    #[test]
    fn single_runs_of_random_scenarios_decide_nothing() {
        let budget = TimeBudget::from_iter([(TimePart::Pacing, 1.0)]);
        let mut two = results(&[("a", "cubic", 2.0, budget), ("b", "cubic", 3.0, budget)]);
        two.runs.iter_mut().for_each(|run| run.run = 0);
        assert!(single_runs(&two, true).is_some_and(|text| text.contains("may be chance")));
        assert_eq!(single_runs(&two, false), None);
        two.runs[1].run = 1;
        assert_eq!(single_runs(&two, true), None);
    }

    #[test]
    fn pauses_of_a_flow_that_asks_at_its_own_times_are_no_doubt() {
        let budget = TimeBudget::from_iter([(TimePart::Application, 8.0)]);
        let mut one = results(&[("a", "cubic", 10.0, budget)]);
        assert!(doubts(&one)[0].contains("the application limited the sender for 80 %"));
        one.runs[0].flows[0].workload = "video".to_owned();
        assert_eq!(doubts(&one), Vec::<String>::new());
    }

    #[test]
    fn a_limit_outside_the_transport_is_named() {
        let budget = TimeBudget::from_iter([(TimePart::FlowControl, 6.0)]);
        let found = doubts(&results(&[("a", "cubic", 10.0, budget)]));
        assert_eq!(
            found,
            ["variant `a`, flow `main`, visit 1: flow control limited the sender for 60 % of the \
              time"]
        );
    }

    #[test]
    fn a_difference_within_the_scatter_needs_more_repeats() {
        let budget = TimeBudget::from_iter([(TimePart::Pacing, 1.0)]);
        let runs = [("a", 1.0), ("a", 3.0), ("b", 1.5), ("b", 3.5)];
        let runs = runs.map(|(variant, time)| (variant, "cubic", time, budget));
        let found = doubts(&results(&runs));
        assert!(
            found[0].contains("`a` and `b` differ by less than their runs scatter"),
            "{found:?}"
        );
    }

    /// Runs of variants `a`, `b` and `c` at points `loss = 0`, `1` and `2`, with the flows `main`
    /// and `other`: `b` is as slow as `a` within the scatter everywhere, and `c` at one point in
    /// one flow.
    fn sweep() -> Results {
        let budget = TimeBudget::from_iter([(TimePart::Pacing, 1.0)]);
        let mut all = results(&[]);
        for loss in ["0", "1", "2"] {
            for (variant, more) in [("a", 0.0), ("b", 0.5), ("c", 9.0)] {
                let rows = [1.0, 3.0].map(|time| (variant, "cubic", time + more, budget));
                let mut runs = results(&rows).runs;
                for run in &mut runs {
                    run.point = [("loss".to_owned(), loss.to_owned())].into();
                    let mut other = run.flows[0].clone();
                    other.name = "other".to_owned();
                    if variant == "c" && loss == "1" {
                        other.metrics.completion_s =
                            other.metrics.completion_s.map(|time| time - 8.5);
                    }
                    run.flows.push(other);
                }
                all.runs.extend(runs);
            }
        }
        all
    }

    #[test]
    fn each_pair_within_the_scatter_comes_once_with_its_places() {
        let found = doubts(&sweep());
        assert_eq!(
            found,
            ["the medians of `a` and `b` (in every flow at every point), of `a` \
              and `c` (flow `other`, loss = 1) differ by less than their runs scatter (95 %): \
              more repeats would decide"]
        );
        let mut one_flow = sweep();
        one_flow.runs.iter_mut().for_each(|run| run.flows.truncate(1));
        let found = doubts(&one_flow);
        assert!(found[0].contains("of `a` and `b` (at every point) differ"), "{found:?}");
    }

    #[test]
    fn a_limit_comes_once_with_its_points() {
        let mut all = sweep();
        for run in &mut all.runs {
            run.flows.truncate(1);
            let share = match (run.variant.as_str(), run.point["loss"].as_str()) {
                ("a", "0") => 0.6,
                ("a", _) => 0.8,
                ("b", "2") => 0.9,
                _ => 0.0,
            };
            let flow = &mut run.flows[0];
            let time = flow.metrics.completion_s.unwrap() * share;
            flow.time_budget = Some(TimeBudget::from_iter([(TimePart::FlowControl, time)]));
        }
        let found = doubts(&all);
        assert_eq!(
            found[..2],
            [
                "variant `a`, flow `main`, visit 1, at every point: flow control limited the \
                 sender for 60 to 80 % of the time",
                "variant `b`, flow `main`, visit 1, loss = 2: flow control limited the sender for \
                 90 % of the time",
            ]
        );
    }
}
