//! `report.html`: the page of `studio/` with the results inside, or a plain one where that page was
//! not built.

use crate::constellation::ConstellationView;
use crate::plain;
use crate::traces::{Recording, Trace};
use base64::Engine;
use bentpipe_results::{Expectation, Manifest, Results, Run, Summary, metrics};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::io::Write;

/// The built page; empty where it was not built.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The script that draws the globe; empty where it was not built.
const GLOBE: &str = include_str!(concat!(env!("OUT_DIR"), "/globe.js"));
/// Where the page takes its data.
const PLACE: &str = "<!--BENTPIPE-DATA-->";

/// What the page reads.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// What was run.
    #[serde(flatten)]
    manifest: &'a Manifest,
    /// Every run.
    runs: &'a [Run],
    /// Statistics over runs.
    summary: &'a [Summary],
    /// Expectations, and whether they passed.
    expectations: &'a [Expectation],
    /// Time series, as places in the page's binary data.
    traces: &'a [Trace],
    /// The satellites above the runs; absent without any.
    #[serde(skip_serializing_if = "<[ConstellationView]>::is_empty")]
    constellations: &'a [ConstellationView],
}

/// JSON Schema (draft 2020-12) of what the page reads, with the registry of metrics as
/// `x-metrics`. The types of `studio/` are generated from it.
pub fn json_schema() -> Schema {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().for_serialize().into();
    let mut schema = generator.into_root_schema_for::<Report<'_>>();
    schema.insert("title".to_owned(), "Report".into());
    schema.insert("x-metrics".to_owned(), metrics::schema());
    schema
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
        return Ok(plain::html(manifest, results, &series.traces, &series.blob));
    }
    // The list of files is of no use inside a single one.
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
