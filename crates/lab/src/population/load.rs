//! Reads the populations of a scenario, with the files that they name.

use super::{Arrivals, Drawn, Population};
use bentpipe_link::{InputFiles, ReadFiles, shown_line};
use bentpipe_scenario::workload::{MAX_SIZES, Sizes, WebPage, Work, Workload, check_list};
use bentpipe_scenario::{Arrivals as ArrivalKeys, Flow, MAX_USERS, Problem, Scenario};
use bentpipe_units::{Bytes, Span};
use std::path::Path;
use std::sync::Arc;

/// Latest arrival in a file, in seconds: a week.
const LATEST_S: f64 = 604_800.0;

/// Reads the populations of `scenario`, and its single flows with drawn sizes, in the order of its
/// flows. Shares of one population are one entry.
///
/// # Errors
/// A file cannot be read, or has too few, too many or wrong values.
pub(crate) fn load(
    scenario: &Scenario,
    files: &InputFiles,
) -> Result<Vec<Arc<Population>>, Problem> {
    let mut found: Vec<Arc<Population>> = Vec::new();
    for flow in scenario.flows() {
        let workloads: Vec<&Workload> = match &flow.work {
            Work::Once(workload) => vec![workload],
            Work::Visits(visits) => visits.iter().map(|visit| &visit.workload).collect(),
        };
        let thinks = flow.work.think_times();
        let drawn = workloads.iter().any(|workload| workload.drawn().is_some())
            || thinks.iter().any(Option::is_some);
        let (name, users) = match &flow.users {
            Some(users) => (users.population.as_str(), users.total),
            None if drawn => (flow.name(), 1),
            None => continue,
        };
        if found.iter().any(|other| other.name == name) {
            continue;
        }
        let of = |workload: &&Workload| self::drawn(workload, flow, files);
        found.push(Arc::new(Population {
            name: name.to_owned(),
            users,
            arrivals: arrivals(flow, files)?,
            visits: workloads.iter().map(of).collect::<Result<_, _>>()?,
            thinks,
        }));
    }
    Ok(found)
}

fn drawn(workload: &Workload, flow: &Flow, files: &InputFiles) -> Result<Drawn, Problem> {
    Ok(match workload.drawn() {
        Some(Sizes::Lognormal(lognormal)) => Drawn::Lognormal(*lognormal),
        Some(Sizes::Pareto(pareto)) => Drawn::Pareto(*pareto),
        Some(Sizes::List(sizes, order)) => Drawn::Listed(sizes.as_slice().into(), *order),
        Some(Sizes::File(file, order)) => {
            let sizes = lines(file, flow, files, MAX_SIZES, |line| {
                let number = line.parse().map(Bytes::new);
                number.or_else(|_| line.parse::<Bytes>()).map_err(|_| {
                    let shown = shown_line(line);
                    format!("`{shown}` is no size; allowed: whole bytes, such as 300000")
                })
            })?;
            check_list(&sizes).map_err(|error| in_file(file, flow, &error))?;
            Drawn::Listed(sizes.into(), *order)
        }
        Some(Sizes::Fixed(_)) | None => match workload {
            // A page of a single flow is the same in every run.
            Workload::WebPage(WebPage::Synthetic(count)) if flow.users.is_some() => {
                Drawn::Page(*count)
            }
            _ => Drawn::Nothing,
        },
    })
}

fn arrivals(flow: &Flow, files: &InputFiles) -> Result<Arrivals, Problem> {
    let Some(users) = &flow.users else { return Ok(Arrivals::AtOnce) };
    Ok(match &users.arrivals {
        ArrivalKeys::AtOnce => Arrivals::AtOnce,
        ArrivalKeys::Load(load) => Arrivals::Load(*load),
        ArrivalKeys::Rate(rate) => Arrivals::Rate(*rate),
        ArrivalKeys::File(file) => {
            let times = lines(file, flow, files, MAX_USERS, |line| match line.parse::<f64>() {
                Ok(time) if (0.0..=LATEST_S).contains(&time) => {
                    Ok(Span::from_nanos((time * 1e9).round() as u64))
                }
                _ => Err(format!(
                    "`{}` is no arrival; allowed: a time in seconds from 0 to {LATEST_S}",
                    shown_line(line)
                )),
            })?;
            if times.len() < users.total {
                let error = format!(
                    "it has {} arrivals for {} users; allowed: a `count` up to the number of \
                        arrivals",
                    times.len(),
                    users.total
                );
                return Err(in_file(file, flow, &error));
            }
            Arrivals::Times(times)
        }
    })
}

/// Reads a value from each line of a file, except empty lines and comments after `#`.
fn lines<T>(
    file: &Path,
    flow: &Flow,
    files: &InputFiles,
    most: usize,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Problem> {
    let text = files.read(file).map_err(|error| in_file(file, flow, &error.to_string()))?;
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let value = line.split('#').next().unwrap_or_default().trim();
        if value.is_empty() {
            continue;
        }
        if values.len() == most {
            let error = format!("it has more than {most} values; allowed: up to that many");
            return Err(in_file(file, flow, &error));
        }
        // A line of a hostile file may be long.
        let value: String = value.chars().take(40).collect();
        let error = |error: String| in_file(file, flow, &format!("line {}: {error}", index + 1));
        values.push(parse(&value).map_err(error)?);
    }
    Ok(values)
}

fn in_file(file: &Path, flow: &Flow, error: &str) -> Problem {
    Problem::new(flow.span.clone(), format!("flow `{}`: {}: {error}", flow.name(), file.display()))
}
