//! `report.html`: the page of `studio/` with embedded results, or a static page if that page was
//! not built.

use crate::constellation::ConstellationView;
use crate::derived::{DerivedMetric, derived};
use crate::explanations::{Explanation, explanations, parts_schema};
use crate::fit::{Embedded, fit};
use crate::recording::Recording;
use crate::static_page;
use crate::traces::Trace;
use crate::variants::Variants;
use base64::Engine;
use bentpipe_results::{
    Expectation, Headlines, MAIN_METRICS, Manifest, Results, Run, Summary, metrics_schema,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The page of `studio/`; empty if it was not built.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// The script that draws the globe; empty if it was not built.
const GLOBE: &str = include_str!(concat!(env!("OUT_DIR"), "/globe.js"));
/// Largest size of a page, unless its results are larger.
const MAX_SIZE: usize = 5_000_000;
/// Smallest room for time series, however large the results are.
const MIN_ROOM: usize = 500_000;
/// Largest number of runs in a page; in the results, each has about 2 kB.
const MAX_RUNS: usize = 1500;
/// Placeholder for the data in the page.
pub(crate) const DATA_PLACEHOLDER: &str = "<!--BENTPIPE-DATA-->";

/// What scripts the page may run.
const SCRIPTS: &str = "script-src 'unsafe-inline';";
/// What scripts it may run with an engine: WebAssembly, in workers that it makes itself.
const ENGINE_SCRIPTS: &str = "script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:;";

/// Data of the report page.
#[derive(Serialize, JsonSchema)]
struct Report<'a> {
    /// Description of the run directory.
    #[serde(flatten)]
    manifest: &'a Manifest,
    /// The runs; the first ones of each case if there are many.
    runs: &'a [Run],
    /// Statistics over the runs.
    summary: &'a [Summary],
    /// Metric that the scenario names as the one that it compares; `null` if it names none.
    headline: Option<&'a str>,
    /// The metric that comparisons of each visit of each flow are of.
    headlines: Vec<FlowHeadline>,
    /// Metrics of each run that are not fields of its flows; absent if there are none.
    #[serde(skip_serializing_if = "<[DerivedMetric]>::is_empty")]
    derived: &'a [DerivedMetric],
    /// Variant that the scenario names as the one that others are compared with; absent if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a str>,
    /// Keys that the scenario sets in each variant, with their values as text, in the order of the
    /// variants; absent if it lists none.
    #[serde(skip_serializing_if = "<[BTreeMap<String, String>]>::is_empty")]
    variant_keys: &'a [BTreeMap<String, String>],
    /// Where the time of each variant went; absent if that is unknown.
    #[serde(skip_serializing_if = "<[Explanation]>::is_empty")]
    explanations: &'a [Explanation],
    /// Expectations, and whether they passed.
    expectations: &'a [Expectation],
    /// Time series, as references to the binary data of the page.
    traces: &'a [Trace],
    /// Constellations of the runs; absent if there are none.
    #[serde(skip_serializing_if = "<[ConstellationView]>::is_empty")]
    constellations: &'a [ConstellationView],
}

/// The metric that comparisons of a visit of a flow are of.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct FlowHeadline {
    /// Name of the flow.
    flow: String,
    /// Number of the visit, from 1.
    visit: usize,
    /// Name of the metric.
    metric: &'static str,
}

/// Returns the JSON Schema (draft 2020-12) of the page's data, with the registry of metrics as
/// `x-metrics`, the main ones as `x-main-metrics`, and the parts of time budgets as `x-time-parts`.
/// The types of `studio/` are generated from it.
pub fn json_schema() -> Schema {
    let generator: SchemaGenerator = SchemaSettings::draft2020_12().for_serialize().into();
    let mut schema = generator.into_root_schema_for::<Report<'_>>();
    schema.insert("title".to_owned(), "Report".into());
    schema.insert("x-metrics".to_owned(), metrics_schema());
    schema.insert("x-main-metrics".to_owned(), MAIN_METRICS.as_slice().into());
    schema.insert("x-time-parts".to_owned(), parts_schema());
    schema
}

/// Creates the report as one HTML file that opens offline, with the time series of some runs.
///
/// Time series are downsampled if the page would be larger than 5 MB.
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
    let globe = if series.constellations.is_empty() { String::new() } else { globe() };
    let data = page_data(manifest, results, series, PAGE.len() + globe.len())?;
    Ok(PAGE.replacen(DATA_PLACEHOLDER, &(globe + &data), 1))
}

/// A scenario, and what lets a reader change it and run it in the page.
#[derive(Debug, Clone, Copy)]
pub struct Editable<'a> {
    /// Name of the scenario's file.
    pub name: &'a str,
    /// Texts of the files that it names.
    pub files: &'a BTreeMap<String, String>,
    /// The elements that `make wasm` wrote, or others that load them.
    pub engine: &'a str,
}

/// Creates the report as [`html`] does, as one that a reader can change and run again without
/// anything else. `None` if the page was not built.
///
/// # Errors
/// See [`html`].
pub fn editable_html(
    manifest: &Manifest,
    results: &Results,
    series: &Recording,
    editable: &Editable<'_>,
) -> Result<Option<String>, serde_json::Error> {
    if !PAGE.contains(DATA_PLACEHOLDER) || !PAGE.contains(SCRIPTS) {
        return Ok(None);
    }
    let scenario = serde_json::json!({
        "name": editable.name,
        "text": manifest.source,
        "files": editable.files,
    });
    let page = html(manifest, results, series)?;
    let page = page.replacen(SCRIPTS, ENGINE_SCRIPTS, 1);
    let end = page.rfind("</body>").unwrap_or(page.len());
    let (before, after) = page.split_at(end);
    let scenario = escaped(&scenario.to_string());
    Ok(Some(format!(
        "{before}<script type=\"application/json\" id=\"bentpipe-scenario\">{scenario}</script>\n\
         {}{after}",
        editable.engine
    )))
}

/// Returns the script elements with the data of a page whose other parts have `size` bytes.
///
/// Time series are downsampled if the page would be larger than 5 MB.
///
/// # Errors
/// See [`html`].
pub fn page_data(
    manifest: &Manifest,
    results: &Results,
    series: &Recording,
    size: usize,
) -> Result<String, serde_json::Error> {
    let (shown, omitted) = shown_runs(&results.runs);
    let explanations = explanations(results);
    let derived = derived(results, &shown);
    let variants = Variants::of(&manifest.source);
    let headlines: Vec<FlowHeadline> = Headlines::of(results)
        .iter()
        .map(|one| FlowHeadline { flow: one.flow.clone(), visit: one.visit, metric: one.row.name })
        .collect();
    let text = |embedded: Option<&Embedded<'_>>| {
        // A single file needs no list of files.
        let mut manifest = Manifest { files: Vec::new(), ..manifest.clone() };
        manifest.notes.extend(omitted.clone());
        manifest.notes.extend(embedded.and_then(|embedded| embedded.note.clone()));
        serde_json::to_string(&Report {
            manifest: &manifest,
            runs: &shown,
            summary: &results.summary,
            headline: results.headline.as_deref(),
            headlines: headlines.clone(),
            derived: &derived,
            baseline: variants.baseline.as_deref(),
            variant_keys: &variants.keys,
            explanations: &explanations,
            expectations: &results.expectations,
            traces: embedded.map_or(&series.traces, |embedded| &embedded.traces),
            constellations: embedded
                .map_or(&series.constellations, |embedded| &embedded.constellations),
        })
    };
    let mut json = text(None)?;
    let left = MAX_SIZE.saturating_sub(size + json.len());
    // Base64 has four characters for three bytes.
    let embedded = fit(series, left.max(MIN_ROOM) / 4 * 3);
    if embedded.note.is_some() {
        json = text(Some(&embedded))?;
    }
    Ok(data(&json, &embedded.compressed))
}

/// Returns the runs that a page shows, and a note if they are not all: the first ones of each
/// variant at each sweep point. Statistics cover all of them.
fn shown_runs(runs: &[Run]) -> (Cow<'_, [Run]>, Option<String>) {
    if runs.len() <= MAX_RUNS {
        return (Cow::Borrowed(runs), None);
    }
    let cases = runs.chunk_by(|a, b| a.variant == b.variant && a.point == b.point);
    let each = (MAX_RUNS / cases.clone().count().max(1)).max(1);
    let shown: Vec<Run> = cases.flat_map(|case| case.iter().take(each)).cloned().collect();
    let note = format!(
        "this page shows {} of {} runs, the first {each} of each variant at each sweep point; \
            statistics and results.json have all of them",
        shown.len(),
        runs.len()
    );
    (Cow::Owned(shown), Some(note))
}

/// Returns the script that draws the globe, for a page of its own; empty if it was not built.
pub fn globe_script() -> &'static str {
    GLOBE
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

/// What the element with the report begins with, and that with its series.
const REPORT: &str = "<script type=\"application/json\" id=\"bentpipe-report\">";
const TRACES: &str = "<script type=\"application/octet-stream;base64\" id=\"bentpipe-traces\">";
const END: &str = "</script>";

/// Returns the script elements with the data.
pub(crate) fn data(json: &str, compressed: &[u8]) -> String {
    let json = escaped(json);
    let traces = base64::engine::general_purpose::STANDARD.encode(compressed);
    format!("{REPORT}{json}{END}\n{TRACES}{traces}{END}")
}

/// Returns the script elements with the data of a page that [`html`] has made. `None` if it has
/// none, as a page without scripts.
pub fn data_in(page: &str) -> Option<&str> {
    let (_, after) = page.split_once(REPORT)?;
    let start = page.len() - after.len() - REPORT.len();
    let traces = after.find(TRACES)? + TRACES.len();
    // Neither element has the end of one in it.
    let end = traces + after[traces..].find(END)? + END.len();
    Some(&page[start..start + REPORT.len() + end])
}

/// Returns JSON that neither ends its element nor starts a comment, which HTML allows in scripts.
fn escaped(json: &str) -> String {
    json.replace("</", "<\\/").replace("<!--", "\\u003c!--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_found_in_a_page() {
        let elements = data("{\"title\":\"</script><b>\"}", b"series");
        let page = format!("<html><script>'bentpipe-report'</script>{elements}<p></p></html>");
        assert_eq!(data_in(&page), Some(elements.as_str()));
        for broken in ["", REPORT, &elements[..elements.len() - 3]] {
            assert_eq!(data_in(broken), None);
        }
    }

    #[test]
    fn a_page_shows_the_first_runs_of_each_case_of_a_large_study() {
        let run = |variant: &str, run| Run {
            variant: variant.to_owned(),
            point: Default::default(),
            run,
            flows: Vec::new(),
            links: Vec::new(),
            fairness: None,
            populations: Vec::new(),
            reconfigurations: Vec::new(),
            emulation: None,
        };
        let runs: Vec<Run> =
            ["a", "b", "c"].iter().flat_map(|name| (0..1000).map(|i| run(name, i))).collect();
        let (shown, note) = shown_runs(&runs[..1500]);
        assert!(shown.len() == 1500 && note.is_none());
        let (shown, note) = shown_runs(&runs);
        assert_eq!(shown.len(), 1500);
        assert_eq!((shown[500].variant.as_str(), shown[500].run), ("b", 0));
        assert!(note.unwrap().contains("1500 of 3000 runs, the first 500"));
    }

    #[test]
    fn a_scenario_cannot_end_its_element() {
        assert_eq!(escaped("</script><!--"), "<\\/script>\\u003c!--");
    }

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
