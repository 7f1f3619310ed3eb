//! Time series of links and flows, the same for the virtual and the real clock.
//!
//! [`LinkRecorder`] collects the packets of a link in bins and in series of bounded size, so that
//! its memory grows neither with the duration of a run nor with the number of packets. [`RunTrace`]
//! holds the series of a run.

mod capacity;
mod link;
mod rate;
mod series;

pub use link::{Drop, LinkRecorder};
pub use rate::rate_series;
pub use series::{FlowTrace, LinkTrace, PathTrace, RunTrace, Series};
