//! The source of responses.

use crate::http::Files;
use crate::proxy::UpstreamClient;

/// The source of responses.
#[derive(Debug)]
pub(super) enum Origin {
    /// Files below a directory. The content of requests is not read.
    Files(Files),
    /// Another server, to which requests are forwarded.
    Upstream(Box<UpstreamClient>),
}
