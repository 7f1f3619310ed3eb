//! `bentpipe orbit`: the routes through a satellite network, without packets.

use crate::args::Orbit;
use crate::output::{self, Look};
use crate::tables::{Align, Table};
use bentpipe_lab::orbit::{
    FlowRoutes, Sample, SharedLink, Survey, constellation_scenario, sharing, survey,
};
use bentpipe_lab::{Changes, LabError, OrbitPath, Plan, write_file};
use bentpipe_orbit::{RouteUpdates, cities, presets};
use bentpipe_units::Span;
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Number of evenly spaced samples in a table, in addition to route changes.
const ROWS: usize = 20;
/// Default interval at which sharing is examined. Route changes are tens of seconds apart.
const SHARING_STEP: Span = Span::from_secs(1);

/// Prints the survey, and writes the requested files.
pub fn run(args: &Orbit) -> Result<u8, LabError> {
    let (mut plan, path) = path(args)?;
    let (path, note) = path.lasting(args.duration).map_err(|error| usage("--duration", error))?;
    plan.notes.extend(note);
    let step = match (path.step, args.step) {
        (RouteUpdates::EventDriven(_), Some(step)) => RouteUpdates::EventDriven(step),
        (RouteUpdates::Stepped(_), Some(step)) => RouteUpdates::Stepped(step),
        (step, _) => step,
    };
    if let Some(cities) = args.sharing {
        let path = if cities == 0 {
            path
        } else {
            path.among_cities(cities).map_err(|error| usage("--sharing", error))?
        };
        let found = sharing(&path, args.step.unwrap_or(SHARING_STEP), args.duration)
            .map_err(|error| usage("--sharing", error))?;
        if args.json {
            return output::document(&output::pretty(&json!({ "sharing": found })));
        }
        return output::print(&sharing_text(&path, &found));
    }
    let survey = survey(&path, step, args.duration, args.disjoint)
        .map_err(|error| usage("--duration", error))?;
    if let Some(file) = &args.czml {
        write_file(file, survey.czml(&path, step)?.as_bytes())?;
    }
    if let Some(file) = &args.html {
        write_file(file, survey.page(&path, step, &plan.title, &plan.source)?.as_bytes())?;
    }
    if args.json {
        output::document(&output::pretty(&json!(survey)))
    } else if args.csv {
        output::document(&csv(&survey))
    } else {
        output::print(&text(&survey, &plan, Look::stdout()))
    }
}

fn usage(argument: &'static str, reason: impl ToString) -> LabError {
    LabError::Usage { argument, reason: reason.to_string() }
}

/// Reads the scenario and its network. The name of a preset stands for a scenario around it.
fn path(args: &Orbit) -> Result<(Plan, OrbitPath), LabError> {
    let changes = Changes { sets: args.set.clone(), ..Changes::default() };
    let name = args.scenario.display().to_string();
    let plan = if !args.scenario.exists() && presets::shells(&name).is_ok() {
        let (from, to) = match (&args.from, &args.to) {
            (Some(from), Some(to)) => (from.as_str(), to.as_str()),
            // The scenario needs a flow, which `--sharing` replaces.
            _ if args.sharing.is_some_and(|cities| cities > 0) => ("Tokyo", "Delhi"),
            _ => {
                return Err(usage(
                    "SCENARIO",
                    "a constellation has no flows of its own; allowed: --from PLACE --to PLACE",
                ));
            }
        };
        for (option, city) in [("--from", from), ("--to", to)] {
            cities::find(city).map_err(|error| usage(option, error))?;
        }
        Plan::parse(&name, &constellation_scenario(&name, from, to), Path::new(""), &changes)?
    } else if let Err(error) = args.scenario.metadata() {
        let allowed = "allowed: a scenario file, or a name that `bentpipe constellations` lists";
        return Err(LabError::read(&args.scenario, format!("{error}; {allowed}")));
    } else {
        Plan::read(&args.scenario, &changes)?
    };
    let path = plan.cases.first().and_then(|case| case.orbit()).cloned();
    let path = path.ok_or_else(|| {
        usage("SCENARIO", "its path has no orbit; allowed: a scenario with [path.orbit]")
    })?;
    match (&args.from, &args.to) {
        (Some(from), Some(to)) => {
            let path = path.between(from, to).map_err(|error| usage("--from, --to", error))?;
            Ok((plan, path))
        }
        _ => Ok((plan, path)),
    }
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

fn csv(survey: &Survey) -> String {
    let mut text =
        "flow,t_s,rtt_ms,hops,visible_from,visible_to,attached_from,attached_to\n".to_owned();
    for pair in &survey.flows {
        // Flow names contain neither commas nor quotes.
        for sample in &pair.samples {
            let rtt = sample.rtt_ms.map_or_else(String::new, |rtt| rtt.to_string());
            let hops = sample.hops.map_or_else(String::new, |hops| hops.to_string());
            let [visible_from, visible_to] = sample.visible;
            let [attached_from, attached_to] = sample.attached;
            let _ = writeln!(
                text,
                "{},{},{rtt},{hops},{visible_from},{visible_to},{attached_from},{attached_to}",
                pair.flow, sample.t_s
            );
        }
    }
    text
}

fn text(survey: &Survey, plan: &Plan, look: Look) -> String {
    let mut text = String::new();
    let step = survey.step_s.map_or_else(|| "static".to_owned(), |step| format!("every {step} s"));
    let _ = writeln!(
        text,
        "{}, {} satellites, {} s from {}, {step}",
        output::paint(look.colour, "1", &survey.constellation),
        survey.satellites,
        survey.length_s,
        survey.begins
    );
    for pair in &survey.flows {
        let _ = write!(text, "\n{}\n", output::paint(look.colour, "1", &heading(pair)));
        text.push_str(&summary(pair));
        text.push_str(&table(pair, look));
        for (index, route) in pair.disjoint.iter().enumerate() {
            let _ = writeln!(
                text,
                "route {} at the start: {} ms, {}",
                index + 1,
                ms(route.rtt_ms),
                route.nodes.join(" – ")
            );
        }
    }
    for note in
        plan.notes.iter().filter(|note| !note.starts_with("nothing in this scenario is random"))
    {
        let _ = write!(text, "\nnote: {note}\n");
    }
    text
}

fn heading(pair: &FlowRoutes) -> String {
    format!("{}: {} – {}, {:.0} km", pair.flow, pair.from, pair.to, pair.distance_km)
}

fn summary(pair: &FlowRoutes) -> String {
    let all = &pair.summary;
    let mut text = format!(
        "RTT {} / {} / {} ms (min / median / max); {} route changes, {:.1} per minute",
        ms(all.rtt_min_ms),
        ms(all.rtt_median_ms),
        ms(all.rtt_max_ms),
        all.changes,
        all.changes_per_minute
    );
    if let Some(step) = all.largest_step_ms {
        let _ = write!(text, ", largest step {step:.2} ms");
    }
    if let Some(drift) = all.drift_us_per_s {
        let _ = write!(text, "; drift up to {drift:.1} us/s");
    }
    if all.outages > 0 {
        let _ = write!(
            text,
            "; {} outages, longest {:.1} s, {:.1} % of the time",
            all.outages,
            all.longest_outage_s,
            all.outage_share * 100.0
        );
    }
    text + "\n"
}

/// Returns a table of route changes, with evenly spaced samples between them.
fn table(pair: &FlowRoutes, look: Look) -> String {
    let mut table = Table::new(&[
        ("t", Align::Right),
        ("RTT ms", Align::Right),
        ("hops", Align::Right),
        ("visible", Align::Left),
        ("attached", Align::Left),
        ("route", Align::Left),
    ]);
    let every = pair.samples.len().div_ceil(ROWS).max(1);
    let mut routes = pair.routes.iter().peekable();
    for (index, sample) in pair.samples.iter().enumerate() {
        let route = routes.next_if(|route| route.t_s <= sample.t_s);
        if route.is_none() && index % every != 0 {
            continue;
        }
        let nodes = route.map_or_else(String::new, |route| {
            if route.nodes.is_empty() { "none".to_owned() } else { inner(&route.nodes) }
        });
        table.row(row(sample).into_iter().chain([nodes]));
    }
    table.fitted(look)
}

/// Formats a route without its ends, which the heading shows.
fn inner(nodes: &[String]) -> String {
    match nodes {
        [_, inner @ .., _] if inner.len() > 8 => {
            format!("{} – … – {}", inner[..4].join(" – "), inner[inner.len() - 4..].join(" – "))
        }
        [_, inner @ .., _] => inner.join(" – "),
        _ => String::new(),
    }
}

fn row(sample: &Sample) -> [String; 5] {
    let two = |[from, to]: [usize; 2]| format!("{from}, {to}");
    [
        format!("{:.3} s", sample.t_s),
        ms(sample.rtt_ms),
        sample.hops.map_or_else(String::new, |hops| hops.to_string()),
        two(sample.visible),
        two(sample.attached),
    ]
}

fn sharing_text(path: &OrbitPath, found: &[SharedLink]) -> String {
    if found.is_empty() {
        return format!(
            "none of {} flows share a link and differ noticeably in RTT\n",
            path.flows.len()
        );
    }
    let mut table = Table::new(&[
        ("flow", Align::Left),
        ("RTT ms", Align::Right),
        ("and", Align::Left),
        ("RTT ms", Align::Right),
        ("ratio", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("shared", Align::Left),
    ]);
    for shared in found {
        let [short, long] = &shared.flows;
        let more = if shared.links.len() > 1 {
            format!(" and {} more", shared.links.len() - 1)
        } else {
            String::new()
        };
        table.row([
            short.join(" – "),
            format!("{:.1}", shared.rtt_ms[0]),
            long.join(" – "),
            format!("{:.1}", shared.rtt_ms[1]),
            format!("{:.2}", shared.ratio),
            format!("{:.1} s", shared.from_s),
            format!("{:.1} s", shared.to_s),
            shared.links.first().cloned().unwrap_or_default() + &more,
        ]);
    }
    table.fitted(output::Look::stdout())
}
