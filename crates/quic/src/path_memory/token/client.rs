//! Tokens at a client.

use super::format::ReadToken;
use super::store::PathTokenStore;
use crate::clock::EpochClock;
use bentpipe_units::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A client that stores tokens. Clones share the store.
#[derive(Debug, Clone)]
pub struct TokenClient {
    store: Arc<Mutex<dyn PathTokenStore>>,
    epoch: EpochClock,
}

impl TokenClient {
    /// Stores tokens in `store`, by the `epoch` clock.
    pub fn new(store: impl PathTokenStore + 'static, epoch: EpochClock) -> Self {
        Self { store: Arc::new(Mutex::new(store)), epoch }
    }

    /// Returns the store, to delete tokens.
    pub fn store(&self) -> MutexGuard<'_, dyn PathTokenStore + 'static> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, server: &str, token: &[u8]) {
        // Bytes that are not a token are not stored; the server may use a later version.
        if let Err(error) = self.store().put(server, token, self.epoch.epoch()) {
            tracing::debug!(%error, server, "path token not stored");
        }
    }

    pub(super) fn take(&self, server: &str) -> Option<Vec<u8>> {
        let now = self.epoch.epoch();
        self.store().take(server, now)
    }
}

/// How far a client lets a token raise the flow-control window of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientWindows {
    /// The window that the connection was configured with.
    pub present: Bytes,
    /// The largest window that a token may cause: the memory that the client grants.
    pub max: Bytes,
}

impl ClientWindows {
    /// Default of the largest window. Our choice: 64 MB are 850 Mbps over 600 ms.
    pub const MAX: Bytes = Bytes::from_mb(64);

    /// Returns the window for a token: twice the bytes that the path carried, since updates arrive
    /// an RTT late; at most [`ClientWindows::max`], and at least the present window.
    pub fn for_token(&self, token: &ReadToken) -> Bytes {
        token.window.mul_f64(2.0).min(self.max).max(self.present)
    }
}
