//! The first packet of a connection at a server, for its trace.
//!
//! An endpoint opens it with keys of its own before the connection exists, so that the connection's
//! observer does not see it.

use super::packet_info::Space;
use super::packet_observer::PacketObserver;
use crate::tls::wrapped::{self, WrapKeys};
use bytes::BytesMut;
use noq_proto::PathId;
use noq_proto::crypto::{CryptoError, PacketKey, ServerConfig};
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
        Box::new(FirstKey { key, first: self.clone() })
    }
}

struct FirstKey {
    key: Box<dyn PacketKey>,
    first: FirstPacket,
}

impl PacketKey for FirstKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        self.key.encrypt(path_id, packet, buf, header_len);
    }

    fn decrypt(
        &self,
        path_id: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.key.decrypt(path_id, packet, header, payload)?;
        if let Some(observer) = &*self.first.lock() {
            observer.log_first(packet, header, self.tag_len(), payload);
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}
