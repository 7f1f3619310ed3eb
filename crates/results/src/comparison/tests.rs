//! Whole comparisons of synthetic samples, whose truth is known.

use super::*;
use crate::run::{Clock, Point};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A source of random values of one distribution.
struct Source {
    random: Pcg64Mcg,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Normal, with a deviation of 2 % of the mean.
    Normal,
    /// Most runs within 0.2 %, one in five delayed by timeouts: a Pareto tail without variance.
    HeavyTail,
    /// Counts of losses, mostly zero, with many ties.
    Counts,
}

impl Source {
    fn new(kind: Kind, seed: u64) -> Self {
        // Similar states of this generator give similar numbers, so the seed is mixed first.
        let mut key = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = Pcg64Mcg::new((u128::from(key) << 64) | u128::from(key ^ (key >> 31)));
        Self { random, kind }
    }

    fn unit(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    fn value(&mut self) -> f64 {
        let unit = self.unit();
        let angle = std::f64::consts::TAU * self.unit();
        let normal = (-2.0 * libm::log(unit)).sqrt() * libm::cos(angle);
        let tail = self.unit();
        match self.kind {
            Kind::Normal => 5.0 + 0.1 * normal,
            Kind::HeavyTail if tail < 0.2 => 5.0 + libm::pow(self.unit(), -1.0 / 1.5),
            Kind::HeavyTail => 5.0 + 0.01 * normal,
            Kind::Counts => (unit * 1.6).floor() * (1.0 + (tail * 3.0).floor()),
        }
    }
}

fn case(number: usize) -> Case {
    let point = Point::from([("path.rtt".to_owned(), format!("{} ms", number * 100))]);
    Case { variant: "cubic".to_owned(), point, flow: "main".to_owned(), visit: 1 }
}

/// Values of `metrics` in `runs` runs of `cases` cases.
fn samples(
    seed: u64,
    shape: (usize, u64),
    metrics: &[&str],
    mut value: impl FnMut(usize, u64) -> f64,
) -> Samples {
    let (cases, runs) = shape;
    let cases = (0..cases)
        .map(|number| CaseSamples {
            case: case(number),
            deterministic: false,
            runs: (0..runs).collect(),
            incomplete: Vec::new(),
            values: metrics
                .iter()
                .map(|metric| {
                    let values = (0..runs).map(|run| Some(value(number, run))).collect();
                    ((*metric).to_owned(), values)
                })
                .collect::<BTreeMap<_, _>>(),
        })
        .collect();
    Samples {
        format: 1,
        scenario: "synthetic".to_owned(),
        seed,
        clock: Clock::Virtual,
        version: "0".to_owned(),
        commit: None,
        complete: true,
        cases,
    }
}

fn options(level: f64, tolerance: f64) -> CompareOptions {
    CompareOptions { level, tolerance, metrics: Vec::new() }
}

fn compared(before: &Samples, after: &Samples) -> ComparisonReport {
    compare_samples(before, after, ["a", "b"], &options(0.05, 0.0))
}

/// One case with these completion times and seeds.
fn one(seed: u64, values: &[f64]) -> Samples {
    samples(seed, (1, values.len() as u64), &["completion_s"], |_, run| values[run as usize])
}

fn found_a_change(report: &ComparisonReport) -> bool {
    [Finding::Regression, Finding::Improvement, Finding::Changed]
        .iter()
        .any(|finding| report.count(*finding) > 0)
}

const COMPARISONS: u64 = 200;
/// With an error rate of 5 %, 200 comparisons have more errors than this with a probability of
/// 0.07 %.
const MOST_ERRORS: usize = 20;

/// Returns the number of comparisons of equal variants that found a change.
fn errors(kind: Kind, shape: (usize, u64), metrics: &[&str], paired: bool) -> usize {
    let wrong = (0..COMPARISONS).filter(|&index| {
        let mut source = Source::new(kind, index + 1);
        let before = samples(1, shape, metrics, |_, _| source.value());
        let seed = if paired { 1 } else { 2 };
        let after = samples(seed, shape, metrics, |_, _| source.value());
        found_a_change(&compared(&before, &after))
    });
    let errors = wrong.count();
    println!("{kind:?}, {shape:?}, paired {paired}: {errors} errors in {COMPARISONS}");
    errors
}

#[test]
fn equal_variants_differ_no_more_often_than_the_level() {
    for kind in [Kind::Normal, Kind::HeavyTail, Kind::Counts] {
        for paired in [false, true] {
            let single = errors(kind, (1, 20), &["completion_s"], paired);
            assert!(single <= MOST_ERRORS, "{kind:?}: {single}");
            // The test is not so strict that it finds nothing. Ties make it stricter.
            let least = if matches!(kind, Kind::Counts) { 1 } else { 3 };
            assert!(single >= least, "{kind:?}: {single}");
        }
    }
}

#[test]
fn many_cases_and_metrics_err_together_no_more_often_than_the_level() {
    let metrics = ["completion_s", "first_byte_s"];
    for (kind, runs) in [(Kind::HeavyTail, 20), (Kind::HeavyTail, 8), (Kind::Normal, 8)] {
        let together = errors(kind, (8, runs), &metrics, false);
        assert!(together <= MOST_ERRORS, "{kind:?}, {runs}: {together}");
    }
}

/// Returns the number of 200 comparisons that find a slowdown by `factor` in 20 runs.
fn found(kind: Kind, factor: f64, by: impl Fn(&Change) -> bool) -> usize {
    (0..COMPARISONS)
        .filter(|&index| {
            let mut source = Source::new(kind, index + 1);
            let before = samples(1, (4, 20), &["completion_s"], |_, _| source.value());
            let slower = samples(2, (4, 20), &["completion_s"], |number, _| match number {
                2 => source.value() * factor,
                _ => source.value(),
            });
            let report = compared(&before, &slower);
            by(&report.changes[2])
        })
        .count()
}

#[test]
fn a_planted_slowdown_is_found_despite_outliers() {
    let regression = |change: &Change| change.finding == Finding::Regression;
    let normal = found(Kind::Normal, 1.13, regression);
    let heavy = found(Kind::HeavyTail, 1.03, regression);
    println!("3 % found: {normal} of 200 at 2 % noise, {heavy} with a heavy tail");
    assert!(normal >= 180, "{normal}");
    assert!(heavy >= 150, "{heavy}");
}

#[test]
fn intervals_hold_the_true_change() {
    let holds = |estimate: Option<Estimate>| {
        estimate.is_some_and(|estimate| {
            estimate.low.is_some_and(|low| low <= 0.1)
                && estimate.high.is_some_and(|high| high >= 0.1)
        })
    };
    // An interval of 95 % misses 10 of 200 on average; the tail without variance has no mean that
    // an interval could hold reliably.
    let mean = Cell::new(0);
    let typical = found(Kind::Normal, 1.1, |change| {
        mean.set(mean.get() + usize::from(holds(change.mean)));
        holds(change.typical)
    });
    let mean = mean.get();
    let heavy = found(Kind::HeavyTail, 1.1, |change| holds(change.typical));
    println!("intervals hold: mean {mean}, typical {typical}, with a heavy tail {heavy}");
    assert!(mean >= 180 && typical >= 180 && heavy >= 180, "{mean} {typical} {heavy}");
}

#[test]
fn pairs_of_equal_seeds_find_what_independent_runs_cannot() {
    let mut source = Source::new(Kind::Normal, 7);
    let noisy: Vec<f64> = (0..20).map(|_| source.value() * (1.0 + source.unit())).collect();
    let slower: Vec<f64> = noisy.iter().map(|value| value * 1.01).collect();
    let paired = compared(&one(1, &noisy), &one(1, &slower));
    assert!(paired.paired);
    assert_eq!(paired.changes[0].method, Method::Paired);
    assert_eq!(paired.changes[0].finding, Finding::Regression, "{paired:?}");
    let typical = paired.changes[0].typical.expect("positive values");
    assert!((typical.change - 0.01).abs() < 1e-9, "{typical:?}");
    let unpaired = compared(&one(1, &noisy), &one(2, &slower));
    assert_eq!(unpaired.changes[0].finding, Finding::Unchanged, "{unpaired:?}");
}

#[test]
fn the_direction_of_the_metric_decides_what_is_worse() {
    let grow = |metric: &str| {
        let run = |seed, factor| {
            samples(seed, (1, 12), &[metric], |_, run| (10.0 + run as f64 / 10.0) * factor)
        };
        compared(&run(1, 1.0), &run(2, 2.0)).changes[0].finding
    };
    assert_eq!(grow("completion_s"), Finding::Regression);
    assert_eq!(grow("goodput_mbps"), Finding::Improvement);
    assert_eq!(grow("packets_sent"), Finding::Changed);
}

#[test]
fn a_change_within_the_tolerance_is_no_regression() {
    let run = |seed, factor| {
        samples(seed, (1, 20), &["completion_s"], |_, run| (10.0 + run as f64 / 1000.0) * factor)
    };
    let finding = |tolerance| {
        compare_samples(&run(1, 1.0), &run(2, 1.03), ["a", "b"], &options(0.05, tolerance)).changes
            [0]
        .finding
    };
    assert_eq!(finding(0.02), Finding::Regression);
    assert_eq!(finding(0.05), Finding::WithinTolerance);
}

#[test]
fn one_run_without_randomness_is_compared_exactly() {
    let same_seed = compared(&one(1, &[5.0]), &one(1, &[5.1]));
    let change = &same_seed.changes[0];
    assert_eq!((change.method, change.finding), (Method::Exact, Finding::Regression));
    assert!(change.p.is_none() && (change.change.unwrap() - 0.02).abs() < 1e-12);
    assert_eq!(compared(&one(1, &[5.0]), &one(1, &[5.0])).changes[0].finding, Finding::Identical);

    let other_seed = compared(&one(1, &[5.0]), &one(2, &[5.1]));
    assert_eq!(other_seed.changes[0].finding, Finding::Untested);
    assert!(!other_seed.is_conclusive());

    let mut fixed = one(1, &[5.0]);
    fixed.cases[0].deterministic = true;
    assert_eq!(compared(&fixed, &one(2, &[5.1])).changes[0].finding, Finding::Regression);

    let mut real = [one(1, &[5.0]), one(1, &[5.1])];
    real.iter_mut().for_each(|side| side.clock = Clock::Real);
    assert_eq!(compared(&real[0], &real[1]).changes[0].finding, Finding::Untested);
}

#[test]
fn too_few_runs_are_said_to_be_too_few() {
    let report = compared(&one(1, &[5.0, 5.1, 5.2]), &one(2, &[7.0, 7.1, 7.2]));
    assert_eq!(report.changes[0].finding, Finding::Untested);
    assert_eq!(
        report.changes[0].note.as_deref(),
        Some("3 and 3 runs are too few to find a change at this level")
    );
    assert_eq!(report.tests, 0);
    // Five runs reach 0.8 %, which is enough for six tests and not for twelve.
    let many = |seed, factor: f64| {
        samples(seed, (12, 5), &["completion_s"], |_, run| (5.0 + run as f64 / 100.0) * factor)
    };
    let report = compared(&many(1, 1.0), &many(2, 1.0));
    assert_eq!(
        report.notes,
        ["12 tests have so few runs that they find a change only beside other changes; 6 runs \
             on each side suffice"]
    );
}

#[test]
fn runs_that_no_longer_complete_are_a_regression() {
    let times: Vec<f64> = (0..20).map(|run| 5.0 + f64::from(run) / 100.0).collect();
    let lose = |seed, lost: u64| {
        let mut side = one(seed, &times);
        side.cases[0].incomplete = (0..lost).collect();
        let values = side.cases[0].values.get_mut("completion_s").unwrap();
        (0..lost).for_each(|run| values[run as usize] = None);
        side
    };
    for seed in [1, 2] {
        let report = compared(&lose(1, 0), &lose(seed, 10));
        let completed = &report.changes[1];
        assert_eq!(completed.metric, "completed");
        assert_eq!(completed.finding, Finding::Regression, "{completed:?}");
        assert_eq!((completed.before.n, completed.after.n, completed.after.runs), (20, 10, 20));
        // One of 20 runs fails by chance.
        let report = compared(&lose(1, 0), &lose(seed, 1));
        assert_eq!(report.changes[1].finding, Finding::Unchanged);
    }
    let all = compared(&lose(1, 0), &lose(2, 20));
    assert_eq!(all.changes[0].finding, Finding::Untested);
    assert_eq!(all.changes[1].finding, Finding::Regression);
}

#[test]
fn cases_of_one_side_only_are_reported() {
    let both = |cases| samples(1, (cases, 3), &["completion_s"], |_, _| 5.0);
    let report = compared(&both(3), &both(2));
    assert_eq!(report.missing, [MissingCase { case: case(2), missing: Side::After }]);
    let report = compared(&both(1), &both(2));
    assert_eq!(report.missing, [MissingCase { case: case(1), missing: Side::Before }]);
}

#[test]
fn a_mean_of_zero_has_no_relative_change() {
    let before = samples(1, (1, 20), &["packets_declared_lost"], |_, _| 0.0);
    let after = samples(2, (1, 20), &["packets_declared_lost"], |_, run| run as f64);
    let change = &compared(&before, &after).changes[0];
    assert_eq!(change.finding, Finding::Regression);
    assert!(change.mean.is_none() && change.typical.is_none() && change.change.is_none());
}

#[test]
fn a_baseline_file_has_one_case_on_each_line_and_is_read_back() {
    let mut side =
        samples(3, (2, 3), &["completion_s"], |case, run| case as f64 + run as f64 / 3.0);
    side.cases[1].incomplete = vec![2];
    let text = side.to_json().unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert_eq!(Samples::parse(&text).unwrap(), side);
    let empty = Samples { cases: Vec::new(), ..side };
    assert_eq!(Samples::parse(&empty.to_json().unwrap()).unwrap(), empty);
}

#[test]
fn contradictory_baseline_files_are_refused() {
    let side = samples(3, (2, 3), &["completion_s"], |_, _| 5.0);
    let refused = |change: &dyn Fn(&mut Samples)| {
        let mut side = side.clone();
        change(&mut side);
        Samples::parse(&side.to_json().unwrap()).unwrap_err().to_string()
    };
    let name = "cubic at path.rtt = 0 ms";
    assert_eq!(refused(&|side| side.format = 2), "format 2 is unknown; allowed: 1");
    assert_eq!(
        refused(&|side| side.cases[1] = side.cases[0].clone()),
        format!("the case `{name}` occurs twice")
    );
    assert_eq!(
        refused(&|side| side.cases[0].runs = vec![0, 0, 1]),
        format!("`{name}`: run numbers must ascend")
    );
    assert_eq!(
        refused(&|side| side.cases[0].incomplete = vec![7]),
        format!("`{name}`: run 7 in `incomplete` is not in `runs`")
    );
    assert_eq!(
        refused(&|side| side.cases[0].runs = vec![0, 1]),
        format!("`{name}`: 3 values of `completion_s` for 2 runs; allowed: one for each")
    );
    assert_eq!(
        refused(&|side| {
            let values = side.cases[0].values.remove("completion_s").unwrap();
            side.cases[0].values.insert("speed".to_owned(), values);
        }),
        format!("`{name}`: metric `speed` is unknown")
    );
    assert!(Samples::parse("{").is_err() && Samples::parse("[]").is_err());
}

#[test]
fn variants_of_one_side_are_compared_by_the_position_of_their_visits() {
    let mut side = samples(1, (2, 8), &["completion_s"], |case, run| {
        (5.0 + run as f64 / 10.0) * (1.0 + case as f64)
    });
    for (entry, variant, visit) in [(0, "1rtt", 1), (1, "0rtt", 2)] {
        side.cases[entry].case = Case {
            variant: variant.to_owned(),
            point: Point::new(),
            flow: "main".to_owned(),
            visit,
        };
    }
    assert_eq!(side.variants(), ["1rtt", "0rtt"]);
    let report = compared(&side.only("1rtt", "1rtt to 0rtt"), &side.only("0rtt", "1rtt to 0rtt"));
    assert!(report.missing.is_empty());
    assert_eq!(report.changes[0].finding, Finding::Regression);
}

/// Results of a scenario in which the variant `fixed` is run once and the others three times. The
/// flow of `bulk` has a fixed duration.
fn results() -> crate::Results {
    let flow = |variant: &str, run: u64| {
        let completed = !(variant == "cubic" && run == 2);
        let (name, workload) =
            if variant == "bulk" { ("long", "bulk") } else { ("main", "download") };
        serde_json::json!({
            "name": name, "visit": 1, "workload": workload, "transport": "quic",
            "congestion": "cubic", "connections": 1, "direction": "download", "bytes": 9,
            "completed": completed, "start_s": 0.0, "error": null, "objects": [],
            "reverse_bytes": crate::ReverseBytes::default(),
            "completion_s": completed.then_some(1.0), "goodput_mbps": 8.0,
        })
    };
    let run = |variant: &str, run: u64| {
        serde_json::json!({
            "variant": variant, "point": {}, "run": run, "flows": [flow(variant, run)], "links": [],
        })
    };
    let runs = [
        run("fixed", 0),
        run("bulk", 2),
        run("bulk", 0),
        run("bulk", 1),
        run("cubic", 0),
        run("cubic", 1),
        run("cubic", 2),
    ];
    serde_json::from_value(serde_json::json!({
        "scenario": "made-up", "seed": 4, "clock": "virtual", "version": "0", "runs": runs,
        "summary": [], "expectations": [], "published": [],
    }))
    .unwrap()
}

#[test]
fn samples_hold_the_usual_metric_of_each_flow_and_the_requested_ones() {
    let samples = Samples::new(&results(), &[], true, true);
    let held: Vec<(&str, Vec<&str>)> = samples
        .cases
        .iter()
        .map(|entry| {
            let names = entry.values.keys().map(String::as_str).collect();
            (entry.case.variant.as_str(), names)
        })
        .collect();
    assert_eq!(
        held,
        [
            ("fixed", vec!["completion_s"]),
            ("bulk", vec!["goodput_mbps"]),
            ("cubic", vec!["completion_s"]),
        ]
    );
    assert_eq!(samples.cases[1].runs, [0, 1, 2]);
    assert_eq!(samples.cases[2].incomplete, [2]);
    assert_eq!(samples.cases[2].values["completion_s"], [Some(1.0), Some(1.0), None]);
    let chosen = Samples::new(&results(), &["packets_sent", "jain_index"], false, true);
    assert_eq!(chosen.metrics(), ["packets_sent"]);
}

#[test]
fn a_case_that_a_complete_plan_ran_once_is_deterministic() {
    let fixed = |complete| -> Vec<bool> {
        let samples = Samples::new(&results(), &[], true, complete);
        samples.cases.iter().map(|entry| entry.deterministic).collect()
    };
    assert_eq!(fixed(true), [true, false, false]);
    assert_eq!(fixed(false), [false, false, false]);
}
