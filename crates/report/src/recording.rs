//! The time series and constellations of several runs.

use crate::constellation::{self, ConstellationView, TracedNetwork};
use crate::czml;
use crate::traces::{SeriesRef, Trace};
use bentpipe_orbit::OrbitError;
use bentpipe_units::{Span, Time};

/// Time series of several runs, with the constellations that they refer to.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// One entry for each run with time series.
    pub traces: Vec<Trace>,
    /// Constellations of the runs.
    pub constellations: Vec<ConstellationView>,
    /// Binary data that traces and constellations refer to.
    pub blob: Vec<u8>,
    /// End of the first run with time series, if known; by default, the time of its last route.
    pub first_end: Option<Time>,
}

impl Recording {
    /// Returns the bytes that the binary data has to have for what traces and constellations refer
    /// to. With fewer, it is damaged.
    pub fn needed_bytes(&self) -> usize {
        let flows = self.traces.iter().flat_map(|trace| &trace.flows).map(|flow| &flow.series);
        let links = self.traces.iter().flat_map(|trace| &trace.links).map(|link| &link.series);
        let series = flows.chain(links).flat_map(|series| series.values()).map(SeriesRef::end);
        let positions = self.constellations.iter().map(|view| view.positions().end);
        series.chain(positions).max().unwrap_or_default()
    }

    /// Returns the constellation and the routes of the first run as CZML; `None` if that run has
    /// no constellation.
    pub fn czml(&self, name: &str) -> Option<String> {
        let trace = self.traces.first()?;
        let constellation = self.constellations.get(trace.constellation?)?;
        let last = trace.routes.iter().map(|route| route.t_s).fold(0.0, f64::max);
        let end = self.first_end.map_or(Span::from_secs_f64(last), |end| end.since(Time::ZERO));
        Some(czml::document(name, constellation, &trace.routes, end, &self.blob))
    }
}

/// Creates the distinct constellations of runs, and appends their positions to `blob`.
///
/// `runs` holds each run's series, and its network if the path has an orbit. Runs over the same
/// network that start at the same time share a constellation. Sets [`Trace::constellation`].
///
/// # Errors
/// Returns an error if a satellite cannot be propagated to the end of a run.
pub fn constellations(
    runs: &mut [(Trace, Option<TracedNetwork>)],
    blob: &mut Vec<u8>,
) -> Result<Vec<ConstellationView>, OrbitError> {
    let networks = runs.iter().map(|(_, network)| network.as_ref());
    let (views, indices) = constellation::distinct(networks, blob)?;
    for ((trace, _), index) in runs.iter_mut().zip(indices) {
        trace.constellation = index;
    }
    Ok(views)
}
