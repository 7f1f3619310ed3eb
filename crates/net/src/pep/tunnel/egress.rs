//! The egress of tunnels: accepts QUIC connections from proxies with the secret, and forwards their
//! streams over TCP.

use super::config::{HANDSHAKE_TIME, TunnelConfig};
use super::flow_control::StreamLimits;
use super::header::{Header, MAX_HEADER, read_header, write_reply};
use super::secret::{ALPN, Secret, hint};
use super::stream::QuicProxyStream;
use crate::admission::control::{
    AdmissionControl, ConnectionGuard, HandshakeLimits, SECRET_HANDSHAKE_TIME, SECRET_HANDSHAKES,
};
use crate::admission::quic::QuicGate;
use crate::clock::RealClock;
use crate::driver::Driver;
use crate::logging::Level;
use crate::pep::connection_log::Origin;
use crate::pep::error::PepError;
use crate::pep::proxied_connection::ProxiedConnection;
use crate::pep::refusal::Refusal;
use crate::pep::relay::relay;
use crate::pep::shared::Shared;
use crate::pep::stream::TcpProxyStream;
use crate::socket::Socket;
use bentpipe_quic::noq_proto::ServerConfig;
use bentpipe_quic::{Accept, Conn, RawStream, Task};
use bentpipe_units::Bytes;
use bentpipe_units::Printable;
use bytes::{Buf, Bytes as Piece, BytesMut};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Concurrent tunnels of proxies with the secret. Our choice.
const MAX_TUNNELS: usize = 64;
/// Concurrent tunnels of one client. Our choice.
const MAX_PER_CLIENT: usize = 8;
/// Number of incomplete handshakes from which on clients have to validate their addresses. Our
/// choice.
const RETRY_FROM: usize = 8;

/// Starts to accept tunnels on `socket`.
pub(in crate::pep) fn start(
    socket: Socket,
    secret: &Secret,
    tunnel: TunnelConfig,
    shared: Arc<Shared>,
    clock: RealClock,
) -> Result<(Driver, JoinHandle<io::Result<()>>), PepError> {
    let config = Arc::new(ServerConfig::with_crypto(Arc::new(secret.server(ALPN)?)));
    // The memory of streams is reserved when they become TCP connections.
    let tunnels = AdmissionControl::behind_secret(MAX_TUNNELS, MAX_PER_CLIENT);
    let limits = HandshakeLimits { retry_from: RETRY_FROM, refuse_from: SECRET_HANDSHAKES };
    let (gate, accepted) = (QuicGate::new(tunnels, limits), config.clone());
    let accept = move |remote: SocketAddr, guard: ConnectionGuard| {
        // One more stream for flow control.
        let streams = shared.limits.connections.saturating_add(1);
        let (config, attachments) = tunnel.connection(remote, streams).server(&accepted);
        let shared = shared.clone();
        let app = Box::new(move |conn: Conn| {
            Box::pin(async move {
                accept_streams(conn, shared, remote, guard).await;
            }) as Task
        });
        Accept { config, attachments, app }
    };
    Driver::for_server(config, gate, (socket, clock), accept).map_err(PepError::system)
}

/// The application of a tunnel: a task for each stream.
async fn accept_streams(
    conn: Conn,
    shared: Arc<Shared>,
    remote: SocketAddr,
    mut guard: ConnectionGuard,
) {
    let handshake = timeout(SECRET_HANDSHAKE_TIME.into(), conn.handshaken()).await;
    let failed = match handshake {
        Ok(Ok(())) => guard.handshake_complete().is_err().then(|| "too many tunnels".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!("no handshake within {SECRET_HANDSHAKE_TIME}")),
    };
    if let Some(reason) = failed {
        shared.metrics.tunnels_refused.fetch_add(1, Relaxed);
        let hint = hint(&reason);
        let reason = Printable(reason);
        let text = format_args!("a tunnel from {remote} was refused: {reason}{hint}");
        shared.report(Level::Warning, &text);
        return conn.close(0, b"");
    }
    // The first stream is for flow control.
    let Ok(control) = RawStream::accept(&conn).await else { return };
    let limits = StreamLimits::default();
    let records = limits.clone();
    conn.spawn(async move { records.exchange(control).await });
    while let Ok(stream) = RawStream::accept(&conn).await {
        let (shared, limits) = (shared.clone(), limits.clone());
        let mut shutdown = shared.shutdown.clone();
        conn.spawn(async move {
            tokio::select! {
                () = serve(stream, limits, shared, remote) => {}
                () = shutdown.forced() => {}
            }
        });
    }
}

async fn serve(
    mut stream: RawStream,
    limits: StreamLimits,
    shared: Arc<Shared>,
    remote: SocketAddr,
) {
    let Ok(guard) = shared.admit(remote.ip()) else {
        let stream = QuicProxyStream::new(stream, limits, Bytes::new(0), Bytes::new(0));
        return refuse(stream, Refusal::Busy).await;
    };
    let Ok(Some((header, rest))) =
        timeout(HANDSHAKE_TIME.into(), receive_header(&mut stream)).await
    else {
        shared.metrics.not_understood.fetch_add(1, Relaxed);
        stream.abandon(0);
        return;
    };
    let Header { window, target, .. } = header;
    let buffers = *guard.reservation();
    let mut stream =
        QuicProxyStream::new(stream, limits, buffers.satellite, Bytes::new(window.into()));
    stream.unread(rest);
    let mut connection =
        ProxiedConnection::start(&shared.recorder, remote, Origin::Tunnel, target.clone());
    let (server, address) = match shared.dial(&target, None, buffers).await {
        Ok(connected) => connected,
        Err(refusal) => {
            connection.refused(refusal);
            return refuse(stream, refusal).await;
        }
    };
    connection.set_server(address);
    let mut server = TcpProxyStream::new(server);
    if stream
        .stream()
        .write_all(&write_reply(TunnelConfig::window(buffers.satellite)))
        .await
        .is_err()
    {
        return;
    }
    let end = relay(
        &mut stream,
        &mut server,
        Vec::new(),
        buffers.relay,
        shared.timeouts,
        connection.progress(),
    )
    .await;
    connection.ended(end);
}

/// Receives the header of a stream, and the bytes that arrived with it.
async fn receive_header(stream: &mut RawStream) -> Option<(Header, Piece)> {
    let mut bytes = BytesMut::new();
    while bytes.len() <= MAX_HEADER {
        bytes.extend_from_slice(&stream.read().await.ok()??);
        if let Some(header) = read_header(&bytes).ok()? {
            bytes.advance(header.length);
            return Some((header, bytes.freeze()));
        }
    }
    None
}

/// Refuses a stream and discards the rest of the client's bytes.
async fn refuse(mut stream: QuicProxyStream, refusal: Refusal) {
    let reply = [refusal.code()];
    if stream.stream().write_all(&reply).await.is_ok() && stream.stream().finish().is_ok() {
        stream.discard_rest();
    }
}
