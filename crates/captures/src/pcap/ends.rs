//! The two ends of a connection.

use std::net::SocketAddr;

/// The addresses of a connection's ends, in an order that does not depend on the direction.
pub type Ends = [SocketAddr; 2];

/// Returns two ends in the order of [`Ends`].
pub fn in_order(from: SocketAddr, to: SocketAddr) -> Ends {
    if from <= to { [from, to] } else { [to, from] }
}
