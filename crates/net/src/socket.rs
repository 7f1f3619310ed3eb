//! A UDP socket with segmentation offload (GSO) and receive offload (GRO).

use bentpipe_quic::Transmit;
use bentpipe_quic::noq_proto::EcnCodepoint;
use bytes::BytesMut;
use nix::sys::socket::{setsockopt, sockopt};
use noq_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// UDP payload at the start of a connection, which every path carries (RFC 9000 §14.1), and the
/// largest that path MTU discovery probes: 1500 bytes less the headers of IPv6 and UDP.
pub(crate) const MTU: (u16, u16) = (1200, 1452);
/// Pause after a connection could not be accepted. A lack of descriptors passes, and an immediate
/// retry would not help.
pub(crate) const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Requested kernel buffers, bytes: 25 ms at 1 Gbps and room for a burst. Our choice. The kernel
/// grants at most `net.core.rmem_max` and `net.core.wmem_max`, and all of it to root
/// (CAP_NET_ADMIN).
const SOCKET_BUFFER: usize = 4 * 1024 * 1024;
/// Buffer for the largest UDP payload, bytes.
const MAX_PAYLOAD: usize = 65_535;
/// Largest UDP payload over IPv4, whose length includes the headers: 65,535 less 28 bytes (RFC 791
/// §3.1, RFC 768).
const MAX_SENT: usize = 65_507;

/// A received datagram.
#[derive(Debug)]
pub struct ReceivedDatagram {
    /// Its source.
    pub remote: SocketAddr,
    /// Its destination address, if the system reports it.
    pub local: Option<IpAddr>,
    /// Its ECN code point (RFC 3168).
    pub ecn: Option<EcnCodepoint>,
    /// Its payload.
    pub data: BytesMut,
}

/// A bound UDP socket that no runtime watches yet.
#[derive(Debug)]
pub(crate) struct BoundSocket {
    socket: std::net::UdpSocket,
    state: UdpSocketState,
}

impl BoundSocket {
    /// Binds `address`. Port 0 selects a free port.
    ///
    /// # Errors
    /// The address is in use or not local, or the system has no more sockets.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(std::net::UdpSocket::bind(address)?)
    }

    /// Binds an address whose sockets share it: see [`BoundSocket::share_address`].
    ///
    /// # Errors
    /// As [`BoundSocket::bind`].
    pub fn bind_shared(address: SocketAddr) -> io::Result<Self> {
        let kind = socket2::Type::DGRAM;
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), kind, None)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        Self::new(socket.into())
    }

    /// Uses a socket that is bound already.
    ///
    /// # Errors
    /// It is none.
    pub fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        // Smaller buffers work as well, with more loss under load.
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER);
        let _ = setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER);
        socket.set_nonblocking(true)?;
        Ok(Self { socket, state })
    }

    /// Lets other sockets of this user have the same address (SO_REUSEPORT, socket(7)).
    ///
    /// # Errors
    /// The system does not support it.
    pub fn share_address(&self) -> io::Result<()> {
        socket2::SockRef::from(&self.socket).set_reuse_port(true)
    }

    /// Returns the address that it is bound to.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// See [`Socket::max_segments`].
    pub fn max_segments(&self, largest: u16) -> NonZeroUsize {
        max_segments(&self.state, largest)
    }

    /// Lets the runtime of this thread watch the socket.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn register(self) -> io::Result<Socket> {
        let Self { socket, state } = self;
        let message_size =
            MAX_PAYLOAD.min(state.gro_segments().get().saturating_mul(2048)).max(2048);
        Ok(Socket {
            socket: UdpSocket::from_std(socket)?,
            state,
            buffer: vec![0; message_size * BATCH_SIZE],
            message_size,
        })
    }
}

impl AsFd for BoundSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A bound UDP socket.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Buffer for the datagrams of one call.
    buffer: Vec<u8>,
    /// Bytes of the buffer for each message of a call.
    message_size: usize,
}

impl Socket {
    /// Binds `address`. Port 0 selects a free port.
    ///
    /// # Errors
    /// The address is in use or not local, or the system has no more sockets.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        BoundSocket::bind(address)?.register()
    }

    /// Returns the address that it is bound to.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Returns how many datagrams of up to `largest` bytes one [`Transmit`] may hold: as many as
    /// the system segments, and at most those that fit one UDP payload. The system refuses a larger
    /// transmission, which looks like loss.
    pub fn max_segments(&self, largest: u16) -> NonZeroUsize {
        max_segments(&self.state, largest)
    }

    /// Returns whether datagrams may be fragmented, which makes path MTU probes meaningless (RFC
    /// 8899 §3).
    pub fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Passes the datagrams that one system call receives to `sink`. Pending if there are none.
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(ReceivedDatagram),
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_recv_ready(cx))?;
            let mut meta = [RecvMeta::default(); BATCH_SIZE];
            let (state, socket) = (&self.state, &self.socket);
            let mut chunks = self.buffer.chunks_mut(self.message_size);
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            let received = socket
                .try_io(Interest::READABLE, || state.recv(socket.into(), &mut slices, &mut meta));
            let count = match received {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                // An ICMP message about an earlier datagram, which proves nothing (RFC 9000
                // §14.2.1).
                Err(error) if is_icmp_error(&error) => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            for (meta, slice) in meta.iter().zip(&slices).take(count) {
                let datagrams = slice.get(..meta.len).unwrap_or_default();
                let ecn = meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
                for datagram in datagrams.chunks(meta.stride.max(1)) {
                    sink(ReceivedDatagram {
                        remote: meta.addr,
                        local: meta.dst_ip,
                        ecn,
                        data: BytesMut::from(datagram),
                    });
                }
            }
            return Poll::Ready(Ok(()));
        }
    }

    /// Sends `datagrams`. Returns false if the system's buffer is full; then
    /// [`Socket::poll_send_ready`] waits for room. Datagrams that the system refuses for another
    /// reason are lost.
    pub fn try_send(&self, transmit: &Transmit, datagrams: &[u8]) -> bool {
        let segment_size =
            (transmit.segment_size < datagrams.len()).then_some(transmit.segment_size);
        let transmit = noq_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| noq_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: datagrams,
            segment_size,
            src_ip: transmit.source,
        };
        let (state, socket) = (&self.state, &self.socket);
        match socket.try_io(Interest::WRITABLE, || state.try_send(socket.into(), &transmit)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => {
                tracing::debug!(%error, "cannot send datagrams");
                true
            }
            Ok(()) => true,
        }
    }

    /// Waits until the socket can send.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_send_ready(cx)
    }
}

fn max_segments(state: &UdpSocketState, largest: u16) -> NonZeroUsize {
    let fit =
        NonZeroUsize::new(MAX_SENT / usize::from(largest.max(1))).unwrap_or(NonZeroUsize::MIN);
    state.max_gso_segments().min(fit)
}

fn is_icmp_error(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
    };
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionReset | HostUnreachable | Interrupted | NetworkUnreachable
    )
}
