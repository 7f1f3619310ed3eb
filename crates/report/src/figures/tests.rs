//! Figures of made-up results: what is drawn, what the tables have, and what is refused.

use super::*;
use crate::recording::Recording;
use crate::traces::Trace;
use bentpipe_results::Results;
use bentpipe_timeseries::{RunSeries, Series, VisitSeries};
use bentpipe_units::Time;
use serde_json::{Value, json};

/// A directory with two variants at three points, six runs each: `slow` takes twice as long, and
/// its first run at the last point never completes.
struct Directory {
    manifest: Manifest,
    results: Results,
    recording: Recording,
}

impl Directory {
    fn new() -> Self {
        let mut runs = Vec::new();
        for (rtt, seconds) in [("100 ms", 1.0), ("300 ms", 2.0), ("600 ms", 4.0)] {
            for (variant, factor) in [("fast", 1.0), ("slow", 2.0)] {
                for run in 0..6 {
                    let time = seconds * factor + 0.01 * f64::from(run);
                    let failed = variant == "slow" && rtt == "600 ms" && run == 0;
                    runs.push(run_of(variant, rtt, run, (!failed).then_some(time)));
                }
            }
        }
        let results: Results = serde_json::from_value(json!({
            "scenario": "t", "seed": 7, "clock": "virtual", "version": "0.1.0", "runs": runs,
            "summary": [], "expectations": [], "published": [],
        }))
        .unwrap();
        let manifest: Manifest = serde_json::from_value(json!({
            "version": "0.1.0", "complete": true, "runs_planned": 36, "runs_done": 36,
            "scenario": "t", "title": "T", "description": null, "seed": 7, "clock": "virtual",
            "variants": ["fast", "slow"], "path": null, "notes": [], "files": [],
            "sweep": [{ "key": "path.rtt", "values": ["100 ms", "300 ms", "600 ms"],
                "numbers": [0.1, 0.3, 0.6], "unit": "s" }],
            "published": [{ "label": "Goal <b>", "kind": "objective", "metric": "completion_s",
                "point": { "path.rtt": "600 ms" }, "value": 3.5, "source": "s" }],
            "source": "baseline = \"slow\"",
        }))
        .unwrap();
        Self { manifest, results, recording: recording() }
    }

    fn draw(&self, request: &FigureRequest, style: FigureStyle) -> Result<Figure, FigureError> {
        let Self { manifest, results, recording } = self;
        figure(FigureData { manifest, results, recording }, request, style)
    }
}

fn run_of(variant: &str, rtt: &str, run: i32, time: Option<f64>) -> Value {
    let budget =
        time.map(|time| json!({ "handshake_s": 0.25 * time, "slow_start_s": 0.75 * time }));
    json!({ "variant": variant, "point": { "path.rtt": rtt }, "run": run, "links": [], "flows": [{
        "name": "main", "visit": 1, "workload": "download", "transport": "quic",
        "congestion": "cubic", "connections": 1, "direction": "download", "bytes": 1000,
        "completed": time.is_some(), "start_s": 0.0, "reverse_bytes": {}, "objects": [],
        "completion_s": time, "time_budget": budget, "error": null,
    }] })
}

fn recording() -> Recording {
    let mut recording = Recording::default();
    for variant in ["fast", "slow"] {
        let points = (0..5000u64).map(|i| (Time::from_millis(i), (i * 1000) as f64)).collect();
        let run = RunSeries {
            flows: vec![VisitSeries {
                name: "main".to_owned(),
                visit: 1,
                start: Time::ZERO,
                series: vec![Series { name: "cwnd", unit: "bytes", points, downsampled: false }],
                marks: Vec::new(),
                phases: Vec::new(),
            }],
            links: Vec::new(),
            paths: Vec::new(),
        };
        let mut blob = Vec::new();
        let point = [("path.rtt".to_owned(), "600 ms".to_owned())].into();
        let mut trace = Trace::encode(variant, &point, 0, &run, &[], &mut blob);
        trace.shift(recording.blob.len());
        recording.blob.extend(blob);
        recording.traces.push(trace);
    }
    recording
}

fn at(what: What, rtt: &str) -> FigureRequest {
    let point = [("path.rtt".to_owned(), rtt.to_owned())].into();
    FigureRequest { point, ..FigureRequest::new(what) }
}

/// Positions and widths of the boxes with this fill.
fn boxes(svg: &str, fill: &str) -> Vec<(f64, f64)> {
    let number = |line: &str, name: &str| -> f64 {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let rects = svg.lines().filter(|line| line.contains(&format!("fill=\"{fill}\"")));
    rects
        .filter(|line| line.contains("height=\"10.00\""))
        .map(|line| (number(line, "x"), number(line, "width")))
        .collect()
}

#[test]
fn bars_have_the_lengths_of_their_parts_on_one_axis_from_zero() {
    let figure = Directory::new().draw(&at(What::Budget, "100 ms"), FigureStyle::default());
    let svg = figure.unwrap().svg;
    // The median of six runs is the mean of 1.02 and 1.03 s, and of 2.02 and 2.03 s.
    let (grey, warm) = (boxes(&svg, "#a9b3bf"), boxes(&svg, "#f0a31c"));
    assert_eq!((grey.len(), warm.len()), (2, 2), "{svg}");
    let fast = grey[0].1 + warm[0].1;
    let slow = grey[1].1 + warm[1].1;
    assert!((slow / fast - 2.025 / 1.025).abs() < 1e-3, "{fast} {slow}");
    assert!((warm[0].1 / fast - 0.75).abs() < 1e-3 && grey[0].0 == grey[1].0);
    // The baseline is the one that the scenario names.
    assert!(svg.contains(", 1.98× as fast") && !svg.contains("as long"), "{svg}");
    assert!(svg.contains("width=\"85.00mm\""));
}

#[test]
fn runs_that_failed_and_published_values_are_in_the_figure() {
    let figure = Directory::new().draw(&at(What::Budget, "600 ms"), FigureStyle::default());
    let figure = figure.unwrap();
    assert!(figure.svg.contains("1 of 6 runs failed"), "{}", figure.svg);
    assert!(figure.svg.contains("published: Goal &lt;b&gt;") && !figure.svg.contains("<b>"));
    // Those of `slow` are too near to each other to be shown.
    let expected = "Where the time went, RTT 600 ms. In brackets: 95 % confidence intervals of the \
        medians. Scenario t, seed 7, virtual clock, Bentpipe 0.1.0.";
    assert_eq!(figure.caption, expected);
    let csv = figure.csv();
    let row = csv.lines().find(|line| line.contains("slow")).unwrap();
    assert!(row.starts_with("600 ms,slow,6,5,8.03,"), "{csv}");
    assert!(
        figure.latex().contains("\\caption{Where the time went, RTT 600 ms. In brackets: 95 \\%")
    );
}

#[test]
fn a_sweep_has_a_mark_and_an_interval_at_each_value() {
    let figure = Directory::new().draw(&FigureRequest::new(What::Sweep), FigureStyle::default());
    let figure = figure.unwrap();
    let marks = figure.svg.matches("<path").count();
    assert_eq!((marks, figure.table.rows.len()), (6, 6), "{}", figure.svg);
    assert_eq!(figure.svg.matches("<polyline").count(), 2);
    let words = "Completion time over RTT. Lines: 95 % confidence intervals of the medians; \
        smallest to largest of 5 runs. Scenario t";
    assert!(figure.caption.starts_with(words), "{}", figure.caption);
    // Names stand at the ends of the lines.
    assert!(figure.svg.contains(">fast</text>") && figure.svg.contains(">600 ms</text>"));
    let csv = figure.csv();
    assert!(csv.contains("100 ms,fast,6,6,1.025,1,1.05,1,1.05"), "{csv}");
}

#[test]
fn a_distribution_ends_below_one_if_runs_failed() {
    let figure = Directory::new().draw(&at(What::Cdf, "600 ms"), FigureStyle::default()).unwrap();
    let rows = figure.csv();
    let shares: Vec<&str> =
        rows.lines().filter_map(|line| line.strip_prefix("slow,")?.split(',').next()).collect();
    assert_eq!(shares.len(), 5);
    assert!(shares[4].starts_with("0.8333"), "{rows}");
    assert!(figure.caption.contains("Distribution of completion time over the runs"));
}

#[test]
fn a_population_has_the_distribution_of_its_users() {
    let mut directory = Directory::new();
    let users = |completion: Value| {
        json!([{ "name": "ours", "visit": 1, "classes": [], "per_user": {
            "user": [0, 1, 2], "bytes": [9, 9, 9], "start_s": [0.0, 0.0, 0.0],
            "completion_s": completion, "slowdown": [1.5, null, 3.0],
            "packets_dropped": [0, 0, 0] } }])
    };
    for run in &mut directory.results.runs {
        run.flows.clear();
        run.populations = serde_json::from_value(users(json!([0.5, null, 2.0]))).unwrap();
    }
    let draw = |metric: Option<&str>| {
        let request =
            FigureRequest { metric: metric.map(str::to_owned), ..at(What::Cdf, "100 ms") };
        directory.draw(&request, FigureStyle::default())
    };
    let figure = draw(None).unwrap();
    assert!(figure.caption.starts_with("Slowdown of the users of ours, RTT 100 ms."));
    assert!(figure.svg.contains("Users at or below, %"));
    // Twelve of the eighteen users of each variant completed.
    let csv = figure.csv();
    let last = csv.lines().last().unwrap();
    assert!(
        csv.lines().count() == 1 + 24 && last.starts_with("slow,0.6666") && last.ends_with(",3")
    );
    assert!(draw(Some("completion_s")).unwrap().csv().lines().last().unwrap().ends_with(",2"));
    let error = draw(Some("goodput_mbps")).unwrap_err();
    assert!(error.reason.contains("allowed: slowdown, completion_s"), "{error}");
}

/// A directory whose users make calls: one of the three of each run has no score.
fn calls() -> Directory {
    let mut directory = Directory::new();
    for run in &mut directory.results.runs {
        run.flows.clear();
        let users = json!([{ "name": "talkers", "visit": 1, "classes": [], "median_mos": 3.0,
            "per_user": { "user": [0, 1, 2], "bytes": [9, 9, 9], "start_s": [0.0, 0.0, 0.0],
            "completion_s": [60.0, 60.0, 60.0], "slowdown": [null, null, null],
            "packets_dropped": [0, 0, 0], "mos": [2.5, null, 3.5],
            "frame_delay_ms": [400.0, null, 300.0] } }]);
        run.populations = serde_json::from_value(users).unwrap();
    }
    directory
}

#[test]
fn calls_of_a_population_have_the_distribution_of_their_scores() {
    let directory = calls();
    let draw = |metric: Option<&str>| {
        let request =
            FigureRequest { metric: metric.map(str::to_owned), ..at(What::Cdf, "100 ms") };
        directory.draw(&request, FigureStyle::default())
    };
    let figure = draw(None).unwrap();
    assert!(figure.caption.starts_with("Mean opinion score of the users of talkers"));
    // Twelve of eighteen users have a score.
    let csv = figure.csv();
    assert!(csv.lines().last().unwrap().starts_with("slow,0.6666"), "{csv}");
    assert!(draw(Some("frame_delay_ms")).unwrap().svg.contains("Mean frame delay, ms"));
    let error = draw(Some("slowdown")).unwrap_err();
    assert!(error.reason.contains("allowed: mos, completion_s, frame_delay_ms"), "{error}");
}

#[test]
fn a_population_of_calls_is_drawn_by_its_scores() {
    let sweep = calls().draw(&FigureRequest::new(What::Sweep), FigureStyle::default()).unwrap();
    assert!(
        sweep
            .table
            .heads
            .iter()
            .any(|head| head.contains("mean opinion score") || head.contains("Mean opinion score")),
        "{:?}",
        sweep.table.heads
    );
    assert_eq!(sweep.table.rows.len(), 6);
}

#[test]
fn a_line_of_many_points_is_no_larger_than_paper_can_show() {
    let directory = Directory::new();
    let request = FigureRequest { series: vec!["cwnd".to_owned()], ..at(What::Series, "600 ms") };
    let figure = directory.draw(&request, FigureStyle::default()).unwrap();
    assert_eq!(figure.table.rows.len(), 10_000);
    assert!(figure.svg.len() < 60_000, "{}", figure.svg.len());
    assert!(figure.svg.contains("Congestion window, MB"), "{}", figure.svg);
    let one = FigureRequest { variants: vec!["slow".to_owned()], ..request };
    let svg = directory.draw(&one, FigureStyle::default()).unwrap().svg;
    assert!(svg.matches("<polyline").count() == 1 && svg.contains("#c8500a"));
}

#[test]
fn grey_figures_have_no_colour() {
    let directory = Directory::new();
    let style = FigureStyle { grey: true, serif: true, ..FigureStyle::default() };
    for what in [What::Budget, What::Sweep, What::Cdf] {
        let request =
            if what == What::Sweep { FigureRequest::new(what) } else { at(what, "600 ms") };
        let svg = directory.draw(&request, style).unwrap().svg;
        for colour in svg.split("=\"#").skip(1).map(|rest| rest.split_once('"').unwrap().0) {
            let pairs: Vec<&str> = match colour.len() {
                3 => vec![&colour[..1], &colour[1..2], &colour[2..]],
                _ => vec![&colour[..2], &colour[2..4], &colour[4..]],
            };
            assert!(pairs[0] == pairs[1] && pairs[1] == pairs[2], "{what:?}: #{colour}");
        }
        assert!(svg.contains("font-family=\"Times"));
    }
}

#[test]
fn what_cannot_be_drawn_says_what_can() {
    let directory = Directory::new();
    let refuse = |request: FigureRequest| {
        directory.draw(&request, FigureStyle::default()).unwrap_err().to_string()
    };
    let of = FigureRequest::new;
    let point = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    let name = |name: &str| Some(name.to_owned());
    let cases = [
        (refuse(FigureRequest { point: point("loss", "1"), ..of(What::Budget) }), "path.rtt"),
        (refuse(FigureRequest { point: point("path.rtt", "1 s"), ..of(What::Budget) }), "300 ms"),
        (refuse(FigureRequest { variants: vec!["x".into()], ..of(What::Sweep) }), "fast, slow"),
        (refuse(FigureRequest { metric: name("speed"), ..of(What::Sweep) }), "completion_s"),
        (refuse(FigureRequest { flow: name("b"), ..of(What::Sweep) }), "allowed: main"),
        (refuse(FigureRequest { metric: name("mos"), ..of(What::Sweep) }), "no run has a value"),
        (refuse(of(What::Cdf)), "choose one of 100 ms, 300 ms"),
        (refuse(of(What::Heat)), "two swept keys"),
        (refuse(FigureRequest { along: name("x"), ..of(What::Sweep) }), "path.rtt"),
        (refuse(FigureRequest { run: 3, ..of(What::Series) }), "recorded: 0"),
        (refuse(FigureRequest { series: vec!["x".into()], ..of(What::Series) }), "cwnd"),
        (refuse(FigureRequest { link: name("x"), ..of(What::Series) }), "no link is named"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "{part}: {error}");
    }
    for width_mm in [0.0, 39.9, 401.0, f64::NAN] {
        let style = FigureStyle { width_mm, ..FigureStyle::default() };
        let error = directory.draw(&of(What::Sweep), style).unwrap_err();
        assert_eq!(error.argument, "--width");
    }
}

#[test]
fn a_scale_is_named_in_full_in_a_column_of_a_paper() {
    let mut directory = Directory::new();
    let mut runs = Vec::new();
    for (rtt, seconds) in [("100 ms", 1.0), ("300 ms", 2.0), ("600 ms", 4.0)] {
        for (loss, factor) in [("0", 1.0), ("0.01", 25.0)] {
            let mut run = run_of("fast", rtt, 0, Some(seconds * factor));
            run["point"]["path.loss"] = json!(loss);
            runs.push(run);
        }
    }
    directory.results.runs = serde_json::from_value(json!(runs)).unwrap();
    let loss = json!({ "key": "path.loss", "values": ["0", "0.01"], "numbers": [0.0, 0.01],
        "unit": null });
    directory.manifest.sweep.push(serde_json::from_value(loss).unwrap());
    let request = FigureRequest::new(What::Heat);
    let drawn = directory.draw(&request, FigureStyle::default()).unwrap();
    assert!(drawn.svg.contains(">Completion time, s (log scale)<"), "{}", drawn.svg);
}

#[test]
fn a_directory_says_what_it_offers() {
    let Directory { manifest, results, recording } = &Directory::new();
    let data = FigureData { manifest, results, recording };
    let offers = offers(data);
    let shows = |what: What| {
        let (_, found) = offers.iter().find(|(one, _)| *one == what).unwrap();
        found.as_deref()
    };
    assert_eq!(shows(What::Budget), Ok("6 bars of `main`; the first takes 1.02\u{a0}s"));
    assert_eq!(shows(What::Sweep), Ok("along path.rtt (3 values)"));
    assert_eq!(shows(What::Cdf), Ok("6 runs of each variant"));
    assert_eq!(shows(What::Series), Ok("2 recorded runs"));
    assert!(shows(What::Heat).is_err());
    let names = option_names(data);
    let names = |option: &str| &names.iter().find(|(one, _)| *one == option).unwrap().1;
    assert_eq!(names("--variant"), "fast, slow");
    assert_eq!(names("--series"), "cwnd");
}

#[test]
fn a_hostile_name_neither_ends_the_drawing_nor_a_row() {
    let mut directory = Directory::new();
    let evil = "</text><script>\u{0}&\n|";
    directory.manifest.variants[0] = evil.to_owned();
    for run in directory.results.runs.iter_mut().filter(|run| run.variant == "fast") {
        run.variant = evil.to_owned();
    }
    for what in [What::Budget, What::Sweep, What::Cdf] {
        let request = if what == What::Cdf { at(what, "100 ms") } else { FigureRequest::new(what) };
        let figure = directory.draw(&request, FigureStyle::default()).unwrap();
        assert!(!figure.svg.contains("<script") && !figure.svg.contains('\u{0}'), "{what:?}");
        assert!(
            figure
                .markdown()
                .lines()
                .all(|line| line.is_empty() || line.starts_with(['|', 'W', 'C', 'D']))
        );
    }
}
