//! The first packet of a connection at a server, for its trace.
//!
//! An endpoint opens it with keys of its own before the connection exists, so that the connection's
//! observer does not see it.

use super::keys::{Tap, tapped};
use super::packet_info::Space;
use super::packet_observer::PacketObserver;
use crate::tls::wrapped::{self, WrapKeys};
use noq_proto::crypto::{PacketKey, ServerConfig};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Passes the packets that an endpoint opens itself to the trace of the connection that it accepts.
/// Clones share it.
#[derive(Clone, Default)]
pub(crate) struct FirstPacket(Arc<Mutex<Option<PacketObserver>>>);

impl FirstPacket {
    /// Wraps an endpoint's cryptography.
    pub fn wrap(&self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        wrapped::server(config, self.clone())
    }

    /// Sets the observer of the connection that is being accepted.
    pub fn set(&self, observer: Option<PacketObserver>) {
        *self.lock() = observer;
    }

    fn lock(&self) -> MutexGuard<'_, Option<PacketObserver>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WrapKeys for FirstPacket {
    fn packet(&self, key: Box<dyn PacketKey>, space: Space) -> Box<dyn PacketKey> {
        if space != Space::Initial {
            return key;
        }
        tapped(key, space, self.clone())
    }
}

impl Tap for FirstPacket {
    fn opened(&self, _space: Space, number: u64, header: &[u8], tag: usize, payload: &[u8]) {
        if let Some(observer) = &*self.lock() {
            observer.log_first(number, header, tag, payload);
        }
    }
}
