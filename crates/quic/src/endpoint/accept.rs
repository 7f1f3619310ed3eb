//! Decisions of a server about connections that begin, and handlers of an endpoint.

use super::attachments::Attachments;
use crate::connection::{Conn, Task};
use noq_proto::ServerConfig;
use std::any::Any;
use std::net::SocketAddr;
use std::sync::Arc;

/// Decides how a server handles a connection from that address. `None` ignores the connection.
pub type Acceptor = Box<dyn FnMut(SocketAddr) -> Option<Accept> + Send>;

/// How a server handles a connection that begins.
pub struct Accept {
    /// Configuration of this connection, fixed before its first flight.
    pub config: Arc<ServerConfig>,
    /// The parts of the connection outside the stack.
    pub attachments: Attachments,
    /// Makes the application.
    pub app: Box<dyn FnOnce(Conn) -> Task + Send>,
}

/// Whether a connection that a peer begins is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Passes it to the acceptor.
    Admit,
    /// Asks the peer to validate its address by a token (Retry, RFC 9000 §8.1.2). Refuses it if the
    /// address is validated already or a Retry is impossible.
    Retry,
    /// Refuses it (CONNECTION_REFUSED, RFC 9000 §20.1).
    Refuse,
    /// Sends no answer.
    Ignore,
}

/// Decides about a connection from that address; the flag is true if the address is validated.
pub type Gatekeeper = Box<dyn FnMut(SocketAddr, bool) -> Admission + Send>;

/// Handles the panic of a task: receives the peer of its connection, and the message.
pub type PanicHandler = Box<dyn FnMut(Option<SocketAddr>, &str) + Send>;

/// Returns the message of a panic.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
