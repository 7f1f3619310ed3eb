//! HTTP/3. Each connection and each request has a task, which the endpoint runs.

use super::http3_asker::{Asker, Context, refused};
use super::http3_content::{misstates_length, read_content, within};
use super::http3_websocket::{Agreed, relay};
use super::malformed::is_malformed;
use super::origin::{Origin, Route};
use super::path_metrics::PathView;
use super::priority::{priority_field, response_priority};
use super::request_log::RequestLog;
use super::response::StreamedResponse;
use super::shared::Shared;
use crate::admission::activity::Activity;
use crate::admission::control::ConnectionGuard;
use crate::admission::send_memory::SendBufferGrant;
use crate::path_report::{PathReport, accepts_trailers};
use crate::proxy::{
    Forwarded, RequestContext, Upload, UpstreamClient, announced_length, asks_for_websocket,
    expects_continue, is_grpc,
};
use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_quic::{BidiStream, Conn, Http3, PriorityField, RecvStream, SendStream};
use bentpipe_units::Span;
use bytes::Bytes;
use futures_util::future::{BoxFuture, Either};
use h3::error::Code;
use h3::error::StreamError;
use h3::quic::StreamId;
use h3::server::{RequestResolver, RequestStream};
use http::header::{LINK, TRAILER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::mpsc;
use tokio::time::Duration;

/// Interval at which a connection that stops checks whether requests are left.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Requests that are served after GOAWAY (RFC 9114 §5.2): a client may have sent them before it
/// arrived. Our choice. The library would refuse all of them on a connection without a request so
/// far, which gets its GOAWAY after the first one.
const ON_THEIR_WAY: usize = 100;
/// RTTs without a request after which a connection ends that stops: enough for a GOAWAY that is
/// lost once, and for what the client sent before it arrived. Our choice.
const GRACE: u32 = 3;
/// Time without a request after which a connection ends that another process does not know. What
/// the client has acknowledged, its program may still have to read, and libraries drop that when
/// the connection is closed (quic-go). Our choice: the idle time of Chromium and quic-go, after
/// which they close it themselves.
const LINGER: Duration = Duration::from_secs(30);

/// Smallest piece that is read from a file, bytes. Our choice: small enough for thousands of
/// responses, and large enough for the cost of a call to another thread.
const MIN_PIECE: u64 = 32 * 1024;
/// Bytes of a send buffer of which a client must take some within [`stall_time`].
///
/// [`stall_time`]: super::limits::Limits::stall_time
const STALL_UNIT: u64 = 256 * 1024;

/// Pieces of a request's content that may wait for the upstream. Our choice. Each piece is what
/// arrived at once.
const UPLOAD_QUEUE: usize = 32;

/// Early hints (RFC 8297) that may wait to be sent. Our choice: servers send one.
const MAX_HINTS: usize = 4;

/// Serves a connection until it ends. The guard is dropped when the connection has ended.
pub(super) async fn serve(conn: Conn, shared: Arc<Shared>, guard: ConnectionGuard, path: PathView) {
    watch(&conn, &shared, guard, path.clone());
    let transport = Http3::new(conn.clone(), shared.tuning.stream_window())
        .limit_headers(shared.tuning.max_header_frame(), shared.header_memory.clone());
    // For WebSockets (RFC 9220 §3).
    let extended_connect = matches!(shared.origin, Origin::Upstream(_));
    let built = h3::server::builder()
        .max_field_section_size(shared.limits.header.get())
        .enable_extended_connect(extended_connect)
        .build::<_, Bytes>(transport)
        .await;
    let Ok(mut connection) = built else { return };
    let mut shutdown = shared.shutdown.clone();
    let idle = Duration::from(shared.limits.idle_time);
    let mut last_active = tokio::time::Instant::now();
    let mut stopped = last_active;
    let (mut accepted_any, mut stopping, mut goaway) = (false, false, false);
    loop {
        if stopping && accepted_any && !goaway {
            goaway = true;
            if connection.shutdown(ON_THEIR_WAY).await.is_err() {
                break;
            }
        }
        let interval = if stopping { POLL_INTERVAL } else { idle / 4 };
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Ok(Some(resolver)) => {
                    accepted_any = true;
                    last_active = tokio::time::Instant::now();
                    let context = Context {
                        conn: conn.clone(),
                        shared: shared.clone(),
                        path: path.clone(),
                    };
                    conn.spawn(request(context, Box::new(resolver)));
                }
                // A close by the client is an error here.
                Ok(None) | Err(_) => break,
            },
            () = shutdown.started(), if !stopping => {
                stopping = true;
                stopped = tokio::time::Instant::now();
            }
            () = tokio::time::sleep(interval) => {
                let rtt = conn.smoothed_rtt();
                let grace = POLL_INTERVAL.max(Duration::from(rtt.unwrap_or_default()) * GRACE);
                let limit = match (stopping, shared.is_handed_over()) {
                    (true, true) => LINGER.max(grace),
                    (true, false) => grace,
                    (false, _) => idle,
                };
                let told = !stopping || stopped.elapsed() >= grace;
                if conn.open_requests() > 0 || (stopping && rtt.is_none()) {
                    last_active = tokio::time::Instant::now();
                } else if told && last_active.elapsed() >= limit {
                    conn.close(Code::H3_NO_ERROR.value(), b"");
                    break;
                }
            }
        }
    }
}

/// Counts what becomes of a connection, beside its requests, and keeps its guard until it ends.
fn watch(conn: &Conn, shared: &Shared, mut guard: ConnectionGuard, path: PathView) {
    let limit = shared.limits.handshake_time;
    let (watched, metrics) = (conn.clone(), shared.metrics.clone());
    conn.spawn(async move {
        // Requests may be served before the handshake is complete (0-RTT).
        match within(limit, watched.handshaken()).await {
            Some(Ok(())) if guard.handshake_complete().is_err() => {
                metrics.refused.fetch_add(1, Relaxed);
                watched.close(Code::H3_EXCESSIVE_LOAD.value(), b"too many connections");
            }
            Some(Ok(())) => {
                if watched.has_0rtt() {
                    metrics.early.fetch_add(1, Relaxed);
                }
                watched.ended().await;
                metrics.paths.ended(&path);
            }
            failed => {
                metrics.handshakes_failed.fetch_add(1, Relaxed);
                if failed.is_none() {
                    watched.close(Code::H3_REQUEST_CANCELLED.value(), b"handshake too slow");
                }
            }
        }
        drop(guard);
    });
}

/// Waits for a request's header. The task is small until the header has arrived. Then the rest of
/// it is on the heap.
async fn request(context: Context, mut resolver: Box<RequestResolver<Http3, Bytes>>) {
    let limit = context.shared.limits.header_time;
    let Some(first) = within(limit, poll_fn(|cx| resolver.frame_stream.poll_next(cx))).await else {
        return too_slow(&context);
    };
    let id = resolver.frame_stream.id();
    // All of this ends before the next await, where what is alive takes room in every task.
    let begin = move || {
        let resolved = resolver.accept_with_frame(first).ok()?;
        Some(Box::pin(receive(context, id, resolved.resolve())))
    };
    let Some(receiving) = begin() else { return };
    // Each step is on the heap for as long as it lasts: thousands may wait in one.
    let Some(responding) = receiving.await else { return };
    responding.await;
}

/// Closes the connection of a client that sends a header too slowly. A stream that is only dropped
/// would stay open on its side.
fn too_slow(Context { conn, shared, .. }: &Context) {
    shared.metrics.slow.fetch_add(1, Relaxed);
    conn.close(Code::H3_EXCESSIVE_LOAD.value(), b"request header too slow");
}

/// Receives the request on stream `id`. Returns what responds to it.
async fn receive(
    context: Context,
    id: StreamId,
    resolving: impl Future<
        Output = Result<(Request<()>, RequestStream<BidiStream, Bytes>), StreamError>,
    >,
) -> Option<BoxFuture<'static, ()>> {
    let arrival = context.shared.clock.now();
    let asker = context.asker().await?;
    // The library itself responds to a header beyond a limit (431, RFC 6585 §5) but does not finish
    // the stream.
    let refusal = context.conn.finish_when_dropped(id);
    let resolved = within(context.shared.limits.stall_time, resolving).await;
    drop(refusal);
    let Some(resolved) = resolved else {
        too_slow(&context);
        return None;
    };
    let (request, mut stream) = match resolved {
        Ok(resolved) => resolved,
        Err(error) => {
            refused(&context, asker, &error);
            return None;
        }
    };
    // A proxy reads all of the content and counts it.
    let is_file = matches!(context.shared.origin, Origin::Files(_));
    if is_malformed(&request) || is_file && misstates_length(request.headers(), &mut stream) {
        context.shared.metrics.malformed.fetch_add(1, Relaxed);
        stream.stop_stream(Code::H3_MESSAGE_ERROR);
        stream.stop_sending(Code::H3_MESSAGE_ERROR);
        return None;
    }
    let (stream, mut content) = stream.split();
    context.conn.prioritize_request(id, priority_field(request.headers()));
    let mut exchange = Exchange::new(context, asker, id, stream, &request);
    exchange.log = exchange.log.since(arrival);
    if let Some(wait) = exchange.context.shared.too_many_requests(asker.client) {
        content.stop_sending(Code::H3_NO_ERROR);
        let response =
            StreamedResponse::too_many_requests(wait, exchange.context.shared.clock.system());
        let conn = exchange.context.conn.clone();
        return Some(Box::pin(unless_stopped(conn, id, Box::pin(exchange.send(response)))));
    }
    Some(if is_file {
        // The content of a request is not read. It would only take flow-control window.
        content.stop_sending(Code::H3_NO_ERROR);
        respond_with_file(exchange, Arc::new(request))
    } else {
        respond_from_upstream(exchange, request, content)
    })
}

/// A request that gets a response.
struct Exchange {
    context: Context,
    asker: Asker,
    id: StreamId,
    stream: RequestStream<SendStream, Bytes>,
    activity: Arc<Activity>,
    log: RequestLog,
    /// Whether the client takes trailers, and whether the path is reported in them.
    trailers: (bool, bool),
}

impl Exchange {
    fn new(
        context: Context,
        asker: Asker,
        id: StreamId,
        stream: RequestStream<SendStream, Bytes>,
        request: &Request<()>,
    ) -> Self {
        let log = RequestLog::start(&context.shared, asker.client, request, Version::HTTP_3)
            .over(&context.path);
        let accepted = accepts_trailers(request.headers());
        let trailers = (accepted, accepted && *request.method() == Method::GET);
        Self { context, asker, id, stream, activity: Arc::default(), log, trailers }
    }

    /// Sends a response, and waits until the client has acknowledged it.
    async fn send(mut self, response: StreamedResponse) {
        let Context { conn, shared, path } = &self.context;
        conn.prioritize_response(self.id, response_priority(response.head.headers()));
        self.log.set_status(response.head.status());
        let mut grant = shared.send_memory.register(self.asker.client);
        let (accepted, report) = self.trailers;
        let resume = path.resume.as_ref().filter(|_| report);
        let limits = (&mut grant, shared.limits.stall_time, &*self.activity);
        let sending =
            send(conn, &mut self.stream, response, (resume, accepted), limits, &mut self.log);
        let sent = tokio::select! {
            sent = sending => sent,
            () = self.activity.revoked() => Err(Some(Code::H3_EXCESSIVE_LOAD)),
        };
        match sent {
            Ok(()) => delivered(&self.context, &self.stream, grant, self.log).await,
            Err(Some(code)) => {
                if code == Code::H3_EXCESSIVE_LOAD {
                    shared.metrics.slow.fetch_add(1, Relaxed);
                }
                self.stream.stop_stream(code);
            }
            // The client is gone or has cancelled the request.
            Err(None) => {}
        }
    }
}

/// Responds with a file, and waits until the client has acknowledged all of it. All work ends if
/// the client cancels the request or is gone.
fn respond_with_file(exchange: Exchange, request: Arc<Request<()>>) -> BoxFuture<'static, ()> {
    let (conn, id) = (exchange.context.conn.clone(), exchange.id);
    Box::pin(unless_stopped(conn, id, Box::pin(file(exchange, request))))
}

/// Responds with a file. It is small while it waits: sending is on the heap, and an `async fn`
/// would have room for its arguments twice.
fn file(exchange: Exchange, request: Arc<Request<()>>) -> impl Future<Output = ()> + Send {
    let shared = exchange.context.shared.clone();
    async move {
        let Origin::Files(files) = &shared.origin else { return };
        let client = (exchange.asker.client, &exchange.activity);
        let now = shared.clock.system();
        let response = StreamedResponse::file(&shared, files, request, client, now).await;
        Box::pin(exchange.send(response)).await;
    }
}

/// Responds with what the upstream does, and waits until the client has acknowledged all of it. All
/// work ends if the client cancels the request or is gone.
fn respond_from_upstream(
    mut exchange: Exchange,
    request: Request<()>,
    content: RequestStream<RecvStream, Bytes>,
) -> BoxFuture<'static, ()> {
    let (conn, id) = (exchange.context.conn.clone(), exchange.id);
    let responding = async move {
        match ask(&mut exchange, &request, content).await {
            Some(Either::Left(response)) => Box::pin(exchange.send(response)).await,
            Some(Either::Right(agreed)) => Box::pin(relay_websocket(exchange, *agreed)).await,
            None => {}
        }
    };
    Box::pin(unless_stopped(conn, id, Box::pin(responding)))
}

/// Does `work`, unless the client stops the stream or is gone.
async fn unless_stopped(conn: Conn, id: StreamId, work: BoxFuture<'static, ()>) {
    tokio::select! {
        // The last acknowledgement completes both; the response has to note it.
        biased;
        () = work => {}
        () = conn.stopped(id) => {}
    }
}

/// Asks the upstream. `None` if the client is gone, or has lost its place.
async fn ask(
    Exchange { context, asker, stream, activity, .. }: &mut Exchange,
    request: &Request<()>,
    content: RequestStream<RecvStream, Bytes>,
) -> Option<Answer> {
    let Context { conn, shared, .. } = &*context;
    let Origin::Upstream(upstreams) = &shared.origin else { return None };
    // Of a client whose address a token has validated.
    let early = conn.connected_at().is_none();
    if early && !request.method().is_safe() {
        conn.handshaken().await.ok()?;
    }
    let now = shared.clock.system();
    let route = upstreams.route(request, conn.server_name().as_deref());
    let from = RequestContext {
        client: asker.client,
        port: asker.port,
        activity: activity.clone(),
        version: Version::HTTP_3,
        early: early && request.method().is_safe(),
        named: route.is_ok_and(|route| route.named),
        silence: shared.limits.websocket_idle,
        hints: None,
        now,
    };
    let stall = shared.limits.stall_time;
    let forwarding = async {
        match route {
            Ok(Route { upstream, .. }) => {
                forward(conn, (&mut *stream, content), upstream, request, from, stall).await
            }
            Err(status) => Some(Either::Left(StreamedResponse::status(status, now))),
        }
    };
    tokio::select! {
        forwarded = forwarding => return forwarded,
        () = activity.revoked() => {}
    }
    shared.metrics.slow.fetch_add(1, Relaxed);
    stream.stop_stream(Code::H3_EXCESSIVE_LOAD);
    None
}

/// What a request gets: a response, or a WebSocket.
type Answer = Either<StreamedResponse, Box<Agreed>>;

/// Relays a WebSocket until it ends.
async fn relay_websocket(mut exchange: Exchange, agreed: Agreed) {
    let Context { conn, shared, .. } = &exchange.context;
    exchange.log.set_status(agreed.head.status());
    let mut grant = shared.send_memory.register(exchange.asker.client);
    let limits = (&mut grant, &*exchange.activity);
    conn.prioritize_response(exchange.id, PriorityField::INCREMENTAL);
    match relay(agreed, (conn, &mut exchange.stream), shared, limits).await {
        Ok(bytes) => {
            exchange.log.add_bytes(bytes);
            delivered(&exchange.context, &exchange.stream, grant, exchange.log).await;
        }
        Err(code) => exchange.stream.stop_stream(code),
    }
}

/// Completes a response that is sent, and logs it once the client has acknowledged it or is gone.
async fn delivered(
    context: &Context,
    stream: &RequestStream<SendStream, Bytes>,
    grant: SendBufferGrant,
    mut log: RequestLog,
) {
    log.complete();
    if acknowledged(context, stream, grant).await {
        log.delivered();
    }
}

/// Forwards a request and its content to the upstream. `None` if the client is gone.
async fn forward(
    conn: &Conn,
    (stream, content): (&mut RequestStream<SendStream, Bytes>, RequestStream<RecvStream, Bytes>),
    upstream: &UpstreamClient,
    request: &Request<()>,
    mut from: RequestContext,
    stall: Span,
) -> Option<Answer> {
    let now = from.now;
    if asks_for_websocket(request) {
        let mut content = content;
        return Some(match upstream.forward(request, Upload::empty(), from).await {
            Ok(Forwarded::WebSocket(head, websocket)) => {
                Either::Right(Box::new(Agreed { head, websocket, content }))
            }
            refused => {
                content.stop_sending(Code::H3_NO_ERROR);
                Either::Left(StreamedResponse::forwarded(refused, now))
            }
        });
    }
    if expects_continue(request.headers()) && upstream.refusal(request).is_none() {
        let mut head = Response::new(());
        *head.status_mut() = StatusCode::CONTINUE;
        within(stall, stream.send_response(head)).await?.ok()?;
    }
    let (sender, pieces) = mpsc::channel(UPLOAD_QUEUE);
    // The client of gRPC may be silent while it gets something.
    let pause = if is_grpc(request) { Span::MAX } else { stall };
    conn.spawn(read_content(content, sender, pause));
    let upload = Upload::from_http3(pieces, announced_length(request.headers()));
    let (hints, mut hinted) = mpsc::channel(MAX_HINTS);
    from.hints = takes_hints(request).then_some(hints);
    let mut asking = pin!(upstream.forward(request, upload, from));
    let result = loop {
        tokio::select! {
            biased;
            result = &mut asking => break result,
            Some(fields) = hinted.recv() => {
                within(stall, stream.send_response(early_hints(&fields))).await?.ok()?;
            }
        }
    };
    Some(Either::Left(StreamedResponse::forwarded(result, now)))
}

/// Returns whether the client may be sent early hints: it loads a page in a browser. Others may
/// take them for the response, and get nothing by them.
fn takes_hints(request: &Request<()>) -> bool {
    request.headers().get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
}

/// Returns early hints with the links of `fields`.
fn early_hints(fields: &HeaderMap) -> Response<()> {
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::EARLY_HINTS;
    for link in fields.get_all(LINK) {
        head.headers_mut().append(LINK, link.clone());
    }
    head
}

/// Keeps the send buffer of a response until all of it is acknowledged. Closes the connection if
/// that takes too long. Returns false then, and if the client stops the stream or is gone.
async fn acknowledged(
    Context { conn, shared, .. }: &Context,
    stream: &RequestStream<SendStream, Bytes>,
    grant: SendBufferGrant,
) -> bool {
    let units = grant.granted() / STALL_UNIT + 1;
    let limit = Span::from_nanos(shared.limits.stall_time.as_nanos().saturating_mul(units));
    if let Some(acknowledged) = within(limit, conn.acknowledged(stream.send_id())).await {
        return acknowledged;
    }
    shared.metrics.slow.fetch_add(1, Relaxed);
    conn.close(Code::H3_EXCESSIVE_LOAD.value(), b"response taken too slowly");
    false
}

/// Sends a response. An error holds the code to reset the stream with, if that is still possible.
async fn send(
    conn: &Conn,
    stream: &mut RequestStream<SendStream, Bytes>,
    StreamedResponse { mut head, mut content }: StreamedResponse,
    (resume, accepted): (Option<&ResumeHandle>, bool),
    (grant, stall, activity): (&mut SendBufferGrant, Span, &Activity),
    log: &mut RequestLog,
) -> Result<(), Option<Code>> {
    let slow = || Some(Code::H3_EXCESSIVE_LOAD);
    if resume.is_some() {
        head.headers_mut().insert(TRAILER, HeaderValue::from_static("server-timing"));
    }
    within(stall, stream.send_response(head)).await.ok_or_else(slow)?.map_err(|_| None)?;
    loop {
        let buffer = grant.for_window(conn.congestion_window());
        // A small part of the buffer, because a piece takes memory too. A power of two, so that the
        // allocator can reuse the memory of other pieces.
        let limit = 1 << (buffer / 8).max(MIN_PIECE).ilog2();
        let Some(piece) = content.next(limit).await.map_err(|_| Some(Code::H3_INTERNAL_ERROR))?
        else {
            break;
        };
        conn.set_send_buffer(buffer);
        let bytes = piece.len() as u64;
        activity.waits();
        within(stall, stream.send_data(piece)).await.ok_or_else(slow)?.map_err(|_| None)?;
        activity.proceeds();
        grant.written();
        log.add_bytes(bytes);
    }
    let mut trailers = content.trailers().filter(|_| accepted).unwrap_or_default();
    trailers.extend(resume.map(|resume| PathReport::of(resume).trailers()).unwrap_or_default());
    if !trailers.is_empty() {
        within(stall, stream.send_trailers(trailers)).await.ok_or_else(slow)?.map_err(|_| None)?;
    }
    within(stall, stream.finish()).await.ok_or_else(slow)?.map_err(|_| None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_future<A, B, F: Future>(_: impl FnOnce(A, B) -> F) -> usize {
        size_of::<F>()
    }

    /// Thousands of requests may wait for their turn.
    #[test]
    fn a_request_that_waits_for_a_file_takes_little_memory() {
        let size = size_of_future(file);
        assert!(size <= 2048, "{size} bytes");
    }
}
