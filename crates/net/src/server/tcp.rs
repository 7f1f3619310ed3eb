//! HTTP/1.1 and HTTP/2 over TLS, beside HTTP/3: the same responses, and word of the better way (Alt-Svc, RFC 7838).

use super::reply::{Content, Origin, Reply};
use super::stall::Impatient;
use super::upstream::{Asker, Upload};
use super::{Served, Shared};
use crate::http::PIECE;
use bentpipe_quic::Admission;
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http::header::{ALT_SVC, HeaderValue};
use http::{Request, Response};
use http_body::Frame;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Takes connections until the server stops.
pub(super) async fn listen(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>, alternative: HeaderValue) {
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
                tokio::spawn(serve(stream, remote, tls.clone(), shared.clone(), alternative.clone()));
            }
            // No file descriptors are left, or the client has gone: the former passes, and trying again at once would not help.
            Err(error) => {
                tracing::debug!(%error, "TCP connection not taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, remote: SocketAddr, tls: TlsAcceptor, shared: Arc<Shared>, alternative: HeaderValue) {
    let mut pass = shared.door.enter(remote.ip());
    shared.metrics.connections_tcp.fetch_add(1, Relaxed);
    let limits = *shared.door.limits();
    // Small frames of HTTP/2 should not wait for acknowledgements; without it all works, more slowly.
    let _ = stream.set_nodelay(true);
    let stream = Impatient::new(stream, limits.stall_time.into());
    let Ok(Ok(stream)) = timeout(limits.handshake_time.into(), tls.accept(stream)).await else {
        shared.metrics.handshakes_failed.fetch_add(1, Relaxed);
        return;
    };
    pass.shaken();
    let client = remote.ip().to_canonical();
    let service = {
        let shared = shared.clone();
        service_fn(move |request: Request<Incoming>| {
            let (shared, alternative) = (shared.clone(), alternative.clone());
            async move { Ok::<_, Infallible>(respond(request, shared, client, alternative).await) }
        })
    };
    let header = usize::try_from(limits.header.get()).unwrap_or(usize::MAX);
    // By what the handshake settled, not by the first bytes: for those, a client could have one wait for ever.
    let mut builder = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => Builder::new(TokioExecutor::new()).http2_only(),
        _ => Builder::new(TokioExecutor::new()).http1_only(),
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
        .max_send_buf_size(1024 * 1024)
        .keep_alive_interval(Some(Duration::from(limits.idle_time) / 2))
        .keep_alive_timeout(limits.header_time.into());
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut stop = shared.stop.clone();
    // How the client ends its connection is its own affair.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    client: IpAddr,
    alternative: HeaderValue,
) -> Response<Outgoing> {
    let version = request.version();
    let mut served = Served::begin(&shared, client, &request, version);
    let now = shared.clock.system();
    let (head, incoming) = request.into_parts();
    let request = Request::from_parts(head, ());
    let Reply { head, content } = match &shared.origin {
        Origin::Files(root) => Reply::file(root, request, now).await,
        Origin::Upstream(relay) => {
            let upload = Upload::of_tcp(incoming, shared.door.limits().stall_time.into());
            // TLS over TCP takes no early data here.
            relay.forward(&request, upload, Asker { client, version, early: false, now }).await
        }
    };
    served.status(head.status());
    let mut response = head.map(|()| Outgoing::new(content, served));
    response.headers_mut().insert(ALT_SVC, alternative);
    response
}

/// A response's content as hyper takes it.
pub(super) struct Outgoing(Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>);

impl Outgoing {
    fn new(content: Content, served: Served) -> Self {
        // Where the length is known, hyper does not ask whether there is more: the last piece is the end.
        let unless_done = |content: &Content, served: Served| {
            if content.is_done() {
                served.complete();
                return None;
            }
            Some(served)
        };
        let served = unless_done(&content, served);
        Self(Box::pin(unfold((content, served), move |(mut content, served)| async move {
            let mut served = served?;
            match content.next(PIECE).await {
                Ok(Some(piece)) => {
                    served.sent(piece.len() as u64);
                    let served = unless_done(&content, served);
                    Some((Ok(piece), (content, served)))
                }
                Ok(None) => {
                    // A file that ends here is shorter than announced; a response without a length may end anywhere.
                    if matches!(content, Content::Upstream(_)) {
                        served.complete();
                    }
                    None
                }
                Err(error) => Some((Err(error), (content, None))),
            }
        })))
    }
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.as_mut().poll_next(cx).map_ok(Frame::data)
    }
}
