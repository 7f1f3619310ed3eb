//! Forwards a TCP port of the server to a service outside the namespaces.
//!
//! Connections end at the server and continue in the host's network over ordinary sockets. The path
//! carries TCP between the client's kernel and that of the server. The host's configuration stays
//! unchanged.

use crate::error::EmuError;
use crate::namespace::Namespace;
use std::io;
use std::net::{Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Maximum number of concurrent connections. More are closed at once and counted. Each takes two
/// threads and 32 kB.
const MAX_CONNECTIONS: usize = 256;
/// Time limit for the service to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A forwarded TCP port. Dropping it stops accepting; open connections end with the namespaces.
#[derive(Debug)]
pub struct TcpForwarder {
    shared: Arc<Shared>,
    /// Namespace in which to wake the accepting thread.
    server: Namespace,
    address: SocketAddr,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    open: AtomicUsize,
    counts: Counts,
}

/// Counters of a forwarded port.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Counts {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn report(&self) -> ForwarderReport {
        let [accepted, refused, failed] = [&self.accepted, &self.refused, &self.failed]
            .map(|counter| counter.load(Ordering::Relaxed));
        ForwarderReport { accepted, refused, failed }
    }
}

/// Report of a [`TcpForwarder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ForwarderReport {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections closed at once because 256 were open.
    pub refused: u64,
    /// Connections accepted whose service could not be reached.
    pub failed: u64,
}

impl TcpForwarder {
    /// Forwards connections to `port` of `server` to `target`, a `host:port` that is resolved for
    /// each connection.
    ///
    /// # Errors
    /// The port is in use, or the target cannot be resolved now.
    pub fn start(server: &Namespace, port: u16, target: &str) -> Result<Self, EmuError> {
        let what = |error| EmuError::system(format!("forwarding port {port} to {target}"), error);
        target.to_socket_addrs().map_err(what)?;
        // Serves both families, because IPV6_V6ONLY is off in a new namespace; IPv4 alone without
        // IPv6.
        let bind = || {
            TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
                .or_else(|_| TcpListener::bind(("0.0.0.0", port)))
        };
        let listener = server.inside(bind)?.map_err(what)?;
        let port = listener.local_addr().map_err(what)?.port();
        let relay = Self {
            shared: Arc::default(),
            server: server.clone(),
            address: SocketAddr::from(([127, 0, 0, 1], port)),
        };
        let (shared, target) = (Arc::clone(&relay.shared), target.to_owned());
        std::thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || accept_all(&listener, &shared, &target))
            .map_err(|error| EmuError::system("starting a thread", error))?;
        Ok(relay)
    }

    /// The port, chosen by the kernel if 0 was requested.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The counters so far.
    pub fn report(&self) -> ForwarderReport {
        self.shared.counts.report()
    }
}

impl Drop for TcpForwarder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A connection from here ends the blocking accept.
        let address = self.address;
        let _ = self.server.inside(|| TcpStream::connect_timeout(&address, Duration::from_secs(1)));
    }
}

fn accept_all(listener: &TcpListener, shared: &Arc<Shared>, target: &str) {
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else {
            // Probably too many open files. A closing connection frees some.
            crate::clock::pause(bentpipe_units::Span::from_millis(10));
            continue;
        };
        if shared.open.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
            Counts::add(&shared.counts.refused);
            continue;
        }
        Counts::add(&shared.counts.accepted);
        let slot = ConnectionSlot::new(shared);
        let target = target.to_owned();
        let carry = move || {
            if carry(&stream, &target).is_err() {
                Counts::add(&slot.0.counts.failed);
            }
        };
        if std::thread::Builder::new().name("relayed".to_owned()).spawn(carry).is_err() {
            Counts::add(&shared.counts.failed);
        }
    }
}

/// One of the [`MAX_CONNECTIONS`] slots, released when dropped.
struct ConnectionSlot(Arc<Shared>);

impl ConnectionSlot {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Carries one connection until both directions have ended. Returns an error only if the service
/// could not be reached.
fn carry(near: &TcpStream, target: &str) -> io::Result<()> {
    let clients = connect(target)?;
    let _ = (near.set_nodelay(true), clients.set_nodelay(true));
    let copied = std::thread::scope(|scope| {
        std::thread::Builder::new().spawn_scoped(scope, || copy(near, &clients))?;
        copy(&clients, near);
        Ok(())
    });
    // Without a thread for the other direction, the connection cannot continue.
    copied.inspect_err(|_| drop(near.shutdown(Shutdown::Both)))
}

/// Copies one direction until its end and forwards the end. After an error, both directions end.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => drop(to.shutdown(Shutdown::Write)),
        Err(_) => drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both))),
    }
}

fn connect(target: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in target.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
