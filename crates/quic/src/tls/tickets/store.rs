//! Where tickets are kept.

use bentpipe_units::Epoch;
use std::fmt::Debug;
use zeroize::Zeroizing;

/// Longest ticket with what belongs to it, bytes: the certificates of a server take a few thousand.
/// Our choice.
pub const MAX_TICKET: usize = 32 * 1024;

/// Keeps tickets, a bounded number of them. What it keeps is secret: whoever has a ticket can read
/// early data that is sent with it, and stand for the server until it is used.
pub trait TicketStore: Debug + Send + Sync {
    /// Keeps a ticket of `server`, of at most [`MAX_TICKET`] bytes.
    fn put(&self, server: &str, ticket: Zeroizing<Vec<u8>>, now: Epoch, expires: Epoch);

    /// Removes and returns a ticket of `server` that has not expired.
    fn take(&self, server: &str, now: Epoch) -> Option<Zeroizing<Vec<u8>>>;
}
