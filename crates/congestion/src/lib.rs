//! Congestion control for any sender: controllers, slow starts, and Careful Resume (RFC 9959).
//!
//! The crate depends on no protocol, clock or socket. A sender records its packets in
//! [`SentPackets`], which turns acknowledgements and losses into [`Ack`] and [`Loss`], and passes
//! these and [`EcnCe`] to a [`Controller`]. Its [`SendControl`] limits the bytes in flight and the
//! sending rate.
//!
//! - [`controller`]: the trait, its events and the limits that it sets;
//! - [`sent_packets`], [`delivery_rate`]: packets in flight, RTT, rounds and delivery-rate samples;
//! - [`algorithms`]: the controllers;
//! - [`slow_start`]: slow starts in front of any controller;
//! - [`loss_filter`]: which losses a window-based controller learns of;
//! - [`resume`]: careful reuse of saved path parameters;
//! - [`path_change`]: announced path changes, and the layer that responds to them;
//! - [`window_cap`]: the layer that limits the window;
//! - [`catalogue`]: every component by its name, with its [`parameters`];
//! - [`config`], [`factory`]: a choice of components, and the factory made from it;
//! - [`metrics`], [`pacing`]: metrics of a sender, and its pacing rate;
//! - [`controller_state`]: a controller's own variables, for series and traces;
//! - [`send_limits`]: what limited a sender, over time;
//! - [`windowed`]: extremes over sliding windows.

pub mod algorithms;
pub mod catalogue;
mod chance;
pub mod config;
pub mod controller;
pub mod controller_state;
pub mod delivery_rate;
pub mod factory;
mod limited_range;
pub mod loss_filter;
pub mod metrics;
pub mod pacing;
pub mod parameters;
pub mod path_change;
pub mod resume;
mod round_trips;
pub mod send_limits;
mod sender_log;
pub mod sent_packets;
pub mod slow_start;
#[cfg(test)]
mod testing;
pub mod window_cap;
pub mod windowed;

pub use crate::config::{
    CongestionConfig, ControllerName, LossFilterName, ResumeName, SlowStartName,
};
pub use crate::controller::{
    Ack, ChangeProbe, Controller, ControllerConfig, EcnCe, Loss, PathChange, RateSample, Restart,
    SendControl, SentPacket, minimum_window,
};
pub use crate::controller_state::{StateField, StateSeries};
pub use crate::factory::{ControllerFactory, FastStart};
pub use crate::metrics::{NumberSeries, SenderMetrics, SenderSeries, SenderStats};
pub use crate::parameters::{Parameter, ParameterError, ParameterValues};
pub use crate::path_change::{
    PathChangeFeed, PathChangeLayer, PathChangeNotice, PathChangeResponse,
};
pub use crate::resume::{CarefulResume, ResumeHandle, ResumeMode, SavedParameters};
pub use crate::send_limits::{SendLimit, SendLimits};
pub use crate::sent_packets::SentPackets;
pub use crate::slow_start::{Progress, SlowStart, StartGuard, StartSlot, WithSlowStart};
/// Traces of connections, for the types in this crate's API.
pub use bentpipe_qlog as qlog;
