//! Forwarding of requests to a web server over HTTP/1.1 or HTTP/2: a gateway (RFC 9110 §3.7).
//!
//! The upstream is one server or several equal ones, whose health is checked.
//! Connections to the [`Upstream`] are kept for further requests. Nothing is cached. Trailers of
//! requests are passed on, and those of responses to clients of HTTP/3 that accept them.
//! [`Server::proxy`](crate::serve::Server::proxy) serves HTTP/3, HTTP/2 and HTTP/1.1 in front of
//! it.

mod client;
mod connections;
mod dial;
mod fields;
mod http2;
mod outgoing;
mod pace;
mod per_thread;
mod pool;
mod probe;
mod proxy_protocol;
mod response_body;
mod send_error;
mod tried;
mod upload;
mod upstream;
mod websocket;

pub use pool::UpstreamCounts;
pub use probe::{Probe, ProbeAnswer};
pub use upstream::{Upstream, UpstreamError};

pub(crate) use client::{
    Forwarded, RequestContext, UpstreamClient, announced_length, expects_continue,
};
pub(crate) use fields::{host, is_grpc};
pub(crate) use response_body::ResponseBody;
pub(crate) use upload::{Piece, Upload};
pub(crate) use websocket::{BUFFER, IdleTimer, UpstreamSide, WebSocket, asks_for_websocket};
