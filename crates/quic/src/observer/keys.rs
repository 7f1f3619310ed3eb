//! Keys with an observer: every call goes to the wrapped key.

use super::packet_info::Space;
use super::packet_observer::PacketObserver;
use crate::tls::wrapped::{self, WrapKeys};
use bytes::BytesMut;
use noq_proto::PathId;
use noq_proto::crypto::{ClientConfig, CryptoError, PacketKey, ServerConfig};
use std::sync::Arc;

impl PacketObserver {
    /// Wraps `config` so that its next connection is observed. For one connection only: the packets
    /// of a second one would mix with those of the first.
    pub fn client(&self, config: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        wrapped::client(config, self.clone())
    }

    /// Wraps `config` like [`Self::client`].
    pub fn server(&self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        wrapped::server(config, self.clone())
    }
}

impl WrapKeys for PacketObserver {
    fn packet(&self, key: Box<dyn PacketKey>, space: Space) -> Box<dyn PacketKey> {
        Box::new(ObservedKey { key, space, observer: self.clone() })
    }
}

struct ObservedKey {
    key: Box<dyn PacketKey>,
    space: Space,
    observer: PacketObserver,
}

impl PacketKey for ObservedKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        let tag = self.tag_len();
        let payload = buf.len().checked_sub(tag).and_then(|end| buf.get(header_len..end));
        self.observer.on_sent(self.space, packet, header_len, tag, payload.unwrap_or_default());
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
        self.observer.on_received(self.space, packet, header.len(), self.tag_len(), payload);
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
