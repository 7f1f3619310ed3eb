//! Time series of a run, as both clocks report them.

use bentpipe_units::{Rate, Time};

/// Time series of one run.
#[derive(Debug, Default)]
pub struct RunTrace {
    /// One entry per measured visit.
    pub flows: Vec<FlowTrace>,
    /// One entry per link.
    pub links: Vec<LinkTrace>,
    /// In a mesh, the routes of the flows' data.
    pub paths: Vec<PathTrace>,
}

/// Time series of one visit.
#[derive(Debug)]
pub struct FlowTrace {
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
    /// Phases of the sender's congestion control, each from that time on.
    pub phases: Vec<(Time, &'static str)>,
}

/// Time series of one link.
#[derive(Debug)]
pub struct LinkTrace {
    /// Name of the link. With `#terminal`, the capacity of one terminal of a shared link.
    pub name: String,
    /// Its rate, if constant.
    pub rate: Option<Rate>,
    /// Limit of its queue in bytes, if fixed.
    pub queue_limit: Option<u64>,
    /// The series.
    pub series: Vec<Series>,
}

/// Route of one flow's data through a mesh, valid until the flow's next entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTrace {
    /// Index of the flow.
    pub flow: usize,
    /// Start of validity.
    pub at: Time,
    /// Indices of the nodes from the data's sender to its receiver, satellites first, stations
    /// after them; empty without a route.
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
}
