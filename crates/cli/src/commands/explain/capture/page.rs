//! The page of a trace.

use super::Explanation;
use super::answer::answer;
use super::connections::Listed;
use super::document::TraceDocument;
use crate::output;
use bentpipe_captures::{CapturedConnection, Transport, time_line};
use bentpipe_lab::LabError;
use bentpipe_report::{FlowSeries, TraceSeries, trace_html};
use bentpipe_timeseries::SeriesLimit;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Most points of a series, whatever the file: several for each pixel of a wide plot.
const MOST_POINTS: usize = 4096;
/// Most requests in a page: its plot has a pixel for each.
const MOST_REQUESTS: usize = 900;
/// Longest name of a file or a connection in a page, in characters.
const MOST_CHARACTERS: usize = 200;

/// What the page of a trace shows.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TracePage {
    /// Name of the file.
    file: String,
    /// What the file calls the connection; may be empty.
    title: String,
    /// Version of Bentpipe.
    version: &'static str,
    /// `TCP` or `QUIC`.
    protocol: &'static str,
    /// The end that sends the data, as a word.
    sender: &'static str,
    /// The end that receives it.
    receiver: &'static str,
    /// What took the most time, in a sentence.
    answer: String,
    /// True if the packets of the application were not decrypted.
    is_encrypted: bool,
    /// Number of requests, of which `trace` has the first.
    requests: usize,
    /// What `--json` has.
    trace: TraceDocument,
    /// Series over time.
    series: FlowSeries,
}

/// Writes the page, and prints its path. Links are not followed.
pub(super) fn write(
    explanation: &Explanation<'_>,
    timed: &CapturedConnection,
    listed: &[Listed],
    (file, page): (&Path, &Path),
) -> Result<u8, LabError> {
    let recorded = explanation.recorded;
    let line = time_line(timed, recorded, SeriesLimit::new(MOST_POINTS));
    let series = TraceSeries::new(line.series, &line.states);
    let mut trace = explanation.document(listed);
    let requests = trace.requests.len();
    trace.requests.truncate(MOST_REQUESTS);
    let name = match file.file_name() {
        Some(name) if file != Path::new("-") => name.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    };
    let document = TracePage {
        file: short(&name),
        title: short(&explanation.trace.title),
        version: crate::version::VERSION,
        protocol: match explanation.ends.transport {
            Transport::Tcp => "TCP",
            Transport::Quic => "QUIC",
        },
        sender: explanation.ends.sender,
        receiver: explanation.ends.asker,
        answer: answer(recorded, &explanation.ends),
        is_encrypted: recorded.is_encrypted,
        requests,
        trace,
        series: series.index.clone(),
    };
    let json = serde_json::to_string(&document).unwrap_or_default();
    let html = trace_html(&json, &series, &document.file, &explanation.text());
    bentpipe_lab::write_file(page, html.as_bytes())?;
    output::print(&format!("{}\n", page.display()))
}

/// Returns the beginning of a text, with characters that change how others are shown escaped.
fn short(text: &str) -> String {
    output::printable(text).chars().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

    use super::*;
    use schemars::generate::SchemaSettings;
    use serde_json::Value;

    /// Returns the JSON Schema (draft 2020-12) of a page's data.
    fn json_schema() -> Value {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        generator.into_root_schema_for::<TracePage>().to_value()
    }

    /// Run with `UPDATE_SCHEMA=1` to write the schema, then `npm run types` in `studio/`.
    #[test]
    fn the_schema_of_the_page_is_up_to_date() {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studio/src/data/trace.schema.json");
        let mut schema = json_schema();
        schema.sort_all_objects();
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            std::fs::write(&file, text).unwrap();
        }
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let current: Value = serde_json::from_str(&text).unwrap_or_default();
        assert!(current == schema, "{} is out of date; UPDATE_SCHEMA=1 writes it", file.display());
    }
}
