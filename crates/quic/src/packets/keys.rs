//! Cryptography that is looked at: every call goes through to the one configured.

use super::{PacketObserver, Space};
use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

impl PacketObserver {
    /// `config`, whose next connection is watched. For one connection: a second would be seen as
    /// the first.
    pub fn client(&self, config: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(Watched { config, watch: self.clone() })
    }

    /// `config`, whose next connection is watched. For one connection, as [`Self::client`].
    pub fn server(&self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(Watched { config, watch: self.clone() })
    }
}

struct Watched<T: ?Sized> {
    config: Arc<T>,
    watch: PacketObserver,
}

impl ClientConfig for Watched<dyn ClientConfig> {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.config.start_session(version, server_name, params)?;
        Ok(Box::new(WatchedSession { session, watch: self.watch.clone(), written: 0 }))
    }
}

impl ServerConfig for Watched<dyn ServerConfig> {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(self.config.initial_keys(version, dst_cid)?, Space::Initial, &self.watch))
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.config.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let session = self.config.start_session(version, params);
        Box::new(WatchedSession { session, watch: self.watch.clone(), written: 0 })
    }
}

struct WatchedSession {
    session: Box<dyn Session>,
    watch: PacketObserver,
    /// How many sets of keys the handshake has made: first those of Handshake packets, then those
    /// of 1-RTT packets (RFC 9001 §4.1.4).
    written: u8,
}

impl Session for WatchedSession {
    fn initial_keys(&self, dst_cid: ConnectionId, side: Side) -> Keys {
        keys(self.session.initial_keys(dst_cid, side), Space::Initial, &self.watch)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, key) = self.session.early_crypto()?;
        Some((header, packet_key(key, Space::Data, &self.watch)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.session.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.session.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let made = self.session.write_handshake(buf)?;
        let space = if self.written == 0 { Space::Handshake } else { Space::Data };
        self.written = self.written.saturating_add(1);
        Some(keys(made, space, &self.watch))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair(self.session.next_1rtt_keys()?, Space::Data, &self.watch))
    }

    fn is_valid_retry(&self, orig_dst_cid: ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.session.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.session.export_keying_material(output, label, context)
    }
}

struct WatchedKey {
    key: Box<dyn PacketKey>,
    space: Space,
    watch: PacketObserver,
}

impl PacketKey for WatchedKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        let tag = self.tag_len();
        let payload = buf.len().checked_sub(tag).and_then(|end| buf.get(header_len..end));
        self.watch.sent(self.space, packet, header_len, tag, payload.unwrap_or_default());
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
        self.watch.received(self.space, packet, header.len(), self.tag_len(), payload);
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

fn keys(keys: Keys, space: Space, watch: &PacketObserver) -> Keys {
    Keys { header: keys.header, packet: pair(keys.packet, space, watch) }
}

fn pair(
    keys: KeyPair<Box<dyn PacketKey>>,
    space: Space,
    watch: &PacketObserver,
) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: packet_key(keys.local, space, watch),
        remote: packet_key(keys.remote, space, watch),
    }
}

fn packet_key(key: Box<dyn PacketKey>, space: Space, watch: &PacketObserver) -> Box<dyn PacketKey> {
    Box::new(WatchedKey { key, space, watch: watch.clone() })
}
