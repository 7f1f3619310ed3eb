//! Time series of runs: one binary blob, and an index that says where in it each series lies.
//!
//! A series is `n` times as little-endian 64-bit floats (seconds since the run began), then `n`
//! values as 32-bit floats, padded so that every series begins at a multiple of 8: a page reads
//! them without copying.

use crate::constellation::{ConstellationView, Route};
use crate::czml;
use crate::downsample;
use bentpipe_recorder::{RunTrace, Series};
use bentpipe_results::Point;
use bentpipe_units::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The series of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// The variant's name.
    pub variant: String,
    /// Where in the sweep.
    pub point: Point,
    /// Number of the run.
    pub run: u64,
    /// One entry for each visit of each flow.
    pub flows: Vec<FlowSeries>,
    /// One entry for each direction of each hop.
    pub links: Vec<LinkSeries>,
    /// What stands above the run, by its place among the constellations; none for a path of hops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constellation: Option<usize>,
    /// The routes of the flows' data through a network, in the order of their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// The time series of several runs, and what stands above them.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// One entry for each traced run.
    pub traces: Vec<Trace>,
    /// Skies that traces refer to.
    pub constellations: Vec<ConstellationView>,
    /// What both refer to.
    pub blob: Vec<u8>,
    /// When the first traced run ended, where it is known; without it, the last of its routes is its
    /// end.
    pub first_end: Option<Time>,
}

impl Recording {
    /// The constellation and the routes of the first traced run as CZML, where it has a constellation.
    pub fn czml(&self, name: &str) -> Option<String> {
        let trace = self.traces.first()?;
        let constellation = self.constellations.get(trace.constellation?)?;
        let last = trace.routes.iter().map(|route| route.t_s).fold(0.0, f64::max);
        let end = self.first_end.map_or(Span::from_secs_f64(last), |end| end.since(Time::ZERO));
        Some(czml::document(name, constellation, &trace.routes, end, &self.blob))
    }
}

/// The series of one visit of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSeries {
    /// The flow's name.
    pub name: String,
    /// Which connection of the flow.
    pub visit: usize,
    /// When it began.
    pub start_s: f64,
    /// Its series by name.
    pub series: BTreeMap<String, SeriesRef>,
    /// What happened at a point in time.
    pub marks: Vec<Mark>,
    /// What the sender's congestion control was doing, each from that time until the next.
    #[serde(default)]
    pub phases: Vec<Mark>,
}

/// The series of one direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSeries {
    /// `hop/forward` or `hop/return`.
    pub name: String,
    /// Its rate, where that is constant.
    pub rate_mbps: Option<f64>,
    /// What its queue holds, where that is counted in bytes.
    pub queue_limit_bytes: Option<u64>,
    /// Its series by name.
    pub series: BTreeMap<String, SeriesRef>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// When, since the run began.
    pub t_s: f64,
    /// What.
    pub label: String,
}

impl Mark {
    fn new(at: Time, label: &str) -> Self {
        Self { t_s: at.as_secs_f64(), label: label.to_owned() }
    }
}

/// Where in the blob a series lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRef {
    /// First byte; a multiple of 8.
    pub offset: usize,
    /// How many points.
    pub n: usize,
    /// Unit of the values.
    pub unit: String,
}

impl Trace {
    /// The series of a run, appended to `blob`.
    ///
    /// `names` are the run's flows, in order; `most` is what each series may keep of its points.
    pub fn encode(
        variant: &str,
        point: &Point,
        run: u64,
        trace: &RunTrace,
        names: &[String],
        most: usize,
        blob: &mut Vec<u8>,
    ) -> Self {
        let flows = trace.flows.iter().map(|flow| FlowSeries {
            name: flow.name.clone(),
            visit: flow.visit,
            start_s: flow.start.as_secs_f64(),
            series: append_all(&flow.series, most, blob),
            marks: flow.marks.iter().map(|(at, label)| Mark::new(*at, label)).collect(),
            phases: flow.phases.iter().map(|(at, label)| Mark::new(*at, label)).collect(),
        });
        let flows = flows.collect();
        let links = trace.links.iter().map(|link| LinkSeries {
            name: link.name.clone(),
            rate_mbps: link.rate.map(|rate| rate.as_mbps_f64()),
            queue_limit_bytes: link.queue_limit,
            series: append_all(&link.series, most, blob),
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

    /// Moves every series by `offset` bytes, which is a multiple of 8.
    pub fn shift(&mut self, offset: usize) {
        let flows = self.flows.iter_mut().flat_map(|flow| flow.series.values_mut());
        let links = self.links.iter_mut().flat_map(|link| link.series.values_mut());
        flows.chain(links).for_each(|series| series.offset += offset);
    }
}

fn append_all(series: &[Series], most: usize, blob: &mut Vec<u8>) -> BTreeMap<String, SeriesRef> {
    series
        .iter()
        .filter(|series| !series.points.is_empty())
        .map(|series| append(series, most, blob))
        .collect()
}

fn append(series: &Series, most: usize, blob: &mut Vec<u8>) -> (String, SeriesRef) {
    let points = downsample::downsample(series, most);
    let n = points.len();
    let offset = blob.len();
    blob.extend(points.iter().flat_map(|(time, _)| time.as_secs_f64().to_le_bytes()));
    blob.extend(points.iter().flat_map(|(_, value)| (*value as f32).to_le_bytes()));
    blob.resize(blob.len().next_multiple_of(8), 0);
    (series.name.to_owned(), SeriesRef { offset, n, unit: series.unit.to_owned() })
}

/// The points of `series` as (seconds, value); empty where it does not lie in `blob`.
pub fn points(series: &SeriesRef, blob: &[u8]) -> Vec<(f64, f32)> {
    let Some(times) = series.n.checked_mul(8).and_then(|size| part(blob, series.offset, size))
    else {
        return Vec::new();
    };
    let Some(values) = part(blob, series.offset + times.len(), series.n * 4) else {
        return Vec::new();
    };
    let times =
        times.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    let values = values
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap_or_default()));
    times.zip(values).collect()
}

fn part(blob: &[u8], offset: usize, size: usize) -> Option<&[u8]> {
    blob.get(offset..offset.checked_add(size)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_recorder::FlowTrace;
    use bentpipe_units::Time;

    #[test]
    fn series_come_back_from_the_blob_and_begin_at_multiples_of_eight() {
        let series = |name, n: u64| Series {
            name,
            unit: "B",
            points: (0..n).map(|i| (Time::from_millis(i), i as f64)).collect(),
        };
        let flow = FlowTrace {
            name: "main".to_owned(),
            visit: 1,
            start: Time::ZERO,
            series: vec![series("cwnd", 3), series("rtt", 5), series("none", 0)],
            marks: Vec::new(),
            phases: Vec::new(),
        };
        let mut blob = Vec::new();
        let trace = RunTrace { flows: vec![flow], links: Vec::new(), paths: Vec::new() };
        let mut trace = Trace::encode("a", &Point::new(), 0, &trace, &[], usize::MAX, &mut blob);
        let mut all = vec![0; 16];
        all.extend(&blob);
        trace.shift(16);
        assert_eq!(trace.flows[0].series.len(), 2, "an empty series is left out");
        for (name, n) in [("cwnd", 3), ("rtt", 5)] {
            let series = &trace.flows[0].series[name];
            assert_eq!(series.offset % 8, 0);
            let last = points(series, &all).last().copied();
            assert_eq!(last, Some(((n - 1) as f64 / 1e3, (n - 1) as f32)));
        }
    }

    #[test]
    fn a_reference_past_the_end_is_no_series() {
        let outside = SeriesRef { offset: 8, n: usize::MAX / 4, unit: String::new() };
        assert!(points(&outside, &[0; 64]).is_empty());
    }
}
