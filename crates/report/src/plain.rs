//! A report without scripts, for builds without the page of `studio/`: the table, and static plots.

use crate::traces::{Trace, points};
use bentpipe_results::Manifest;
use bentpipe_results::point_text;
use bentpipe_results::{Results, Run, Summary, values, visits};
use std::fmt::Write;

/// Colours that stay apart for colour-blind readers (Okabe and Ito 2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// Points of a line in a static plot: more than its pixels show nothing.
const MOST_POINTS: usize = 800;

/// The report as one HTML file.
pub fn html(manifest: &Manifest, results: &Results, traces: &[Trace], blob: &[u8]) -> String {
    let mut page = String::new();
    let title = escape(&manifest.title);
    let _ = write!(
        page,
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>\
         <meta name=viewport content=\"width=device-width\"><style>{STYLE}</style><h1>{title}</h1>"
    );
    if let Some(description) = &manifest.description {
        let _ = write!(page, "<p>{}</p>", escape(description));
    }
    let _ = write!(
        page,
        "<p>Scenario {}, seed {}, Bentpipe {}.",
        escape(&manifest.scenario),
        manifest.seed,
        escape(&manifest.version)
    );
    if let Some(path) = &manifest.path {
        let bdp = path.bdp_bytes as f64 / 1e6;
        let _ = write!(
            page,
            " {}: {} ms, bandwidth-delay product {bdp:.3} MB.",
            escape(&path.name),
            path.rtt_ms
        );
    }
    page.push_str("</p>");
    if !manifest.complete {
        let (done, planned) = (manifest.runs_done, manifest.runs_planned);
        let _ = write!(page, "<p><strong>Incomplete: {done} of {planned} runs.</strong></p>");
    }
    for note in &manifest.notes {
        let _ = write!(page, "<p>Note: {}.</p>", escape(note));
    }
    page.push_str(&table(results));
    page.push_str(&strips(results));
    if let Some(plot) = lines(traces, blob) {
        page.push_str(&plot);
    }
    page.push_str(&expectations(results));
    let _ = write!(
        page,
        "<details><summary>Scenario</summary><pre>{}</pre></details>",
        escape(&manifest.source)
    );
    page
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child,.l{text-align:left}svg{width:100%;height:auto;font:12px system-ui,sans-serif}pre{background:#f4f4f4;padding:1em;overflow:auto}";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

fn table(results: &Results) -> String {
    let mut text = "<h2>Completion</h2><table><tr><th>Point<th class=l>Variant<th>Runs<th>Median, \
        s<th>95 % interval<th>Goodput, Mbps<th class=l>Published</tr>"
        .to_owned();
    for row in results.summary.iter().filter(|row| row.metric == "completion_s") {
        let goodput = results.summary.iter().find(|other| {
            let same = |a: &Summary, b: &Summary| {
                a.variant == b.variant
                    && a.point == b.point
                    && a.flow == b.flow
                    && a.visit == b.visit
            };
            other.metric == "goodput_mbps" && same(row, other)
        });
        let interval = match (row.ci95_low, row.ci95_high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => "–".to_owned(),
        };
        let published = results.published.iter().filter(|other| {
            other.metric == row.metric
                && other.variant == row.variant
                && other.point == row.point
                && other.flow == row.flow
        });
        let published: Vec<String> = published
            .map(|other| {
                format!("{} {} (ratio {})", escape(&other.label), other.value, number(other.ratio))
            })
            .collect();
        let _ = write!(
            text,
            "<tr><td>{}<td class=l>{}<td>{}<td>{}<td>{interval}<td>{}<td class=l>{}</tr>",
            escape(&point_text(&row.point)),
            escape(&name(row)),
            row.n,
            number(row.median),
            number(goodput.and_then(|row| row.median)),
            published.join("; ")
        );
    }
    text + "</table>"
}

fn name(row: &Summary) -> String {
    if row.flow == "main" { row.variant.clone() } else { format!("{}, {}", row.variant, row.flow) }
}

/// Every completion time as a dot, the median as a bar; one line for each variant at each point.
fn strips(results: &Results) -> String {
    let groups: Vec<&[Run]> =
        results.runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point).collect();
    let mut rows: Vec<(String, Vec<f64>, usize)> = Vec::new();
    let mut variants: Vec<&str> = Vec::new();
    for group in groups {
        let variant = group[0].variant.as_str();
        if !variants.contains(&variant) {
            variants.push(variant);
        }
        let colour = variants.iter().position(|known| *known == variant).unwrap_or_default();
        for (flow, visit) in visits(group) {
            let label = [point_text(&group[0].point), variant.to_owned(), flow.clone()];
            let label: Vec<String> =
                label.into_iter().filter(|part| !part.is_empty() && part != "main").collect();
            rows.push((label.join(" · "), values(group, &flow, visit, "completion_s"), colour));
        }
    }
    let largest = rows.iter().flat_map(|(_, values, _)| values).fold(0.0f64, |a, b| a.max(*b));
    if largest <= 0.0 {
        return String::new();
    }
    let (left, width, step) = (380.0, 900.0, 22.0);
    let height = rows.len() as f64 * step + 30.0;
    let x = |value: f64| left + value / largest * (width - left - 40.0);
    let mut svg = format!(
        "<h2>Every run</h2><svg viewBox=\"0 0 {width} {height}\" role=img aria-label=\"completion \
            times\">"
    );
    for tick in 0..=4 {
        let value = largest * f64::from(tick) / 4.0;
        let _ = write!(
            svg,
            "<line x1={0:.1} x2={0:.1} y1=0 y2={1:.1} stroke=#ddd /><text x={0:.1} y={2:.1} \
                text-anchor=middle>{value:.2} s</text>",
            x(value),
            height - 25.0,
            height - 8.0
        );
    }
    for (index, (label, values, colour)) in rows.iter().enumerate() {
        let y = index as f64 * step + 14.0;
        let colour = COLOURS[colour % COLOURS.len()];
        let _ = write!(
            svg,
            "<text x={} y={} text-anchor=end>{}</text>",
            left - 10.0,
            y + 4.0,
            escape(label)
        );
        for value in values {
            let _ = write!(
                svg,
                "<circle cx={:.1} cy={y} r=3.5 fill={colour} fill-opacity=.4 />",
                x(*value)
            );
        }
        if let Some(stats) = bentpipe_results::Stats::of(values) {
            let at = x(stats.median);
            let _ = write!(
                svg,
                "<line x1={at:.1} x2={at:.1} y1={} y2={} stroke={colour} stroke-width=2 />",
                y - 8.0,
                y + 8.0
            );
        }
    }
    svg + "</svg>"
}

/// What had been received when, for the traced runs of the first point that has any.
fn lines(traces: &[Trace], blob: &[u8]) -> Option<String> {
    let first = traces.first()?;
    let mut curves = Vec::new();
    for trace in traces.iter().filter(|trace| trace.point == first.point && trace.run == first.run)
    {
        for flow in &trace.flows {
            let series = flow.series.get("received").or_else(|| flow.series.get("acked"));
            let all = series.map(|series| points(series, blob)).unwrap_or_default();
            let stride = all.len().div_ceil(MOST_POINTS).max(1);
            let thin = all.iter().step_by(stride).chain(all.last());
            let curve: Vec<(f64, f64)> =
                thin.map(|(t, y)| (t - flow.start_s, f64::from(*y))).collect();
            if !curve.is_empty() {
                curves.push((trace.variant.clone(), curve));
            }
        }
    }
    let points = || curves.iter().flat_map(|(_, curve)| curve);
    let (end, top) =
        points().fold((0.0f64, 0.0f64), |(end, top), (t, y)| (end.max(*t), top.max(*y)));
    if end <= 0.0 || top <= 0.0 {
        return None;
    }
    let (width, height) = (900.0, 320.0);
    let heading = match point_text(&first.point) {
        point if point.is_empty() => "Received over time".to_owned(),
        point => format!("Received over time at {}", escape(&point)),
    };
    let mut svg = format!(
        "<h2>{heading}</h2><svg viewBox=\"0 0 {width} {height}\" role=img aria-label=\"bytes \
            received over time\">"
    );
    let (x, y) = (
        |t: f64| 60.0 + t / end * (width - 100.0),
        |b: f64| height - 30.0 - b / top * (height - 50.0),
    );
    for tick in 0..=4 {
        let share = f64::from(tick) / 4.0;
        let _ = write!(
            svg,
            "<text x={:.1} y={} text-anchor=middle>{:.2} s</text><text x=52 y={:.1} \
                text-anchor=end>{:.1} MB</text>",
            x(end * share),
            height - 8.0,
            end * share,
            y(top * share) + 4.0,
            top * share / 1e6
        );
    }
    for (index, (variant, curve)) in curves.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let path: Vec<String> =
            curve.iter().map(|(t, b)| format!("{:.1},{:.1}", x(*t), y(*b))).collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=none stroke={colour} stroke-width=1.5 />",
            path.join(" ")
        );
        let _ = write!(
            svg,
            "<text x=70 y={} fill={colour}>{}</text>",
            20 + index * 16,
            escape(variant)
        );
    }
    Some(svg + "</svg>")
}

fn expectations(results: &Results) -> String {
    if results.expectations.is_empty() {
        return String::new();
    }
    let mut text = "<h2>Expectations</h2><ul>".to_owned();
    for expectation in &results.expectations {
        let verdict = match expectation.passed {
            Some(true) => "passed",
            Some(false) => "failed",
            None => "not measured",
        };
        let measured = number(expectation.measured);
        let _ = write!(
            text,
            "<li>{}: <strong>{verdict}</strong> (measured {measured})</li>",
            escape(&expectation.text)
        );
    }
    text + "</ul>"
}
