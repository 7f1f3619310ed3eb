//! HTTP/1.1 and HTTP/2 over TLS and TCP, with the same responses as HTTP/3 and a pointer to it
//! (Alt-Svc, RFC 7838).

use super::client_stream::ClientStream;
use super::gate::begin_handshake;
use super::http2_trailers::TrailerCheck;
use super::malformed::lacks_host;
use super::origin::{Origin, Route};
use super::outgoing::{
    AbortReason, ActiveRequest, Outgoing, Requests, StreamExecutor, StreamProgress,
};
use super::request_log::RequestLog;
use super::response::StreamedResponse;
use super::shared::Shared;
use crate::admission::activity::Activity;
use crate::admission::control::ConnectionGuard;
use crate::logging::Level;
use crate::proxy::{Forwarded, RequestContext, Upload, WebSocket, asks_for_websocket};
use crate::socket::ACCEPT_RETRY;
use bentpipe_quic::panic_message;
use futures_util::FutureExt;
use http::header::{ALT_SVC, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Send buffer of an HTTP/2 stream, bytes. Our choice. It only has to last until the next piece is
/// read, because the kernel's buffer holds the bytes in flight.
const SEND_BUFFER: usize = 32 * 1024;

/// Accepts connections until the server stops.
pub(super) async fn listen(
    listener: TcpListener,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    alt_svc: HeaderValue,
) {
    let mut shutdown = shared.shutdown.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.started() => return,
        };
        match accepted {
            Ok((stream, remote)) => {
                // Counted here, and not by the task of the connection, which runs later.
                let Some(guard) = shared.admit_tcp(remote.ip()) else {
                    // Dropping the stream closes the client's connection.
                    continue;
                };
                let reporting = shared.clone();
                let client = Client { stream, remote, guard };
                let serving = serve(client, tls.clone(), shared.clone(), alt_svc.clone());
                tokio::spawn(async move {
                    if let Err(panic) = AssertUnwindSafe(serving).catch_unwind().await {
                        reporting.report_panic(Some(remote), panic_message(&*panic));
                    }
                });
            }
            Err(error) => {
                shared.metrics.accepts_failed.fetch_add(1, Relaxed);
                let text = format!("cannot accept a TCP connection: {error}");
                shared.report(Level::Error, &text);
                sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// A client that was admitted.
struct Client {
    stream: TcpStream,
    remote: SocketAddr,
    guard: ConnectionGuard,
}

/// Does the TLS handshake of a client, once its turn has come. `None` if it failed.
async fn secured(
    stream: TcpStream,
    guard: &mut ConnectionGuard,
    tls: &TlsAcceptor,
    shared: &Shared,
) -> Option<TlsStream<ClientStream>> {
    let (limits, metrics) = (shared.limits, &shared.metrics);
    // Small HTTP/2 frames should not wait for acknowledgements. An error only makes them slower.
    let _ = stream.set_nodelay(true);
    let stream = ClientStream::new(stream, limits, metrics.clone());
    let handshake = async {
        begin_handshake(guard, &limits, metrics).await.then_some(())?;
        Some(tls.accept(stream).await)
    };
    match timeout(limits.handshake_time.into(), handshake).await {
        Ok(Some(Ok(stream))) => Some(stream),
        Ok(None) => None,
        Ok(Some(Err(_))) | Err(_) => {
            metrics.handshakes_failed.fetch_add(1, Relaxed);
            None
        }
    }
}

async fn serve(
    Client { stream, remote, mut guard }: Client,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    alt_svc: HeaderValue,
) {
    shared.metrics.connections_tcp.fetch_add(1, Relaxed);
    let limits = shared.limits;
    let Some(stream) = secured(stream, &mut guard, &tls, &shared).await else { return };
    // The address of a TCP connection is validated from the start.
    let _ = guard.handshake_complete();
    // A WebSocket outlives the HTTP connection that it began on.
    let guard = Arc::new(guard);
    let requests = Requests::new();
    // Of an HTTP/1.1 connection. A stream of HTTP/2 has its own.
    let activity = Arc::new(Activity::default());
    let service = {
        let (shared, requests, guard) = (shared.clone(), requests.clone(), guard.clone());
        let activity = activity.clone();
        service_fn(move |request: Request<Incoming>| {
            let (shared, alt_svc, active) = (shared.clone(), alt_svc.clone(), requests.start());
            let (guard, requests) = (guard.clone(), requests.clone());
            let of_connection = activity.clone();
            async move {
                // Known here, and not where the library calls the service.
                let activity = StreamProgress::current_activity().unwrap_or(of_connection);
                let upgrading = Upgrading { guard, requests, activity };
                let response = respond(request, shared, remote, active, upgrading).await;
                Ok::<_, Infallible>(with_alt_svc(response, alt_svc))
            }
        })
    };
    let reporting = shared.clone();
    let aborted = move |reason| match reason {
        AbortReason::Stalled => _ = reporting.metrics.slow.fetch_add(1, Relaxed),
        AbortReason::Panicked(panic) => {
            reporting.report_panic(Some(remote), panic_message(&*panic));
        }
    };
    let executor = StreamExecutor { limit: limits.stall_time.into(), aborted };
    let header = usize::try_from(limits.header.get()).unwrap_or(usize::MAX);
    // Selected by ALPN and not by the first bytes, for which a client could make the server wait.
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(TrailerCheck::new(stream, http2));
    if !http2 {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from(limits.header_time))
            .max_buf_size(header.max(8192))
            .serve_connection(stream, service)
            .with_upgrades();
        let connection = pin!(connection);
        let driven =
            drive(connection, |connection| connection.graceful_shutdown(), &shared, &requests);
        return tokio::select! {
            refused = driven => {
                let refused = refused.into_iter();
                refused.for_each(|error| count_refused(&shared, remote, &error));
            }
            // The request's slot is taken back, and so its client is cut off.
            () = activity.revoked() => {
                shared.metrics.slow.fetch_add(1, Relaxed);
            }
        };
    }
    let mut builder = http2::Builder::new(executor);
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(header).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.requests)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(Some(Duration::from(limits.idle_time) / 2))
        .keep_alive_timeout(limits.header_time.into());
    if matches!(shared.origin, Origin::Upstream(_)) {
        // For WebSockets (RFC 8441 §3).
        builder.enable_connect_protocol();
    }
    let connection = pin!(builder.serve_connection(stream, service));
    drive(connection, |connection| connection.graceful_shutdown(), &shared, &requests).await;
}

/// Counts a request over HTTP/1.1 that the library has refused, and logs one whose header is too
/// large. Over HTTP/2 it says nothing of those.
fn count_refused(shared: &Arc<Shared>, remote: SocketAddr, error: &hyper::Error) {
    if error.is_parse_too_large() {
        let client = remote.ip().to_canonical();
        let mut log = RequestLog::unread(shared, client, Version::HTTP_11);
        log.set_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        log.complete();
    } else if error.is_parse() {
        shared.metrics.malformed.fetch_add(1, Relaxed);
    }
}

/// Serves a connection until it ends, is idle for too long, or the server is stopped; `shut_down`
/// lets it finish the requests under way. Returns the error that it ended with, which concerns
/// nobody else.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    shut_down: impl Fn(Pin<&mut C>),
    shared: &Shared,
    requests: &Requests,
) -> Option<hyper::Error> {
    let mut shutdown = shared.shutdown.clone();
    let idle = Duration::from(shared.limits.idle_time);
    let mut forced = shared.shutdown.clone();
    let mut ending = false;
    loop {
        let end = tokio::select! {
            ended = connection.as_mut() => return ended.err(),
            () = forced.forced() => return None,
            () = shutdown.started(), if !ending => true,
            () = sleep(idle / 4) => requests.idle_time() >= idle,
        };
        if end {
            // A client that stays after GOAWAY is cut off.
            if std::mem::replace(&mut ending, true) && requests.idle_time() >= idle {
                return None;
            }
            shut_down(connection.as_mut());
        }
    }
}

/// What a WebSocket keeps of the connection that it began on.
struct Upgrading {
    guard: Arc<ConnectionGuard>,
    requests: Requests,
    activity: Arc<Activity>,
}

/// Relays a WebSocket until it ends, or the server is stopped and its time to drain is over. The
/// connection counts until then.
async fn relay(
    shared: Arc<Shared>,
    websocket: WebSocket,
    client: OnUpgrade,
    Upgrading { guard, requests, activity }: Upgrading,
) {
    // An HTTP/2 connection with a WebSocket is not idle.
    let _active = requests.start();
    shared.metrics.websockets.fetch_add(1, Relaxed);
    let mut forced = shared.shutdown.clone();
    tokio::select! {
        // An error of one connection concerns nobody else.
        _ = websocket.relay(client, shared.limits.websocket_idle.into(), &activity) => {}
        () = activity.revoked() => {
                shared.metrics.slow.fetch_add(1, Relaxed);
            }
        () = forced.forced() => {}
    }
    drop(guard);
}

fn with_alt_svc(mut response: Response<Outgoing>, alt_svc: HeaderValue) -> Response<Outgoing> {
    response.headers_mut().insert(ALT_SVC, alt_svc);
    response
}

async fn respond(
    mut request: Request<Incoming>,
    shared: Arc<Shared>,
    remote: SocketAddr,
    active: ActiveRequest,
    upgrading: Upgrading,
) -> Response<Outgoing> {
    let (client, port) = (remote.ip().to_canonical(), remote.port());
    let activity = upgrading.activity.clone();
    let upgrade = asks_for_websocket(&request).then(|| hyper::upgrade::on(&mut request));
    let version = request.version();
    let mut log = RequestLog::start(&shared, client, &request, version);
    let now = shared.clock.system();
    let (head, incoming) = request.into_parts();
    let request = Request::from_parts(head, ());
    let malformed = lacks_host(&request);
    if malformed {
        shared.metrics.malformed.fetch_add(1, Relaxed);
    }
    let too_many = if malformed { None } else { shared.too_many_requests(client) };
    let StreamedResponse { head, content } = match (&shared.origin, too_many) {
        _ if malformed => StreamedResponse::status(StatusCode::BAD_REQUEST, now),
        (_, Some(wait)) => StreamedResponse::too_many_requests(wait, now),
        (Origin::Files(files), None) => {
            let request = Arc::new(request);
            StreamedResponse::file(&shared, files, request, (client, &activity), now).await
        }
        (Origin::Upstream(upstreams), None) => {
            let upload = Upload::from_hyper(incoming, shared.limits.stall_time.into());
            // TLS over TCP accepts no early data here.
            let (early, activity) = (false, activity.clone());
            let from = |named| RequestContext {
                client,
                port,
                version,
                early,
                named,
                silence: shared.limits.websocket_idle,
                // Clients over TCP get none.
                hints: None,
                now,
                activity,
            };
            // Certificates of hosts are for UDP only.
            let forwarded = match upstreams.route(&request, None) {
                // On the heap: requests for files, of which many may wait, do not need the room.
                Ok(Route { upstream, named }) => {
                    Box::pin(upstream.forward(&request, upload, from(named))).await
                }
                Err(status) => Err(status),
            };
            match (forwarded, upgrade) {
                (Ok(Forwarded::WebSocket(head, websocket)), Some(client)) => {
                    let shared = shared.clone();
                    tokio::spawn(relay(shared, websocket, client, upgrading));
                    StreamedResponse::head(head)
                }
                (forwarded, _) => StreamedResponse::forwarded(forwarded, now),
            }
        }
    };
    log.set_status(head.status());
    head.map(|()| Outgoing::new(content, log, active, activity))
}
