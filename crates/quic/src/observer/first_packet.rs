//! The first packet of a connection at a server, for its trace.
//!
//! An endpoint opens it with keys of its own before the connection exists, so that the connection's
//! observer does not see it.

use super::packet_observer::PacketObserver;
use bytes::BytesMut;
use noq_proto::crypto::UnsupportedVersion;
use noq_proto::crypto::{CryptoError, KeyPair, Keys, PacketKey, ServerConfig, Session};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectionId, PathId};
use std::sync::{Arc, Mutex, PoisonError};

/// Passes the packets that an endpoint opens itself to the observer of the connection that it
/// accepts. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct FirstPacket(Arc<Mutex<Option<PacketObserver>>>);

impl FirstPacket {
    /// Wraps an endpoint's cryptography.
    pub fn wrap(&self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(Wrapped { config, first: self.clone() })
    }

    /// Sets the observer of the connection that is being accepted.
    pub fn set(&self, observer: Option<PacketObserver>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = observer;
    }
}

struct Wrapped {
    config: Arc<dyn ServerConfig>,
    first: FirstPacket,
}

impl ServerConfig for Wrapped {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        let Keys { header, packet } = self.config.initial_keys(version, dst_cid)?;
        let remote = Box::new(FirstKey { key: packet.remote, first: self.first.clone() });
        Ok(Keys { header, packet: KeyPair { local: packet.local, remote } })
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.config.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        self.config.start_session(version, params)
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
        let observer = self.first.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(observer) = &*observer {
            observer.on_first(packet, header, self.tag_len(), payload);
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
