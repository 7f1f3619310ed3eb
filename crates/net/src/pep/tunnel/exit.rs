//! Where connections leave the tunnel: takes QUIC connections of those who know the secret, and
//! leads their streams on by TCP.

use super::super::admission::AdmissionControl;
use super::super::log::How;
use super::super::proxied_connection::ProxiedConnection;
use super::super::refusal::Refusal;
use super::super::relay::relay;
use super::super::stream::TcpProxyStream;
use super::super::{Limits, PepError, Shared};
use super::credit::Credits;
use super::header::{Header, LONGEST, read_header, write_answer};
use super::secret::Secret;
use super::stream::QuicProxyStream;
use super::{HANDSHAKE, TunnelConfig};
use crate::driver::Driver;
use crate::server::MTU;
use crate::socket::Socket;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::{Accept, Acceptor, Admission, Conn, Endpoint, RawStream, Task};
use bentpipe_units::Bytes;
use bytes::{Buf, Bytes as Piece, BytesMut};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Tunnels at a time, handshakes included, of all and of one address; beyond [`UNSEEN`], those who
/// begin one show first that their address is their own. Our choice.
const TUNNELS: usize = 64;
const OF_ADDRESS: usize = 8;
const UNSEEN: usize = 8;

/// Begins to take tunnels at `socket`.
pub(in super::super) fn start(
    socket: Socket,
    secret: &Secret,
    congestion: &CongestionConfig,
    buffer: Bytes,
    shared: Arc<Shared>,
) -> Result<(Driver, JoinHandle<io::Result<()>>), PepError> {
    let clock = shared.clock.clone();
    let memory = shared.door.limits().memory;
    let carrier = Arc::new(TunnelConfig::new(congestion, buffer, memory, clock.base())?);
    let config = Arc::new(ServerConfig::with_crypto(Arc::new(secret.server()?)));
    let mut endpoint_config = EndpointConfig::default();
    let largest = endpoint_config.max_udp_payload_size(MTU.1.max(1472));
    largest.map_err(|error| PepError::System(io::Error::other(error.to_string())))?;
    // Memory is counted where streams become TCP connections.
    let limits = Limits {
        connections: TUNNELS,
        per_client: OF_ADDRESS,
        memory: Bytes::MAX,
        ..*shared.door.limits()
    };
    let tunnels = AdmissionControl::new(limits);
    let (door, accepted) = (tunnels.clone(), config.clone());
    let acceptor: Acceptor = Box::new(move |remote| {
        let pass = door.enter(remote.ip(), (Bytes::new(0), Bytes::new(0))).ok()?;
        let streams = shared.door.limits().connections.saturating_add(1);
        let (config, attachments) = carrier.connection(streams).server(&accepted);
        let shared = shared.clone();
        let app = Box::new(move |conn: Conn| {
            Box::pin(async move {
                take(conn, shared, remote).await;
                drop(pass);
            }) as Task
        });
        Some(Accept { config, attachments, app })
    });
    let mut endpoint = Endpoint::new(
        endpoint_config,
        clock.base(),
        Some((config, acceptor)),
        socket.max_segments(MTU.1),
    );
    endpoint.set_gatekeeper(Box::new(move |_, validated| match tunnels.inside() {
        inside if inside >= TUNNELS => Admission::Refuse,
        inside if inside >= UNSEEN && !validated => Admission::Retry,
        _ => Admission::Admit,
    }));
    Ok(Driver::start(endpoint, socket, clock))
}

/// The application inside a connection: a task for each stream.
async fn take(conn: Conn, shared: Arc<Shared>, remote: SocketAddr) {
    if !matches!(timeout(HANDSHAKE.into(), conn.handshaken()).await, Ok(Ok(()))) {
        return conn.close(0, b"");
    }
    // The first stream is for credit.
    let Ok(control) = RawStream::accept(&conn).await else { return };
    let credits = Credits::default();
    let exchanging = credits.clone();
    conn.spawn(async move { exchanging.exchange(control).await });
    while let Ok(stream) = RawStream::accept(&conn).await {
        let (shared, credits, mut kill) = (shared.clone(), credits.clone(), shared.kill.clone());
        conn.spawn(async move {
            tokio::select! {
                () = serve(stream, credits, shared, remote) => {}
                _ = kill.changed() => {}
            }
        });
    }
}

async fn serve(mut stream: RawStream, credits: Credits, shared: Arc<Shared>, remote: SocketAddr) {
    let pass = match shared.door.enter(remote.ip(), shared.tuning.wanted(shared.buffer)) {
        Ok(pass) => pass,
        Err(full) => {
            shared.metrics.full(full);
            let stream = QuicProxyStream::new(stream, credits, Bytes::new(0), Bytes::new(0));
            return answer(stream, Refusal::Busy.number()).await;
        }
    };
    shared.metrics.connections.fetch_add(1, Relaxed);
    let Ok(Some((header, rest))) = timeout(HANDSHAKE.into(), header(&mut stream)).await else {
        shared.metrics.not_understood.fetch_add(1, Relaxed);
        stream.abandon(0);
        return;
    };
    let Header { window, target, .. } = header;
    let buffers = pass.buffers();
    let mut stream =
        QuicProxyStream::new(stream, credits, buffers.satellite, Bytes::new(window.into()));
    stream.give_back(rest);
    let mut journey = ProxiedConnection::begin(&shared, remote, How::Tunnel, target.clone());
    let (server, address) = match shared.dial(&target, None, buffers).await {
        Ok(reached) => reached,
        Err(refusal) => {
            journey.refused(refusal);
            return answer(stream, refusal.number()).await;
        }
    };
    journey.reached(address);
    let mut server = TcpProxyStream::new(server);
    if stream
        .stream()
        .write_all(&write_answer(TunnelConfig::window(buffers.satellite)))
        .await
        .is_err()
    {
        return;
    }
    let end = relay(
        &mut stream,
        &mut server,
        Vec::new(),
        buffers.piece,
        shared.patience,
        journey.moved(),
    )
    .await;
    journey.ended(end);
}

/// Reads where a connection wants to go, and what came behind.
async fn header(stream: &mut RawStream) -> Option<(Header, Piece)> {
    let mut bytes = BytesMut::new();
    while bytes.len() <= LONGEST {
        bytes.extend_from_slice(&stream.read().await.ok()??);
        if let Some(header) = read_header(&bytes).ok()? {
            bytes.advance(header.length);
            return Some((header, bytes.freeze()));
        }
    }
    None
}

/// The last that the entrance hears of a connection; the rest of what the client says is not
/// wanted.
async fn answer(mut stream: QuicProxyStream, number: u8) {
    if stream.stream().write_all(&[number]).await.is_ok() && stream.stream().finish().is_ok() {
        stream.refuse();
    }
}
