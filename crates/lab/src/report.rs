//! `report.html`: the page of `studio/` with the results inside, or a plain one where that page was
//! not built.

use crate::error::LabError;
use crate::expect::Figure;
use crate::plain_report;
use crate::record::{Manifest, SweepAxis};
use crate::resolve::PathSummary;
use crate::results::{Clock, Expectation, Results, Run, Summary};
use crate::rundir::MANIFEST;
use crate::sky::Sky;
use crate::traces::{Recording, Trace};
use base64::Engine;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The built page; empty where it was not built.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The script that draws the globe; empty where it was not built.
const GLOBE: &str = include_str!(concat!(env!("OUT_DIR"), "/globe.js"));
/// Where the page takes its data.
const PLACE: &str = "<!--BENTPIPE-DATA-->";

/// What the page reads.
#[derive(Serialize)]
struct Report<'a> {
    scenario: &'a str,
    title: &'a str,
    description: Option<&'a str>,
    seed: u64,
    clock: Clock,
    version: &'a str,
    complete: bool,
    notes: &'a [String],
    source: &'a str,
    path: Option<&'a PathSummary>,
    variants: &'a [String],
    sweep: &'a [SweepAxis],
    runs: &'a [Run],
    summary: &'a [Summary],
    expectations: &'a [Expectation],
    published: &'a [Figure],
    traces: &'a [Trace],
    #[serde(skip_serializing_if = "<[Sky]>::is_empty")]
    skies: &'a [Sky],
}

/// The report of a run as one HTML file that opens offline, with the time series of some runs.
///
/// # Errors
/// Never for results of a run; serde's own error type otherwise.
pub fn html(
    manifest: &Manifest,
    results: &Results,
    series: &Recording,
) -> Result<String, serde_json::Error> {
    if !PAGE.contains(PLACE) {
        return Ok(plain_report::html(manifest, results, &series.traces, &series.blob));
    }
    let report = Report {
        scenario: &manifest.scenario,
        title: &manifest.title,
        description: manifest.description.as_deref(),
        seed: manifest.seed,
        clock: manifest.clock,
        version: &manifest.version,
        complete: manifest.complete,
        notes: &manifest.notes,
        source: &manifest.source,
        path: manifest.path.as_ref(),
        variants: &manifest.variants,
        sweep: &manifest.sweep,
        runs: &results.runs,
        summary: &results.summary,
        expectations: &results.expectations,
        published: &manifest.published,
        traces: &series.traces,
        skies: &series.skies,
    };
    let mut data = data(&serde_json::to_string(&report)?, &series.blob);
    if !series.skies.is_empty() {
        data.insert_str(0, &globe());
    }
    Ok(PAGE.replacen(PLACE, &data, 1))
}

/// The script element that draws the globe; nothing where it was not built.
fn globe() -> String {
    if GLOBE.is_empty() {
        return String::new();
    }
    // What the script itself says must not end its element.
    let script = GLOBE.replace("</script", "<\\/script").replace("<!--", "\\x3c!--");
    format!("<script>{script}</script>\n")
}

/// The script elements that carry the data.
fn data(json: &str, blob: &[u8]) -> String {
    // Neither may end the element, nor begin what HTML takes for a comment inside a script.
    let json = json.replace("</", "<\\/").replace("<!--", "\\u003c!--");
    let traces = base64::engine::general_purpose::STANDARD.encode(deflate(blob));
    format!(
        "<script type=\"application/json\" id=\"bentpipe-report\">{json}</script>\n\
         <script type=\"application/octet-stream;base64\" id=\"bentpipe-traces\">{traces}</script>"
    )
}

fn deflate(blob: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let written = encoder.write_all(blob);
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Writes `report.html` anew from the results in `directory`, and returns its path.
///
/// # Errors
/// A directory that is no run, a file of it that cannot be read, or a place that cannot be written.
pub fn rebuild(directory: &Path) -> Result<PathBuf, LabError> {
    let manifest: Manifest = read_json(&directory.join(MANIFEST))?;
    let results: Results = read_json(&directory.join("results.json"))?;
    let index = directory.join("traces.json");
    let mut series = Recording::default();
    if index.exists() {
        let blob = directory.join("traces.bin");
        series.traces = read_json(&index)?;
        series.blob = fs::read(&blob).map_err(|error| LabError::read(blob, error))?;
    }
    let skies = directory.join("skies.json");
    if skies.exists() {
        series.skies = read_json(&skies)?;
    }
    let path = directory.join("report.html");
    let page = html(&manifest, &results, &series).map_err(|error| LabError::write(&path, error))?;
    // The old report stays whole until the new one is.
    let partial = directory.join(format!(".report.html.partial-{}", std::process::id()));
    fs::write(&partial, page)
        .and_then(|()| fs::rename(&partial, &path))
        .map_err(|error| LabError::write(&path, error))?;
    Ok(path)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, LabError> {
    let text = fs::read_to_string(path).map_err(|error| {
        LabError::read(path, format!("{error}; allowed: a directory that `bentpipe run` wrote"))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        LabError::read(path, format!("{error}; was it written by another version of Bentpipe?"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_the_script_that_carries_it() {
        let html = data(r#"{"title":"</script><!-- x"}"#, b"");
        assert_eq!(html.matches("</script>").count(), 2);
        assert!(!html.contains("<!--"));
        let json = html
            .split_once('>')
            .and_then(|(_, rest)| rest.split_once("</script>"))
            .map(|(json, _)| json)
            .unwrap();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(json).unwrap()["title"],
            "</script><!-- x"
        );
    }
}
