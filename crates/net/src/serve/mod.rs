//! The server, over HTTP/3, HTTP/2 and HTTP/1.1.
//!
//! A [`Server`] serves the files of a directory, or forwards requests to an
//! [`Upstream`](crate::proxy::Upstream). [`Limits`] bounds what clients may take from it.

mod accept;
mod access_log;
mod builder;
mod certificates;
mod client_stream;
mod delivery;
mod delivery_class;
mod error;
mod gate;
mod holdback;
mod http2_trailers;
mod http3;
mod http3_asker;
mod http3_content;
mod http3_websocket;
mod keys;
mod limits;
mod listen;
mod malformed;
mod metrics;
mod origin;
mod outgoing;
mod path_metrics;
mod priority;
mod request_log;
mod response;
mod server;
mod shared;
mod tcp;
mod tuning;
mod upstream_health;
mod workers;

pub use crate::admission::request_rate::{InvalidRequestRate, RequestRate};
pub use crate::forward_counts::ForwardCounts;
pub use access_log::LogField;
pub use builder::ServerBuilder;
pub use certificates::CertificateResolver;
pub use delivery::DeliveryMetrics;
pub use delivery_class::DeliveryClass;
pub use error::ServerError;
pub use holdback::{Group, Holdback};
pub use limits::{Limits, WantedLimits};
pub use metrics::Metrics;
pub use path_metrics::PathMetrics;
pub use server::{Finished, Server};
