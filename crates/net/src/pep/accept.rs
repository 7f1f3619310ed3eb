//! Takes connections, finds out where they want to go, and leads them on.

use super::admission::{Buffers, ConnectionGuard};
use super::entry::{Entry, Event};
use super::log::How;
use super::proxied_connection::ProxiedConnection;
use super::refusal::Refusal;
use super::relay::relay;
use super::stream::{ProxyStream, TcpProxyStream};
use super::target::Target;
use super::tunnel::PendingStream;
use super::{Listener, Shared};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, timeout};

/// Takes connections until the task is dropped.
pub(super) async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, remote)) => take(stream, remote, &shared),
            // No file descriptors are left, or the client has gone: the former passes, and trying
            // again at once would not help.
            Err(error) => {
                tracing::debug!(%error, "connection not taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn take(stream: TcpStream, remote: SocketAddr, shared: &Arc<Shared>) {
    // Dropped before its time, it is reset: the answer to a client that is not let in.
    let face = TcpProxyStream::new(stream);
    if !shared.allowed.client(remote.ip()) {
        shared.metrics.not_allowed.fetch_add(1, Relaxed);
        return;
    }
    let pass = match shared.door.enter(remote.ip(), shared.tuning.wanted(shared.buffer)) {
        Ok(pass) => pass,
        Err(full) => return shared.metrics.full(full),
    };
    shared.metrics.connections.fetch_add(1, Relaxed);
    let shared = shared.clone();
    tokio::spawn(async move {
        let mut kill = shared.kill.clone();
        tokio::select! {
            () = serve(face, remote, pass, &shared) => {}
            _ = kill.changed() => {}
        }
    });
}

/// A client that has said where it wants to go.
struct Asked {
    target: Target,
    how: How,
    /// What it said, for the answer; nothing where it did not say but was led here.
    entry: Option<Entry>,
}

async fn serve(
    mut face: TcpProxyStream,
    remote: SocketAddr,
    pass: ConnectionGuard,
    shared: &Arc<Shared>,
) {
    let buffers = pass.buffers();
    let Some(asked) = ask(&mut face, shared, buffers).await else {
        shared.metrics.not_understood.fetch_add(1, Relaxed);
        return;
    };
    let Asked { target, how, entry } = asked;
    let mut journey = ProxiedConnection::begin(shared, remote, how, target.clone());
    if let Some(tunnel) = &shared.tunnel {
        if shared.allowed.refuses_all(&target) {
            journey.refused(Refusal::NotAllowed);
            return refuse(face, entry, Refusal::NotAllowed).await;
        }
        let kill = shared.kill.clone();
        let passenger =
            PendingStream { face, target, entry, journey, pass, patience: shared.patience, kill };
        if let Err(passenger) = tunnel.carry(passenger, shared.door.limits().connect_time).await {
            let PendingStream { face, entry, mut journey, .. } = passenger;
            journey.refused(Refusal::Unreachable);
            refuse(face, entry, Refusal::Unreachable).await;
        }
        return;
    }
    let source =
        matches!(shared.entrance, Listener::Transparent { keep_source: true }).then_some(remote);
    let server = match shared.dial(&target, source, buffers).await {
        Ok(server) => server,
        Err(refusal) => {
            journey.refused(refusal);
            return refuse(face, entry, refusal).await;
        }
    };
    let (server, address) = server;
    journey.reached(address);
    let mut server = TcpProxyStream::new(server);
    let mut first = Vec::new();
    if let Some(entry) = entry {
        let granted = entry.grant();
        first = entry.rest();
        let patience = shared.door.limits().entry_time.into();
        if !matches!(timeout(patience, face.stream().write_all(&granted)).await, Ok(Ok(()))) {
            return;
        }
    }
    let end =
        relay(&mut face, &mut server, first, buffers.piece, shared.patience, journey.moved()).await;
    journey.ended(end);
}

/// Finds out where a client wants to go. Nothing where it cannot be found out; the client has then
/// been told what there is to tell.
async fn ask(face: &mut TcpProxyStream, shared: &Shared, buffers: Buffers) -> Option<Asked> {
    shared.tuning.accepted(face.stream(), buffers).ok()?;
    let led = |target: io::Result<SocketAddr>, how| {
        // Who came by no rule came to the proxy itself: it would be its own client.
        let target = target.ok().filter(|target| !shared.is_own(*target))?;
        Some(Asked { target: Target::from(target), how, entry: None })
    };
    match &shared.entrance {
        Listener::Transparent { .. } => led(face.stream().local_addr(), How::Transparent),
        Listener::Redirected => led(original(face.stream()), How::Redirected),
        // Its connections do not come over TCP.
        Listener::Tunnel { .. } => None,
        Listener::Explicit { credentials } => {
            let patience = shared.door.limits().entry_time.into();
            let mut entry = Entry::new(credentials.clone());
            let target = timeout(patience, enter(face, &mut entry)).await.ok()??;
            let how = How::Explicit(entry.protocol()?);
            Some(Asked { target, how, entry: Some(entry) })
        }
    }
}

/// Where a connection wanted to go before a REDIRECT rule led it here.
fn original(stream: &TcpStream) -> io::Result<SocketAddr> {
    let socket = socket2::SockRef::from(stream);
    let address = if stream.local_addr()?.is_ipv4() {
        socket.original_dst_v4()
    } else {
        socket.original_dst_v6()
    };
    address?.as_socket().ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Speaks with a client until it has said where it wants to go.
async fn enter(face: &mut TcpProxyStream, entry: &mut Entry) -> Option<Target> {
    let mut buffer = [0; 2048];
    loop {
        match entry.step() {
            Event::Asked(target) => return Some(target),
            Event::Send(answer) => face.stream().write_all(&answer).await.ok()?,
            Event::Refused(answer, why) => {
                tracing::debug!(why, "client refused");
                tell(face, &answer).await;
                return None;
            }
            Event::More => {
                let most = entry.room().min(buffer.len());
                let read = face.stream().read(buffer.get_mut(..most)?).await.ok()?;
                if read == 0 {
                    return None;
                }
                entry.take(buffer.get(..read)?);
            }
        }
    }
}

/// The last that a client hears. What it has sent and nobody read would have the kernel reset the
/// connection, perhaps before the client has seen it: so some is read.
async fn tell(face: &mut TcpProxyStream, answer: &[u8]) {
    let stream = face.stream();
    let told = async {
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        for _ in 0..64 {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        io::Result::Ok(())
    };
    // Our choice: a client that waits longer to close is reset.
    if matches!(timeout(Duration::from_secs(2), told).await, Ok(Ok(()))) {
        face.done();
    }
}

/// Refuses a client: in its own words where it has some, and by a reset otherwise.
pub(super) async fn refuse(mut face: TcpProxyStream, entry: Option<Entry>, refusal: Refusal) {
    if let Some(entry) = entry {
        tell(&mut face, &entry.refuse(refusal)).await;
    }
}
