//! Accepts connections, finds out their destination, and forwards them.

use super::config::Listener;
use super::connection_log::Origin;
use super::handshake::machine::{ClientHandshake, Event};
use super::proxied_connection::ProxiedConnection;
use super::refusal::Refusal;
use super::refuse::{refuse, send_last};
use super::relay::relay;
use super::shared::Shared;
use super::stream::TcpProxyStream;
use super::target::Target;
use super::tunnel::ingress::PendingStream;
use crate::admission::buffers::Buffers;
use crate::admission::control::ConnectionGuard;
use crate::socket::ACCEPT_RETRY;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Accepts connections until the task is aborted.
pub(super) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => accept(stream, remote, &shared),
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

fn accept(stream: TcpStream, remote: SocketAddr, shared: &Arc<Shared>) {
    // Dropping it resets a client that is not admitted.
    let client = TcpProxyStream::new(stream);
    if !shared.allowed.client(remote.ip()) {
        shared.metrics.not_allowed.fetch_add(1, Relaxed);
        return;
    }
    let Ok(guard) = shared.admit(remote.ip()) else { return };
    let shared = shared.clone();
    tokio::spawn(async move {
        let mut shutdown = shared.shutdown.clone();
        tokio::select! {
            () = serve(client, remote, guard, &shared) => {}
            () = shutdown.forced() => {}
        }
    });
}

/// The destination of a client.
struct Request {
    target: Target,
    origin: Origin,
    /// The handshake that the client expects a reply to. `None` if a rule diverted the connection.
    handshake: Option<ClientHandshake>,
}

async fn serve(
    mut client: TcpProxyStream,
    remote: SocketAddr,
    guard: ConnectionGuard<Buffers>,
    shared: &Arc<Shared>,
) {
    let buffers = *guard.reservation();
    let Some(request) = receive_request(&mut client, shared, buffers).await else {
        shared.metrics.not_understood.fetch_add(1, Relaxed);
        return;
    };
    let Request { target, origin, handshake } = request;
    let mut connection = ProxiedConnection::start(&shared.recorder, remote, origin, target.clone());
    if let Some(tunnel) = &shared.tunnel {
        if shared.allowed.refuses_all(&target) {
            connection.refused(Refusal::NotAllowed);
            return refuse(client, handshake, Refusal::NotAllowed).await;
        }
        let pending = PendingStream {
            client,
            target,
            handshake,
            connection,
            guard,
            timeouts: shared.timeouts,
            shutdown: shared.shutdown.clone(),
        };
        if let Err(pending) = tunnel.send(pending, shared.limits.connect_time).await {
            let PendingStream { client, handshake, mut connection, .. } = pending;
            connection.refused(Refusal::Unreachable);
            refuse(client, handshake, Refusal::Unreachable).await;
        }
        return;
    }
    let source =
        matches!(shared.listener, Listener::Transparent { keep_source: true }).then_some(remote);
    let (server, address) = match shared.dial(&target, source, buffers).await {
        Ok(connected) => connected,
        Err(refusal) => {
            connection.refused(refusal);
            return refuse(client, handshake, refusal).await;
        }
    };
    connection.set_server(address);
    let mut server = TcpProxyStream::new(server);
    let mut first = Vec::new();
    if let Some(handshake) = handshake {
        let reply = handshake.grant();
        first = handshake.into_remainder();
        let limit = shared.limits.handshake_time.into();
        if !matches!(timeout(limit, client.stream().write_all(&reply)).await, Ok(Ok(()))) {
            return;
        }
    }
    let end = relay(
        &mut client,
        &mut server,
        first,
        buffers.relay,
        shared.timeouts,
        connection.progress(),
    )
    .await;
    connection.ended(end);
}

/// Finds out the destination of a client. `None` if there is none. The client has got its reply
/// then.
async fn receive_request(
    client: &mut TcpProxyStream,
    shared: &Shared,
    buffers: Buffers,
) -> Option<Request> {
    shared.tuning.tune_accepted(client.stream(), buffers).ok()?;
    let diverted = |target: io::Result<SocketAddr>, origin| {
        // A client that connects to the proxy itself would make the proxy its own client.
        let target = target.ok().filter(|target| !shared.is_own(*target))?;
        Some(Request { target: Target::from(target), origin, handshake: None })
    };
    match &shared.listener {
        Listener::Transparent { .. } => diverted(client.stream().local_addr(), Origin::Transparent),
        Listener::Redirected => diverted(original_target(client.stream()), Origin::Redirected),
        // Its connections do not arrive over TCP.
        Listener::Tunnel { .. } => None,
        Listener::Explicit { credentials } => {
            let limit = shared.limits.handshake_time.into();
            let mut handshake = ClientHandshake::new(credentials.clone());
            let target = timeout(limit, run_handshake(client, &mut handshake)).await.ok()??;
            let origin = Origin::Explicit(handshake.protocol()?);
            Some(Request { target, origin, handshake: Some(handshake) })
        }
    }
}

/// Returns the destination of a connection before a REDIRECT rule changed it.
fn original_target(stream: &TcpStream) -> io::Result<SocketAddr> {
    let socket = socket2::SockRef::from(stream);
    let address = if stream.local_addr()?.is_ipv4() {
        socket.original_dst_v4()
    } else {
        socket.original_dst_v6()
    };
    address?.as_socket().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Runs the handshake with a client until its destination is known.
async fn run_handshake(
    client: &mut TcpProxyStream,
    handshake: &mut ClientHandshake,
) -> Option<Target> {
    let mut buffer = [0; 2048];
    loop {
        match handshake.next_event() {
            Event::Connect(target) => return Some(target),
            Event::Send(reply) => client.stream().write_all(&reply).await.ok()?,
            Event::Refused(reply, reason) => {
                tracing::debug!(reason, "client refused");
                send_last(client, &reply).await;
                return None;
            }
            Event::NeedMore => {
                let limit = handshake.capacity().min(buffer.len());
                let read = client.stream().read(buffer.get_mut(..limit)?).await.ok()?;
                if read == 0 {
                    return None;
                }
                handshake.receive(buffer.get(..read)?);
            }
        }
    }
}
