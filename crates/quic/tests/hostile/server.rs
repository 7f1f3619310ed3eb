//! The server under attack: our endpoint with an HTTP/3 application, and what it counts.

use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::tls::{self, Identity, Randomness};
use bentpipe_quic::{
    Accept, Clock, Conn, ConnectionConfig, Endpoint, EpochClock, HeaderMemory, Http3, QuicSettings,
};
use bentpipe_units::{Bytes as Size, Span};
use bytes::{Buf, Bytes};
use futures_util::future::{Either, select};
use h3::server::{RequestResolver, RequestStream};
use http::{Method, Response};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Requests that a client may have open.
pub const STREAMS: u32 = 8;
/// Longest header frame, bytes.
const HEADER: u64 = 4096;
/// Budget of incomplete header frames, bytes.
pub const HEADER_MEMORY: u64 = 16 * 1024;
/// Bytes that a stream, and a connection, may send ahead: small, so that a case that uses all of
/// them takes milliseconds.
const STREAM_WINDOW: u64 = 60_000;
pub const CONNECTION_WINDOW: u64 = 200_000;
/// Time after which a silent client is forgotten.
pub const IDLE: Span = Span::from_secs(60);
/// The send buffer of a connection.
const SEND_BUFFER: u64 = 256_000;

/// Tasks of the application that began, and that have ended or were dropped.
#[derive(Debug, Default)]
pub struct Counts {
    pub begun: AtomicU64,
    pub ended: AtomicU64,
}

struct Running(Arc<Counts>);

impl Running {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.begun.fetch_add(1, Relaxed);
        Self(counts.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

/// A server, and what its invariants are about.
pub struct Server {
    pub endpoint: Endpoint,
    pub counts: Arc<Counts>,
    pub header_memory: HeaderMemory,
}

impl Server {
    pub fn new(clock: Clock, identity: &Identity) -> Self {
        let settings = QuicSettings {
            send_buffer: Size::new(SEND_BUFFER),
            idle_timeout: IDLE,
            stream_window: Size::new(STREAM_WINDOW),
            connection_window: Size::new(CONNECTION_WINDOW),
            ..QuicSettings::default()
        };
        let window = settings.stream_window.get();
        let config = ConnectionConfig::new(settings, clock).unwrap().with_stream_limits(STREAMS, 8);
        let epoch = EpochClock::new(1_767_225_600);
        let crypto = tls::server(identity, tls::ALPN_H3, Randomness::System, epoch, None).unwrap();
        let base = Arc::new(ServerConfig::with_crypto(Arc::new(crypto)));
        let counts = Arc::new(Counts::default());
        let header_memory = HeaderMemory::new(HEADER_MEMORY);
        let (accept_base, accept_counts, memory) =
            (base.clone(), counts.clone(), header_memory.clone());
        let acceptor = Box::new(move |_: SocketAddr| {
            let (config, attachments) = config.clone().server(&accept_base);
            let (counts, memory) = (accept_counts.clone(), memory.clone());
            let app = Box::new(move |conn: Conn| -> bentpipe_quic::Task {
                let running = Running::new(&counts);
                Box::pin(serve(conn, window, memory, running))
            });
            Some(Accept { config, attachments, app })
        });
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            clock,
            Some((base, acceptor)),
            NonZeroUsize::new(4).unwrap(),
        );
        Self { endpoint, counts, header_memory }
    }

    /// Tasks that have begun and not ended.
    pub fn running(&self) -> u64 {
        self.counts.begun.load(Relaxed) - self.counts.ended.load(Relaxed)
    }
}

async fn serve(conn: Conn, window: u64, memory: HeaderMemory, running: Running) {
    let transport = Http3::new(conn.clone(), window).limit_headers(HEADER, memory);
    let built = h3::server::builder()
        .max_field_section_size(HEADER)
        .send_grease(false)
        .build::<_, Bytes>(transport)
        .await;
    let Ok(mut connection) = built else { return };
    while let Ok(Some(resolver)) = connection.accept().await {
        let (task_conn, running) = (conn.clone(), Running::new(&running.0));
        conn.spawn(async move { request(task_conn, resolver, running).await });
    }
}

async fn request(conn: Conn, resolver: RequestResolver<Http3, Bytes>, _running: Running) {
    let id = resolver.frame_stream.id();
    let refusal = conn.finish_when_dropped(id);
    let resolved = resolver.resolve_request().await;
    drop(refusal);
    let Ok((request, stream)) = resolved else { return };
    let stopped = pin!(conn.stopped(id));
    let answer = pin!(answer(request, stream));
    if let Either::Right((Err(()), _)) = select(stopped, answer).await {
        // The client is gone, has reset its request, or broke the protocol.
    }
}

async fn answer(
    request: http::Request<()>,
    mut stream: RequestStream<bentpipe_quic::BidiStream, Bytes>,
) -> Result<(), ()> {
    let mut kilobytes = 1;
    if request.method() == Method::PUT {
        while let Some(data) = stream.recv_data().await.map_err(drop)? {
            debug_assert!(data.has_remaining(), "an empty piece of content");
        }
    } else {
        kilobytes = request.uri().path().trim_start_matches('/').parse().unwrap_or(0);
        stream.stop_sending(h3::error::Code::H3_NO_ERROR);
    }
    let response = Response::builder().status(200).body(()).map_err(drop)?;
    stream.send_response(response).await.map_err(drop)?;
    for _ in 0..kilobytes {
        stream.send_data(Bytes::from_static(&[b'x'; 1000])).await.map_err(drop)?;
    }
    stream.finish().await.map_err(drop)
}
