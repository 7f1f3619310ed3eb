//! Keys that show packets in the clear: every call goes to the wrapped key.

use super::packet_info::Space;
use super::packet_observer::PacketObserver;
use crate::tls::wrapped::{self, WrapKeys};
use bytes::BytesMut;
use noq_proto::PathId;
use noq_proto::crypto::{ClientConfig, CryptoError, PacketKey, ServerConfig};
use noq_proto::transport_parameters::TransportParameters;
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
        tapped(key, space, self.clone())
    }

    fn on_connection_id(&self, connection_id: &[u8]) {
        self.log_connection_id(connection_id);
    }

    fn on_local_parameters(&self, parameters: &TransportParameters) {
        self.log_local_parameters(parameters);
    }

    fn on_remote_parameters(&self, parameters: &TransportParameters, restored: bool) {
        self.log_remote_parameters(parameters, restored);
    }
}

impl Tap for PacketObserver {
    fn protected(&self, space: Space, number: u64, header: &[u8], tag: usize, payload: &[u8]) {
        self.on_sent(space, number, header, tag, payload);
    }

    fn opened(&self, space: Space, number: u64, header: &[u8], tag: usize, payload: &[u8]) {
        self.on_received(space, number, header, tag, payload);
    }
}

/// Takes packets in the clear, with the size of their tag in bytes.
pub(super) trait Tap: Send + Sync + 'static {
    /// Takes a packet before it is protected.
    fn protected(&self, _space: Space, _number: u64, _header: &[u8], _tag: usize, _payload: &[u8]) {
    }

    /// Takes a packet whose protection was removed.
    fn opened(&self, space: Space, number: u64, header: &[u8], tag: usize, payload: &[u8]);
}

/// Returns `key`, whose packets of `space` are shown to `tap`.
pub(super) fn tapped(key: Box<dyn PacketKey>, space: Space, tap: impl Tap) -> Box<dyn PacketKey> {
    Box::new(TappedKey { key, space, tap })
}

struct TappedKey<T> {
    key: Box<dyn PacketKey>,
    space: Space,
    tap: T,
}

impl<T: Tap> PacketKey for TappedKey<T> {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        let tag = self.tag_len();
        let end = buf.len().saturating_sub(tag);
        if let Some((header, payload)) = buf[..end].split_at_checked(header_len) {
            self.tap.protected(self.space, packet, header, tag, payload);
        }
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
        self.tap.opened(self.space, packet, header, self.tag_len(), payload);
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
