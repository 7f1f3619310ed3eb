//! The source of responses.

use crate::http::Root;
use crate::proxy::UpstreamClient;

/// The source of responses.
#[derive(Debug)]
pub(super) enum Origin {
    /// Files below a directory. The content of requests is not read.
    Files(Root),
    /// Another server, to which requests are forwarded.
    Upstream(Box<UpstreamClient>),
}
