//! The distribution of a metric over the runs: the share of runs at or below a value.

use super::axis::Axis;
use super::canvas::{Canvas, EDGE, TEXT};
use super::lines::{Frame, LINE, Named, Sample, Ticks, draw_frame, draw_legend, label_room};
use super::numbers::Scale;
use super::request::{Drawn, FigureData, FigureError, FigureRequest};
use super::source::{Case, Measure, cases, choose_point, open_axes};
use super::table::{Cell, FigureTable};
use super::words::at_point;

const HEIGHT: f64 = 110.0;
const HEAD: f64 = 14.0;
/// Fewest runs of which a distribution says something; our choice, as the boxes of the page.
pub(super) const FEWEST: usize = 5;
/// Most lines of a figure.
const MOST_LINES: usize = 12;

/// The share of the runs.
const SHARE: Scale = Scale { unit: "%", divisor: 0.01 };

/// The sorted values of a variant, and the number of its runs.
struct Line {
    name: Named,
    values: Vec<f64>,
    runs: usize,
}

pub(super) fn draw(
    data: FigureData<'_>,
    request: &FigureRequest,
    canvas: &mut Canvas,
) -> Result<Drawn, FigureError> {
    let measure = Measure::of(data, request)?;
    let cases = cases(data, request);
    let open = open_axes(data, &cases);
    if !open.is_empty() {
        return Err(choose_point(&open));
    }
    let most = cases.iter().map(|case| case.runs.len()).max().unwrap_or_default();
    if most < FEWEST {
        let reason = format!(
            "a distribution needs at least {FEWEST} runs of a variant, and there are {most}; \
             `bentpipe run --repeat 20` makes more"
        );
        return Err(FigureError::new("--what", reason));
    }
    if cases.len() > MOST_LINES {
        let reason = format!(
            "{} lines are too many for a figure; allowed: {MOST_LINES}; name the variants",
            cases.len()
        );
        return Err(FigureError::new("--variant", reason));
    }
    let lines: Vec<Line> = cases.iter().map(|case| line(*case, &measure)).collect();
    let values: Vec<f64> = lines.iter().flat_map(|line| line.values.iter().copied()).collect();
    if values.is_empty() {
        return Err(measure.missing());
    }
    plot(canvas, &lines, &measure, &values);
    let title = format!(
        "Distribution of {}{} over the runs{}",
        measure.row.in_sentence(),
        measure.of_flow(data),
        at_point(cases[0].point)
    );
    Ok(Drawn { title, table: table(&lines, &measure) })
}

fn line(case: Case<'_>, measure: &Measure) -> Line {
    let mut values = measure.values(case);
    values.sort_by(f64::total_cmp);
    Line { name: (case.variant.to_owned(), case.index), values, runs: case.runs.len() }
}

fn plot(canvas: &mut Canvas, lines: &[Line], measure: &Measure, values: &[f64]) {
    let (top, bottom) = (canvas.y + HEAD, canvas.y + HEAD + HEIGHT);
    let y = Axis { low: 0.0, high: 1.0, log: false, from: bottom, to: top };
    let up = Ticks::of(&y, SHARE, "Runs at or below, %".to_owned(), 24.0);
    let left = label_room(canvas, &up.places);
    let x = Axis::over(values, left, canvas.width - EDGE - 4.0);
    let scale = Scale::of(&measure.row, values.iter().copied().fold(0.0, f64::max));
    let across = Ticks::of(&x, scale, scale.title(measure.row.label), 40.0);
    draw_frame(canvas, &Frame { x, y }, &across, &up);
    for line in lines {
        let mut steps = vec![(x.from, y.at(0.0))];
        for (index, value) in line.values.iter().enumerate() {
            let at = x.at(*value);
            steps.push((at, y.at(index as f64 / line.runs as f64)));
            steps.push((at, y.at((index + 1) as f64 / line.runs as f64)));
        }
        // Ends below 100 % if some runs have no value.
        let end = steps.last().map_or(y.at(0.0), |(_, y)| *y);
        steps.push((x.to, end));
        let index = line.name.1;
        canvas.polyline(&steps, canvas.ink.variant(index), LINE, canvas.ink.dash(index));
    }
    let names: Vec<Named> = lines.iter().map(|line| line.name.clone()).collect();
    if names.len() > 1 {
        canvas.y += TEXT * 0.4;
        draw_legend(canvas, &names, Sample::Line);
    }
}

fn table(lines: &[Line], measure: &Measure) -> FigureTable {
    let heads = ["variant", "share of runs", &measure.row.heading()].map(str::to_owned);
    let rows = lines.iter().flat_map(|line| {
        line.values.iter().enumerate().map(|(index, value)| {
            let share = (index + 1) as f64 / line.runs as f64;
            vec![line.name.0.as_str().into(), Cell::Number(share), Cell::Number(*value)]
        })
    });
    FigureTable { heads: heads.to_vec(), rows: rows.collect() }
}
