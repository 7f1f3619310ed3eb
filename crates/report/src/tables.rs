//! Time series as tables in long form, for Parquet and Arrow.

use crate::recording::Recording;
use crate::traces::{FlowSeries, LinkSeries, SeriesRef, Trace, parts};
use bentpipe_results::{Block, Column, Rows, Table, TableBuilder};
use std::collections::BTreeMap;

impl Recording {
    /// Returns the tables of the traced runs, `series` and `phases`, without metadata.
    pub fn tables(&self) -> [Table<'_>; 2] {
        self.tables_of(&self.traces.iter().collect::<Vec<_>>())
    }

    /// Returns the tables of some of the traced runs.
    pub fn tables_of<'a>(&'a self, traces: &[&'a Trace]) -> [Table<'a>; 2] {
        let table = |name, about, columns| Table { name, about, metadata: Vec::new(), columns };
        [
            table(
                "series",
                "One row for each point of each time series of each traced run.",
                self.series(traces),
            ),
            table(
                "phases",
                "One row for each phase of the congestion control of each traced visit, which \
                    lasts until the next one.",
                self.phases(traces),
            ),
        ]
    }

    fn series<'a>(&'a self, traces: &[&'a Trace]) -> Vec<Column<'a>> {
        let lines: Vec<Line<'a>> = traces
            .iter()
            .flat_map(|&trace| {
                let flows = trace.flows.iter().map(Source::Flow);
                let links = trace.links.iter().map(Source::Link);
                let sources = flows.chain(links).flat_map(|source| {
                    source.series().iter().map(move |(name, series)| (source, name, series))
                });
                sources.map(move |(source, name, series)| {
                    let (times, values) = parts(series, &self.blob).unwrap_or_default();
                    Line { trace, source, name, unit: &series.unit, times, values }
                })
            })
            .collect();
        let points: Vec<usize> = lines.iter().map(|line| line.times.len() / 8).collect();
        let identity =
            visit(TableBuilder::new(lines.iter()), |line| line.trace, |line| line.source.flow())
                .text("link", "Name of the link; null for a series of a flow.", |line| {
                    line.source.link()
                })
                .text("series", "Name of the series.", |line| Some(line.name))
                .text("unit", "Unit of the value.", |line| Some(line.unit));
        let mut columns = identity.repeated(&points);
        let mut add = |name: &str, unit, about: &'static str, blocks| {
            let (name, about) = (name.to_owned(), about.into());
            columns.push(Column { name, unit, about, rows: Rows::Blocks(blocks) });
        };
        let times = lines.iter().map(|line| Block::Double(line.times)).collect();
        add("time_s", "s", "Time since the start of the run.", times);
        let values = lines.iter().map(|line| Block::Single(line.values)).collect();
        add("value", "", "Value, exact to 24 bits.", values);
        columns
    }

    fn phases<'a>(&'a self, traces: &[&'a Trace]) -> Vec<Column<'a>> {
        let rows = traces.iter().flat_map(|&trace| {
            let flows = trace.flows.iter();
            flows.flat_map(move |flow| flow.phases.iter().map(move |phase| (trace, flow, phase)))
        });
        visit(TableBuilder::new(rows), |row| row.0, |row| Some(row.1))
            .text("phase", "Name of the phase.", |(.., phase)| Some(&phase.label))
            .float("time_s", "s", "Start of the phase since the start of the run.", |row| {
                Some(row.2.t_s)
            })
            .finish()
    }
}

/// A time series in the blob, and whose it is.
struct Line<'a> {
    trace: &'a Trace,
    source: Source<'a>,
    name: &'a str,
    unit: &'a str,
    times: &'a [u8],
    values: &'a [u8],
}

/// What a time series belongs to.
#[derive(Clone, Copy)]
enum Source<'a> {
    Flow(&'a FlowSeries),
    Link(&'a LinkSeries),
}

impl<'a> Source<'a> {
    fn series(self) -> &'a BTreeMap<String, SeriesRef> {
        match self {
            Self::Flow(flow) => &flow.series,
            Self::Link(link) => &link.series,
        }
    }

    fn flow(self) -> Option<&'a FlowSeries> {
        match self {
            Self::Flow(flow) => Some(flow),
            Self::Link(_) => None,
        }
    }

    fn link(self) -> Option<&'a str> {
        match self {
            Self::Flow(_) => None,
            Self::Link(link) => Some(&link.name),
        }
    }
}

/// Adds the columns that identify the run and the visit.
fn visit<'a, T: Copy>(
    table: TableBuilder<'a, T>,
    trace: impl Fn(T) -> &'a Trace,
    flow: impl Fn(T) -> Option<&'a FlowSeries>,
) -> TableBuilder<'a, T> {
    table
        .text("variant", "Name of the variant.", |row| Some(&trace(row).variant))
        .point(|row| &trace(row).point)
        .int("run", "", "Number of the run, from 0.", |row| Some(trace(row).run))
        .text("flow", "Name of the flow; null for a link.", |row| Some(&flow(row)?.name))
        .int("visit", "", "Number of the visit, from 1; null for a link.", |row| {
            Some(flow(row)?.visit)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_results::Values;
    use bentpipe_timeseries::{LinkSeries, RunSeries, Series, VisitSeries};
    use bentpipe_units::Time;
    use std::borrow::Cow;

    fn recording() -> Recording {
        let series = |name, n: u64| Series {
            name,
            unit: "bytes",
            points: (0..n).map(|i| (Time::from_millis(i), i as f64 + 0.5)).collect(),
            downsampled: false,
        };
        let run = RunSeries {
            flows: vec![VisitSeries {
                name: "main".to_owned(),
                visit: 2,
                start: Time::ZERO,
                series: vec![series("rtt", 5), series("cwnd", 3)],
                marks: Vec::new(),
                phases: vec![(Time::ZERO, "slow start"), (Time::from_secs(1), "recovery")],
            }],
            links: vec![LinkSeries {
                name: "access/forward".to_owned(),
                rate: None,
                queue_limit: None,
                series: vec![series("queue", 2)],
            }],
            paths: Vec::new(),
        };
        let mut recording = Recording::default();
        let key = |value: &str| [("loss".to_owned(), value.to_owned())].into_iter().collect();
        for (run_number, value) in ["0", "0.1 %"].into_iter().enumerate() {
            let offset = recording.blob.len();
            let mut blob = Vec::new();
            let number = run_number as u64;
            let mut trace = Trace::encode("cubic", &key(value), number, &run, &[], &mut blob);
            trace.shift(offset);
            recording.blob.extend(blob);
            recording.traces.push(trace);
        }
        recording
    }

    #[test]
    fn series_are_a_row_for_each_point_with_its_run_and_source() {
        let recording = recording();
        let [series, phases] = recording.tables();
        assert_eq!((series.len(), phases.len()), (20, 4));
        let values = |name: &str| series.column(name).unwrap().rows.clone().into_values();
        let text = |name: &str| match values(name) {
            Values::Text(values) => {
                values.into_iter().map(|value| value.map(Cow::into_owned)).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        let float = |name: &str| match values(name) {
            Values::Float(values) => values.iter().map(|value| value.unwrap()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let row = |i: usize| ["flow", "link", "series"].map(|name| text(name)[i].clone());
        let own = |texts: [Option<&str>; 3]| texts.map(|text| text.map(str::to_owned));
        assert_eq!(row(0), own([Some("main"), None, Some("cwnd")]));
        assert_eq!(row(3), own([Some("main"), None, Some("rtt")]));
        assert_eq!(row(18), own([None, Some("access/forward"), Some("queue")]));
        assert_eq!((float("time_s")[19], float("value")[19]), (0.001, 1.5));
        let loss = text("point.loss");
        assert_eq!((loss[9].as_deref(), loss[10].as_deref()), (Some("0"), Some("0.1 %")));
        assert_eq!(float("point.loss.number")[19], 0.001);
    }
}
