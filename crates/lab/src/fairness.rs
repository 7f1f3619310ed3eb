//! How flows that compete share what there is, from what each has received over time.
//!
//! Counted over the time in which all controlled flows of a run are active, less the time in which
//! they settle. The figures are those of RFC 5166 §2.3: Jain's index, the ratio of the least share
//! to the largest, and a convergence time.

use bentpipe_sim::{FlowOutcome, LinkOutcome, RunOutcome, RunSpec};
use bentpipe_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What stands for all flows together where results name a flow.
pub const ALL_FLOWS: &str = "all";
/// What flows receive is counted in pieces of this length.
const TENTH: Span = Span::from_millis(100);
/// Part of the time in which all flows are active that is left out for them to settle. Our choice.
const SETTLE: u64 = 5;
/// Least time, in tenths of a second, over which shares say something. Our choice.
const SHORTEST: usize = 10;
/// Length, in tenths of a second, of the sliding window in which convergence is looked for. Our
/// choice: some round trips even of a geostationary path.
const WINDOW: usize = 20;
/// How far from its final share, relatively, a flow may be that has converged: the δ of RFC 5166
/// §2.3, with the value that Bansal, Balakrishnan, Floyd and Shenker use ("Dynamic behavior of
/// slowly-responsive congestion control algorithms", SIGCOMM 2001).
const DELTA: f64 = 0.1;
/// A link carries a flow's data, and not its acknowledgements, where it has carried so large a part
/// of what the flow received. Acknowledgements amount to a twentieth of the data at most.
const DATA: f64 = 0.1;

/// How the flows of one run shared what there was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Each flow's part.
    pub flows: Vec<Share>,
    /// From when on shares are counted, since the run's beginning.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// Time before `from_s` in which all flows were active and settled.
    pub settle_s: f64,
    /// Jain's index: 1 where all have the same, 1/n where one of n has all.
    pub jain: f64,
    /// The least share over the largest, in percent.
    pub share_ratio: f64,
    /// What all flows received together.
    pub aggregate_mbps: f64,
    /// The link that they compete for.
    pub bottleneck: Option<String>,
    /// Share of the run that it spent transmitting.
    pub bottleneck_utilisation: Option<f64>,
    /// Mean time that packets waited in its queue.
    pub bottleneck_queue_ms: Option<f64>,
    /// Time from the start of the last flow until shares were for the first time what they are in
    /// the end.
    pub convergence_s: Option<f64>,
}

/// One flow's part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The flow's name.
    pub flow: String,
    /// What it received.
    pub goodput_mbps: f64,
    /// Its part of what all received, in percent.
    pub share: f64,
}

type Reader = fn(&Fairness) -> Option<f64>;

/// Every metric of all flows together, by the name that scenarios and results use.
pub const METRICS: [(&str, Reader); 6] = [
    ("jain", |fairness| Some(fairness.jain)),
    ("share_ratio", |fairness| Some(fairness.share_ratio)),
    ("aggregate_mbps", |fairness| Some(fairness.aggregate_mbps)),
    ("bottleneck_utilisation", |fairness| fairness.bottleneck_utilisation),
    ("bottleneck_queue_ms", |fairness| fairness.bottleneck_queue_ms),
    ("convergence_s", |fairness| fairness.convergence_s),
];

/// How a metric of all flows together is read; none for a name that is none.
pub fn metric(name: &str) -> Option<Reader> {
    METRICS.iter().find(|(known, _)| *known == name).map(|(_, read)| *read)
}

/// A controlled flow, by its place in the run.
struct Contender<'a> {
    place: usize,
    outcome: &'a FlowOutcome,
    end: Time,
}

impl Contender<'_> {
    fn received(&self, tenths: Range<usize>) -> u64 {
        let all = &self.outcome.received_by_tenth;
        let end = tenths.end.min(all.len());
        all.get(tenths.start.min(end)..end).unwrap_or_default().iter().sum()
    }
}

/// How the flows of a run shared what there was. None where that makes no sense: fewer than two
/// controlled flows, one of them with several reported visits or cut short, no second in which all
/// of them were active and had settled, or nothing received in it.
pub fn of(spec: &RunSpec, outcome: &RunOutcome, settle: Option<Span>) -> Option<Fairness> {
    let contenders = contenders(spec, outcome)?;
    let begin = contenders.iter().map(|flow| flow.outcome.start).max()?;
    let end = contenders.iter().map(|flow| flow.end).min()?;
    let settle = settle.unwrap_or_else(|| Span::from_nanos(end.since(begin).as_nanos() / SETTLE));
    let counted = tenths(begin + settle, end);
    if counted.len() < SHORTEST {
        return None;
    }
    let received: Vec<u64> = contenders.iter().map(|flow| flow.received(counted.clone())).collect();
    let shares = shares(&received)?;
    let span = TENTH * counted.len() as u64;
    let mbps = |bytes: u64| Rate::over(Bytes::new(bytes), span).as_mbps_f64();
    let (least, most) = (received.iter().min()?, received.iter().max()?);
    let bottleneck = bottleneck(&contenders, &outcome.links);
    Some(Fairness {
        flows: contenders
            .iter()
            .zip(received.iter().zip(&shares))
            .map(|(flow, (&bytes, share))| Share {
                flow: flow.outcome.name.clone(),
                goodput_mbps: mbps(bytes),
                share: share * 100.0,
            })
            .collect(),
        from_s: (TENTH * counted.start as u64).as_secs_f64(),
        to_s: (TENTH * counted.end as u64).as_secs_f64(),
        settle_s: settle.as_secs_f64(),
        jain: jain(&shares),
        share_ratio: *least as f64 / *most as f64 * 100.0,
        aggregate_mbps: mbps(received.iter().sum()),
        bottleneck: bottleneck.map(|link| link.name.clone()),
        bottleneck_utilisation: bottleneck.map(|link| link.utilisation),
        bottleneck_queue_ms: bottleneck.map(|link| link.queue_mean.as_millis_f64()),
        convergence_s: convergence(&contenders, &shares, begin, end).map(Span::as_secs_f64),
    })
}

fn contenders<'a>(spec: &RunSpec, outcome: &'a RunOutcome) -> Option<Vec<Contender<'a>>> {
    let mut contenders = Vec::new();
    for (place, flow) in
        spec.flows.iter().enumerate().filter(|(_, flow)| flow.stack.congestion().is_some())
    {
        let mut visits = outcome.flows.iter().filter(|visit| visit.name == flow.name);
        let (Some(visit), None) = (visits.next(), visits.next()) else { return None };
        let end = visit.start + visit.completion.filter(|_| visit.completed)?;
        contenders.push(Contender { place, outcome: visit, end });
    }
    (contenders.len() > 1).then_some(contenders)
}

/// The whole tenths of a second between two times.
fn tenths(from: Time, to: Time) -> Range<usize> {
    let nanos = TENTH.as_nanos();
    (from.as_nanos().div_ceil(nanos) as usize)..((to.as_nanos() / nanos) as usize)
}

/// Each one's part of the whole; none of nothing.
fn shares(received: &[u64]) -> Option<Vec<f64>> {
    let sum: u64 = received.iter().sum();
    (sum > 0).then(|| received.iter().map(|&bytes| bytes as f64 / sum as f64).collect())
}

/// (Σx)² / (n Σx²): Jain, Chiu and Hawe, DEC-TR-301, 1984. Shares sum to one.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}

/// The link that the data of the most flows crosses, and of such links the one that is used most.
fn bottleneck<'a>(
    contenders: &[Contender<'_>],
    links: &'a [LinkOutcome],
) -> Option<&'a LinkOutcome> {
    let crossing = |link: &LinkOutcome| {
        let crosses = |flow: &&Contender<'_>| {
            let data = flow.outcome.received as f64 * DATA;
            link.carried.iter().any(|&(place, bytes)| place == flow.place && bytes as f64 > data)
        };
        contenders.iter().filter(crosses).count()
    };
    let mut found: Option<(usize, &LinkOutcome)> = None;
    for link in links {
        let flows = crossing(link);
        let better = found.is_none_or(|(most, best)| {
            flows > most || (flows == most && link.utilisation > best.utilisation)
        });
        // What one flow has alone is no place to compete.
        if flows > 1 && better {
            found = Some((flows, link));
        }
    }
    found.map(|(_, link)| link)
}

/// The δ-fair convergence time of RFC 5166 §2.3, with each flow's final share where that has equal
/// ones: flows whose round trips differ may never have equal shares, and still settle. It is the
/// time from the start of the last flow to the end of the first window in which no flow has less
/// than (1 - δ) of its final share; for two flows that share equally in the end this is the
/// original.
fn convergence(contenders: &[Contender<'_>], last: &[f64], begin: Time, end: Time) -> Option<Span> {
    let active = tenths(begin, end);
    let window = (active.start..active.end).map(|start| start..start + WINDOW).find(|window| {
        let received: Vec<u64> =
            contenders.iter().map(|flow| flow.received(window.clone())).collect();
        let inside = window.end <= active.end;
        inside
            && shares(&received).is_some_and(|shares| {
                shares.iter().zip(last).all(|(share, last)| *share >= last * (1.0 - DELTA))
            })
    })?;
    Some((Time::ZERO + TENTH * window.end as u64).since(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow_outcome, plan};
    use bentpipe_sim::Direction;

    const TWO: &str = r#"
name = "two"
[path]
profile = "geo-50-10"
[[flow]]
name = "a"
bulk.duration = "20 s"
[[flow]]
name = "b"
bulk.duration = "20 s"
[[flow]]
name = "cross"
cbr.rate = "1 Mbps"
cbr.duration = "20 s"
"#;

    /// Two flows and cross traffic for 20 s, of which the second begins after 10 s; what both
    /// receive in each tenth of a second, by its place.
    fn run(a: fn(usize) -> u64, b: fn(usize) -> u64) -> (RunSpec, RunOutcome) {
        let plan = plan(TWO);
        let spec = plan.spec(plan.tasks[0]).unwrap();
        let mut outcome = RunOutcome {
            flows: Vec::new(),
            links: Vec::new(),
            trace: None,
            qlog: Vec::new(),
            capture: None,
            events: 0,
            end: Time::from_secs(30),
        };
        for (name, start, received) in
            [("a", 0, a), ("b", 10, b), ("cross", 29, (|_| 9_000) as fn(usize) -> u64)]
        {
            let mut flow = flow_outcome(name, 1, Direction::Download, 0, Span::from_secs(20));
            flow.start = Time::from_secs(start);
            flow.received_by_tenth = (0..300).map(received).collect();
            flow.received = flow.received_by_tenth.iter().sum();
            outcome.flows.push(flow);
        }
        for (name, carried, utilisation) in [
            ("narrow", vec![(0, 60_000), (1, 60_000), (2, 60_000)], 0.9),
            ("acknowledgements", vec![(0, 100), (1, 100)], 0.99),
            ("alone", vec![(0, 60_000)], 1.0),
            ("wide", vec![(0, 60_000), (1, 60_000)], 0.1),
        ] {
            let queue_mean = Span::from_millis(5);
            outcome.links.push(LinkOutcome {
                name: name.to_owned(),
                counters: Default::default(),
                queue_mean,
                carried,
                utilisation,
            });
        }
        (spec, outcome)
    }

    #[test]
    fn shares_are_those_of_the_time_in_which_all_are_active_and_have_settled() {
        // Before 12 s everything differs, and after 20 s too: the first flow has ended.
        let (spec, outcome) = run(
            |tenth| if (120..200).contains(&tenth) { 3_000 } else { 77 },
            |tenth| if (120..200).contains(&tenth) { 1_000 } else { 99_000 },
        );
        let found = of(&spec, &outcome, None).unwrap();
        assert_eq!(
            (found.from_s, found.to_s, found.settle_s),
            (12.0, 20.0, 2.0),
            "a fifth of ten seconds"
        );
        assert_eq!(found.flows.iter().map(|flow| flow.share).collect::<Vec<_>>(), [75.0, 25.0]);
        // (3 + 1)² / (2 · (9 + 1))
        assert!((found.jain - 0.8).abs() < 1e-12 && (found.share_ratio - 100.0 / 3.0).abs() < 1e-9);
        // 4,000 bytes in a tenth of a second.
        assert!((found.aggregate_mbps - 0.32).abs() < 1e-9);
        let other = of(&spec, &outcome, Some(Span::from_secs(4))).unwrap();
        assert_eq!((other.from_s, other.settle_s), (14.0, 4.0));
    }

    #[test]
    fn the_bottleneck_is_the_busiest_link_that_the_data_of_all_cross() {
        let (spec, outcome) = run(|_| 1_000, |_| 1_000);
        let found = of(&spec, &outcome, None).unwrap();
        assert_eq!(found.bottleneck.as_deref(), Some("narrow"));
        assert_eq!(
            (found.bottleneck_utilisation, found.bottleneck_queue_ms),
            (Some(0.9), Some(5.0))
        );
        let mut apart = outcome;
        apart.links.retain(|link| link.name == "alone");
        assert_eq!(of(&spec, &apart, None).unwrap().bottleneck, None);
    }

    #[test]
    fn convergence_is_when_the_window_first_shows_the_final_shares() {
        // The second flow has nothing for three seconds, then the half.
        let (spec, outcome) = run(|_| 1_000, |tenth| if tenth < 130 { 0 } else { 1_000 });
        let found = of(&spec, &outcome, Some(Span::from_secs(5))).unwrap();
        // 0.9 · 0.5 of a window: n of its 20 tenths with n / (20 + n) ≥ 0.45, so that 17 lie after
        // 3 s.
        assert_eq!(found.convergence_s, Some(4.7));
        let (spec, outcome) = run(|_| 1_000, |_| 1_000);
        assert_eq!(
            of(&spec, &outcome, None).unwrap().convergence_s,
            Some(2.0),
            "a window is the least"
        );
        let (spec, outcome) = run(|_| 1_000, |tenth| if tenth % 40 == 0 { 40_000 } else { 0 });
        assert_eq!(of(&spec, &outcome, None).unwrap().convergence_s, None, "it never settles");
    }

    #[test]
    fn there_is_no_fairness_of_one_flow_of_flows_apart_or_of_one_that_failed() {
        let (spec, outcome) = run(|_| 1_000, |_| 1_000);
        assert_eq!(of(&spec, &outcome, Some(Span::from_secs(10))), None, "nothing is left");
        let changed = |change: fn(&mut RunOutcome)| {
            let (spec, mut outcome) = run(|_| 1_000, |_| 1_000);
            change(&mut outcome);
            of(&spec, &outcome, None)
        };
        assert_eq!(changed(|outcome| drop(outcome.flows.remove(0))), None);
        assert_eq!(changed(|outcome| outcome.flows[1].start = Time::from_secs(25)), None);
        assert_eq!(changed(|outcome| outcome.flows[1].completed = false), None);
        assert_eq!(changed(|outcome| outcome.flows[2].name = "a".to_owned()), None, "two visits");
        assert!(changed(|_| ()).is_some());
        let (spec, outcome) = run(|_| 0, |_| 0);
        assert_eq!(of(&spec, &outcome, None), None, "nothing to share");
    }
}
