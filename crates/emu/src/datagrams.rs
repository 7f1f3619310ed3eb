//! Datagrams at given times between the namespaces, over UDP sockets of the kernel. They correspond
//! to the simulator's flows without congestion control.
//!
//! Each datagram carries its sending time. The receiver counts it; for an echo, it returns it, and
//! the sender measures the RTT. Both ends are threads of this process.

use crate::clock::pause;
use crate::emulator::{Emulator, client_addresses, server_addresses};
use crate::error::EmuError;
use crate::kernel_tcp::{ObjectOutcome, TransferOutcome};
use crate::namespace::Namespace;
use bentpipe_units::{Span, Time};
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Headers of IPv4 and UDP, in bytes.
const HEADERS: u32 = 28;
/// Bytes of the sending time in each datagram.
const STAMP: usize = 8;
/// Smallest IP packet, in bytes.
const SMALLEST: u32 = HEADERS + STAMP as u32;
/// Interval at which blocked calls check whether to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);
/// Longest sleep before the same check.
const MAX_SLEEP: Span = Span::from_millis(50);

/// Datagrams of one visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatagramExchange {
    /// Index of the client.
    pub client: usize,
    /// Port of both ends.
    pub port: u16,
    /// True if the client sends, false if the server does.
    pub upload: bool,
    /// True if the receiver returns each datagram.
    pub echo: bool,
    /// Size of the IP packets, in bytes: 36 to 65,535.
    pub packet: u32,
    /// The traffic class of IPv6 and TOS of IPv4: DSCP and ECN field (RFC 3168 §5).
    pub traffic_class: u8,
    /// Start of the visit, and its end: later arrivals do not count.
    pub begin: Time,
    /// End of the visit.
    pub end: Time,
}

/// One end of the exchange.
struct End<'a> {
    emulator: &'a Emulator,
    exchange: &'a DatagramExchange,
    socket: &'a UdpSocket,
    stop: &'a AtomicBool,
    outcome: &'a Mutex<TransferOutcome>,
}

impl Emulator {
    /// Sends a datagram at each of `times`, in ascending order, and waits for the end of the visit.
    /// Set `stop` to end it early.
    ///
    /// # Errors
    /// The client does not exist, packets have an impossible size, or a socket cannot be created.
    pub fn exchange_datagrams(
        &self,
        exchange: &DatagramExchange,
        mut times: impl Iterator<Item = Time> + Send,
        stop: &AtomicBool,
    ) -> Result<TransferOutcome, EmuError> {
        let spec = |what: String, allowed: &str| EmuError::Spec { what, allowed: allowed.into() };
        if !(SMALLEST..=65_535).contains(&exchange.packet) {
            let what =
                format!("datagrams in packets of {} bytes are not possible", exchange.packet);
            return Err(spec(what, "36 to 65535 bytes: each datagram carries its sending time"));
        }
        let sockets =
            self.datagram_sockets(exchange.client, exchange.port, exchange.traffic_class)?;
        let outcome = Mutex::new(TransferOutcome {
            begin: exchange.begin,
            objects: vec![ObjectOutcome::default()],
            ..TransferOutcome::default()
        });
        let end = |index: usize| End {
            emulator: self,
            exchange,
            socket: &sockets[index],
            stop,
            outcome: &outcome,
        };
        let sender = usize::from(!exchange.upload);
        std::thread::scope(|scope| {
            let (here, there) = (end(sender), end(1 - sender));
            if exchange.echo {
                let here = end(sender);
                scope.spawn(move || here.receive(End::count_reply));
                scope.spawn(move || there.receive(End::reply));
            } else {
                scope.spawn(move || there.receive(End::count));
            }
            scope.spawn(move || here.send(&mut times));
        });
        let mut outcome = outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        outcome.end = exchange.end.min(self.now());
        Ok(outcome)
    }

    /// Opens connected UDP sockets at `port` of a client and of the server, in this order, whose
    /// calls return after 50 ms without a datagram. `traffic_class` has DSCP and ECN field.
    ///
    /// # Errors
    /// The client does not exist, or a socket cannot be created.
    pub fn datagram_sockets(
        &self,
        client: usize,
        port: u16,
        traffic_class: u8,
    ) -> Result<[UdpSocket; 2], EmuError> {
        let ends = [client_addresses(client)[0], server_addresses()[0]]
            .map(|address| SocketAddr::new(address, port));
        let sockets = [
            bound(self.testbed().client(client)?, ends[0])?,
            bound(self.testbed().server(), ends[1])?,
        ];
        for (socket, peer) in sockets.iter().zip([ends[1], ends[0]]) {
            let failed = |error| EmuError::system("connecting a UDP socket", error);
            socket.connect(peer).map_err(failed)?;
            setsockopt(socket, sockopt::Ipv4Tos, &i32::from(traffic_class))
                .map_err(|error| EmuError::system("setting DSCP and ECN", error))?;
        }
        Ok(sockets)
    }
}

/// Receives a datagram. `None` if there was none, or the other end's kernel refused one of this
/// end's.
///
/// # Errors
/// The socket can no longer be read.
pub fn receive_datagram(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match socket.recv(buffer) {
        Ok(length) => Ok(Some(length)),
        Err(error) if ends_wait(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a socket at `address` in `namespace`.
fn bound(namespace: &Namespace, address: SocketAddr) -> Result<UdpSocket, EmuError> {
    let failed = |error| EmuError::system("creating a UDP socket", error);
    let socket = namespace.inside(|| UdpSocket::bind(address))?.map_err(failed)?;
    socket.set_read_timeout(Some(STOP_CHECK)).map_err(failed)?;
    Ok(socket)
}

impl End<'_> {
    /// True once the visit has ended.
    fn is_over(&self) -> bool {
        self.emulator.now() >= self.exchange.end
            || self.stop.load(Ordering::Relaxed)
            || !self.emulator.is_working()
    }

    /// Sends a datagram at each of `times`. Those that are late leave at once.
    fn send(&self, times: &mut dyn Iterator<Item = Time>) {
        self.emulator.raise_priority();
        let mut datagram = vec![0; (self.exchange.packet - HEADERS) as usize];
        for due in times {
            loop {
                let now = self.emulator.now();
                if self.is_over() {
                    return;
                }
                if now >= due {
                    break;
                }
                pause(due.since(now).min(MAX_SLEEP));
            }
            let now = self.emulator.now();
            datagram[..STAMP].copy_from_slice(&now.as_nanos().to_be_bytes());
            // A datagram that the kernel does not take is one that the path loses.
            let _ = self.socket.send(&datagram);
        }
    }

    /// Calls `handle` with each datagram until the end of the visit.
    fn receive(&self, handle: fn(&Self, Time, &[u8])) {
        self.emulator.raise_priority();
        let mut buffer = vec![0; 65_535];
        while !self.is_over() {
            let Ok(received) = receive_datagram(self.socket, &mut buffer) else { return };
            let now = self.emulator.now();
            if let Some(length) = received.filter(|_| now < self.exchange.end) {
                handle(self, now, &buffer[..length]);
            }
        }
    }

    /// Counts a datagram that has arrived, and its one-way delay.
    fn count(&self, now: Time, datagram: &[u8]) {
        let mut outcome = self.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        outcome.received(now, 0, datagram.len() as u64);
        if let Some(sent) = stamp(datagram) {
            outcome.delays.record(now.since(sent));
        }
    }

    /// Returns a datagram to its sender.
    fn reply(&self, _now: Time, datagram: &[u8]) {
        let _ = self.socket.send(datagram);
    }

    /// Counts a datagram that has returned, and its RTT.
    fn count_reply(&self, now: Time, datagram: &[u8]) {
        let mut outcome = self.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        outcome.received(now, 0, datagram.len() as u64);
        if let Some(sent) = stamp(datagram) {
            outcome.rtts.push((now, now.since(sent)));
        }
    }
}

/// Returns the time at which a datagram was sent, which it carries.
fn stamp(datagram: &[u8]) -> Option<Time> {
    let stamp = datagram.get(..STAMP)?.try_into().ok()?;
    Some(Time::from_nanos(u64::from_be_bytes(stamp)))
}

/// Returns true if the socket can still be read: nothing has arrived in time, or a datagram of this
/// end was refused by the other's kernel.
fn ends_wait(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::TimedOut
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
    )
}
