//! Time series of runs: one binary blob, and an index with the offset of each series.
//!
//! A series consists of `n` times as little-endian 64-bit floats (seconds since the start of the
//! run), then `n` values as 32-bit floats. It is padded so that every series starts at a multiple
//! of 8 and the page can read it without copying.

use crate::constellation::Route;
use bentpipe_results::Point;
use bentpipe_timeseries::{RunSeries, Series};
use bentpipe_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Time series of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// Name of the variant.
    pub variant: String,
    /// Value of each swept key.
    pub point: Point,
    /// Number of the run, from 0.
    pub run: u64,
    /// One entry for each visit of each flow.
    pub flows: Vec<FlowSeries>,
    /// One entry for each direction of each hop.
    pub links: Vec<LinkSeries>,
    /// Index of the run's constellation; absent for a path of hops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constellation: Option<usize>,
    /// Routes of the flows' data through a network, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// Time series of one visit of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSeries {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Start of the visit, in seconds since the start of the run.
    pub start_s: f64,
    /// Series by name.
    pub series: BTreeMap<String, SeriesRef>,
    /// Labelled points in time.
    pub marks: Vec<Mark>,
    /// Phases of the sender's congestion control. Each lasts until the next.
    #[serde(default)]
    pub phases: Vec<Mark>,
}

/// Time series of one direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSeries {
    /// `hop/forward` or `hop/return`.
    pub name: String,
    /// Rate of the link; `null` if it is not constant.
    pub rate_mbps: Option<f64>,
    /// Limit of the queue; `null` if it is not fixed in bytes.
    pub queue_limit_bytes: Option<u64>,
    /// Series by name.
    pub series: BTreeMap<String, SeriesRef>,
}

/// A labelled point in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Time in seconds since the start of the run.
    pub t_s: f64,
    /// Label in plots.
    pub label: String,
}

impl Mark {
    fn new(at: Time, label: &str) -> Self {
        Self { t_s: at.as_secs_f64(), label: label.to_owned() }
    }
}

/// Reference to a series in the blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRef {
    /// Offset of the first byte, a multiple of 8.
    pub offset: usize,
    /// Number of points.
    pub n: usize,
    /// Unit of the values.
    pub unit: String,
}

impl SeriesRef {
    /// Returns the offset behind the last byte.
    pub(crate) fn end(&self) -> usize {
        self.n.saturating_mul(POINT_BYTES).saturating_add(self.offset)
    }
}

/// Bytes of a point.
pub(crate) const POINT_BYTES: usize = 12;

impl Trace {
    /// Encodes the series of a run and appends them to `blob`.
    ///
    /// `names` are the names of the run's flows, in order.
    pub fn encode(
        variant: &str,
        point: &Point,
        run: u64,
        trace: &RunSeries,
        names: &[String],
        blob: &mut Vec<u8>,
    ) -> Self {
        let flows = trace.flows.iter().map(|flow| FlowSeries {
            name: flow.name.clone(),
            visit: flow.visit,
            start_s: flow.start.as_secs_f64(),
            series: append_all(&flow.series, blob),
            marks: flow.marks.iter().map(|(at, label)| Mark::new(*at, label)).collect(),
            phases: flow.phases.iter().map(|(at, label)| Mark::new(*at, label)).collect(),
        });
        let flows = flows.collect();
        let links = trace.links.iter().map(|link| LinkSeries {
            name: link.name.clone(),
            rate_mbps: link.rate.map(|rate| rate.as_mbps_f64()),
            queue_limit_bytes: link.queue_limit,
            series: append_all(&link.series, blob),
        });
        let links = links.collect();
        let paths = trace.paths.iter().map(|path| Route {
            flow: names.get(path.flow).cloned().unwrap_or_default(),
            t_s: path.at.as_secs_f64(),
            nodes: path.nodes.clone(),
        });
        let paths = paths.collect();
        Self {
            variant: variant.to_owned(),
            point: point.clone(),
            run,
            flows,
            links,
            constellation: None,
            routes: paths,
        }
    }

    /// Adds `offset`, a multiple of 8, to the offset of every series.
    pub fn shift(&mut self, offset: usize) {
        self.series_mut().for_each(|series| series.offset += offset);
    }

    /// Returns all series.
    pub(crate) fn series(&self) -> impl Iterator<Item = &SeriesRef> {
        let flows = self.flows.iter().flat_map(|flow| flow.series.values());
        flows.chain(self.links.iter().flat_map(|link| link.series.values()))
    }

    /// Returns all series.
    pub(crate) fn series_mut(&mut self) -> impl Iterator<Item = &mut SeriesRef> {
        let flows = self.flows.iter_mut().flat_map(|flow| flow.series.values_mut());
        flows.chain(self.links.iter_mut().flat_map(|link| link.series.values_mut()))
    }
}

fn append_all(series: &[Series], blob: &mut Vec<u8>) -> BTreeMap<String, SeriesRef> {
    let series = series.iter().filter(|series| !series.points.is_empty());
    series.map(|series| append(series, blob)).collect()
}

fn append(series: &Series, blob: &mut Vec<u8>) -> (String, SeriesRef) {
    let (n, offset) = (series.points.len(), blob.len());
    blob.reserve(n * POINT_BYTES + 8);
    for (time, _) in &series.points {
        blob.extend_from_slice(&time.as_secs_f64().to_le_bytes());
    }
    for (_, value) in &series.points {
        blob.extend_from_slice(&(*value as f32).to_le_bytes());
    }
    blob.resize(blob.len().next_multiple_of(8), 0);
    (series.name.to_owned(), SeriesRef { offset, n, unit: series.unit.to_owned() })
}

/// Returns the points of `series` as (seconds, value); empty if the reference exceeds `blob`.
pub fn points(series: &SeriesRef, blob: &[u8]) -> Vec<(f64, f32)> {
    let (times, values) = parts(series, blob).unwrap_or_default();
    let times =
        times.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    let values = values
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    times.zip(values).collect()
}

/// Returns the bytes of the times and of the values of `series`; `None` if the reference exceeds
/// `blob`.
pub(crate) fn parts<'a>(series: &SeriesRef, blob: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let times = part(blob, series.offset, series.n.checked_mul(8)?)?;
    let values = part(blob, series.offset + times.len(), series.n * 4)?;
    Some((times, values))
}

fn part(blob: &[u8], offset: usize, size: usize) -> Option<&[u8]> {
    blob.get(offset..offset.checked_add(size)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_timeseries::VisitSeries;
    use bentpipe_units::Time;

    #[test]
    fn decoded_series_equal_the_encoded_ones_and_start_at_multiples_of_eight() {
        let series = |name, n: u64| Series {
            name,
            unit: "B",
            points: (0..n).map(|i| (Time::from_millis(i), i as f64)).collect(),
            downsampled: false,
        };
        let flow = VisitSeries {
            name: "main".to_owned(),
            visit: 1,
            start: Time::ZERO,
            series: vec![series("cwnd", 3), series("rtt", 5), series("none", 0)],
            marks: Vec::new(),
            phases: Vec::new(),
        };
        let mut blob = Vec::new();
        let trace = RunSeries { flows: vec![flow], links: Vec::new(), paths: Vec::new() };
        let mut trace = Trace::encode("a", &Point::new(), 0, &trace, &[], &mut blob);
        let mut all = vec![0; 16];
        all.extend(&blob);
        trace.shift(16);
        assert_eq!(trace.flows[0].series.len(), 2, "an empty series is omitted");
        for (name, n) in [("cwnd", 3), ("rtt", 5)] {
            let series = &trace.flows[0].series[name];
            assert_eq!(series.offset % 8, 0);
            let last = points(series, &all).last().copied();
            assert_eq!(last, Some(((n - 1) as f64 / 1e3, (n - 1) as f32)));
        }
    }

    #[test]
    fn a_reference_past_the_end_has_no_points() {
        let outside = SeriesRef { offset: 8, n: usize::MAX / 4, unit: String::new() };
        assert!(points(&outside, &[0; 64]).is_empty());
    }
}
