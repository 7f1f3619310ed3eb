//! The configuration of a connection.

mod connection_config;
mod headers;
mod loss_detection;
mod options;
mod settings;
mod stock;

pub use connection_config::ConnectionConfig;
pub use headers::{IP_HEADER, IP_UDP_HEADER, MIN_UDP_PAYLOAD, UDP_HEADER};
pub use loss_detection::{LossDetection, LossDetectionError, MAX_TIME_THRESHOLD, PacketThreshold};
pub use options::{EcnMode, Handshake, Http, ResumeVia};
pub use settings::{QuicSettings, SettingsError};
pub use stock::StockController;
