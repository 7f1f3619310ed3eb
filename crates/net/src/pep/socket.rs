//! TCP sockets as a proxy wants them: the satellite side tuned, buffers bounded.

use super::admission::Buffers;
use super::relay::Side;
use super::{PepError, SatelliteSide};
use bentpipe_units::{Bytes, Span};
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Bytes that the kernel takes and has not sent yet: what is under way may fill the buffer, what
/// waits need not (TCP_NOTSENT_LOWAT). 160 ms at 50 Mbps, in which the proxy is woken on a busy
/// machine, too: with 256 kB, senders ran dry there. Our choice.
const NOT_SENT: u32 = 1024 * 1024;
/// Silence after which a peer is asked whether it is still there, and how often: our choice.
/// Shorter than RFC 9293 §3.8.4's two hours, since translators on the way forget sooner.
const KEEPALIVE: (Span, Span, u32) = (Span::from_secs(120), Span::from_secs(30), 6);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// How sockets are tuned.
#[derive(Debug, Clone)]
pub(super) struct Tuning {
    /// The kernel's congestion controller on the satellite side.
    pub congestion: Option<String>,
    /// Which side that is, if any.
    pub satellite: Option<SatelliteSide>,
    pub user_time: Span,
    pub kernel: Kernel,
}

/// What the kernel lets a process do with buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kernel {
    /// Whether it gives as much as is asked for (CAP_NET_ADMIN).
    force: bool,
    /// The most of a receive and of a send buffer that it gives otherwise (`net.core.rmem_max` and
    /// `wmem_max`).
    most: [u64; 2],
    /// The most to which it sizes them itself (`net.ipv4.tcp_rmem` and `tcp_wmem`).
    automatic: [u64; 2],
}

/// Which buffer of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Receive = 0,
    Send = 1,
}

impl Kernel {
    /// Of the network namespace that this thread is in.
    pub fn ask() -> io::Result<Self> {
        let probe = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        let force = setsockopt(&probe, sockopt::SndBufForce, &(64 * 1024)).is_ok();
        let last = |name: &str, otherwise: u64| {
            let text = std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap_or_default();
            text.split_whitespace().last().and_then(|word| word.parse().ok()).unwrap_or(otherwise)
        };
        // Where it does not say: what kernels have had for long (tcp(7), socket(7)).
        Ok(Self {
            force,
            most: [last("core/rmem_max", 212_992), last("core/wmem_max", 212_992)],
            automatic: [last("ipv4/tcp_rmem", 6_291_456), last("ipv4/tcp_wmem", 4_194_304)],
        })
    }

    /// Whether a buffer of `size` is better left to the kernel: it may not be set, and what the
    /// kernel comes to itself is more than it would be set to, and no more than twice of what was
    /// wanted, which is what it may cost.
    fn leave(&self, which: Which, size: u64) -> bool {
        let (most, automatic) = (self.most[which as usize], self.automatic[which as usize]);
        !self.force && size > most && automatic > 2 * most && automatic <= 2 * size
    }

    /// What is said to whoever wants buffers of `size`, where they do not become so large.
    pub fn shortage(&self, size: Bytes) -> Option<String> {
        let short = |which: Which| match self.leave(which, size.get()) {
            // Half of what it counts is payload (socket(7)).
            true => self.automatic[which as usize] / 2,
            false => self.most[which as usize],
        };
        let (receive, send) = (short(Which::Receive), short(Which::Send));
        (!self.force && receive.min(send) < size.get()).then(|| {
            format!(
                "buffers of {size} are wanted, and the kernel gives {} to receive and {} to send: \
                    run with CAP_NET_ADMIN, or have \
                 the operator set net.core.rmem_max and net.core.wmem_max to {}",
                Bytes::new(receive.min(size.get())),
                Bytes::new(send.min(size.get())),
                size.get()
            )
        })
    }

    fn set(&self, socket: &Socket, size: Bytes) {
        let value = usize::try_from(size.get()).unwrap_or(usize::MAX).min(i32::MAX as usize);
        // What cannot be set stays what it is: slower, or larger, and not wrong.
        if self.force {
            let _ = setsockopt(socket, sockopt::SndBufForce, &value);
            let _ = setsockopt(socket, sockopt::RcvBufForce, &value);
            return;
        }
        if !self.leave(Which::Send, size.get()) {
            let _ = socket.set_send_buffer_size(value);
        }
        if !self.leave(Which::Receive, size.get()) {
            let _ = socket.set_recv_buffer_size(value);
        }
    }
}

impl Tuning {
    /// Whether the kernel takes the controller, in this network namespace.
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

    /// Tunes a socket of one side.
    fn tune(&self, socket: &Socket, side: Side, buffers: Buffers) -> io::Result<()> {
        let satellite = self.is_satellite(side);
        self.kernel.set(socket, if satellite { buffers.satellite } else { buffers.other });
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_notsent_lowat(NOT_SENT)?;
        socket.set_tcp_user_timeout(Some(self.user_time.into()))?;
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

    pub fn is_satellite(&self, side: Side) -> bool {
        match self.satellite {
            Some(SatelliteSide::Both) => true,
            Some(SatelliteSide::Client) => side == Side::Client,
            Some(SatelliteSide::Server) => side == Side::Server,
            None => false,
        }
    }

    /// The sizes that are wanted of a socket on the satellite side, and of another.
    pub fn wanted(&self, buffer: Bytes) -> (Bytes, Bytes) {
        // What a near network takes: 1 MB is 1 Gbps over 8 ms. Our choice.
        let other = buffer.min(Bytes::from_mb(1));
        // Through a tunnel, what waits of a stream is as much.
        (buffer, if self.satellite == Some(SatelliteSide::Both) { buffer } else { other })
    }

    /// What is not as whoever wants such a buffer might think.
    pub fn warnings(&self, buffer: Bytes) -> Vec<String> {
        self.satellite.and_then(|_| self.kernel.shortage(buffer)).into_iter().collect()
    }

    /// Tunes a connection that was accepted.
    pub fn accepted(&self, stream: &TcpStream, buffers: Buffers) -> io::Result<()> {
        let socket = socket2::SockRef::from(stream);
        self.tune(&socket, Side::Client, buffers)
    }

    /// A socket that listens, in `transparent` mode to what is for others. It already has the
    /// receive buffer that its connections want: the scale of their windows is settled in the
    /// handshake (RFC 7323 §2.2).
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

    /// Connects to `server`, from `source` where the server is to see the client's own address.
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
            // Another connection may just have had the client's port: then any.
            socket
                .bind(&source.into())
                .or_else(|_| socket.bind(&SocketAddr::new(source.ip(), 0).into()))?;
        }
        socket.set_nonblocking(true)?;
        TcpSocket::from_std_stream(socket.into()).connect(server).await
    }
}

/// Lets a socket have an address that is not this machine's (ip(7), IP_TRANSPARENT).
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
        let plain = Kernel { force: false, most: [212_992; 2], automatic: [6_291_456, 4_194_304] };
        assert!(plain.leave(Which::Send, 8_000_000) && plain.leave(Which::Receive, 8_000_000));
        assert!(!plain.leave(Which::Send, 200_000), "it can be set");
        assert!(!plain.leave(Which::Send, 1_000_000), "left alone it would cost more than it may");
        let said = plain.shortage(Bytes::from_mb(8)).unwrap();
        assert!(said.contains("net.core.wmem_max") && said.contains("8000000"), "{said}");
        assert_eq!(plain.shortage(Bytes::new(100_000)), None);
        let forced = Kernel { force: true, ..plain };
        assert!(
            !forced.leave(Which::Send, 8_000_000) && forced.shortage(Bytes::from_mb(8)).is_none()
        );
    }
}
