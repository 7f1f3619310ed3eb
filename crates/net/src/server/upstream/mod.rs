//! A web server behind this one, asked over HTTP/1.1: what clients ask for goes there, and its
//! responses come back (RFC 9110 §3.7, a gateway).
//!
//! Connections to it are kept for further requests. Nothing is cached, trailers are dropped in both
//! directions.

mod fields;
mod relayed;
mod upload;

pub(super) use relayed::Relayed;
pub(super) use upload::{Piece, Upload};

use super::reply::{Content, StreamedResponse};
use crate::authority::host_and_port;
use crate::client::{ClientError, Trust};
use bentpipe_units::{Bytes as Size, Span};
use fields::About;
use http::header::{EXPECT, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version};
use http_body::Body;
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
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use upload::{Fault, Progress};

/// A connection to the upstream comes about within so long: our choice.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// An unused connection is kept for so long: our choice, less than most servers do. One that has
/// ended in between is found out, and another begun.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// What is read ahead of a response, and so the most that its header may be, bytes: our choice.
const BUFFER: usize = 64 * 1024;

/// Why a server cannot be put behind another.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpstreamError {
    /// The URL names none.
    #[error(
        "`{url}` cannot be put behind: {reason}; allowed: http://HOST[:PORT] or https://HOST[:PORT]"
    )]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The name to ask it for is none.
    #[error("`{0}` is no name of a host; allowed: HOST[:PORT]")]
    Host(String),
}

/// A web server to put behind this one, and how it is asked. The defaults are our choice.
#[derive(Debug, Clone)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    host: Option<HeaderValue>,
    trust: Trust,
    max_body: Option<Size>,
    answer_time: Span,
    connections: usize,
}

impl Upstream {
    /// The server at `url`: a scheme (http or https), a host, a port.
    ///
    /// # Errors
    /// A URL that says something else, or more.
    pub fn new(url: &str) -> Result<Self, UpstreamError> {
        let wrong = |reason| UpstreamError::Url { url: url.to_owned(), reason };
        let parts = url.parse::<Uri>().map_err(|_| wrong("it is no URL"))?.into_parts();
        let scheme =
            parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS);
        let scheme = scheme.ok_or_else(|| wrong("its scheme is neither http nor https"))?;
        let authority = parts.authority.ok_or_else(|| wrong("it names no host"))?;
        host_and_port(&authority).map_err(wrong)?;
        if parts.path_and_query.is_some_and(|path| path != "/") {
            return Err(wrong(
                "it holds a path, and those that clients ask for are passed on as they are",
            ));
        }
        Ok(Self {
            scheme,
            authority,
            host: None,
            trust: Trust::System,
            max_body: None,
            // Less than the minute after which a silent connection over QUIC ends, so that the
            // client hears of it.
            answer_time: Span::from_secs(50),
            connections: 512,
        })
    }

    /// Whether it is asked over TLS.
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Asks it for `host`, whatever host clients ask for.
    ///
    /// # Errors
    /// A name that is none.
    pub fn host(mut self, host: &str) -> Result<Self, UpstreamError> {
        let wrong = || UpstreamError::Host(host.to_owned());
        let authority: Authority = host.parse().map_err(|_| wrong())?;
        self.host = Some(HeaderValue::from_str(authority.as_str()).map_err(|_| wrong())?);
        if authority.as_str().contains('@') { Err(wrong()) } else { Ok(self) }
    }

    /// Whom to believe that an https upstream is who it says; without it, those for whom the
    /// system's certificates vouch.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Takes no more content with a request; without it, any amount is passed on.
    #[must_use]
    pub fn max_body(mut self, most: Size) -> Self {
        self.max_body = Some(most);
        self
    }

    /// The upstream takes no longer to answer, once it has the request, and is silent no longer
    /// within its response; 50 s.
    #[must_use]
    pub fn answer_time(mut self, time: Span) -> Self {
        self.answer_time = time;
        self
    }

    /// Requests under way at a time, each on a connection of its own; further ones wait. 512.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most;
        self
    }
}

/// An upstream with its connections.
#[derive(Debug)]
pub(crate) struct Relay {
    upstream: Upstream,
    client: Client<HttpsConnector<HttpConnector>, Upload>,
    places: Arc<Semaphore>,
}

/// Who asks, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext {
    pub client: IpAddr,
    pub version: Version,
    /// As early data of a handshake that is not complete (0-RTT).
    pub early: bool,
    pub now: SystemTime,
}

impl Relay {
    pub fn new(upstream: Upstream) -> Result<Self, ClientError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME));
        let tls = upstream.trust.config(&[&rustls::version::TLS13, &rustls::version::TLS12])?;
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(upstream.connections.min(64))
            .http1_max_buf_size(BUFFER)
            .build(connector.wrap_connector(tcp));
        let places = Arc::new(Semaphore::new(upstream.connections.min(Semaphore::MAX_PERMITS)));
        Ok(Self { upstream, client, places })
    }

    /// The status of what cannot be passed on, which the request's head shows.
    pub fn refusal(&self, request: &Request<()>) -> Option<StatusCode> {
        // Neither tunnels nor other protocols; TRACE would show what is added here.
        if matches!(*request.method(), Method::CONNECT | Method::TRACE)
            || request.headers().contains_key(UPGRADE)
        {
            return Some(StatusCode::NOT_IMPLEMENTED);
        }
        let (Some(_), Ok(length)) = (fields::host(request), fields::length(request.headers()))
        else {
            return Some(StatusCode::BAD_REQUEST);
        };
        let most = self.upstream.max_body.map_or(u64::MAX, Size::get);
        length.is_some_and(|length| length > most).then_some(StatusCode::PAYLOAD_TOO_LARGE)
    }

    /// Asks the upstream. What goes wrong is a response too.
    pub async fn forward(
        &self,
        request: &Request<()>,
        upload: Upload,
        asker: RequestContext,
    ) -> StreamedResponse {
        let asked = match self.refusal(request) {
            Some(status) => Err(status),
            None => self.ask(request, upload, asker).await,
        };
        asked.unwrap_or_else(|status| StreamedResponse::plain(status, asker.now))
    }

    async fn ask(
        &self,
        request: &Request<()>,
        mut upload: Upload,
        asker: RequestContext,
    ) -> Result<StreamedResponse, StatusCode> {
        let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        if fields::max_forwards(request) == Some(0) || path == "*" {
            // The question is what the server at hand can do (RFC 9110 §9.3.7).
            return Ok(StreamedResponse::plain(StatusCode::OK, asker.now));
        }
        let host = fields::host(request).ok_or(StatusCode::BAD_REQUEST)?;
        let RequestContext { client, version, early, now } = asker;
        let about =
            About { client, version, host, upstream_host: self.upstream.host.clone(), early };
        let patience = Duration::from(self.upstream.answer_time);
        if !upload.limit(self.upstream.max_body.map_or(u64::MAX, Size::get)) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        upload.begin().await.map_err(blame)?;
        let place = timeout(patience, self.places.clone().acquire_owned()).await;
        let Ok(Ok(place)) = place else { return Err(StatusCode::SERVICE_UNAVAILABLE) };
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
        *sent.headers_mut() = fields::request(request, &about);
        let (mut head, incoming) = self.answered(sent, &progress, patience).await?.into_parts();
        if head.status.is_informational() {
            // Nobody asked for another protocol.
            return Err(StatusCode::BAD_GATEWAY);
        }
        // To HEAD, the length is that of what GET would have got.
        let known = *request.method() == Method::HEAD || incoming.size_hint().exact().is_some();
        fields::response(&mut head.headers, head.version, known, now);
        let mut response = http::Response::new(());
        (*response.status_mut(), *response.headers_mut()) = (head.status, head.headers);
        Ok(StreamedResponse {
            head: response,
            content: Content::Upstream(Relayed::new(incoming, patience, place)),
        })
    }

    /// Waits for the response's head. A client that is still sending does not count as an upstream
    /// that is slow.
    async fn answered(
        &self,
        request: Request<Upload>,
        progress: &Progress,
        patience: Duration,
    ) -> Result<http::Response<hyper::body::Incoming>, StatusCode> {
        let mut answered = pin!(self.client.request(request));
        loop {
            let before = progress.taken();
            match timeout(patience, &mut answered).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => {
                    let status = progress.fault().map_or_else(|| reason(&error), blame);
                    tracing::debug!(%error, source = ?error.source(), %status, "no response of the \
                        upstream");
                    return Err(status);
                }
                Err(_) if progress.is_waiting() || progress.taken() > before => {}
                Err(_) => return Err(StatusCode::GATEWAY_TIMEOUT),
            }
        }
    }
}

/// Whether a request's sender waits for word before it sends content (RFC 9110 §10.1.1).
pub(super) fn expects_continue(headers: &HeaderMap) -> bool {
    headers
        .get(EXPECT)
        .is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// What HTTP/3 announces of a request's content, where that is to be believed.
pub(super) fn announced(headers: &HeaderMap) -> Option<u64> {
    fields::length(headers).unwrap_or_default()
}

/// The status for content that the client did not send as it should.
fn blame(fault: Fault) -> StatusCode {
    match fault {
        Fault::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Fault::Stalled => StatusCode::REQUEST_TIMEOUT,
        Fault::Broken => StatusCode::BAD_REQUEST,
    }
}

/// 504 where the upstream cannot be reached in time, 502 for everything else.
fn reason(error: &Error) -> StatusCode {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_scheme_a_host_and_a_port() {
        for url in ["http://localhost", "http://127.0.0.1:8080/", "https://[::1]:8443"] {
            assert!(Upstream::new(url).is_ok(), "{url}");
        }
        for (url, reason) in [
            ("localhost:8080", "its scheme"),
            ("ftp://h/", "its scheme"),
            ("/path", "its scheme"),
            ("http://user@h/", "a user's name"),
            ("http://h:65536", "its port is not 1 to 65535"),
            ("http://[h]:80", "it names no host"),
            ("http://h/path", "it holds a path"),
            ("http://h/?q", "it holds a path"),
            ("http://", "it is no URL"),
        ] {
            let error = Upstream::new(url).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(url), "{error}");
        }
        let upstream = Upstream::new("http://h").unwrap();
        assert!(upstream.clone().host("inside:80").is_ok());
        assert!(upstream.clone().host("u@inside").is_err() && upstream.host("a b").is_err());
    }
}
