//! Time series of a run.

use crate::Points;
use bentpipe_units::{Rate, Time};

/// Time series of one run.
#[derive(Debug, Default)]
pub struct RunSeries {
    /// One entry per measured visit.
    pub flows: Vec<VisitSeries>,
    /// One entry per link.
    pub links: Vec<LinkSeries>,
    /// Routes of the flows' data through a mesh; empty for a path of hops.
    pub paths: Vec<RouteChange>,
}

/// Time series of one visit.
#[derive(Debug)]
pub struct VisitSeries {
    /// Name of the flow.
    pub name: String,
    /// Number of the visit, from 1.
    pub visit: usize,
    /// Time of the client's first packet.
    pub start: Time,
    /// The series.
    pub series: Vec<Series>,
    /// Labelled points in time.
    pub marks: Vec<(Time, String)>,
    /// Phases of the sender's congestion control, with their start times.
    pub phases: Vec<(Time, &'static str)>,
}

/// Time series of one link.
#[derive(Debug)]
pub struct LinkSeries {
    /// Name of the link. A suffix `#N` marks the capacity of terminal N of a shared link.
    pub name: String,
    /// Rate of the link, if constant.
    pub rate: Option<Rate>,
    /// Limit of the queue in bytes, if fixed.
    pub queue_limit: Option<u64>,
    /// The series.
    pub series: Vec<Series>,
}

/// Route of one flow's data through a mesh, valid until the flow's next entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteChange {
    /// Index of the flow.
    pub flow: usize,
    /// Start of validity.
    pub at: Time,
    /// Nodes from the sender of the data to its receiver; empty without a route. Satellites have
    /// the first indices, stations the following ones.
    pub nodes: Vec<u32>,
}

/// A time series of one quantity.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name of the quantity.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Times since the start of the run, and values.
    pub points: Vec<(Time, f64)>,
    /// True if these are not all points that were recorded.
    pub downsampled: bool,
}

impl Series {
    /// Creates the series of a quantity from its points.
    pub fn new(name: &'static str, unit: &'static str, points: Points) -> Self {
        let Points { points, downsampled } = points;
        Self { name, unit, points, downsampled }
    }
}
