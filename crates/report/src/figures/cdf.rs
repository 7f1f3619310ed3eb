//! The distribution of a metric over the runs, or of a population over its users: the share of them
//! at or below a value.

use super::axis::Axis;
use super::canvas::{Canvas, EDGE, TEXT};
use super::lines::{Frame, LINE, Named, Sample, Ticks, draw_frame, draw_legend, label_room};
use super::numbers::Scale;
use super::request::{Drawn, FigureData, FigureError, FigureRequest, What};
use super::source::{Case, Measure, cases, check_lines, choose_point, listed, open_axes};
use super::table::{Cell, FigureTable};
use super::words::at_point;
use bentpipe_results::Users;
use bentpipe_results::metrics::{Better, Row};

const HEIGHT: f64 = 110.0;
const HEAD: f64 = 14.0;
/// Fewest runs of which a distribution says something; our choice, as the boxes of the page.
const FEWEST: usize = 5;
/// Most lines of a figure.
const MOST_LINES: usize = 12;

/// The share of the runs.
const SHARE: Scale = Scale { unit: "%", divisor: 0.01 };

/// A metric of single users.
struct UserMetric {
    row: Row,
    /// The values of the users of a run; empty of workloads that do not have it.
    column: fn(&Users) -> &Vec<Option<f64>>,
}

/// The metrics of users: of a population the first that one of its users has is drawn.
const USER_METRICS: [UserMetric; 6] = [
    UserMetric {
        row: row("mos", "", Better::Higher, "Mean opinion score"),
        column: |users| &users.mos,
    },
    UserMetric {
        row: row("stall_percent", "%", Better::Lower, "Time of stalls"),
        column: |users| &users.stall_percent,
    },
    UserMetric {
        row: row("slowdown", "", Better::Lower, "Slowdown"),
        column: |users| &users.slowdown,
    },
    UserMetric {
        row: row("completion_s", "s", Better::Lower, "Completion time"),
        column: |users| &users.completion_s,
    },
    UserMetric {
        row: row("frame_delay_ms", "ms", Better::Lower, "Mean frame delay"),
        column: |users| &users.frame_delay_ms,
    },
    UserMetric {
        row: row("bitrate_kbps", "kbps", Better::Higher, "Mean bitrate"),
        column: |users| &users.bitrate_kbps,
    },
];

const fn row(name: &'static str, unit: &'static str, better: Better, label: &'static str) -> Row {
    Row { name, unit, better, label, about: "", detail: false }
}

/// The sorted values of a variant, and the number of its runs or users.
struct Line {
    name: Named,
    values: Vec<f64>,
    all: usize,
}

/// What the values are of.
struct Axes {
    row: Row,
    /// `Runs` or `Users`.
    of: &'static str,
}

pub(super) fn draw(
    data: FigureData<'_>,
    request: &FigureRequest,
    canvas: &mut Canvas,
) -> Result<Drawn, FigureError> {
    let cases = cases(data, request);
    let open = open_axes(data, &cases);
    if !open.is_empty() {
        return Err(choose_point(&open));
    }
    check_lines(cases.len(), MOST_LINES)?;
    let at = cases.first().map_or_else(String::new, |case| at_point(case.point));
    let (axes, lines, title) = match population(data, request) {
        Some(name) => {
            let metric = user_metric(data, name, request)?;
            let lines = cases.iter().map(|case| of_users(*case, name, metric, request.visit));
            let title = format!("{} of the users of {name}", metric.row.label);
            (Axes { row: metric.row, of: "Users" }, lines.collect::<Vec<_>>(), title)
        }
        None => {
            let measure = Measure::of(data, request)?;
            let lines = cases.iter().map(|case| of_runs(*case, &measure));
            let words = measure.row.in_sentence();
            let title = format!("Distribution of {words}{} over the runs", measure.of_flow(data));
            (Axes { row: measure.row, of: "Runs" }, lines.collect(), title)
        }
    };
    let most = lines.iter().map(|line| line.all).max().unwrap_or_default();
    if most < FEWEST {
        let reason = format!(
            "a distribution needs at least {FEWEST} runs of a variant, and there are {most}; \
             `bentpipe run --repeat 20` makes more"
        );
        return Err(FigureError::new("--what", reason));
    }
    let values: Vec<f64> = lines.iter().flat_map(|line| line.values.iter().copied()).collect();
    if values.is_empty() {
        let reason = format!("no run has a value of `{}`", axes.row.name);
        return Err(FigureError::new("--metric", reason));
    }
    plot(canvas, &lines, &axes, &values);
    Ok(Drawn { title: title + &at, table: table(&lines, &axes) })
}

/// Returns the name of the population whose users a request is about: the one that it names, or
/// the first if there are no flows.
fn population<'a>(data: FigureData<'a>, request: &FigureRequest) -> Option<&'a str> {
    let all = data.results.runs.iter().flat_map(|run| &run.populations);
    let mut names = all.filter(|one| one.per_user.is_some()).map(|one| one.name.as_str());
    match &request.flow {
        Some(flow) => names.find(|name| name == flow),
        None => {
            let flows = data.results.runs.iter().any(|run| !run.flows.is_empty());
            if flows { None } else { names.next() }
        }
    }
}

/// Returns the metric of users that a request is about: the one that it names, or the first that a
/// user of the population has.
fn user_metric(
    data: FigureData<'_>,
    population: &str,
    request: &FigureRequest,
) -> Result<&'static UserMetric, FigureError> {
    let all = data.results.runs.iter().flat_map(|run| &run.populations);
    let users: Vec<&Users> =
        all.filter(|one| one.name == population).filter_map(|one| one.per_user.as_ref()).collect();
    let has = |metric: &&UserMetric| {
        users.iter().any(|users| (metric.column)(users).iter().any(Option::is_some))
    };
    // Of users who all failed, that of transfers.
    let usual = USER_METRICS.iter().find(has).unwrap_or(&USER_METRICS[2]);
    let Some(name) = &request.metric else { return Ok(usual) };
    USER_METRICS.iter().find(|metric| metric.row.name == *name).filter(has).ok_or_else(|| {
        let allowed = listed(USER_METRICS.iter().filter(has).map(|metric| metric.row.name));
        let reason = format!("users of `{population}` have no `{name}`; allowed: {allowed}");
        FigureError::new("--metric", reason)
    })
}

fn of_users(case: Case<'_>, name: &str, metric: &UserMetric, visit: Option<usize>) -> Line {
    let populations = case.runs.iter().flat_map(|run| &run.populations);
    let own = populations.filter(|one| one.name == name && one.visit == visit.unwrap_or(1));
    let mut all = 0;
    let mut values = Vec::new();
    for users in own.filter_map(|one| one.per_user.as_ref()) {
        let column = (metric.column)(users);
        all += users.user.len();
        values.extend(column.iter().flatten());
    }
    values.sort_by(f64::total_cmp);
    Line { name: (case.variant.to_owned(), case.index), values, all }
}

fn of_runs(case: Case<'_>, measure: &Measure) -> Line {
    let mut values = measure.values(case);
    values.sort_by(f64::total_cmp);
    Line { name: (case.variant.to_owned(), case.index), values, all: case.runs.len() }
}

fn plot(canvas: &mut Canvas, lines: &[Line], axes: &Axes, values: &[f64]) {
    let (top, bottom) = (canvas.y + HEAD, canvas.y + HEAD + HEIGHT);
    let y = Axis { low: 0.0, high: 1.0, log: false, from: bottom, to: top };
    let up = Ticks::of(&y, SHARE, format!("{} at or below, %", axes.of), 24.0);
    let left = label_room(canvas, &up.places);
    let x = Axis::over(values, left, canvas.width - EDGE - 4.0);
    let scale = Scale::of(&axes.row, values.iter().copied().fold(0.0, f64::max));
    let across = Ticks::of(&x, scale, scale.title(axes.row.label), 40.0);
    draw_frame(canvas, &Frame { x, y }, &across, &up);
    for line in lines {
        let mut steps = vec![(x.from, y.at(0.0))];
        for (index, value) in line.values.iter().enumerate() {
            let at = x.at(*value);
            steps.push((at, y.at(index as f64 / line.all as f64)));
            steps.push((at, y.at((index + 1) as f64 / line.all as f64)));
        }
        // It ends below 100 % if some have no value.
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

fn table(lines: &[Line], axes: &Axes) -> FigureTable {
    let share = format!("share of {}", axes.of.to_lowercase());
    let heads = ["variant", &share, &axes.row.heading()].map(str::to_owned);
    let rows = lines.iter().flat_map(|line| {
        line.values.iter().enumerate().map(|(index, value)| {
            let share = (index + 1) as f64 / line.all as f64;
            vec![line.name.0.as_str().into(), Cell::Number(share), Cell::Number(*value)]
        })
    });
    FigureTable { heads: heads.to_vec(), rows: rows.collect() }
}

/// What the list of figures says of this kind; an error if there is nothing to show.
pub(super) fn offer(data: FigureData<'_>) -> Result<String, String> {
    let all = data.results.runs.iter().flat_map(|run| &run.populations);
    if let Some(one) = all.clone().find(|one| one.per_user.is_some()) {
        let users = one.per_user.as_ref().map_or(0, |users| users.user.len());
        return Ok(format!("{users} users of `{}` in each run", one.name));
    }
    let cases = cases(data, &FigureRequest::new(What::Cdf));
    match cases.iter().map(|case| case.runs.len()).max().unwrap_or_default() {
        most if most < FEWEST => Err(format!("it needs at least {FEWEST} runs of a variant")),
        most => Ok(format!("{most} runs of each variant")),
    }
}
