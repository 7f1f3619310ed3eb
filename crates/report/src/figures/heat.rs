//! A metric over two swept keys: a map of cells for each variant. Of two flows whose controllers
//! are swept, the share of the first.

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, EDGE, Letters, SMALL, TEXT};
use super::ink::Ink;
use super::numbers::{Scale, significant};
use super::request::{Drawn, FigureData, FigureError, FigureRequest};
use super::source::{Case, Measure, cases, choose_point, listed, open_axes};
use super::sweep::{case_table, numbers};
use super::words::{at_point, key_words, value_words};
use bentpipe_results::{Stats, SweepAxis};

/// Height of a cell.
const CELL: f64 = 15.0;
/// Most maps of a figure, and most cells along a side.
const MOST_MAPS: usize = 6;
const MOST_SIDE: usize = 40;
/// The metric of two flows that compete.
const SHARE: &str = "share_percent";
/// Boxes of the scale below the maps.
const STEPS: usize = 9;
/// By how many degrees heads are turned that are wider than their cells.
const TURN: f64 = -35.0;

/// The two keys.
struct Sides<'a> {
    rows: &'a SweepAxis,
    columns: &'a SweepAxis,
}

/// The values of one map.
struct Map<'a> {
    variant: String,
    cells: Vec<(usize, usize, Case<'a>, Option<Stats>)>,
}

pub(super) fn draw(
    data: FigureData<'_>,
    request: &FigureRequest,
    canvas: &mut Canvas,
) -> Result<Drawn, FigureError> {
    let cases = cases(data, request);
    let open = open_axes(data, &cases);
    let [rows, columns] = sides(&open)?;
    let sides = Sides { rows, columns };
    let rivals = [rows, columns].map(|axis| rival(&axis.key));
    let request = match rivals {
        [Some(first), Some(_)] if request.metric.is_none() => FigureRequest {
            metric: Some(SHARE.to_owned()),
            flow: request.flow.clone().or_else(|| Some(first.to_owned())),
            ..request.clone()
        },
        _ => request.clone(),
    };
    let measure = Measure::of(data, &request)?;
    let maps = maps(data, &sides, &cases, &measure);
    if maps.len() > MOST_MAPS {
        let names = listed(data.manifest.variants.iter().map(String::as_str));
        let reason = format!(
            "{} maps are too many for a figure; allowed: {MOST_MAPS}; name the variants: {names}",
            maps.len()
        );
        return Err(FigureError::new("--variant", reason));
    }
    let cells = maps.iter().flat_map(|map| &map.cells);
    let medians = cells.clone().filter_map(|(.., stats)| stats.map(|stats| stats.median));
    let values: Vec<f64> = medians.collect();
    if values.is_empty() {
        return Err(measure.missing());
    }
    let shades = Shades::of(&measure, &values);
    for map in &maps {
        draw_map(canvas, &sides, map, &shades, maps.len() > 1);
    }
    draw_key(canvas, &shades, &measure);
    let mut fixed = cases[0].point.clone();
    fixed.retain(|key, _| *key != rows.key && *key != columns.key);
    let title = format!(
        "{}{} over {} and {}{}",
        measure.row.label,
        measure.of_flow(data),
        side_words(rows, &sides),
        side_words(columns, &sides),
        at_point(&fixed)
    );
    let cases = cells.map(|(.., case, stats)| (*case, *stats));
    Ok(Drawn { title, table: case_table(data, &measure, cases) })
}

/// Returns the flow whose controller a key sets.
fn rival(key: &str) -> Option<&str> {
    key.strip_prefix("flow.")?.strip_suffix(".congestion")
}

/// Returns the keys of the rows and of the columns: the two that have several values.
fn sides<'a>(open: &[&'a SweepAxis]) -> Result<[&'a SweepAxis; 2], FigureError> {
    let [first, second, rest @ ..] = open else {
        let reason = "a map needs two swept keys with several values; allowed: what the list of \
            figures has";
        return Err(FigureError::new("--what", reason));
    };
    let (first, second) = (*first, *second);
    if !rest.is_empty() {
        return Err(choose_point(rest));
    }
    if let Some(axis) = [first, second].iter().find(|axis| axis.values.len() > MOST_SIDE) {
        let reason = format!("`{}` has more than {MOST_SIDE} values", axis.key);
        return Err(FigureError::new("--what", reason));
    }
    // More columns than rows, as pages are; rivals as they are named.
    let across = second.values.len() >= first.values.len() || rival(&first.key).is_some();
    Ok(if across { [first, second] } else { [second, first] })
}

/// Returns the places of an axis' values: by their numbers, if they have any.
fn order(axis: &SweepAxis) -> Vec<usize> {
    let mut order: Vec<usize> = (0..axis.values.len()).collect();
    if let Some(numbers) = numbers(axis) {
        order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    }
    order
}

fn maps<'a>(
    data: FigureData<'_>,
    sides: &Sides<'_>,
    cases: &[Case<'a>],
    measure: &Measure,
) -> Vec<Map<'a>> {
    let place = |axis: &SweepAxis, order: &[usize], case: &Case<'_>| {
        let value = case.point.get(&axis.key)?;
        order.iter().position(|at| axis.values[*at] == *value)
    };
    let (rows, columns) = (order(sides.rows), order(sides.columns));
    let of = |variant: &String| {
        let own = cases.iter().filter(|case| case.variant == variant);
        let cells: Vec<_> = own
            .filter_map(|case| {
                let row = place(sides.rows, &rows, case)?;
                let column = place(sides.columns, &columns, case)?;
                Some((row, column, *case, measure.stats(*case)))
            })
            .collect();
        (!cells.is_empty()).then(|| Map { variant: variant.clone(), cells })
    };
    data.manifest.variants.iter().filter_map(of).collect()
}

/// How values become colours.
struct Shades {
    /// From 0 to 1.
    axis: Axis,
    diverging: bool,
    scale: Scale,
}

impl Shades {
    fn of(measure: &Measure, values: &[f64]) -> Self {
        let axis = Axis::between(values, 0.0, 1.0);
        let scale = Scale::of(&measure.row, axis.high);
        if measure.row.name == SHARE {
            let axis = Axis { low: 0.0, high: 100.0, log: false, ..axis };
            return Self { axis, diverging: true, scale };
        }
        Self { axis, diverging: false, scale }
    }

    fn brief(&self, value: f64) -> String {
        if self.diverging { format!("{value:.0}") } else { significant(value / self.scale.divisor) }
    }
}

fn side_words(axis: &SweepAxis, sides: &Sides<'_>) -> String {
    match (rival(&sides.rows.key), rival(&sides.columns.key), rival(&axis.key)) {
        (Some(_), Some(_), Some(flow)) => format!("the controller of {flow}"),
        _ => key_words(&axis.key),
    }
}

fn draw_map(canvas: &mut Canvas, sides: &Sides<'_>, map: &Map<'_>, shades: &Shades, several: bool) {
    let names = |axis: &SweepAxis| -> Vec<String> {
        order(axis).into_iter().map(|at| value_words(&axis.values[at])).collect()
    };
    let (rows, columns) = (names(sides.rows), names(sides.columns));
    if several {
        canvas.y += TEXT;
        canvas.text(EDGE, canvas.y, Letters::new(TEXT, Anchor::Start).bold(), &map.variant);
        canvas.y += 4.0;
    }
    let widest = |canvas: &Canvas, names: &[String]| {
        names.iter().map(|name| canvas.measure(name, SMALL)).fold(0.0, f64::max)
    };
    let left = EDGE + widest(canvas, &rows).min(0.25 * canvas.width) + 4.0;
    let turned_room = widest(canvas, &columns);
    let width = (canvas.width - EDGE - left) / columns.len() as f64;
    let turned = turned_room + 3.0 > width;
    // What the last head needs at the right, if it is turned.
    let lean =
        if turned { (turned_room * TURN.to_radians().cos() - width / 2.0).max(0.0) } else { 0.0 };
    let width = (canvas.width - EDGE - left - lean) / columns.len() as f64;
    let heads = if turned { turned_room * -TURN.to_radians().sin() + SMALL } else { SMALL };
    canvas.y += SMALL;
    let title = format!(
        "{} (across), {} (down)",
        side_words(sides.columns, sides),
        side_words(sides.rows, sides)
    );
    canvas.text(EDGE, canvas.y, Letters::new(SMALL, Anchor::Start).muted(), &title);
    canvas.y += heads + 4.0;
    for (index, name) in columns.iter().enumerate() {
        let x = left + (index as f64 + 0.5) * width;
        let anchor = if turned { Anchor::Start } else { Anchor::Middle };
        let degrees = if turned { TURN } else { 0.0 };
        canvas.turned_text(x, canvas.y, degrees, Letters::new(SMALL, anchor).muted(), name);
    }
    canvas.y += 3.0;
    let top = canvas.y;
    for (index, name) in rows.iter().enumerate() {
        let y = top + index as f64 * CELL + CELL / 2.0 + SMALL * 0.35;
        let name = canvas.fitted(name, SMALL, left - EDGE - 4.0);
        canvas.text(left - 3.0, y, Letters::new(SMALL, Anchor::End).muted(), &name);
    }
    for (row, column, _, stats) in &map.cells {
        let (x, y) = (left + *column as f64 * width, top + *row as f64 * CELL);
        let middle = (x + width / 2.0, y + CELL / 2.0 + SMALL * 0.35);
        let letters = Letters::new(SMALL, Anchor::Middle);
        let Some(stats) = stats else {
            canvas.text(middle.0, middle.1, letters, "–");
            continue;
        };
        let fill = canvas.ink.heat(shades.axis.at(stats.median), shades.diverging);
        canvas.rect([x + 0.3, y + 0.3, width - 0.6, CELL - 0.6], &fill);
        let words = shades.brief(stats.median);
        if canvas.measure(&words, SMALL) + 1.0 < width {
            canvas.text(middle.0, middle.1, letters.coloured(Ink::on(&fill)), &words);
        }
    }
    canvas.y = top + rows.len() as f64 * CELL + 6.0;
}

/// Draws the scale of the colours, below its title if both do not fit beside each other.
fn draw_key(canvas: &mut Canvas, shades: &Shades, measure: &Measure) {
    /// Width of a step, that of both ends with the gaps between, and the height of a line.
    const STEP: f64 = 8.0;
    const ENDS: f64 = 78.0;
    const LINE: f64 = 11.0;
    let title = shades.scale.title(measure.row.label);
    let title = if shades.axis.log { format!("{title} (log scale)") } else { title };
    let ends = [shades.axis.low, shades.axis.high].map(|end| shades.brief(end));
    let letters = Letters::new(SMALL, Anchor::Start).muted();
    let mut y = canvas.y + 2.0;
    let title = canvas.fitted(&title, SMALL, canvas.width - 2.0 * EDGE);
    canvas.text(EDGE, y + 6.0, letters, &title);
    let mut x = EDGE + canvas.measure(&title, SMALL) + 6.0;
    if x + ENDS + STEP * STEPS as f64 > canvas.width - EDGE {
        (x, y) = (EDGE, y + LINE);
    }
    let baseline = y + 6.0;
    canvas.text(x, baseline, letters, &ends[0]);
    x += canvas.measure(&ends[0], SMALL) + 3.0;
    for step in 0..STEPS {
        let fill = canvas.ink.heat(step as f64 / (STEPS - 1) as f64, shades.diverging);
        canvas.rect([x, y, STEP + 0.2, 7.0], &fill);
        x += STEP;
    }
    canvas.text(x + 3.0, baseline, letters, &ends[1]);
    canvas.y = y + 10.0;
}
