//! `bentpipe controllers`: lists congestion controllers, slow starts, loss filters and resumption.

mod costs;
mod measured;

use self::costs::Cost;
use self::measured::COSTS;
use crate::output::{self, Look, say};
use crate::status::USAGE;
use crate::tables::{Align, Table};
use bentpipe_congestion::Parameter;
use bentpipe_congestion::catalogue::{
    CONTROLLERS, LOSS_FILTERS, RESUMPTIONS, Registration, SLOW_STARTS,
};
use bentpipe_lab::LabError;
use serde_json::json;
use std::fmt::Write;

/// An algorithm that can be selected by name.
struct Entry {
    /// The key that selects it: `controller`, `slow_start`, `loss_filter` or `resume`.
    kind: &'static str,
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [Parameter],
}

/// Choices that are not in the catalogue, because they select other entries.
const START_CHOICES: [Entry; 2] = [
    Entry {
        kind: "slow_start",
        name: "auto",
        about: "long-path; connections of one client that start together share its first burst",
        source: "ours: docs/decisions/0005-long-path-start.md",
        parameters: &[],
    },
    Entry {
        kind: "slow_start",
        name: "standard",
        about: "the controller's own slow start or Startup",
        source: "the controller's",
        parameters: &[],
    },
];

/// The same for loss filters.
const FILTER_CHOICES: [Entry; 2] = [
    Entry {
        kind: "loss_filter",
        name: "auto",
        about: "chance for cubic and newreno if slow_start is auto; none over TCP",
        source: "ours: docs/decisions/0082-losses-by-chance.md",
        parameters: &[],
    },
    Entry {
        kind: "loss_filter",
        name: "none",
        about: "the controller learns of every loss",
        source: "the controller's",
        parameters: &[],
    },
];

fn entries() -> Vec<Entry> {
    fn of<T>(kind: &'static str, parts: &'static [Registration<T>]) -> impl Iterator<Item = Entry> {
        parts.iter().map(move |part| {
            let Registration { name, about, source, parameters, .. } = part;
            Entry { kind, name, about, source, parameters }
        })
    }
    let starts = START_CHOICES.into_iter().chain(of("slow_start", SLOW_STARTS));
    let filters = of("loss_filter", LOSS_FILTERS);
    of("controller", CONTROLLERS)
        .chain(starts)
        .chain(FILTER_CHOICES)
        .chain(filters)
        .chain(of("resume", RESUMPTIONS))
        .collect()
}

/// Returns the names of the entries of this kind: `controller`, `slow_start`, `loss_filter` or
/// `resume`.
pub fn names(kind: &str) -> Vec<&'static str> {
    entries().into_iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect()
}

/// Lists all controllers, slow-start algorithms, loss filters and resumption modes, or those called
/// `name`.
pub fn print(name: Option<&str>, as_json: bool) -> Result<u8, LabError> {
    let mut list = entries();
    if let Some(name) = name {
        if !list.iter().any(|entry| entry.name == name) {
            let mut allowed: Vec<&str> = Vec::new();
            for entry in &list {
                // `auto` and `none` are choices of several keys.
                if !allowed.contains(&entry.name) {
                    allowed.push(entry.name);
                }
            }
            let label = output::paint(output::coloured(&std::io::stderr()), "1;31", "error:");
            say!(
                "{label} `{name}` is not a controller, slow-start algorithm, loss filter or \
                 resumption mode; allowed: {}",
                allowed.join(", ")
            );
            return Ok(USAGE);
        }
        list.retain(|entry| entry.name == name);
    }
    if as_json {
        let list: serde_json::Value = list.iter().map(entry_json).collect();
        return output::document(&output::pretty(&list));
    }
    output::print(&text(&list, Look::stdout()))
}

/// Returns all controllers, slow-start algorithms, loss filters and resumption modes as JSON.
pub fn json() -> serde_json::Value {
    entries().iter().map(entry_json).collect()
}

impl Entry {
    /// What the choice costs, if it is a controller that was measured.
    fn cost(&self) -> Option<Cost> {
        let of_this = |cost: &&Cost| self.kind == "controller" && cost.controller == self.name;
        COSTS.iter().find(of_this).copied()
    }
}

fn entry_json(entry: &Entry) -> serde_json::Value {
    let parameters = entry.parameters.iter().map(|parameter| {
        let Parameter { name, default, range: (low, high), unit, about, .. } = parameter;
        json!({
            "name": name,
            "default": default,
            "low": low,
            "high": high,
            "unit": unit,
            "about": about,
        })
    });
    json!({
        "kind": entry.kind,
        "name": entry.name,
        "about": entry.about,
        "source": entry.source,
        "cost": entry.cost(),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

fn text(list: &[Entry], look: Look) -> String {
    let mut text = String::new();
    if list.len() > 1 {
        let mut table = Table::new(&[
            ("kind", Align::Left),
            ("name", Align::Left),
            ("description", Align::Left),
        ]);
        for entry in list {
            table.row([entry.kind, entry.name, entry.about].map(str::to_owned));
        }
        text = table.fitted(look);
        text.push('\n');
    }
    let details: Vec<String> = list.iter().map(|entry| detail(entry, look)).collect();
    text + &details.join("\n")
}

/// One entry with its parameters.
fn detail(entry: &Entry, look: Look) -> String {
    let mut text = output::paint(look.colour, "1", entry.name);
    let _ = writeln!(text, "\n  {}: {}\n  source: {}", entry.kind, entry.about, entry.source);
    if let Some(cost) = entry.cost() {
        let _ = writeln!(text, "  cost: {}", cost.words());
    }
    if entry.parameters.is_empty() {
        return text;
    }
    let mut table = Table::new(&[
        ("parameter", Align::Left),
        ("default", Align::Right),
        ("range", Align::Left),
        ("unit", Align::Left),
        ("description", Align::Left),
    ]);
    for Parameter { name, default, range: (low, high), unit, about, .. } in entry.parameters {
        let range = format!("{low} to {high}");
        table.row([
            (*name).to_owned(),
            default.to_string(),
            range,
            (*unit).to_owned(),
            (*about).to_owned(),
        ]);
    }
    for line in table.fitted(look).lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_congestion::{ControllerName, LossFilterName, ResumeName, SlowStartName};

    #[test]
    fn every_name_of_the_catalogue_is_listed_once_under_its_kind() {
        let names = |kind| {
            entries().iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect()
        };
        let listed: [Vec<&str>; 4] =
            ["controller", "slow_start", "loss_filter", "resume"].map(names);
        let all =
            [ControllerName::all(), SlowStartName::all(), LossFilterName::all(), ResumeName::all()];
        assert_eq!(listed, all);
        for mut list in listed {
            list.sort_unstable();
            assert!(list.windows(2).all(|pair| pair[0] != pair[1]), "duplicate name: {list:?}");
        }
    }

    #[test]
    fn costs_are_of_controllers_and_none_is_faster_than_the_fastest() {
        for cost in COSTS {
            assert!(ControllerName::all().contains(&cost.controller), "{cost:?}");
            assert!(1.0 <= cost.time_ratio && cost.time_ratio <= cost.worst_ratio, "{cost:?}");
        }
        let cubic = entries().into_iter().filter(|entry| entry.name == "cubic");
        let text = text(&cubic.collect::<Vec<_>>(), Look::default());
        assert!(text.contains("the time of the fastest choice"), "{text}");
    }

    #[test]
    fn details_contain_source_and_parameters() {
        let list: Vec<Entry> =
            entries().into_iter().filter(|entry| entry.name == "newreno").collect();
        let text = text(&list, Look::default());
        for part in ["RFC 9002 §7", "parameter", "beta", "0.5", "0.1 to 0.95"] {
            assert!(text.contains(part), "missing {part}:\n{text}");
        }
    }
}
