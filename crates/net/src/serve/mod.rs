//! The server, over HTTP/3, HTTP/2 and HTTP/1.1.
//!
//! A [`Server`] serves the files of a directory, or forwards requests to an
//! [`Upstream`](crate::proxy::Upstream). [`Limits`] bounds what clients may take from it.

mod accept;
mod access_log;
mod builder;
mod gate;
mod http3;
mod limits;
mod metrics;
mod origin;
mod outgoing;
mod request_log;
mod response;
mod server;
mod shared;
mod tcp;
mod tuning;
mod write_timeout;

pub use builder::{ServerBuilder, ServerError};
pub use limits::Limits;
pub use metrics::Metrics;
pub use server::Server;
