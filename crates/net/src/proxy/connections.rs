//! Connections to one server of an upstream, over HTTP/1.1 or HTTP/2.

use super::dial::Dialer;
use super::http2::{ActiveStream, Http2Pool};
use super::send_error::SendError;
use super::upload::Upload;
use super::upstream::{Protocol, UpstreamServer};
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use std::time::Duration;

/// Time that an unused connection is kept. Our choice: less than most servers keep theirs. A
/// connection that the upstream has closed is replaced.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Read buffer for a response, and so the largest size of its header, bytes. Our choice.
const BUFFER: usize = 64 * 1024;

/// Connections to one server.
#[derive(Debug)]
pub(super) struct Connections {
    http1: Client<HttpsConnector<Dialer>, Upload>,
    /// Not for a server that is asked over HTTP/1.1 alone.
    http2: Option<Http2Pool>,
}

/// A request to one server.
#[derive(Debug)]
pub(super) struct ServerRequest {
    /// The request, whose version is that of HTTP to use.
    pub request: Request<Upload>,
    /// The server, with the host that TLS names.
    pub server: Uri,
    /// Whether its connection over HTTP/2 is kept. Over HTTP/1.1, the request says so itself.
    pub keep: bool,
}

impl Connections {
    /// Returns no connections so far. Of HTTP/1.1, `idle` unused ones are kept for each name.
    pub fn new(server: &UpstreamServer, tls: &ClientConfig, idle: usize) -> Self {
        let builder = || HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
        let dialer = || Dialer::new(server.clone());
        let http1 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(idle)
            .http1_max_buf_size(BUFFER)
            .build(builder().enable_http1().wrap_connector(dialer()));
        let http2 = (server.protocol != Protocol::Http1).then(|| {
            let connector = builder().enable_http2().wrap_connector(dialer());
            Http2Pool::new(connector, BUFFER, IDLE_TIME)
        });
        Self { http1, http2 }
    }

    /// Sends a request, and returns the response, with its place on a connection that it shares.
    ///
    /// # Errors
    /// The server cannot be reached, or does not respond.
    pub async fn send(
        &self,
        ServerRequest { request, server, keep }: ServerRequest,
    ) -> Result<(Response<Incoming>, Option<ActiveStream>), SendError> {
        match &self.http2 {
            Some(http2) if request.version() == Version::HTTP_2 => {
                let (response, stream) = http2.send(request, &server, keep).await?;
                Ok((response, Some(stream)))
            }
            _ => Ok((self.http1.request(request).await?, None)),
        }
    }
}
