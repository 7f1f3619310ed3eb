//! What a run directory offers to figures: kinds, and the names that they accept.

use super::request::{FigureData, What};
use super::source::{distinct, flow_names, listed};
use super::{budget, cdf};
use bentpipe_results::SweepAxis;
use std::collections::BTreeSet;

/// Returns all kinds of figures, each with what it would show of a run directory, or as an error
/// with what the directory lacks.
pub fn offers(data: FigureData<'_>) -> Vec<(What, Result<String, String>)> {
    let kinds = What::ALL.into_iter().map(|what| {
        let found = match what {
            What::Budget => budget::offer(data),
            What::Sweep => sweep(data),
            What::Cdf => cdf::offer(data),
            What::Series => series(data),
            What::Heat => heat(data),
        };
        (what, found)
    });
    kinds.collect()
}

/// Returns the options of `bentpipe figure` that take names of a run directory, each with these.
pub fn option_names(data: FigureData<'_>) -> Vec<(&'static str, String)> {
    let results = data.results;
    let metrics = results.summary.iter().map(|row| row.metric.as_str());
    let points = data.manifest.sweep.iter();
    let points: Vec<String> =
        points.map(|axis| format!("{}: {}", axis.key, axis.values.join(", "))).collect();
    let mut all = vec![
        ("--variant", data.manifest.variants.join(", ")),
        ("--point", points.join("; ")),
        ("--flow", flow_names(data).concat().join(", ")),
        ("--metric", distinct(metrics).join(", ")),
        ("--series", series_names(data)),
    ];
    all.retain(|(_, names)| !names.is_empty());
    all
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
