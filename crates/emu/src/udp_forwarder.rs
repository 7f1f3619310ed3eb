//! Forwards a UDP port of the server to a service outside the namespaces: the counterpart of
//! `TcpForwarder`.
//!
//! Each client address gets its own socket in the host's network, connected to the service, as
//! behind a NAT (RFC 4787). Replies go back to that address. Datagrams cross the path unchanged.
//! Their ECN field ends at the port.

use crate::clock::{Clock, pause};
use crate::error::EmuError;
use crate::namespace::Namespace;
use crate::tcp_forwarder::Counts;
use crate::tcp_forwarder::ForwarderReport;
use bentpipe_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt::RcvBuf};
use std::io::{self, ErrorKind};
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Maximum number of concurrent client addresses. More are refused until one has been idle for
/// [`IDLE_TIMEOUT`].
const MAX_CLIENTS: usize = 256;
/// Idle time, without a datagram in either direction, after which a client address may be replaced:
/// the minimum of RFC 4787 §4.3.
const IDLE_TIMEOUT: Span = Span::from_secs(120);
/// Interval at which the thread checks whether to stop.
const STOP_CHECK_MS: u16 = 100;
/// Datagrams read from one socket before the others are served.
const BATCH: usize = 64;
/// Requested socket buffer: 50 ms at 300 Mbps. The host may allow less.
const SOCKET_BUFFER: usize = 2 << 20;

/// A forwarded UDP port. Dropping it closes it.
#[derive(Debug)]
pub struct UdpForwarder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    port: u16,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    counts: Counts,
}

impl UdpForwarder {
    /// Forwards datagrams to `port` of `server` to `target`, a `host:port` that is resolved for
    /// each client address.
    ///
    /// # Errors
    /// The port is in use, or the target cannot be resolved now.
    pub fn start(server: &Namespace, port: u16, target: &str) -> Result<Self, EmuError> {
        let what =
            |error| EmuError::system(format!("forwarding UDP port {port} to {target}"), error);
        target.to_socket_addrs().map_err(what)?;
        // Serves both families, because IPV6_V6ONLY is off in a new namespace; IPv4 alone without
        // IPv6.
        let bind = || {
            UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))
                .or_else(|_| UdpSocket::bind(("0.0.0.0", port)))
        };
        let near = prepared(server.inside(bind)?.map_err(what)?).map_err(what)?;
        let port = near.local_addr().map_err(what)?.port();
        let shared: Arc<Shared> = Arc::default();
        let mut port_at_work = Port {
            near,
            target: target.to_owned(),
            shared: Arc::clone(&shared),
            clients: Vec::new(),
            clock: Clock::start(),
        };
        let thread = std::thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || port_at_work.run())
            .map_err(|error| EmuError::system("starting a thread", error))?;
        Ok(Self { shared, thread: Some(thread), port })
    }

    /// The port, chosen by the kernel if 0 was requested.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The counters so far: addresses accepted, datagrams refused because 256 addresses were in
    /// use, and datagrams that could not be forwarded.
    pub fn report(&self) -> ForwarderReport {
        self.shared.counts.report()
    }
}

impl Drop for UdpForwarder {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes a socket non-blocking and enlarges its buffers.
fn prepared(socket: UdpSocket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    // As far as the host permits.
    let _ = setsockopt(&socket, RcvBuf, &SOCKET_BUFFER);
    Ok(socket)
}

/// A client address, its socket in the host's network, and the time of its last datagram.
struct ClientSocket {
    client: SocketAddr,
    socket: UdpSocket,
    used: Time,
}

struct Port {
    near: UdpSocket,
    target: String,
    shared: Arc<Shared>,
    clients: Vec<ClientSocket>,
    clock: Clock,
}

impl Port {
    fn run(&mut self) {
        let mut buffer = vec![0; 65_536];
        while !self.shared.stop.load(Ordering::Relaxed) {
            let mut waiting = vec![PollFd::new(self.near.as_fd(), PollFlags::POLLIN)];
            waiting.extend(
                self.clients
                    .iter()
                    .map(|clients| PollFd::new(clients.socket.as_fd(), PollFlags::POLLIN)),
            );
            if poll(&mut waiting, PollTimeout::from(STOP_CHECK_MS)).is_err() {
                // A signal, or a temporary lack of memory.
                pause(Span::from_millis(1));
                continue;
            }
            let ready: Vec<bool> = waiting.iter().map(|fd| fd.any().unwrap_or(true)).collect();
            drop(waiting);
            let now = self.clock.now();
            // Replies first, because forwarding may change the list of clients.
            for (clients, _) in
                self.clients.iter_mut().zip(&ready[1..]).filter(|(_, ready)| **ready)
            {
                clients.back(&self.near, now, &self.shared, &mut buffer);
            }
            if ready[0] {
                self.out(now, &mut buffer);
            }
        }
    }

    /// Forwards datagrams from clients to the service.
    fn out(&mut self, now: Time, buffer: &mut [u8]) {
        for _ in 0..BATCH {
            let (length, client) = match self.near.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Reports a reply that a client refused (ICMP).
                Err(_) => continue,
            };
            let Some(index) = self.index_of(client, now) else { continue };
            let clients = &mut self.clients[index];
            clients.used = now;
            let datagram = &buffer[..length];
            let mut sent = clients.socket.send(datagram);
            if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                // It is an earlier datagram that was refused (ICMP), and this one was not sent.
                Counts::add(&self.shared.counts.failed);
                sent = clients.socket.send(datagram);
            }
            if sent.is_err() {
                Counts::add(&self.shared.counts.failed);
            }
        }
    }

    /// Returns the index of `client`, and adds it if it is new.
    fn index_of(&mut self, client: SocketAddr, now: Time) -> Option<usize> {
        if let Some(index) = self.clients.iter().position(|clients| clients.client == client) {
            return Some(index);
        }
        if self.clients.len() >= MAX_CLIENTS {
            let silent = (0..self.clients.len()).min_by_key(|index| self.clients[*index].used);
            let Some(silent) =
                silent.filter(|index| now.since(self.clients[*index].used) >= IDLE_TIMEOUT)
            else {
                Counts::add(&self.shared.counts.refused);
                return None;
            };
            self.clients.swap_remove(silent);
        }
        match connect(&self.target) {
            Ok(socket) => {
                Counts::add(&self.shared.counts.accepted);
                self.clients.push(ClientSocket { client, socket, used: now });
                Some(self.clients.len() - 1)
            }
            Err(_) => {
                Counts::add(&self.shared.counts.failed);
                None
            }
        }
    }
}

impl ClientSocket {
    /// Forwards datagrams from the service to the client.
    fn back(&mut self, near: &UdpSocket, now: Time, shared: &Shared, buffer: &mut [u8]) {
        for _ in 0..BATCH {
            match self.socket.recv(buffer) {
                Ok(length) => {
                    self.used = now;
                    if near.send_to(&buffer[..length], self.client).is_err() {
                        Counts::add(&shared.counts.failed);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The service does not listen (ICMP). The datagram is lost.
                Err(_) => Counts::add(&shared.counts.failed),
            }
        }
    }
}

/// Returns a socket connected to the first reachable address of the service.
fn connect(target: &str) -> io::Result<UdpSocket> {
    let mut last = io::Error::from(ErrorKind::NotFound);
    for address in target.to_socket_addrs()? {
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let connected =
            UdpSocket::bind(any).and_then(|socket| socket.connect(address).map(|()| socket));
        match connected.and_then(prepared) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}
