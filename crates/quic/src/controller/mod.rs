//! The congestion controllers of `bentpipe-congestion` inside the QUIC stack.

mod adapter;
mod loss_log;
mod lost_packets;
mod packet_number_map;

pub use adapter::{ConnectionSignals, MakeController, SenderReports, controller_factory};
pub use loss_log::LossLog;
