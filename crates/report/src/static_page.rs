//! A report without scripts, for builds without the page of `studio/`: a table and static plots.

use crate::traces::{Trace, points};
use bentpipe_results::Manifest;
use bentpipe_results::metrics::Row;
use bentpipe_results::point_text;
use bentpipe_results::{Headlines, Results, Run, Stats, Summary, values, visits};
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

/// Colours that colour-blind readers can distinguish (Okabe and Ito 2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Maximum number of points of a line in a static plot, about one per pixel.
const MAX_POINTS: usize = 800;
/// Number of intervals between the ticks of an axis.
const INTERVALS: u32 = 4;
/// Width of the plots.
const WIDTH: f64 = 900.0;

const STYLE: &str = "\
    body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;\
    color:#222;background:#fff}table{border-collapse:collapse}th,td{padding:.2em .8em;\
    text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child,.l{text-align:left}\
    svg{width:100%;height:auto;font:12px system-ui,sans-serif}\
    pre{background:#f4f4f4;padding:1em;overflow:auto}";

/// Creates a page of a title and a text as it is.
pub fn of_text(title: &str, text: &str) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) }
                meta name="viewport" content="width=device-width";
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                pre { (text) }
            }
        }
    };
    page.into_string()
}

/// Creates the report as one HTML file.
pub fn html(manifest: &Manifest, results: &Results, traces: &[Trace], blob: &[u8]) -> String {
    let (done, planned) = (manifest.runs_done, manifest.runs_planned);
    let headlines = Headlines::of(results);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (manifest.title) }
                meta name="viewport" content="width=device-width";
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (manifest.title) }
                @if let Some(description) = &manifest.description { p { (description) } }
                p {
                    "Scenario " (manifest.scenario) ", seed " (manifest.seed)
                    ", Bentpipe " (manifest.version) "."
                    @if let Some(path) = &manifest.path {
                        " " (path.name) ": " (path.rtt_ms) " ms, bandwidth-delay product "
                        (format!("{:.3}", path.bdp_bytes as f64 / 1e6)) " MB."
                    }
                }
                @if !manifest.complete {
                    p { strong { "Incomplete: " (done) " of " (planned) " runs." } }
                }
                @for note in &manifest.notes { p { "Note: " (note) "." } }
                (table(results, &headlines))
                (strips(results, &headlines))
                (lines(traces, blob))
                (expectations(results))
                details { summary { "Scenario" } pre { (manifest.source) } }
            }
        }
    };
    page.into_string()
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

/// Formats a coordinate of a plot.
fn coordinate(value: f64) -> String {
    format!("{value:.1}")
}

/// Returns the values of an axis from zero to `max` that have ticks.
fn ticks(max: f64) -> impl Iterator<Item = f64> {
    (0..=INTERVALS).map(move |tick| max * f64::from(tick) / f64::from(INTERVALS))
}

fn table(results: &Results, headlines: &Headlines) -> Markup {
    let metric = |row: &Summary| {
        let headline = headlines.get(&row.flow, row.visit)?;
        (headline.row.name == row.metric).then(|| headline.row.heading())
    };
    let goodput = |row: &Summary| {
        let same = |other: &&Summary| {
            other.metric == "goodput_mbps"
                && other.variant == row.variant
                && other.point == row.point
                && other.flow == row.flow
                && other.visit == row.visit
        };
        results.summary.iter().find(same).and_then(|other| other.median)
    };
    let interval = |row: &Summary| match (row.ci95_low, row.ci95_high) {
        (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
        _ => "–".to_owned(),
    };
    let published = |row: &Summary| {
        let of_row = results.published.iter().filter(|other| {
            other.metric == row.metric
                && other.variant == row.variant
                && other.point == row.point
                && other.flow == row.flow
        });
        let text = of_row.map(|other| {
            format!("{} {} (ratio {})", other.label, other.value, number(other.ratio))
        });
        text.collect::<Vec<_>>().join("; ")
    };
    let rows: Vec<(&Summary, String)> =
        results.summary.iter().filter_map(|row| Some((row, metric(row)?))).collect();
    markup! {
        h2 { "Results" }
        table {
            tr {
                th { "Point" } th.l { "Variant" } th { "Runs" } th.l { "Metric" } th { "Median" }
                th { "95 % interval" } th { "Goodput, Mbps" } th.l { "Published" }
            }
            @for (row, metric) in &rows {
                tr {
                    td { (point_text(&row.point)) }
                    td.l { (name(row)) }
                    td { (row.n) }
                    td.l { (metric) }
                    td { (number(row.median)) }
                    td { (interval(row)) }
                    td { (number(goodput(row))) }
                    td.l { (published(row)) }
                }
            }
        }
    }
}

fn name(row: &Summary) -> String {
    if row.flow == "main" { row.variant.clone() } else { format!("{}, {}", row.variant, row.flow) }
}

/// Values of one flow in the runs of one variant at one point.
struct Strip {
    label: String,
    values: Vec<f64>,
    colour: &'static str,
}

/// Plots what each flow is about: a plot for each metric.
fn strips(results: &Results, headlines: &Headlines) -> Markup {
    let mut rows: Vec<Row> = Vec::new();
    for headline in headlines.iter() {
        if rows.iter().all(|row| row.name != headline.row.name) {
            rows.push(headline.row);
        }
    }
    markup! {
        @for row in &rows { (strips_of(results, headlines, row)) }
    }
}

/// Plots the metric of every run as a dot and the median as a bar, with one row for each variant at
/// each point, for the flows that it is about.
fn strips_of(results: &Results, headlines: &Headlines, metric: &Row) -> Markup {
    let groups: Vec<&[Run]> =
        results.runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point).collect();
    let mut strips: Vec<Strip> = Vec::new();
    let mut variants: Vec<&str> = Vec::new();
    for group in groups {
        let variant = group[0].variant.as_str();
        if !variants.contains(&variant) {
            variants.push(variant);
        }
        let index = variants.iter().position(|known| *known == variant).unwrap_or_default();
        for (flow, visit) in visits(group) {
            if headlines.get(&flow, visit).is_none_or(|one| one.row.name != metric.name) {
                continue;
            }
            let label = [point_text(&group[0].point), variant.to_owned(), flow.clone()];
            let label: Vec<String> =
                label.into_iter().filter(|part| !part.is_empty() && part != "main").collect();
            strips.push(Strip {
                label: label.join(" · "),
                values: values(group, &flow, visit, metric.name),
                colour: COLOURS[index % COLOURS.len()],
            });
        }
    }
    let max = strips.iter().flat_map(|strip| &strip.values).fold(0.0f64, |a, b| a.max(*b));
    if max <= 0.0 {
        return Markup::default();
    }
    let (left, step) = (380.0, 22.0);
    let height = strips.len() as f64 * step + 30.0;
    let x = |value: f64| coordinate(left + value / max * (WIDTH - left - 40.0));
    let strip = |(index, strip): (usize, &Strip)| {
        let y = index as f64 * step + 14.0;
        markup! {
            text x=(left - 10.0) y=(y + 4.0) text-anchor="end" { (strip.label) }
            @for value in &strip.values {
                circle cx=(x(*value)) cy=(y) r="3.5" fill=(strip.colour) fill-opacity=".4" {}
            }
            @if let Some(stats) = Stats::of(&strip.values) {
                @let x = x(stats.median);
                line x1=(x) x2=(x) y1=(y - 8.0) y2=(y + 8.0) stroke=(strip.colour)
                    stroke-width="2" {}
            }
        }
    };
    markup! {
        h2 { (metric.heading()) " of every run" }
        svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(metric.label) {
            @for value in ticks(max) {
                @let x = x(value);
                line x1=(x) x2=(x) y1="0" y2=(coordinate(height - 25.0)) stroke="#ddd" {}
                text x=(x) y=(coordinate(height - 8.0)) text-anchor="middle" {
                    (format!("{value:.2} {}", metric.unit))
                }
            }
            @for row in strips.iter().enumerate() { (strip(row)) }
        }
    }
}

/// Bytes received over time in one visit, with the name of its variant.
struct Curve<'a> {
    variant: &'a str,
    points: Vec<(f64, f64)>,
}

fn curves<'a>(first: &Trace, traces: &'a [Trace], blob: &[u8]) -> Vec<Curve<'a>> {
    let mut curves = Vec::new();
    for trace in traces.iter().filter(|trace| trace.point == first.point && trace.run == first.run)
    {
        for flow in &trace.flows {
            let series = flow.series.get("received").or_else(|| flow.series.get("acked"));
            let all = series.map(|series| points(series, blob)).unwrap_or_default();
            let stride = all.len().div_ceil(MAX_POINTS).max(1);
            let kept = all.iter().step_by(stride).chain(all.last());
            let points: Vec<(f64, f64)> =
                kept.map(|(t, y)| (t - flow.start_s, f64::from(*y))).collect();
            if !points.is_empty() {
                curves.push(Curve { variant: &trace.variant, points });
            }
        }
    }
    curves
}

/// Plots the bytes received over time, for the runs at the first point with time series.
fn lines(traces: &[Trace], blob: &[u8]) -> Markup {
    let Some(first) = traces.first() else { return Markup::default() };
    let curves = curves(first, traces, blob);
    let points = curves.iter().flat_map(|curve| &curve.points);
    let (end, top) = points.fold((0.0f64, 0.0f64), |(end, top), (t, y)| (end.max(*t), top.max(*y)));
    if end <= 0.0 || top <= 0.0 {
        return Markup::default();
    }
    let height = 320.0;
    let x = |t: f64| coordinate(60.0 + t / end * (WIDTH - 100.0));
    let y = |bytes: f64| height - 30.0 - bytes / top * (height - 50.0);
    let polyline = |curve: &Curve<'_>| {
        let points = curve.points.iter().map(|(t, b)| format!("{},{}", x(*t), coordinate(y(*b))));
        points.collect::<Vec<_>>().join(" ")
    };
    let point = point_text(&first.point);
    markup! {
        h2 { "Received over time" @if !point.is_empty() { " at " (point) } }
        svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img"
            aria-label="bytes received over time"
        {
            @for (time, bytes) in ticks(end).zip(ticks(top)) {
                text x=(x(time)) y=(height - 8.0) text-anchor="middle" {
                    (format!("{time:.2} s"))
                }
                text x="52" y=(coordinate(y(bytes) + 4.0)) text-anchor="end" {
                    (format!("{:.1} MB", bytes / 1e6))
                }
            }
            @for (index, curve) in curves.iter().enumerate() {
                @let colour = COLOURS[index % COLOURS.len()];
                polyline points=(polyline(curve)) fill="none" stroke=(colour)
                    stroke-width="1.5" {}
                text x="70" y=(20 + index * 16) fill=(colour) { (curve.variant) }
            }
        }
    }
}

fn expectations(results: &Results) -> Markup {
    let status = |passed: Option<bool>| match passed {
        Some(true) => "passed",
        Some(false) => "failed",
        None => "not measured",
    };
    markup! {
        @if !results.expectations.is_empty() {
            h2 { "Expectations" }
            ul {
                @for expectation in &results.expectations {
                    li {
                        (expectation.text) ": " strong { (status(expectation.passed)) }
                        " (measured " (number(expectation.measured)) ")"
                    }
                }
            }
        }
    }
}
