//! Sockets of both ends.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Time for connections to close after a visit.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Creates the server's socket. Accepted connections inherit its congestion control.
pub(super) fn listener(address: SocketAddr, congestion: &str) -> io::Result<std::net::TcpListener> {
    let socket = tcp_socket(congestion)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(128)?;
    Ok(socket.into())
}

/// Creates a socket with congestion control `congestion`, by its name in the kernel.
pub(super) fn tcp_socket(congestion: &str) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(congestion.as_bytes())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
