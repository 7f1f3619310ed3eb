//! Forwards requests to the upstream.

use super::dial::Dialer;
use super::fields::{self, Forwarding};
use super::pace::Pace;
use super::pool::{ActiveRequest, Member, Pool, Slot, UpstreamCounts};
use super::response_body::ResponseBody;
use super::upload::{Fault, Upload};
use super::upstream::{HealthCheck, Upstream, UpstreamServer};
use super::websocket::{Handshake, WebSocket, asks_for_websocket};
use crate::admission::activity::Activity;
use crate::admission::client::CLIENT_SHARE;
use crate::admission::slots::{
    ClientSlot, STALLED, SlotLimits, SlotRequest, Slots, WAITING, memory_of,
};
use crate::logging::Level;
use bentpipe_units::Bytes as Size;
use futures_util::future::join_all;
use http::header::{ALT_SVC, CONNECTION, EXPECT, HOST, HeaderValue, TRANSFER_ENCODING, UPGRADE};
use http::response::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::error::Error as _;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep, timeout};

/// Time that an unused connection is kept. Our choice: less than most servers keep theirs. A
/// connection that the upstream has closed is replaced.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Read buffer for a response, and so the largest size of its header, bytes. Our choice.
const BUFFER: usize = 64 * 1024;

/// Servers that get one request, one after the other. Our choice.
const MAX_ATTEMPTS: usize = 3;
/// Longest time of a health check. Our choice.
pub(super) const CHECK_TIME: Duration = Duration::from_secs(5);

/// Requests that one client may have at an upstream at least, if that is at most half of what the
/// upstream takes. Our choice: those of one connection.
const CLIENT_REQUESTS: usize = 100;

/// Bytes of a request's content that are read before the upstream is asked. Our choice: what one
/// RTT over a slow uplink brings.
const BEGINNING: usize = 32 * 1024;
/// Memory for the beginnings of content, bytes. Our choice: two thousand requests at a time, an
/// eighth of them for one client.
const BEGINNINGS: u64 = 64 * 1024 * 1024;

/// Returns how many of `connections` requests at a time one client may have, unless it is set.
fn per_client(connections: usize) -> usize {
    (connections / CLIENT_SHARE).max(CLIENT_REQUESTS).min(connections / 2).max(1)
}

/// Forwards requests to an upstream, over connections that it keeps.
#[derive(Debug)]
pub(crate) struct UpstreamClient {
    pub(super) upstream: Upstream,
    pub(super) pool: Pool,
    /// Connections to each server of the pool.
    pub(super) clients: Vec<Client<HttpsConnector<Dialer>, Upload>>,
    /// Places among the requests of the upstream.
    places: Slots,
    /// Memory for the beginnings of content, in bytes.
    beginnings: Slots,
}

/// What the upstream responded.
#[derive(Debug)]
pub(crate) enum Forwarded {
    /// A response with its content.
    Response(Response<()>, ResponseBody),
    /// It agrees to a WebSocket. Clients ask for one over HTTP/1.1 or HTTP/2.
    WebSocket(Response<()>, WebSocket),
}

/// Why a server did not respond.
#[derive(Debug, Clone, Copy)]
struct Failure {
    status: StatusCode,
    /// It accepted no connection, so it has not seen the request.
    refused: bool,
    /// Another server may be asked: it is this server's fault, and did not take long.
    another: bool,
}

/// Client and circumstances of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub client: IpAddr,
    /// Whether the request waits for its client.
    pub activity: Arc<Activity>,
    pub version: Version,
    /// Whether the request is early data (0-RTT) of an incomplete handshake.
    pub early: bool,
    /// Whether the requested host is one of a few, for which connections are kept. One that a
    /// wildcard stands for is not.
    pub named: bool,
    pub now: SystemTime,
}

impl UpstreamClient {
    /// Returns a client without connections.
    ///
    /// # Errors
    /// TLS cannot be configured. The reason, as text.
    pub fn new(upstream: Upstream, counts: Arc<UpstreamCounts>) -> Result<Self, String> {
        let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
        let tls = match &upstream.beside {
            Some(known) => upstream.trust.config_knowing(&versions, known.clone()),
            None => upstream.trust.config(&versions),
        };
        let tls = tls.map_err(|error| error.to_string())?;
        let client = |server: &UpstreamServer| {
            let connector = HttpsConnectorBuilder::new()
                .with_tls_config(tls.clone())
                .https_or_http()
                .enable_http1();
            Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE_TIME)
                .pool_max_idle_per_host(upstream.idle_connections())
                .http1_max_buf_size(BUFFER)
                .build(connector.wrap_connector(Dialer::new(server.clone())))
        };
        let clients = upstream.servers.iter().map(client).collect();
        let slots = |all: u64, per_client: u64| {
            Slots::new(SlotLimits { all, per_client, waiting: WAITING, stalled: STALLED })
        };
        let connections = upstream.connections;
        let of_client = upstream.per_client.unwrap_or_else(|| per_client(connections));
        let places = slots(connections as u64, of_client as u64);
        let beginnings = slots(BEGINNINGS, BEGINNINGS / CLIENT_SHARE as u64);
        let pool = Pool::new(&upstream.servers, counts);
        Ok(Self { upstream, pool, clients, places, beginnings })
    }

    /// Reports servers that are down, and up again, from now on.
    pub fn report_to(&self, report: impl Fn(Level, &dyn fmt::Display) + Send + Sync + 'static) {
        self.pool.report_to(report);
    }

    /// Runs health checks, if there are any, until the future is dropped.
    pub async fn check_health(&self) {
        let Some(check) = &self.upstream.health_check else { return };
        join_all(self.pool.members().iter().map(|member| async move {
            loop {
                let healthy = self.is_healthy(member, check).await;
                self.pool.checked(member, healthy, Instant::now());
                sleep(check.interval.into()).await;
            }
        }))
        .await;
    }

    async fn is_healthy(&self, member: &Member, check: &HealthCheck) -> bool {
        let (server, Some(client)) = (&member.server, self.clients.get(member.index)) else {
            return false;
        };
        let uri = Uri::builder()
            .scheme(server.scheme.clone())
            .authority(server.authority.clone())
            .path_and_query(check.path.clone())
            .build();
        let Ok(uri) = uri else { return false };
        let mut request = Request::new(Upload::empty());
        *request.uri_mut() = uri;
        if let Some(host) = &self.upstream.host {
            request.headers_mut().insert(HOST, host.clone());
        }
        // The content is dropped unread, which closes the connection unless it has arrived.
        let response = timeout(CHECK_TIME, client.request(request)).await;
        response.is_ok_and(|response| {
            response.is_ok_and(|response| response.status() < StatusCode::BAD_REQUEST)
        })
    }

    /// Returns the status of a request that cannot be forwarded, as far as its head shows.
    pub fn refusal(&self, request: &Request<()>) -> Option<StatusCode> {
        // No tunnels and no other protocols. TRACE would show the fields that are added here.
        let other = matches!(*request.method(), Method::CONNECT | Method::TRACE)
            || request.headers().contains_key(UPGRADE);
        if other && !asks_for_websocket(request) {
            return Some(StatusCode::NOT_IMPLEMENTED);
        }
        if fields::has_other_coding(request.headers()) {
            // RFC 9112 §6.1.
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
    ) -> Result<Forwarded, StatusCode> {
        if let Some(status) = self.refusal(request) {
            return Err(status);
        }
        let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        if fields::max_forwards(request) == Some(0) || path == "*" {
            // The request is about the proxy itself (RFC 9110 §9.3.7).
            return Err(StatusCode::OK);
        }
        let host = fields::host(request).ok_or(StatusCode::BAD_REQUEST)?;
        let RequestContext { client, activity, version, early, named, now } = context;
        let beside = self.upstream.beside.is_some();
        let name = beside.then(|| host.clone());
        let forwarding = Forwarding {
            client,
            version,
            host,
            upstream_host: self.upstream.host.clone(),
            early,
            beside,
        };
        let limit = Duration::from(self.upstream.answer_time);
        if !upload.set_limit(self.upstream.max_body.map_or(u64::MAX, Size::get)) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let wanted = SlotRequest {
            address: client,
            weight: 1,
            waiting: memory_of(request.headers()),
            activity: activity.clone(),
        };
        upload.set_pace(Pace::new(self.upstream.min_upload_rate, activity));
        // Whoever sends nothing, or little at a time, keeps nobody from the upstream.
        let beginning = self.read_beginning(&mut upload, &wanted, limit).await?;
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        let place = self.places.slot(&wanted, limit).await.ok_or(busy)?;
        drop(beginning);
        let handshake = Handshake::of(request);
        let mut headers = fields::request(request, &forwarding);
        match &handshake {
            Some(handshake) => handshake.ask(&mut headers),
            // Unused connections are kept for each name, of which clients could ask for many.
            None if beside && !named => {
                headers.append(CONNECTION, HeaderValue::from_static("close"));
            }
            None => {}
        }
        if upload.length().is_none() {
            // The library would send GET and HEAD without their content.
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        // A stream of HTTP/2 asks with CONNECT, and HTTP/1.1 with GET.
        let method = if handshake.is_some() { &Method::GET } else { request.method() };
        let outgoing = OutgoingHead { method, path, headers, name };
        let (mut response, active) = self.ask_servers(outgoing, upload, limit).await?;
        let slot = Slot::new(place, active);
        if let Some(handshake) = handshake {
            if handshake.is_agreed(&response) {
                let upgrade = hyper::upgrade::on(&mut response);
                let mut head = response_head(response.into_parts().0, (false, beside), now);
                handshake.agree(&mut head);
                return Ok(Forwarded::WebSocket(head, WebSocket::new(upgrade, slot)));
            }
            if let Some(status) = handshake.refusal(response.status()) {
                return Err(status);
            }
        }
        let (head, incoming) = response.into_parts();
        // The proxy requested no other protocol, and no transfer coding (RFC 9110 §10.1.4).
        if head.status.is_informational() || fields::has_other_coding(&head.headers) {
            return Err(StatusCode::BAD_GATEWAY);
        }
        // A response to HEAD has the length of the content that GET would get.
        let known = *request.method() == Method::HEAD || incoming.size_hint().exact().is_some();
        let head = response_head(head, (known, beside), now);
        Ok(Forwarded::Response(head, ResponseBody::new(incoming, limit, slot)))
    }

    /// Reads the beginning of the content, as `wanted` says for whom. Returns the memory for it.
    async fn read_beginning(
        &self,
        upload: &mut Upload,
        wanted: &SlotRequest,
        limit: Duration,
    ) -> Result<Option<ClientSlot>, StatusCode> {
        if upload.has_ended() {
            return Ok(None);
        }
        let weight = upload.length().unwrap_or(u64::MAX).clamp(1, BEGINNING as u64);
        let memory = SlotRequest { weight, ..wanted.clone() };
        let memory = self.beginnings.slot(&memory, limit).await;
        let memory = memory.ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
        upload.buffer(BEGINNING).await.map_err(fault_status)?;
        Ok(Some(memory))
    }

    /// Sends a request to one server, and to others if that fails and nothing is lost by it: the
    /// request has no content, and is idempotent (RFC 9110 §9.2.2) or no server has seen it.
    async fn ask_servers(
        &self,
        outgoing: OutgoingHead<'_>,
        upload: Upload,
        limit: Duration,
    ) -> Result<(Response<Incoming>, ActiveRequest), StatusCode> {
        let (again, mut upload) = (upload.is_empty(), Some(upload));
        let (mut tried, mut status) = (Vec::new(), StatusCode::BAD_GATEWAY);
        while tried.len() < MAX_ATTEMPTS {
            let Some(content) = upload.take() else { break };
            let Some(active) = self.pool.select(&tried, Instant::now()) else { break };
            if !tried.is_empty() {
                self.pool.counts.retries.fetch_add(1, Relaxed);
            }
            let member = active.member().clone();
            let request = outgoing.to(&member.server, content)?;
            let Some(client) = self.clients.get(member.index) else { break };
            let failure = match respond(client, request, limit).await {
                Ok(response) => {
                    self.pool.responded(&member, Instant::now());
                    return Ok((response, active));
                }
                Err(failure) => failure,
            };
            status = failure.status;
            if failure.another {
                self.pool.counts.failures.fetch_add(1, Relaxed);
            }
            if failure.refused {
                self.pool.refused(&member, Instant::now());
            }
            let unseen = failure.refused || outgoing.method.is_idempotent();
            if failure.another && again && unseen {
                upload = Some(Upload::empty());
            }
            tried.push(member);
        }
        Err(status)
    }
}

/// Waits for the head of the response. The time limit does not run while the client is still
/// sending.
async fn respond(
    client: &Client<HttpsConnector<Dialer>, Upload>,
    request: Request<Upload>,
    limit: Duration,
) -> Result<Response<Incoming>, Failure> {
    let progress = request.body().progress();
    let mut response = pin!(client.request(request));
    loop {
        let before = progress.taken();
        match timeout(limit, &mut response).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => {
                let fault = progress.fault().map(fault_status);
                let status = fault.unwrap_or_else(|| error_status(&error));
                tracing::debug!(%error, source = ?error.source(), %status, "no response from \
                    the upstream");
                let (refused, another) = (error.is_connect(), fault.is_none());
                return Err(Failure { status, refused, another });
            }
            Err(_) if progress.is_waiting() || progress.taken() > before => {}
            Err(_) => {
                let status = StatusCode::GATEWAY_TIMEOUT;
                return Err(Failure { status, refused: false, another: false });
            }
        }
    }
}

/// Returns the head for the client. `known`: the length of the content is known. `beside`: the
/// upstream is the site's own server.
fn response_head(upstream: Parts, (known, beside): (bool, bool), now: SystemTime) -> Response<()> {
    let Parts { status, version, mut headers, .. } = upstream;
    let announced = headers.get(ALT_SVC).filter(|_| beside).cloned();
    fields::response(&mut headers, (status, version), known, now);
    headers.extend(announced.map(|announced| (ALT_SVC, announced)));
    let mut response = Response::new(());
    (*response.status_mut(), *response.headers_mut()) = (status, headers);
    response
}

/// The head of a request to the upstream, but for the server that gets it.
pub(super) struct OutgoingHead<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    pub headers: HeaderMap,
    /// The host to name in TLS, instead of the server's.
    pub name: Option<Authority>,
}

impl OutgoingHead<'_> {
    /// Returns the request to `server`.
    pub fn to(
        &self,
        server: &UpstreamServer,
        content: Upload,
    ) -> Result<Request<Upload>, StatusCode> {
        let name = self.name.as_ref().filter(|_| server.scheme == Scheme::HTTPS);
        let uri = Uri::builder()
            .scheme(server.scheme.clone())
            .authority(name.unwrap_or(&server.authority).clone())
            .path_and_query(self.path)
            .build()
            .map_err(|_| StatusCode::BAD_REQUEST)?;
        let mut request = Request::new(content);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers.clone();
        Ok(request)
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
