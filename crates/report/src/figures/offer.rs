//! What a run directory offers to figures: kinds, and the names that they accept.

use super::request::{FigureData, What};
use super::source::listed;
use super::{budget, cdf};
use bentpipe_results::SweepAxis;
use std::collections::BTreeSet;

/// A kind of figure, or a list of names that figures accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Name of the kind, or the option that takes the names.
    pub name: &'static str,
    /// What it would show, or the names.
    pub about: String,
    /// False if the run directory does not have what the kind needs; `about` says what.
    pub possible: bool,
}

/// Returns what figures of a run directory can show: all kinds, then the names.
pub fn offers(data: FigureData<'_>) -> Vec<Offer> {
    let kinds = What::ALL.into_iter().map(|what| {
        let found = match what {
            What::Budget => budget::offer(data),
            What::Sweep => sweep(data),
            What::Cdf => cdf::offer(data),
            What::Series => series(data),
            What::Heat => heat(data),
        };
        let possible = found.is_ok();
        Offer { name: what.name(), about: found.unwrap_or_else(|lacks| lacks), possible }
    });
    kinds.chain(names(data)).collect()
}

fn names(data: FigureData<'_>) -> Vec<Offer> {
    let results = data.results;
    let flows = results.summary.iter().map(|row| row.flow.as_str());
    let metrics = results.summary.iter().map(|row| row.metric.as_str());
    let mut all = vec![
        ("--variant", ordered(data.manifest.variants.iter().map(String::as_str))),
        ("--flow", ordered(flows)),
        ("--metric", ordered(metrics)),
        ("--series", series_names(data)),
    ];
    let points = data.manifest.sweep.iter();
    let points: Vec<String> =
        points.map(|axis| format!("{}: {}", axis.key, axis.values.join(", "))).collect();
    all.insert(1, ("--point", points.join("; ")));
    let offer = |(name, about): (&'static str, String)| Offer { name, about, possible: true };
    all.into_iter().filter(|(_, names)| !names.is_empty()).map(offer).collect()
}

/// Returns names in the order of their first, each once.
fn ordered<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect::<Vec<_>>().join(", ")
}

fn several(data: FigureData<'_>) -> Vec<&SweepAxis> {
    data.manifest.sweep.iter().filter(|axis| axis.values.len() > 1).collect()
}

fn sweep(data: FigureData<'_>) -> Result<String, String> {
    let axes = several(data);
    if axes.is_empty() {
        return Err("no swept key has several values".to_owned());
    }
    let each: Vec<String> =
        axes.iter().map(|axis| format!("{} ({} values)", axis.key, axis.values.len())).collect();
    Ok(format!("along {}", each.join(" or ")))
}

fn heat(data: FigureData<'_>) -> Result<String, String> {
    match several(data)[..] {
        [] | [_] => Err("it needs two swept keys with several values".to_owned()),
        [first, second, ..] => Ok(format!(
            "{} by {}: {} cells",
            first.key,
            second.key,
            first.values.len() * second.values.len()
        )),
    }
}

fn series(data: FigureData<'_>) -> Result<String, String> {
    match data.recording.traces.len() {
        0 => Err("no time series were recorded".to_owned()),
        n => Ok(format!("{n} recorded runs")),
    }
}

fn series_names(data: FigureData<'_>) -> String {
    let mut names = BTreeSet::new();
    for trace in &data.recording.traces {
        names.extend(trace.flows.iter().flat_map(|flow| flow.series.keys()));
        names.extend(trace.links.iter().flat_map(|link| link.series.keys()));
    }
    if names.is_empty() { String::new() } else { listed(names.into_iter().map(String::as_str)) }
}
