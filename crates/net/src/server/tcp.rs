//! HTTP/1.1 and HTTP/2 over TLS, beside HTTP/3: the same responses, and word of the better way
//! (Alt-Svc, RFC 7838).

use super::outgoing::{Outgoing, Requests, StreamCut, StreamExecutor, UnderWay};
use super::reply::{Origin, StreamedResponse};
use super::upstream::{RequestContext, Upload};
use super::write_timeout::WriteTimeout;
use super::{RequestLog, Shared};
use bentpipe_quic::{Admission, panic_message};
use futures_util::FutureExt;
use http::header::{ALT_SVC, HeaderValue};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Send buffer of a stream of HTTP/2, bytes: our choice. It only has to outlast the reading of the
/// next piece, since the kernel's buffer holds what is in flight.
const SEND_BUFFER: usize = 32 * 1024;

/// Takes connections until the server stops.
pub(super) async fn listen(
    listener: TcpListener,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    alternative: HeaderValue,
) {
    let mut stop = shared.stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => return,
        };
        match accepted {
            Ok((stream, remote)) => {
                if shared.door.ask(remote.ip(), true) != Admission::Admit {
                    // Dropped: the client sees its connection closed.
                    continue;
                }
                let counts = shared.clone();
                let serving =
                    serve(stream, remote, tls.clone(), shared.clone(), alternative.clone());
                tokio::spawn(async move {
                    if let Err(panic) = AssertUnwindSafe(serving).catch_unwind().await {
                        counts.panicked(Some(remote), panic_message(&*panic));
                    }
                });
            }
            // No descriptors are left, or the client has gone: the former passes, and trying again
            // at once would not help.
            Err(error) => {
                shared.metrics.accepts_failed.fetch_add(1, Relaxed);
                shared.report(&format_args!("cannot accept a TCP connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    remote: SocketAddr,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    alternative: HeaderValue,
) {
    let mut pass = shared.door.enter(remote.ip());
    shared.metrics.connections_tcp.fetch_add(1, Relaxed);
    let limits = *shared.door.limits();
    // Small frames of HTTP/2 should not wait for acknowledgements; without it all works, more
    // slowly.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeout::new(stream, limits.stall_time.into(), shared.metrics.clone());
    let Ok(Ok(stream)) = timeout(limits.handshake_time.into(), tls.accept(stream)).await else {
        shared.metrics.handshakes_failed.fetch_add(1, Relaxed);
        return;
    };
    pass.shaken();
    let client = remote.ip().to_canonical();
    let requests = Requests::new();
    let service = {
        let (shared, requests) = (shared.clone(), requests.clone());
        service_fn(move |request: Request<Incoming>| {
            let (shared, alternative, under_way) =
                (shared.clone(), alternative.clone(), requests.begin());
            async move {
                let response = respond(request, shared, client, under_way).await;
                Ok::<_, Infallible>(with_alternative(response, alternative))
            }
        })
    };
    let counts = shared.clone();
    let cut = move |cut| match cut {
        StreamCut::Stalled => _ = counts.metrics.slow.fetch_add(1, Relaxed),
        StreamCut::Panicked(panic) => counts.panicked(Some(remote), panic_message(&*panic)),
    };
    let executor = StreamExecutor { limit: limits.stall_time.into(), cut };
    let header = usize::try_from(limits.header.get()).unwrap_or(usize::MAX);
    // By what the handshake settled, not by the first bytes: for those, a client could have one
    // wait for ever.
    let mut builder = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Builder::new(executor).http2_only(),
        _ => Builder::new(executor).http1_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from(limits.header_time))
        .max_buf_size(header.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(header).unwrap_or(u32::MAX))
        .max_concurrent_streams(limits.requests)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(Some(Duration::from(limits.idle_time) / 2))
        .keep_alive_timeout(limits.header_time.into());
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut stop = shared.stop.clone();
    let idle = Duration::from(limits.idle_time);
    let mut ending = false;
    loop {
        let end = tokio::select! {
            // How the client ends its connection is its own affair.
            _ = connection.as_mut() => return,
            _ = stop.changed(), if !ending => true,
            () = sleep(idle / 4) => requests.idle_time() >= idle,
        };
        if end {
            // A client that was asked to go, by GOAWAY, and is still there is cut off.
            if std::mem::replace(&mut ending, true) && requests.idle_time() >= idle {
                return;
            }
            connection.as_mut().graceful_shutdown();
        }
    }
}

fn with_alternative(
    mut response: Response<Outgoing>,
    alternative: HeaderValue,
) -> Response<Outgoing> {
    response.headers_mut().insert(ALT_SVC, alternative);
    response
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    client: IpAddr,
    under_way: UnderWay,
) -> Response<Outgoing> {
    let version = request.version();
    let mut served = RequestLog::begin(&shared, client, &request, version);
    let now = shared.clock.system();
    let (head, incoming) = request.into_parts();
    let request = Request::from_parts(head, ());
    let StreamedResponse { head, content } = match &shared.origin {
        Origin::Files(root) => StreamedResponse::file(&shared, root, request, client, now).await,
        Origin::Upstream(relay) => {
            let upload = Upload::of_tcp(incoming, shared.door.limits().stall_time.into());
            // TLS over TCP takes no early data here.
            relay
                .forward(&request, upload, RequestContext { client, version, early: false, now })
                .await
        }
    };
    served.status(head.status());
    head.map(|()| Outgoing::new(content, served, under_way))
}
