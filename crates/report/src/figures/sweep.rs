//! A metric over the values of a swept key: the median of each variant, with its interval.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, EDGE, Letters, SMALL, TEXT};
use super::lines::{
    Frame, GRID, LINE, Named, Sample, Ticks, draw_across, draw_ends, draw_frame, draw_legend,
    draw_mark, end_room, label_room,
};
use super::numbers::Scale;
use super::request::{Drawn, FigureData, FigureError, FigureRequest};
use super::source::{
    Case, Measure, cases, check_lines, choose_point, interval_words, listed, open_axes,
};
use super::table::{Cell, FigureTable};
use super::words::{at_point, key_words, value_words};
use bentpipe_results::{Interval, Stats, SweepAxis};

/// Height of the plot, and room above it for the title of its axis.
const HEIGHT: f64 = 120.0;
const HEAD: f64 = 14.0;
/// Height of a variant in a row.
const ROW: f64 = 6.5;
/// Most variants of a figure: twice as many marks as there are colours.
const MOST_LINES: usize = 24;

/// A line: what a variant measured at each value of the key.
struct Line<'a> {
    name: Named,
    points: Vec<(usize, Case<'a>, Option<Stats>)>,
}

pub(super) fn draw(
    data: FigureData<'_>,
    request: &FigureRequest,
    canvas: &mut Canvas,
) -> Result<Drawn, FigureError> {
    let measure = Measure::of(data, request)?;
    let cases = cases(data, request);
    let open = open_axes(data, &cases);
    let axis = along(&open, request)?;
    let others: Vec<&SweepAxis> = open.iter().copied().filter(|one| one.key != axis.key).collect();
    if !others.is_empty() {
        return Err(choose_point(&others));
    }
    let lines = lines(data, axis, &cases, &measure);
    check_lines(lines.len(), MOST_LINES)?;
    let points = lines.iter().flat_map(|line| &line.points);
    let values: Vec<f64> = points
        .filter_map(|(.., stats)| stats.as_ref())
        .flat_map(|stats| {
            let ends = stats.interval().map_or([stats.median; 2], |one| [one.low, one.high]);
            [ends[0], stats.median, ends[1]]
        })
        .collect();
    if values.is_empty() {
        return Err(measure.missing());
    }
    match numbers(axis) {
        Some(places) => plot(canvas, axis, &places, &lines, &measure, &values),
        None => rows(canvas, axis, &lines, &measure, &values),
    }
    let shown = lines.iter().flat_map(|line| &line.points).filter_map(|(.., stats)| stats.as_ref());
    let mut fixed = cases[0].point.clone();
    fixed.remove(&axis.key);
    let title = format!(
        "{}{} over {}{}{}",
        measure.row.label,
        measure.of_flow(data),
        key_words(&axis.key),
        at_point(&fixed),
        interval_words("Lines", shown)
    );
    let cases = lines.iter().flat_map(|line| &line.points).map(|(_, case, stats)| (*case, *stats));
    Ok(Drawn { title, table: case_table(data, &measure, cases) })
}

/// Returns the key of the horizontal axis: the one that the request names, or the one with numbers
/// and most values.
fn along<'a>(
    open: &[&'a SweepAxis],
    request: &FigureRequest,
) -> Result<&'a SweepAxis, FigureError> {
    if let Some(key) = &request.along {
        let found = open.iter().copied().find(|axis| axis.key == *key);
        return found.ok_or_else(|| {
            let keys = listed(open.iter().map(|axis| axis.key.as_str()));
            let reason = format!("`{key}` does not have several values here; allowed: {keys}");
            FigureError::new("--along", reason)
        });
    }
    let rank = |axis: &&&SweepAxis| (numbers(axis).is_some(), axis.values.len());
    // Of equal ones the first.
    let best = open.iter().rev().max_by_key(rank).copied();
    best.ok_or_else(|| {
        let reason = "the scenario sweeps no key with several values; allowed: what the list of \
            figures has";
        FigureError::new("--what", reason)
    })
}

/// Returns the values of a key as numbers, if all are.
pub(super) fn numbers(axis: &SweepAxis) -> Option<Vec<f64>> {
    let all: Option<Vec<f64>> = axis.numbers.iter().copied().collect();
    all.filter(|numbers| numbers.len() == axis.values.len() && !numbers.is_empty())
}

fn lines<'a>(
    data: FigureData<'_>,
    axis: &SweepAxis,
    cases: &[Case<'a>],
    measure: &Measure,
) -> Vec<Line<'a>> {
    let names = data.manifest.variants.iter().enumerate();
    names
        .filter_map(|(index, name)| {
            let own = cases.iter().filter(|case| case.variant == name);
            let mut points: Vec<_> = own
                .filter_map(|case| {
                    let value = case.point.get(&axis.key)?;
                    let at = axis.values.iter().position(|one| one == value)?;
                    Some((at, *case, measure.stats(*case)))
                })
                .collect();
            points.sort_by_key(|(at, ..)| *at);
            (!points.is_empty()).then(|| Line { name: (name.clone(), index), points })
        })
        .collect()
}

/// Draws the lines over an axis of numbers.
fn plot(
    canvas: &mut Canvas,
    axis: &SweepAxis,
    places: &[f64],
    lines: &[Line<'_>],
    measure: &Measure,
    values: &[f64],
) {
    let names: Vec<Named> = lines.iter().map(|line| line.name.clone()).collect();
    let (top, bottom) = (canvas.y + HEAD, canvas.y + HEAD + HEIGHT);
    let y = Axis::over(values, bottom, top);
    let scale = Scale::of(&measure.row, values.iter().copied().fold(0.0, f64::max));
    let up = Ticks::of(&y, scale, scale.title(measure.row.label), 20.0);
    let left = label_room(canvas, &up.places);
    let right = end_room(canvas, &names);
    let to = canvas.width - EDGE - right.max(4.0);
    let x = Axis::between(places, left + 4.0, to);
    let labels = axis.values.iter().map(|value| value_words(value));
    let across =
        Ticks { title: key_words(&axis.key), places: places.iter().copied().zip(labels).collect() };
    draw_frame(canvas, &Frame { x, y }, &across, &up);
    let mut ends = Vec::new();
    for (order, line) in lines.iter().enumerate() {
        // Intervals of variants at one value stand beside each other.
        let shift = (order as f64 - (lines.len() - 1) as f64 / 2.0) * 1.4;
        let shift = if lines.len() <= 6 { shift } else { 0.0 };
        let index = line.name.1;
        let (colour, dash) = (canvas.ink.variant(index), canvas.ink.dash(index));
        let mut points = line.points.clone();
        points.sort_by(|a, b| places[a.0].total_cmp(&places[b.0]));
        let mut reached = Vec::new();
        for (at, _, stats) in &points {
            let Some(stats) = stats else {
                // A gap: nothing was measured here.
                canvas.polyline(&reached, colour, LINE, dash);
                reached.clear();
                continue;
            };
            let place = (x.at(places[*at]), y.at(stats.median));
            if let Some(Interval { low, high, .. }) = stats.interval() {
                let x = place.0 + shift;
                canvas.line([x, y.at(low), x, y.at(high)], colour, 0.8, "");
            }
            reached.push(place);
            draw_mark(canvas, index, place.0, place.1);
        }
        canvas.polyline(&reached, colour, LINE, dash);
        if let Some((_, at)) = reached.last() {
            ends.push((line.name.clone(), *at));
        }
    }
    if right > 0.0 {
        draw_ends(canvas, to, (top, bottom), &ends);
    } else if names.len() > 1 {
        canvas.y += TEXT * 0.4;
        draw_legend(canvas, &names, Sample::Both);
    }
}

/// Draws a row for each value, of names: nothing is between two of them, so there are no lines.
fn rows(
    canvas: &mut Canvas,
    axis: &SweepAxis,
    lines: &[Line<'_>],
    measure: &Measure,
    values: &[f64],
) {
    let words: Vec<String> = axis.values.iter().map(|value| value_words(value)).collect();
    let shown: Vec<usize> = (0..words.len())
        .filter(|at| lines.iter().flat_map(|line| &line.points).any(|point| point.0 == *at))
        .collect();
    let widest = shown.iter().map(|at| canvas.measure(&words[*at], SMALL)).fold(0.0, f64::max);
    // Long names stand above their rows.
    let above = widest > 0.3 * canvas.width;
    let left = EDGE + if above { 0.0 } else { widest + 6.0 };
    let height = (ROW * lines.len() as f64).max(2.0 * ROW) + if above { SMALL } else { 0.0 } + 3.0;
    let top = canvas.y + 1.0;
    let bottom = top + height * shown.len() as f64;
    let x = Axis::over(values, left + 4.0, canvas.width - EDGE - 4.0);
    let scale = Scale::of(&measure.row, values.iter().copied().fold(0.0, f64::max));
    let title = scale.title(measure.row.label);
    let across = Ticks::of(&x, scale, title, 40.0);
    for (value, _) in &across.places {
        let at = x.at(*value);
        canvas.line([at, top, at, bottom], GRID, 0.5, "");
    }
    let mut y = top;
    for at in shown {
        canvas.line([EDGE, y, canvas.width - EDGE, y], GRID, 0.5, "");
        let (baseline, first) = if above {
            (y + SMALL, y + SMALL + 2.0)
        } else {
            (y + height / 2.0 + SMALL * 0.35, y + 1.5)
        };
        let letters = Letters::new(SMALL, Anchor::Start);
        let name = canvas.fitted(&words[at], SMALL, canvas.width - 2.0 * EDGE);
        canvas.text(EDGE, baseline, letters, &name);
        for (order, line) in lines.iter().enumerate() {
            let Some((.., Some(stats))) = line.points.iter().find(|point| point.0 == at) else {
                continue;
            };
            let room = y + height - 1.5 - first;
            let place = first + room * (order as f64 + 0.5) / lines.len() as f64;
            if let Some(Interval { low, high, .. }) = stats.interval() {
                let colour = canvas.ink.variant(line.name.1);
                canvas.line([x.at(low), place, x.at(high), place], colour, 1.0, "");
            }
            draw_mark(canvas, line.name.1, x.at(stats.median), place);
        }
        y += height;
    }
    draw_across(canvas, &x, bottom, &across);
    if lines.len() > 1 {
        let names: Vec<Named> = lines.iter().map(|line| line.name.clone()).collect();
        canvas.y += TEXT * 0.4;
        draw_legend(canvas, &names, Sample::Mark);
    }
}

/// Returns the table of cases: of each its point, variant, runs and statistics.
pub(super) fn case_table<'a>(
    data: FigureData<'_>,
    measure: &Measure,
    cases: impl Iterator<Item = (Case<'a>, Option<Stats>)>,
) -> FigureTable {
    let keys: Vec<&str> = data.manifest.sweep.iter().map(|axis| axis.key.as_str()).collect();
    let mut heads: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    heads.extend(["variant", "runs", "n"].map(str::to_owned));
    heads.push(format!("{}, median", measure.row.heading()));
    heads.extend(["95 % CI low", "95 % CI high", "smallest", "largest"].map(str::to_owned));
    let rows = cases.map(|(case, stats)| case_cells(&keys, case, stats));
    FigureTable { heads, rows: rows.collect() }
}

/// Returns the cells of a case: its point, variant, runs and statistics.
fn case_cells(keys: &[&str], case: Case<'_>, stats: Option<Stats>) -> Vec<Cell> {
    let value = |key: &&str| case.point.get(*key).map_or(Cell::None, |v| v.as_str().into());
    let mut cells: Vec<Cell> = keys.iter().map(value).collect();
    cells.push(case.variant.into());
    cells.push(Cell::Number(case.runs.len() as f64));
    cells.push(Cell::Number(stats.map_or(0.0, |stats| stats.n as f64)));
    cells.push(Cell::of(stats.map(|stats| stats.median)));
    let interval = stats.and_then(|stats| stats.ci95);
    cells.push(Cell::of(interval.map(|(low, _)| low)));
    cells.push(Cell::of(interval.map(|(_, high)| high)));
    cells.push(Cell::of(stats.map(|stats| stats.min)));
    cells.push(Cell::of(stats.map(|stats| stats.max)));
    cells
}
