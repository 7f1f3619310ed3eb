//! TCP sockets of the proxy: tuned on the satellite side, with bounded buffers.

use super::config::SatelliteSide;
use super::error::PepError;
use super::relay::Side;
use crate::admission::buffers::Buffers;
use bentpipe_units::{Bytes, Span};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Unsent bytes that the kernel may hold (TCP_NOTSENT_LOWAT). Bytes in flight may fill the buffer;
/// unsent bytes need not. 160 ms at 50 Mbps is enough for the proxy to be woken on a busy machine.
/// With 256 kB, senders ran out of data there. Our choice.
const NOT_SENT: u32 = 1024 * 1024;
/// TCP keepalive: idle time, interval and number of probes. Our choice: shorter than the two hours
/// of RFC 9293 §3.8.4, because NATs on the path forget connections sooner.
const KEEPALIVE: (Span, Span, u32) = (Span::from_secs(120), Span::from_secs(30), 6);
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Settings of sockets.
#[derive(Debug, Clone)]
pub(super) struct Tuning {
    /// The kernel's congestion controller on the satellite side.
    pub congestion: Option<String>,
    /// The satellite side, if a TCP connection crosses the satellite.
    pub satellite: Option<SatelliteSide>,
    /// TCP_USER_TIMEOUT.
    pub user_timeout: Span,
    pub kernel: KernelBuffers,
}

/// The kernel's limits on socket buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KernelBuffers {
    /// Whether the process may exceed the limits (CAP_NET_ADMIN).
    force: bool,
    /// Largest receive and send buffer otherwise (`net.core.rmem_max` and `wmem_max`).
    max: [u64; 2],
    /// Largest size that the kernel itself selects (`net.ipv4.tcp_rmem` and `tcp_wmem`).
    automatic: [u64; 2],
}

/// A buffer of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Receive = 0,
    Send = 1,
}

impl KernelBuffers {
    /// Reads the limits in the network namespace of this thread.
    pub fn read() -> io::Result<Self> {
        let probe = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        let force = setsockopt(&probe, sockopt::SndBufForce, &(64 * 1024)).is_ok();
        let last = |name: &str, otherwise: u64| {
            let text = std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default();
            text.split_whitespace().last().and_then(|word| word.parse().ok()).unwrap_or(otherwise)
        };
        // The defaults are those of common kernels (tcp(7), socket(7)).
        Ok(Self {
            force,
            max: [last("core/rmem_max", 212_992), last("core/wmem_max", 212_992)],
            automatic: [last("ipv4/tcp_rmem", 6_291_456), last("ipv4/tcp_wmem", 4_194_304)],
        })
    }

    /// Returns whether to leave the size of a buffer to the kernel: `size` cannot be set, and the
    /// kernel's own size is larger than the limit and at most twice `size`, the memory reserved for
    /// the buffer.
    fn is_automatic(&self, direction: Direction, size: u64) -> bool {
        let (max, automatic) = (self.max[direction as usize], self.automatic[direction as usize]);
        !self.force && size > max && automatic > 2 * max && automatic <= 2 * size
    }

    /// Returns a warning if buffers cannot have `size`.
    pub fn warning(&self, size: Bytes) -> Option<String> {
        let largest = |direction: Direction| match self.is_automatic(direction, size.get()) {
            // Half of the size is payload (socket(7)).
            true => self.automatic[direction as usize] / 2,
            false => self.max[direction as usize],
        };
        let (receive, send) = (largest(Direction::Receive), largest(Direction::Send));
        (!self.force && receive.min(send) < size.get()).then(|| {
            format!(
                "buffers need {size}, and the kernel limits them to {} (receive) and {} (send): \
                 run with CAP_NET_ADMIN, or set net.core.rmem_max and net.core.wmem_max to {}",
                Bytes::new(receive.min(size.get())),
                Bytes::new(send.min(size.get())),
                size.get()
            )
        })
    }

    fn set(&self, socket: &Socket, size: Bytes) {
        let value = usize::try_from(size.get()).unwrap_or(usize::MAX).min(i32::MAX as usize);
        // If a size cannot be set, the connection is slower or takes more memory, but works.
        if self.force {
            let _ = setsockopt(socket, sockopt::SndBufForce, &value);
            let _ = setsockopt(socket, sockopt::RcvBufForce, &value);
            return;
        }
        if !self.is_automatic(Direction::Send, size.get()) {
            let _ = socket.set_send_buffer_size(value);
        }
        if !self.is_automatic(Direction::Receive, size.get()) {
            let _ = socket.set_recv_buffer_size(value);
        }
    }
}

impl Tuning {
    /// Checks that the kernel accepts the congestion controller in this network namespace.
    pub fn check(&self) -> Result<(), PepError> {
        let Some(name) = &self.congestion else { return Ok(()) };
        let probe = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
            .map_err(PepError::System)?;
        probe.set_tcp_congestion(name.as_bytes()).map_err(|source| PepError::Congestion {
            name: name.clone(),
            allowed: std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
                .unwrap_or_default()
                .trim()
                .replace(' ', ", "),
            source,
        })
    }

    /// Tunes the socket of one side.
    fn tune(&self, socket: &Socket, side: Side, buffers: Buffers) -> io::Result<()> {
        let satellite = self.is_satellite(side);
        self.kernel.set(socket, if satellite { buffers.satellite } else { buffers.other });
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_notsent_lowat(NOT_SENT)?;
        socket.set_tcp_user_timeout(Some(self.user_timeout.into()))?;
        let (idle, every, times) = KEEPALIVE;
        let keepalive = TcpKeepalive::new()
            .with_time(idle.into())
            .with_interval(every.into())
            .with_retries(times);
        socket.set_tcp_keepalive(&keepalive)?;
        match &self.congestion {
            Some(name) if satellite => socket.set_tcp_congestion(name.as_bytes()),
            _ => Ok(()),
        }
    }

    /// Returns whether a side crosses the satellite.
    pub fn is_satellite(&self, side: Side) -> bool {
        match self.satellite {
            Some(SatelliteSide::Both) => true,
            Some(SatelliteSide::Client) => side == Side::Client,
            Some(SatelliteSide::Server) => side == Side::Server,
            None => false,
        }
    }

    /// Returns the wanted socket buffers, on the satellite side and on the other side.
    pub fn wanted(&self, buffer: Bytes) -> (Bytes, Bytes) {
        // Enough for a network nearby: 1 MB is 1 Gbps over 8 ms. Our choice.
        let other = buffer.min(Bytes::from_mb(1));
        // The buffer of a tunnel's stream has the same size.
        (buffer, if self.satellite == Some(SatelliteSide::Both) { buffer } else { other })
    }

    /// Returns warnings about settings that are not in effect.
    pub fn warnings(&self, buffer: Bytes) -> Vec<String> {
        self.satellite.and_then(|_| self.kernel.warning(buffer)).into_iter().collect()
    }

    /// Tunes an accepted connection.
    pub fn tune_accepted(&self, stream: &TcpStream, buffers: Buffers) -> io::Result<()> {
        let socket = socket2::SockRef::from(stream);
        self.tune(&socket, Side::Client, buffers)
    }

    /// Returns a listening socket. With `transparent`, it accepts connections to other addresses.
    /// It has the receive buffer of its connections, because the handshake sets their window scale
    /// (RFC 7323 §2.2).
    pub fn listen(
        &self,
        address: SocketAddr,
        transparent: bool,
        buffer: Bytes,
    ) -> Result<TcpListener, PepError> {
        let failed = |source| PepError::Listen { address, source };
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
            .map_err(failed)?;
        socket.set_reuse_address(true).map_err(failed)?;
        if transparent {
            set_transparent(&socket, address).map_err(PepError::Transparent)?;
        }
        if self.is_satellite(Side::Client) {
            self.kernel.set(&socket, buffer);
        }
        socket.bind(&address.into()).map_err(failed)?;
        socket.listen(BACKLOG).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        TcpListener::from_std(socket.into()).map_err(failed)
    }

    /// Connects to `server`. `source` is the address that the server is to see, if it is not the
    /// proxy's own.
    pub async fn connect(
        &self,
        server: SocketAddr,
        source: Option<SocketAddr>,
        buffers: Buffers,
    ) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))?;
        self.tune(&socket, Side::Server, buffers)?;
        if let Some(source) = source.filter(|source| source.is_ipv4() == server.is_ipv4()) {
            set_transparent(&socket, source)?;
            socket.set_reuse_address(true)?;
            // Another connection may still use the client's port. Then any port will do.
            socket
                .bind(&source.into())
                .or_else(|_| socket.bind(&SocketAddr::new(source.ip(), 0).into()))?;
        }
        socket.set_nonblocking(true)?;
        TcpSocket::from_std_stream(socket.into()).connect(server).await
    }
}

/// Lets a socket use an address of another machine (ip(7), IP_TRANSPARENT).
fn set_transparent(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv4() {
        socket.set_ip_transparent_v4(true)
    } else {
        socket.set_ip_transparent_v6(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_set_or_left_to_the_kernel_whichever_is_larger() {
        let plain =
            KernelBuffers { force: false, max: [212_992; 2], automatic: [6_291_456, 4_194_304] };
        assert!(
            plain.is_automatic(Direction::Send, 8_000_000)
                && plain.is_automatic(Direction::Receive, 8_000_000)
        );
        assert!(!plain.is_automatic(Direction::Send, 200_000), "the size can be set");
        assert!(
            !plain.is_automatic(Direction::Send, 1_000_000),
            "the kernel's own size exceeds the reserved memory"
        );
        let warning = plain.warning(Bytes::from_mb(8)).unwrap();
        assert!(warning.contains("net.core.wmem_max") && warning.contains("8000000"), "{warning}");
        assert_eq!(plain.warning(Bytes::new(100_000)), None);
        let forced = KernelBuffers { force: true, ..plain };
        assert!(
            !forced.is_automatic(Direction::Send, 8_000_000)
                && forced.warning(Bytes::from_mb(8)).is_none()
        );
    }
}
