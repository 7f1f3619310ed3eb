//! `report.html`: the page of `studio/` with embedded results, or a static page if that page was
//! not built.

use crate::constellation::ConstellationView;
use crate::recording::Recording;
use crate::static_page;
use crate::traces::Trace;
use base64::Engine;
use bentpipe_results::{Expectation, Manifest, Results, Run, Summary, metrics_schema};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::io::Write;

/// The page of `studio/`; empty if it was not built.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The script that draws the globe; empty if it was not built.
const GLOBE: &str = include_str!(concat!(env!("OUT_DIR"), "/globe.js"));
/// Placeholder for the data in the page.
const DATA_PLACEHOLDER: &str = "<!--BENTPIPE-DATA-->";

/// Data of the report page.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// Description of the run directory.
    #[serde(flatten)]
    manifest: &'a Manifest,
    /// All runs.
    runs: &'a [Run],
    /// Statistics over the runs.
    summary: &'a [Summary],
    /// Expectations, and whether they passed.
    expectations: &'a [Expectation],
    /// Time series, as references to the binary data of the page.
    traces: &'a [Trace],
    /// Constellations of the runs; absent if there are none.
    #[serde(skip_serializing_if = "<[ConstellationView]>::is_empty")]
    constellations: &'a [ConstellationView],
}

/// Returns the JSON Schema (draft 2020-12) of the page's data, with the registry of metrics as
/// `x-metrics`. The types of `studio/` are generated from it.
pub fn json_schema() -> Schema {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().for_serialize().into();
    let mut schema = generator.into_root_schema_for::<Report<'_>>();
    schema.insert("title".to_owned(), "Report".into());
    schema.insert("x-metrics".to_owned(), metrics_schema());
    schema
}

/// Creates the report as one HTML file that opens offline, with the time series of some runs.
///
/// # Errors
/// Returns the error of `serde_json`, which does not occur for results of a run.
pub fn html(
    manifest: &Manifest,
    results: &Results,
    series: &Recording,
) -> Result<String, serde_json::Error> {
    if !PAGE.contains(DATA_PLACEHOLDER) {
        return Ok(static_page::html(manifest, results, &series.traces, &series.blob));
    }
    // A single file needs no list of files.
    let manifest = Manifest { files: Vec::new(), ..manifest.clone() };
    let report = Report {
        manifest: &manifest,
        runs: &results.runs,
        summary: &results.summary,
        expectations: &results.expectations,
        traces: &series.traces,
        constellations: &series.constellations,
    };
    let mut data = data(&serde_json::to_string(&report)?, &series.blob);
    if !series.constellations.is_empty() {
        data.insert_str(0, &globe());
    }
    Ok(PAGE.replacen(DATA_PLACEHOLDER, &data, 1))
}

/// Returns the script element that draws the globe; empty if it was not built.
fn globe() -> String {
    if GLOBE.is_empty() {
        return String::new();
    }
    // The script's own text must not end its element.
    let script = GLOBE.replace("</script", "<\\/script").replace("<!--", "\\x3c!--");
    format!("<script>{script}</script>\n")
}

/// Returns the script elements with the data.
fn data(json: &str, blob: &[u8]) -> String {
    // The data must neither end the element nor start a comment, which HTML allows in scripts.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_script_element() {
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
