//! Forwards requests to the upstream.

use super::connections::{Connections, ServerRequest};
use super::fields::{self, Forwarding};
use super::http2::ActiveStream;
use super::outgoing::OutgoingHead;
use super::pace::Pace;
use super::pool::{ActiveRequest, Member, Pool, Slot, UpstreamCounts};
use super::proxy_protocol::Source;
use super::response_body::ResponseBody;
use super::send_error::{Fate, SendError, Unanswered};
use super::tried::Tried;
use super::upload::{Fault, Upload};
use super::upstream::{HealthCheck, Protocol, Upstream};
use super::websocket::{Handshake, SILENCE, WebSocket, asks_for_websocket};
use crate::admission::activity::Activity;
use crate::admission::client::CLIENT_SHARE;
use crate::admission::slots::{
    ClientSlot, STALLED, SlotLimits, SlotRequest, Slots, WAITING, memory_of,
};
use crate::authority::normal;
use crate::logging::Level;
use bentpipe_units::{Bytes as Size, Span};
use futures_util::future::join_all;
use http::header::{
    ALT_SVC, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::response::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::body::Incoming;
use rustls::client::Resumption;
use std::fmt;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

/// The port of https, which clients leave out.
const HTTPS: u16 = 443;
/// Says to a site that its clients come over https.
pub(super) const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// Times that a request is sent, to one server or on one connection after the other. Our choice.
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
    pub(super) connections: Vec<Connections>,
    /// Places among the requests of the upstream.
    places: Slots,
    /// Places among the requests of gRPC, which may last and must not take those of the others.
    streams: Slots,
    /// Memory for the beginnings of content, in bytes.
    beginnings: Slots,
}

/// What the upstream responded.
#[derive(Debug)]
pub(crate) enum Forwarded {
    /// A response with its content.
    Response(Response<()>, ResponseBody),
    /// It agrees to a WebSocket.
    WebSocket(Response<()>, WebSocket),
}

/// Why a server did not respond.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    fate: Fate,
    /// Another server may be asked: it is this server's fault, and did not take long.
    another: bool,
    /// The content, if the request was not sent.
    unsent: Option<Upload>,
}

/// Client and circumstances of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    pub client: IpAddr,
    /// The client's port.
    pub port: u16,
    /// Whether the request waits for its client.
    pub activity: Arc<Activity>,
    pub version: Version,
    /// Whether the request is early data (0-RTT) of an incomplete handshake.
    pub early: bool,
    /// Whether the requested host is one of a few, for which connections are kept. One that a
    /// wildcard stands for is not.
    pub named: bool,
    /// Time for which a stream of gRPC may be silent in both directions.
    pub silence: Span,
    /// Gets the fields of early hints (RFC 8297), if the client may be sent them.
    pub hints: Option<Sender<HeaderMap>>,
    pub now: SystemTime,
}

/// Limits of a request.
#[derive(Debug, Clone, Copy)]
struct RequestLimits {
    /// Whether it is one of gRPC.
    grpc: bool,
    /// Longest pause of the upstream.
    pause: Duration,
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
        let idle = upstream.idle_connections();
        let servers = upstream.servers.iter();
        let connections = servers.map(|server| {
            // TLS keeps tickets by name alone, and another port is another server.
            let mut tls = tls.clone();
            tls.resumption = Resumption::default();
            Connections::new(server, &tls, idle)
        });
        let connections = connections.collect();
        let slots = |all: u64, per_client: u64| {
            Slots::new(SlotLimits { all, per_client, waiting: WAITING, stalled: STALLED })
        };
        let requests = upstream.connections;
        let of_client = upstream.per_client.unwrap_or_else(|| per_client(requests));
        let [places, streams] = [(); 2].map(|()| slots(requests as u64, of_client as u64));
        let beginnings = slots(BEGINNINGS, BEGINNINGS / CLIENT_SHARE as u64);
        let pool = Pool::new(&upstream.servers, counts);
        Ok(Self { upstream, pool, connections, places, streams, beginnings })
    }

    /// Reports servers that are down, and up again, from now on.
    pub fn report_to(&self, report: impl Fn(Level, &dyn fmt::Display) + Send + Sync + 'static) {
        self.pool.report_to(report);
    }

    /// Returns whether health checks have to say which host they ask for: the servers are those of
    /// sites, and know them by their hosts.
    pub fn needs_host_for_checks(&self) -> bool {
        self.upstream.beside.is_some() && self.upstream.health_check.is_some()
    }

    /// Runs health checks, if there are any, until the future is dropped. `host` returns the host
    /// that a site's own servers are asked for; while there is none, they are not asked.
    pub async fn check_health(&self, host: impl Fn() -> Option<Authority>) {
        let Some(check) = &self.upstream.health_check else { return };
        let beside = self.upstream.beside.is_some();
        let host = &host;
        join_all(self.pool.members().iter().map(|member| async move {
            loop {
                let host = host().filter(|_| beside);
                if host.is_some() || !beside {
                    let healthy = self.is_healthy(member, check, host).await;
                    self.pool.checked(member, healthy, Instant::now());
                }
                sleep(check.interval.into()).await;
            }
        }))
        .await;
    }

    async fn is_healthy(
        &self,
        member: &Member,
        check: &HealthCheck,
        host: Option<Authority>,
    ) -> bool {
        let mut headers: HeaderMap =
            self.upstream.host.iter().map(|host| (HOST, host.clone())).collect();
        if let Some(host) = &host {
            let Ok(value) = HeaderValue::from_str(host.as_str()) else { return false };
            headers.insert(HOST, value);
            headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
        }
        let mut outgoing = OutgoingHead::own(&Method::GET, check.path.as_str(), headers, true);
        outgoing.name = host;
        let (Ok(request), Some(connections)) =
            (outgoing.to(&member.server, Upload::empty()), self.connections.get(member.index))
        else {
            return false;
        };
        // The content is dropped unread, which closes a connection over HTTP/1.1 unless it has
        // arrived.
        let response = timeout(CHECK_TIME, connections.send(request)).await;
        response.is_ok_and(|response| {
            response.is_ok_and(|(response, _)| response.status() < StatusCode::BAD_REQUEST)
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
        if request.uri().path() == "*" && *request.method() != Method::OPTIONS {
            // RFC 9112 §3.2.4, RFC 9114 §4.3.1.
            return Some(StatusCode::BAD_REQUEST);
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
        let beside = self.upstream.beside.is_some();
        let (named, now, hints) = (context.named, context.now, context.hints.clone());
        let asked_port = host.port_u16().unwrap_or(HTTPS);
        let source = Some(Source { address: context.client, port: context.port, asked_port });
        // A port would make it another name, of which a client can say any number.
        let name = normal(host.host()).parse::<Authority>().ok().filter(|_| beside);
        let forwarding = Forwarding {
            client: context.client,
            version: context.version,
            host,
            upstream_host: self.upstream.host.clone(),
            early: context.early,
            beside,
        };
        let limits = self.limits(request, &context);
        let announced = fields::announced_trailers(request.headers());
        if !announced.is_empty() {
            upload.expect_trailers();
        }
        let place = self.place(request, &mut upload, context, &limits).await?;
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
        if upload.is_empty() && handshake.is_none() && fields::anticipates_content(request) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
        }
        if upload.length().is_none() {
            let known = upload.has_ended().then(|| upload.trailer_names().collect());
            for name in known.unwrap_or(announced) {
                headers.append(TRAILER, name);
            }
            // The library would send GET and HEAD without their content.
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        // A stream of HTTP/2 asks with CONNECT, and HTTP/1.1 with GET.
        let method = if handshake.is_some() { &Method::GET } else { request.method() };
        let (grpc, keep) = (limits.grpc, named || !beside);
        let outgoing = OutgoingHead { method, path, headers, name, grpc, keep, source, hints };
        let progress = grpc.then(|| upload.progress());
        // On the heap, so that it takes no room while the request waits for its place.
        let asking = Box::pin(self.ask_servers(outgoing, upload, &limits));
        let (mut response, active) = asking.await?;
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
        let body = ResponseBody::new(incoming, limits.pause, progress, slot);
        Ok(Forwarded::Response(head, body))
    }

    /// Returns the limits of a request.
    fn limits(&self, request: &Request<()>, context: &RequestContext) -> RequestLimits {
        // Over HTTP/1.1 alone there is no gRPC, whatever the client says.
        let mut servers = self.upstream.servers.iter();
        let carried = servers.any(|server| server.protocol != Protocol::Http1);
        let grpc = carried && fields::is_grpc(request);
        let pause = Duration::from(self.upstream.answer_time);
        // Streams of gRPC are silent as long as nothing happens.
        RequestLimits { grpc, pause: if grpc { pause.max(context.silence.into()) } else { pause } }
    }

    /// Returns a place among the requests of the upstream.
    async fn place(
        &self,
        request: &Request<()>,
        upload: &mut Upload,
        context: RequestContext,
        limits: &RequestLimits,
    ) -> Result<ClientSlot, StatusCode> {
        if !upload.set_limit(self.upstream.max_body.map_or(u64::MAX, Size::get)) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let busy = StatusCode::SERVICE_UNAVAILABLE;
        let wait = Duration::from(self.upstream.answer_time);
        let activity = context.activity;
        let wanted = SlotRequest {
            address: context.client,
            weight: 1,
            waiting: memory_of(request.headers()),
            activity: activity.clone(),
        };
        if limits.grpc {
            // Its client may send nothing before it has got something.
            upload.set_pace(Pace::unlimited(activity, SILENCE));
            return self.streams.slot(&wanted, wait).await.ok_or(busy);
        }
        upload.set_pace(Pace::new(self.upstream.min_upload_rate, activity));
        // Whoever sends nothing, or little at a time, keeps nobody from the upstream.
        let beginning = self.read_beginning(upload, &wanted, wait).await?;
        let place = self.places.slot(&wanted, wait).await.ok_or(busy)?;
        drop(beginning);
        Ok(place)
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

    /// Sends a request to one server, and to others if that fails and nothing is lost by it: it was
    /// not sent, or it has no content, and is idempotent (RFC 9110 §9.2.2) or no server has seen
    /// it.
    async fn ask_servers(
        &self,
        outgoing: OutgoingHead<'_>,
        upload: Upload,
        limits: &RequestLimits,
    ) -> Result<(Response<Incoming>, (ActiveRequest, Option<ActiveStream>)), StatusCode> {
        let (again, mut upload) = (upload.is_empty(), Some(upload));
        let (mut tried, mut status) = (Tried::default(), StatusCode::BAD_GATEWAY);
        for attempt in 0..MAX_ATTEMPTS {
            let Some(content) = upload.take() else { break };
            let Some(active) = tried.next(&self.pool, Instant::now()) else { break };
            if attempt > 0 {
                self.pool.counts.retries.fetch_add(1, Relaxed);
            }
            let member = active.member().clone();
            let request = outgoing.to(&member.server, content)?;
            let Some(connections) = self.connections.get(member.index) else { break };
            let failure = match respond(connections, request, limits).await {
                Ok((response, stream)) => {
                    self.pool.responded(&member, Instant::now());
                    return Ok((response, (active, stream)));
                }
                Err(failure) => failure,
            };
            status = failure.status;
            if failure.another {
                self.pool.counts.failures.fetch_add(1, Relaxed);
            }
            if failure.fate == Fate::Refused {
                self.pool.refused(&member, Instant::now());
            }
            let seen = matches!(failure.fate, Fate::Unknown | Fate::Ended);
            let unseen = !seen || outgoing.method.is_idempotent();
            if failure.another && again && unseen {
                upload = Some(Upload::empty());
            } else if failure.another {
                upload = failure.unsent;
            }
            tried.note(member, failure.fate);
        }
        Err(status)
    }
}

/// Waits for the head of the response. The time limit does not run while the client is still
/// sending.
async fn respond(
    connections: &Connections,
    request: ServerRequest,
    limits: &RequestLimits,
) -> Result<(Response<Incoming>, Option<ActiveStream>), Failure> {
    let progress = request.request.body().progress();
    let mut response = pin!(connections.send(request));
    loop {
        let before = progress.taken();
        match timeout(limits.pause, &mut response).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(Unanswered { error, unsent })) => {
                let fault = progress.fault().map(fault_status);
                let status = fault.unwrap_or_else(|| error_status(&error));
                tracing::debug!(%error, %status, "no response from the upstream");
                let another = fault.is_none();
                return Err(Failure { status, fate: error.fate, another, unsent });
            }
            Err(_) if progress.taken() > before => {}
            // The client of gRPC may wait for the upstream, although it has not finished.
            Err(_) if progress.is_waiting() && !limits.grpc => {}
            Err(_) => {
                let status = StatusCode::GATEWAY_TIMEOUT;
                let (fate, another, unsent) = (Fate::Unknown, false, None);
                return Err(Failure { status, fate, another, unsent });
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
fn error_status(error: &SendError) -> StatusCode {
    if error.is_timeout() { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY }
}
