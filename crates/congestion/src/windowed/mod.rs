//! Extremes over sliding windows with bounded memory: a maximum over rounds, and RTTs over time.

mod max;
mod rtt;

pub use max::WindowedMax;
pub(crate) use rtt::FRAMES;
pub use rtt::WindowedRtt;
