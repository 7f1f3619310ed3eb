//! Where tickets are kept.

use bentpipe_units::Epoch;
use std::fmt::Debug;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Longest ticket with what belongs to it, bytes: the certificates of a server take a few thousand.
/// Our choice.
pub const MAX_TICKET: usize = 32 * 1024;

/// Keeps tickets, a bounded number of them. What it keeps is secret: whoever has a ticket can read
/// early data that is sent with it, and stand for the server until it is used.
///
/// A server is a host with its port, as in `server.test:443`: another one at the same host need not
/// accept its tickets.
pub trait TicketStore: Debug + Send + Sync {
    /// Keeps a ticket of `server`, of at most [`MAX_TICKET`] bytes.
    fn put(&self, server: &str, ticket: Zeroizing<Vec<u8>>, now: Epoch, expires: Epoch);

    /// Removes and returns a ticket of `server` that has not expired.
    fn take(&self, server: &str, now: Epoch) -> Option<Zeroizing<Vec<u8>>>;
}

/// The tickets of servers at one port.
#[derive(Debug, Clone)]
pub(super) struct PortTickets {
    pub store: Arc<dyn TicketStore>,
    pub port: u16,
}

impl PortTickets {
    /// Keeps a ticket of the server at `host`.
    pub fn put(&self, host: &str, ticket: Zeroizing<Vec<u8>>, now: Epoch, expires: Epoch) {
        self.store.put(&self.server(host), ticket, now, expires);
    }

    /// Removes and returns a ticket of the server at `host` that has not expired.
    pub fn take(&self, host: &str, now: Epoch) -> Option<Zeroizing<Vec<u8>>> {
        self.store.take(&self.server(host), now)
    }

    fn server(&self, host: &str) -> String {
        format!("{host}:{}", self.port)
    }
}
