//! Time series of a run as tables.

use bentpipe_report::{Mark, SeriesRef, Trace, points};
use bentpipe_results::{Column, Table, Values};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns the time series of a run: one row for each point of each series.
pub fn series<'a>(trace: &'a Trace, blob: &[u8]) -> Table<'a> {
    let mut rows = Series::default();
    for flow in &trace.flows {
        rows.append("flow", &flow.name, i64::try_from(flow.visit).ok(), &flow.series, blob);
    }
    for link in &trace.links {
        rows.append("link", &link.name, None, &link.series, blob);
    }
    Table {
        name: "series",
        about: "One row for each point of each time series.",
        metadata: Vec::new(),
        columns: vec![
            column("of", "", "`flow` or `link`.", Values::Text(rows.kind)),
            column("name", "", "Name of the flow or link.", Values::Text(rows.name)),
            column("visit", "", "Number of the visit; null for links.", Values::Int(rows.visit)),
            column("series", "", "Name of the series.", Values::Text(rows.series)),
            column("unit", "", "Unit of the value.", Values::Text(rows.unit)),
            column("t_s", "s", "Time since the start of the run.", Values::Float(rows.time)),
            column("value", "", "Value.", Values::Float(rows.value)),
        ],
    }
}

/// Returns the labelled points in time of a run's flows, and the phases of their senders.
pub fn marks(trace: &Trace) -> Table<'_> {
    let (mut name, mut visit, mut kind) = (Vec::new(), Vec::new(), Vec::new());
    let (mut time, mut label) = (Vec::new(), Vec::new());
    for flow in &trace.flows {
        for (marks, of) in [(&flow.marks, "mark"), (&flow.phases, "phase")] {
            for Mark { t_s, label: text } in marks {
                name.push(Some(Cow::Borrowed(flow.name.as_str())));
                visit.push(i64::try_from(flow.visit).ok());
                kind.push(Some(Cow::Borrowed(of)));
                time.push(Some(*t_s));
                label.push(Some(Cow::Borrowed(text.as_str())));
            }
        }
    }
    Table {
        name: "marks",
        about: "One row for each labelled point in time of a flow, and for each phase of its \
                sender, which lasts until the next.",
        metadata: Vec::new(),
        columns: vec![
            column("flow", "", "Name of the flow.", Values::Text(name)),
            column("visit", "", "Number of the visit.", Values::Int(visit)),
            column("kind", "", "`mark` or `phase`.", Values::Text(kind)),
            column("t_s", "s", "Time since the start of the run.", Values::Float(time)),
            column("label", "", "What happens, or name of the phase.", Values::Text(label)),
        ],
    }
}

/// Columns of the table of series.
#[derive(Default)]
struct Series<'a> {
    kind: Vec<Option<Cow<'a, str>>>,
    name: Vec<Option<Cow<'a, str>>>,
    visit: Vec<Option<i64>>,
    series: Vec<Option<Cow<'a, str>>>,
    unit: Vec<Option<Cow<'a, str>>>,
    time: Vec<Option<f64>>,
    value: Vec<Option<f64>>,
}

impl<'a> Series<'a> {
    fn append(
        &mut self,
        kind: &'static str,
        name: &'a str,
        visit: Option<i64>,
        series: &'a BTreeMap<String, SeriesRef>,
        blob: &[u8],
    ) {
        for (label, reference) in series {
            for (time, value) in points(reference, blob) {
                self.kind.push(Some(Cow::Borrowed(kind)));
                self.name.push(Some(Cow::Borrowed(name)));
                self.visit.push(visit);
                self.series.push(Some(Cow::Borrowed(label)));
                self.unit.push(Some(Cow::Borrowed(&reference.unit)));
                self.time.push(Some(time));
                self.value.push(Some(f64::from(value)));
            }
        }
    }
}

/// Makes a column.
pub fn column<'a>(
    name: &str,
    unit: &'static str,
    about: &'static str,
    values: Values<'a>,
) -> Column<'a> {
    Column { name: name.to_owned(), unit, about: about.into(), values }
}
