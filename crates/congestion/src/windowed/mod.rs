//! Extremes over sliding windows, with bounded memory: a maximum over rounds, and round trips over
//! time.

mod max;
mod rtt;

pub use max::WindowedMax;
pub use rtt::WindowedRtt;
