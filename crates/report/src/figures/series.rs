//! Time series of one run of each variant, over each other: a panel for each series.

use super::axis::Axis;
use super::canvas::{Canvas, EDGE, TEXT};
use super::lines::{Frame, Named, Sample, Ticks, draw_frame, draw_legend, draw_mark, label_room};
use super::numbers::Scale;
use super::request::{Drawn, FigureData, FigureError, FigureRequest};
use super::source::{Case, cases, check_lines, choose_point, distinct, listed, open_axes};
use super::table::{Cell, FigureTable};
use super::words::at_point;
use crate::traces::{FlowSeries, LinkSeries, SeriesRef, Trace, points};
use bentpipe_results::Direction;
use bentpipe_timeseries::extremes;
use std::collections::BTreeSet;

const HEIGHT: f64 = 72.0;
const HEAD: f64 = 13.0;
const LINE: f64 = 0.9;
/// Points of paper in which a line keeps its smallest and largest value: finer than any print.
const COLUMN: f64 = 0.35;
/// What is shown unless the request names series.
const DEFAULT: [&str; 3] = ["received", "cwnd", "smoothed_rtt"];
/// Most panels and most lines of one.
const MOST_PANELS: usize = 6;
const MOST_LINES: usize = 8;

/// A series of one variant, with times since the start of its flow or run.
struct Line {
    variant: String,
    index: usize,
    points: Vec<(f64, f64)>,
}

/// The series of one name.
struct Panel {
    name: String,
    unit: &'static str,
    lines: Vec<Line>,
}

pub(super) fn draw(
    data: FigureData<'_>,
    request: &FigureRequest,
    canvas: &mut Canvas,
) -> Result<Drawn, FigureError> {
    let traces = traces(data, request)?;
    let flow = flow_of(&traces, request)?;
    let names = names(&traces, &flow, request)?;
    let panels: Vec<Panel> =
        names.iter().map(|name| panel(data, &traces, &flow, name, request)).collect();
    let longest = panels
        .iter()
        .flat_map(|panel| &panel.lines)
        .filter_map(|line| line.points.last())
        .fold(0.0, |most: f64, (time, _)| most.max(*time));
    let drawn: Vec<(Axis, Ticks)> = panels.iter().map(vertical).collect();
    let left = drawn.iter().map(|(_, up)| label_room(canvas, &up.places)).fold(0.0, f64::max);
    let last = panels.len() - 1;
    for (number, (panel, (y, up))) in panels.iter().zip(drawn).enumerate() {
        let bottom = canvas.y + HEAD + HEIGHT;
        let y = Axis { from: bottom, to: bottom - HEIGHT, ..y };
        let x = Axis {
            high: longest.max(f64::MIN_POSITIVE),
            ..Axis::from_zero(longest, left, canvas.width - EDGE - 4.0)
        };
        let title = if number == last { "Time, s".to_owned() } else { String::new() };
        let across = Ticks::of(&x, Scale { unit: "s", divisor: 1.0 }, title, 40.0);
        draw_frame(canvas, &Frame { x, y }, &across, &up);
        for line in &panel.lines {
            let kept = downsampled(&line.points, &x, &y, panel.name == "received");
            let (colour, dash) = (canvas.ink.variant(line.index), canvas.ink.dash(line.index));
            canvas.polyline(&kept, colour, LINE, dash);
            // A value that never changes is recorded once.
            if let [(x, y)] = kept[..] {
                draw_mark(canvas, line.index, x, y);
            }
        }
        canvas.y += 2.0;
    }
    let mut shown: Vec<Named> = Vec::new();
    for line in panels.iter().flat_map(|panel| &panel.lines) {
        let name = (line.variant.clone(), line.index);
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    if shown.len() > 1 {
        canvas.y += TEXT * 0.3;
        draw_legend(canvas, &shown, Sample::Line);
    }
    let labels: Vec<String> = names.iter().map(|name| label(name)).collect();
    let run = if request.run == 0 { String::new() } else { format!(", run {}", request.run) };
    let of = if flow == "main" { String::new() } else { format!(" of {flow}") };
    let title = format!("{}{of}{}{run}", labels.join(", "), at_point(&traces[0].point));
    Ok(Drawn { title, table: table(&panels) })
}

/// Returns the traces that the request selects: one for each variant.
fn traces<'a>(
    data: FigureData<'a>,
    request: &FigureRequest,
) -> Result<Vec<&'a Trace>, FigureError> {
    let cases = cases(data, request);
    let all = &data.recording.traces;
    let own: Vec<&Trace> = all
        .iter()
        .filter(|trace| {
            let is_own =
                |case: &Case<'_>| case.variant == trace.variant && *case.point == trace.point;
            trace.run == request.run && cases.iter().any(is_own)
        })
        .collect();
    if own.is_empty() {
        let runs: BTreeSet<u64> = all.iter().map(|trace| trace.run).collect();
        let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
        let recorded = listed(runs.iter().map(String::as_str));
        let reason = format!(
            "run {} has no time series; recorded: {recorded}. For those of every run, set \
             output.time_series = \"all\"",
            request.run
        );
        return Err(FigureError::new("--run", reason));
    }
    let recorded: Vec<_> =
        cases.into_iter().filter(|case| own.iter().any(|t| t.point == *case.point)).collect();
    let open = open_axes(data, &recorded);
    if !open.is_empty() {
        return Err(choose_point(&open));
    }
    check_lines(own.len(), MOST_LINES)?;
    Ok(own)
}

/// Returns the name of the flow.
fn flow_of(traces: &[&Trace], request: &FigureRequest) -> Result<String, FigureError> {
    let flows = traces.iter().flat_map(|trace| &trace.flows);
    let known = distinct(flows.map(|flow| flow.name.as_str()));
    match &request.flow {
        Some(name) if !known.contains(&name.as_str()) => {
            let names = listed(known.into_iter());
            let reason = format!("no flow named `{name}` has time series; allowed: {names}");
            Err(FigureError::new("--flow", reason))
        }
        Some(name) => Ok(name.clone()),
        None => Ok(known.first().copied().unwrap_or_default().to_owned()),
    }
}

/// Returns the flow's series of a trace: of the visit that the request names, or its first.
fn flow_in<'a>(trace: &'a Trace, name: &str, visit: Option<usize>) -> Option<&'a FlowSeries> {
    let own = trace.flows.iter().filter(|flow| flow.name == name);
    own.filter(|flow| visit.is_none_or(|visit| visit == flow.visit)).min_by_key(|flow| flow.visit)
}

/// Returns the link whose series of this name is shown: the one that the request names, or the
/// slowest in the direction of the flow's data.
fn link_in<'a>(
    trace: &'a Trace,
    series: &str,
    link: Option<&String>,
    direction: Direction,
) -> Option<&'a LinkSeries> {
    let mut with = trace.links.iter().filter(|one| one.series.contains_key(series));
    if let Some(name) = link {
        return with.find(|one| one.name == *name);
    }
    let ending = if direction == Direction::Upload { "/return" } else { "/forward" };
    let rank = |one: &LinkSeries| {
        // Links of constellations have other names.
        (!one.name.ends_with(ending), one.rate_mbps.unwrap_or(f64::INFINITY))
    };
    with.min_by(|a, b| {
        let ((a_other, a_rate), (b_other, b_rate)) = (rank(a), rank(b));
        a_other.cmp(&b_other).then(a_rate.total_cmp(&b_rate))
    })
}

/// Returns the names of the series to show.
fn names(
    traces: &[&Trace],
    flow: &str,
    request: &FigureRequest,
) -> Result<Vec<String>, FigureError> {
    let of = |trace: &Trace| -> Vec<String> {
        let flow = flow_in(trace, flow, request.visit);
        let own = flow.into_iter().flat_map(|flow| flow.series.keys());
        own.chain(trace.links.iter().flat_map(|link| link.series.keys())).cloned().collect()
    };
    let mut known: Vec<String> = traces.iter().flat_map(|trace| of(trace)).collect();
    known.sort();
    known.dedup();
    let allowed = || listed(known.iter().map(String::as_str));
    if request.series.len() > MOST_PANELS {
        let reason = format!(
            "{} series are too many for a figure; allowed: {MOST_PANELS}",
            request.series.len()
        );
        return Err(FigureError::new("--series", reason));
    }
    if let Some(name) = request.series.iter().find(|name| !known.contains(name)) {
        let reason = format!("no series is named `{name}`; allowed: {}", allowed());
        return Err(FigureError::new("--series", reason));
    }
    if let Some(link) = &request.link {
        let links: BTreeSet<&str> =
            traces.iter().flat_map(|t| &t.links).map(|link| link.name.as_str()).collect();
        if !links.contains(link.as_str()) {
            let reason =
                format!("no link is named `{link}`; allowed: {}", listed(links.into_iter()));
            return Err(FigureError::new("--link", reason));
        }
    }
    if !request.series.is_empty() {
        return Ok(request.series.clone());
    }
    let chosen = DEFAULT.iter().map(|name| (*name).to_owned());
    let chosen: Vec<String> = chosen.filter(|name| known.contains(name)).collect();
    // Flows without a sender, as a ping, have other series.
    let chosen = if chosen.is_empty() { known.iter().take(1).cloned().collect() } else { chosen };
    if chosen.is_empty() {
        let reason = "these runs have no time series; allowed: what the list of figures has";
        return Err(FigureError::new("--what", reason));
    }
    Ok(chosen)
}

fn panel(
    data: FigureData<'_>,
    traces: &[&Trace],
    flow: &str,
    name: &str,
    request: &FigureRequest,
) -> Panel {
    let flows = data.results.runs.iter().flat_map(|run| &run.flows);
    let mut directions = flows.filter(|one| one.name == flow).map(|one| one.direction);
    let direction = directions.next().unwrap_or_default();
    let mut unit = "";
    let mut lines = Vec::new();
    for trace in traces {
        let flow = flow_in(trace, flow, request.visit);
        let start = flow.map_or(0.0, |flow| flow.start_s);
        let of_flow = flow.and_then(|flow| flow.series.get(name));
        let link = || link_in(trace, name, request.link.as_ref(), direction)?.series.get(name);
        let Some(series) = (if request.link.is_some() { link() } else { of_flow.or_else(link) })
        else {
            continue;
        };
        unit = known_unit(series);
        let index = data.manifest.variants.iter().position(|variant| *variant == trace.variant);
        let all = points(series, &data.recording.blob);
        let all = all.into_iter().map(|(time, value)| (time - start, f64::from(value)));
        lines.push(Line {
            variant: trace.variant.clone(),
            index: index.unwrap_or_default(),
            points: all.filter(|(time, value)| time.is_finite() && value.is_finite()).collect(),
        });
    }
    Panel { name: name.to_owned(), unit, lines }
}

/// Returns the unit of a series as one that a scale knows.
fn known_unit(series: &SeriesRef) -> &'static str {
    const UNITS: [&str; 8] = ["bytes", "B", "Mbps", "kbps", "ms", "s", "packets", "%"];
    UNITS.into_iter().find(|unit| *unit == series.unit).unwrap_or_default()
}

/// Returns the vertical axis of a panel, from zero if its values are not far from it.
fn vertical(panel: &Panel) -> (Axis, Ticks) {
    let values: Vec<f64> =
        panel.lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| *value)).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    let least = values.iter().copied().fold(0.0, f64::min);
    let mut axis = Axis::from_zero(most, HEIGHT, 0.0);
    axis.low = least;
    let scale = Scale::of_unit(panel.unit, most);
    (axis, Ticks::of(&axis, scale, scale.title(&label(&panel.name)), 18.0))
}

/// Returns the points to draw: of each fine column of paper the first, the smallest, the largest
/// and the last. A value holds until the next unless the series is `sloped`, as received data.
fn downsampled(all: &[(f64, f64)], x: &Axis, y: &Axis, sloped: bool) -> Vec<(f64, f64)> {
    let places: Vec<(f64, f64)> =
        all.iter().map(|(time, value)| (x.at(*time), y.at(*value))).collect();
    let column = |place: &(f64, f64)| (place.0 / COLUMN) as i64;
    let mut out: Vec<(f64, f64)> = Vec::new();
    for group in places.chunk_by(|a, b| column(a) == column(b)) {
        for place in extremes(group.len(), |index| group[index].1).map(|index| group[index]) {
            match out.last() {
                Some(last) if *last == place => continue,
                Some(last) if !sloped && last.0 < place.0 => out.push((place.0, last.1)),
                _ => {}
            }
            out.push(place);
        }
    }
    out
}

/// Returns a series' name as people write it.
fn label(name: &str) -> String {
    const LABELS: [(&str, &str); 8] = [
        ("cwnd", "Congestion window"),
        ("ssthresh", "ssthresh"),
        ("rtt", "RTT"),
        ("smoothed_rtt", "Smoothed RTT"),
        ("received", "Data received"),
        ("sent", "Data sent"),
        ("acked", "Data acknowledged"),
        ("data_per_ack", "Data packets per ACK"),
    ];
    if let Some((_, label)) = LABELS.iter().find(|(known, _)| *known == name) {
        return (*label).to_owned();
    }
    let words = name.replace(['_', '.'], " ");
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

fn table(panels: &[Panel]) -> FigureTable {
    let heads = ["variant", "series", "unit", "time (s)", "value"].map(str::to_owned);
    let rows = panels.iter().flat_map(|panel| {
        panel.lines.iter().flat_map(move |line| {
            line.points.iter().map(move |(time, value)| {
                vec![
                    Cell::Text(line.variant.clone()),
                    Cell::Text(panel.name.clone()),
                    panel.unit.into(),
                    Cell::Number(*time),
                    Cell::Number(*value),
                ]
            })
        })
    });
    FigureTable { heads: heads.to_vec(), rows: rows.collect() }
}
