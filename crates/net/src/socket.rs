//! A UDP socket that sends and takes many datagrams at once (UDP segmentation and receive offload).

use bentpipe_quic::Transmit;
use bentpipe_quic::noq_proto::EcnCodepoint;
use bytes::BytesMut;
use nix::sys::socket::{setsockopt, sockopt};
use noq_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Buffers that are asked of the kernel, bytes: our choice, 25 ms at 1 Gbps and room for a burst.
/// The kernel gives what `net.core.rmem_max` and `net.core.wmem_max` allow; to root (CAP_NET_ADMIN)
/// all of it.
const SOCKET_BUFFER: usize = 4 * 1024 * 1024;
/// Room for the largest UDP payload.
const LARGEST: usize = 65_535;
/// Largest that is sent over IPv4, whose length counts its header: 65,535 less 28 bytes (RFC 791
/// §3.1, RFC 768).
const LARGEST_SENT: usize = 65_507;

/// A datagram that arrived.
#[derive(Debug)]
pub struct Arrived {
    /// Whom it came from.
    pub remote: SocketAddr,
    /// Which of our addresses it came to, where the system says so.
    pub local: Option<IpAddr>,
    /// The ECN code point that it carried (RFC 3168).
    pub ecn: Option<EcnCodepoint>,
    /// Its payload.
    pub data: BytesMut,
}

/// A bound UDP socket.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Room for what one call receives, reused.
    room: Vec<u8>,
    each: usize,
}

impl Socket {
    /// Binds `address`; port 0 is any free one.
    ///
    /// # Errors
    /// The address is taken, or not ours, or the system has no more sockets.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Smaller buffers work too, with more loss under load.
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER);
        let _ = setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER);
        socket.set_nonblocking(true)?;
        let each = LARGEST.min(state.gro_segments().get().saturating_mul(2048)).max(2048);
        Ok(Self {
            socket: UdpSocket::from_std(socket)?,
            state,
            room: vec![0; each * BATCH_SIZE],
            each,
        })
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// The system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Datagrams of up to `largest` bytes that one [`Transmit`] may hold: as many as the system
    /// cuts up, and no more than fit the UDP datagram that it takes for all of them. What is larger
    /// would be refused, which looks like loss.
    pub fn max_segments(&self, largest: u16) -> NonZeroUsize {
        let fit = NonZeroUsize::new(LARGEST_SENT / usize::from(largest.max(1)))
            .unwrap_or(NonZeroUsize::MIN);
        self.state.max_gso_segments().min(fit)
    }

    /// Whether datagrams may be cut up on their way, so that probing for a larger size would prove
    /// nothing (RFC 8899 §3).
    pub fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    /// Hands what has arrived to `sink`, as much as one call of the system gives; waits where there
    /// is nothing.
    pub fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        mut sink: impl FnMut(Arrived),
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_recv_ready(cx))?;
            let mut meta = [RecvMeta::default(); BATCH_SIZE];
            let (state, socket) = (&self.state, &self.socket);
            let mut chunks = self.room.chunks_mut(self.each);
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            let received = socket
                .try_io(Interest::READABLE, || state.recv(socket.into(), &mut slices, &mut meta));
            let count = match received {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                // An ICMP message about an earlier datagram (RFC 9000 §14.2.1 has those prove
                // nothing): the next call goes on.
                Err(error) if is_about_a_peer(&error) => continue,
                Err(error) => return Poll::Ready(Err(error)),
            };
            for (meta, slice) in meta.iter().zip(&slices).take(count) {
                let datagrams = slice.get(..meta.len).unwrap_or_default();
                let ecn = meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
                for datagram in datagrams.chunks(meta.stride.max(1)) {
                    sink(Arrived {
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

    /// Sends `datagrams`; false where the system's buffer is full, and [`Socket::poll_send_ready`]
    /// says when it is not. What the system refuses for another reason is lost, as on the network.
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
                tracing::debug!(%error, "datagrams not sent");
                true
            }
            Ok(()) => true,
        }
    }

    /// Waits until something can be sent.
    ///
    /// # Errors
    /// The runtime is shutting down.
    pub fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_send_ready(cx)
    }
}

fn is_about_a_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
    };
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionReset | HostUnreachable | Interrupted | NetworkUnreachable
    )
}
