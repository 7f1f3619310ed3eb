//! The page of a recorded transfer: of `bentpipe explain FILE --html`.

use crate::fit::fit;
use crate::page::{DATA_PLACEHOLDER, data};
use crate::recording::Recording;
use crate::static_page;
use crate::traces::{FlowSeries, Mark, Trace};
use bentpipe_results::Point;
use bentpipe_timeseries::{RunSeries, Series, VisitSeries};
use bentpipe_units::Time;

/// The page of `studio/`; empty if it was not built.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/trace.html"));
/// Largest size of the series, compressed and in bytes.
const MAX_SERIES: usize = 1_000_000;

/// The series of a recorded transfer, encoded for a page.
#[derive(Debug)]
pub struct TraceSeries {
    /// The index of the series.
    pub index: FlowSeries,
    compressed: Vec<u8>,
}

impl TraceSeries {
    /// Encodes series, and the states of the congestion controller with their begins. Times count
    /// from the start of the file.
    pub fn new(series: Vec<Series>, states: &[(Time, String)]) -> Self {
        let visit = VisitSeries {
            name: "recorded".to_owned(),
            visit: 1,
            start: Time::ZERO,
            series,
            marks: Vec::new(),
            phases: Vec::new(),
        };
        let run = RunSeries { flows: vec![visit], links: Vec::new(), paths: Vec::new() };
        let mut recording = Recording::default();
        let trace = Trace::encode("", &Point::new(), 0, &run, &[], &mut recording.blob);
        recording.traces.push(trace);
        let embedded = fit(&recording, MAX_SERIES);
        let flow = embedded.traces.first().and_then(|trace| trace.flows.first());
        let mut index = flow.cloned().unwrap_or_else(|| FlowSeries {
            name: String::new(),
            visit: 1,
            start_s: 0.0,
            series: Default::default(),
            marks: Vec::new(),
            phases: Vec::new(),
        });
        let phase =
            |(at, label): &(Time, String)| Mark { t_s: at.as_secs_f64(), label: label.clone() };
        index.phases = states.iter().map(phase).collect();
        Self { index, compressed: embedded.compressed }
    }
}

/// Creates the page of a recorded transfer as one HTML file that opens offline. `document` is its
/// data as JSON, with [`TraceSeries::index`] in it; `title` and `text` are what a page without
/// scripts has, if that of `studio/` was not built.
pub fn trace_html(document: &str, series: &TraceSeries, title: &str, text: &str) -> String {
    if !PAGE.contains(DATA_PLACEHOLDER) {
        return static_page::of_text(title, text);
    }
    PAGE.replacen(DATA_PLACEHOLDER, &data(document, &series.compressed), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_file_is_never_markup() {
        let points = vec![(Time::ZERO, 1.0), (Time::from_millis(5), 2.0)];
        let sent = Series { name: "sent", unit: "B", points, downsampled: false };
        let states = [(Time::from_millis(2), "recovery".to_owned())];
        let series = TraceSeries::new(vec![sent], &states);
        assert_eq!(series.index.series["sent"].n, 2);
        assert_eq!(series.index.phases[0].label, "recovery");
        let hostile = "</script><script>alert(1)</script><!--";
        let json = serde_json::json!({ "title": hostile }).to_string();
        let page = trace_html(&json, &series, hostile, hostile);
        assert!(
            !page.contains("</script><script>alert") && !page.contains("alert(1)</script><!--")
        );
        assert!(!static_page::of_text(hostile, hostile).contains("<script"));
    }
}
