//! Forwards requests to the upstream.

use super::fields::{self, Forwarding};
use super::response_body::ResponseBody;
use super::upload::{Fault, Progress, Upload};
use super::upstream::Upstream;
use bentpipe_units::Bytes as Size;
use http::header::{EXPECT, UPGRADE};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Time limit for a connection to the upstream. Our choice.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time that an unused connection is kept. Our choice: less than most servers keep theirs. A
/// connection that the upstream has closed is replaced.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Read buffer for a response, and so the largest size of its header, bytes. Our choice.
const BUFFER: usize = 64 * 1024;

/// Forwards requests to an upstream, over connections that it keeps.
#[derive(Debug)]
pub(crate) struct UpstreamClient {
    upstream: Upstream,
    client: Client<HttpsConnector<HttpConnector>, Upload>,
    slots: Arc<Semaphore>,
}

/// Client and circumstances of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestContext {
    pub client: IpAddr,
    pub version: Version,
    /// Whether the request is early data (0-RTT) of an incomplete handshake.
    pub early: bool,
    pub now: SystemTime,
}

impl UpstreamClient {
    /// Returns a client without connections.
    ///
    /// # Errors
    /// TLS cannot be configured. The reason, as text.
    pub fn new(upstream: Upstream) -> Result<Self, String> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME));
        let tls = upstream.trust.config(&[&rustls::version::TLS13, &rustls::version::TLS12]);
        let tls = tls.map_err(|error| error.to_string())?;
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(upstream.connections.min(64))
            .http1_max_buf_size(BUFFER)
            .build(connector.wrap_connector(tcp));
        let slots = Arc::new(Semaphore::new(upstream.connections.min(Semaphore::MAX_PERMITS)));
        Ok(Self { upstream, client, slots })
    }

    /// Returns the status of a request that cannot be forwarded, as far as its head shows.
    pub fn refusal(&self, request: &Request<()>) -> Option<StatusCode> {
        // No tunnels and no other protocols. TRACE would show the fields that are added here.
        if matches!(*request.method(), Method::CONNECT | Method::TRACE)
            || request.headers().contains_key(UPGRADE)
        {
            return Some(StatusCode::NOT_IMPLEMENTED);
        }
        let (Some(_), Ok(length)) = (fields::host(request), fields::length(request.headers()))
        else {
            return Some(StatusCode::BAD_REQUEST);
        };
        let limit = self.upstream.max_body.map_or(u64::MAX, Size::get);
        length.is_some_and(|length| length > limit).then_some(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Forwards a request and returns the upstream's response.
    ///
    /// # Errors
    /// The status of a response of the proxy itself: the upstream was not asked, or failed.
    pub async fn forward(
        &self,
        request: &Request<()>,
        mut upload: Upload,
        context: RequestContext,
    ) -> Result<(Response<()>, ResponseBody), StatusCode> {
        if let Some(status) = self.refusal(request) {
            return Err(status);
        }
        let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        if fields::max_forwards(request) == Some(0) || path == "*" {
            // The request is about the proxy itself (RFC 9110 §9.3.7).
            return Err(StatusCode::OK);
        }
        let host = fields::host(request).ok_or(StatusCode::BAD_REQUEST)?;
        let RequestContext { client, version, early, now } = context;
        let forwarding =
            Forwarding { client, version, host, upstream_host: self.upstream.host.clone(), early };
        let limit = Duration::from(self.upstream.answer_time);
        if !upload.set_limit(self.upstream.max_body.map_or(u64::MAX, Size::get)) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        upload.peek().await.map_err(fault_status)?;
        let slot = timeout(limit, self.slots.clone().acquire_owned()).await;
        let Ok(Ok(slot)) = slot else { return Err(StatusCode::SERVICE_UNAVAILABLE) };
        let progress = upload.progress();
        let uri = Uri::builder()
            .scheme(self.upstream.scheme.clone())
            .authority(self.upstream.authority.clone())
            .path_and_query(path)
            .build()
            .map_err(|_| StatusCode::BAD_REQUEST)?;
        let mut sent = Request::new(upload);
        *sent.method_mut() = request.method().clone();
        *sent.uri_mut() = uri;
        *sent.headers_mut() = fields::request(request, &forwarding);
        let (mut head, incoming) = self.respond(sent, &progress, limit).await?.into_parts();
        if head.status.is_informational() {
            // The proxy requested no other protocol.
            return Err(StatusCode::BAD_GATEWAY);
        }
        // A response to HEAD has the length of the content that GET would get.
        let known = *request.method() == Method::HEAD || incoming.size_hint().exact().is_some();
        fields::response(&mut head.headers, head.version, known, now);
        let mut response = Response::new(());
        (*response.status_mut(), *response.headers_mut()) = (head.status, head.headers);
        Ok((response, ResponseBody::new(incoming, limit, slot)))
    }

    /// Waits for the head of the response. The time limit does not run while the client is still
    /// sending.
    async fn respond(
        &self,
        request: Request<Upload>,
        progress: &Progress,
        limit: Duration,
    ) -> Result<Response<Incoming>, StatusCode> {
        let mut response = pin!(self.client.request(request));
        loop {
            let before = progress.taken();
            match timeout(limit, &mut response).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => {
                    let status =
                        progress.fault().map_or_else(|| error_status(&error), fault_status);
                    tracing::debug!(%error, source = ?error.source(), %status, "no response from \
                        the upstream");
                    return Err(status);
                }
                Err(_) if progress.is_waiting() || progress.taken() > before => {}
                Err(_) => return Err(StatusCode::GATEWAY_TIMEOUT),
            }
        }
    }
}

/// Returns whether the client waits for 100 (Continue) before it sends content (RFC 9110 §10.1.1).
pub(crate) fn expects_continue(headers: &HeaderMap) -> bool {
    headers
        .get(EXPECT)
        .is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Returns the announced length of a request's content over HTTP/3, if it is valid.
pub(crate) fn announced_length(headers: &HeaderMap) -> Option<u64> {
    fields::length(headers).unwrap_or_default()
}

/// Returns the status for invalid content from the client.
fn fault_status(fault: Fault) -> StatusCode {
    match fault {
        Fault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Fault::Stalled => StatusCode::REQUEST_TIMEOUT,
        Fault::Broken => StatusCode::BAD_REQUEST,
    }
}

/// Returns 504 if the upstream cannot be reached in time, and 502 for other errors.
fn error_status(error: &Error) -> StatusCode {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
        {
            return StatusCode::GATEWAY_TIMEOUT;
        }
        cause = error.source();
    }
    StatusCode::BAD_GATEWAY
}
