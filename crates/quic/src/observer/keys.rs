//! Cryptography with an observer: every call goes to the wrapped implementation.

use super::packet_info::Space;
use super::packet_observer::PacketObserver;
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
    /// Wraps `config` so that its next connection is observed. For one connection only: the packets
    /// of a second one would mix with those of the first.
    pub fn client(&self, config: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(Observed { config, observer: self.clone() })
    }

    /// Wraps `config` like [`Self::client`].
    pub fn server(&self, config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(Observed { config, observer: self.clone() })
    }
}

struct Observed<T: ?Sized> {
    config: Arc<T>,
    observer: PacketObserver,
}

impl ClientConfig for Observed<dyn ClientConfig> {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.config.start_session(version, server_name, params)?;
        self.observer.on_local_parameters(params);
        Ok(ObservedSession::boxed(session, Side::Client, &self.observer))
    }
}

impl ServerConfig for Observed<dyn ServerConfig> {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(self.config.initial_keys(version, dst_cid)?, Space::Initial, &self.observer))
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.config.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let session = self.config.start_session(version, params);
        self.observer.on_local_parameters(params);
        ObservedSession::boxed(session, Side::Server, &self.observer)
    }
}

struct ObservedSession {
    session: Box<dyn Session>,
    side: Side,
    observer: PacketObserver,
    /// Number of key sets that the handshake has made: first those of Handshake packets, then those
    /// of 1-RTT packets (RFC 9001 §4.1.4).
    written: u8,
}

impl ObservedSession {
    fn boxed(session: Box<dyn Session>, side: Side, observer: &PacketObserver) -> Box<dyn Session> {
        Box::new(Self { session, side, observer: observer.clone(), written: 0 })
    }
}

impl Session for ObservedSession {
    fn initial_keys(&self, dst_cid: ConnectionId, side: Side) -> Keys {
        if side == Side::Client {
            self.observer.on_connection_id(&dst_cid);
        }
        keys(self.session.initial_keys(dst_cid, side), Space::Initial, &self.observer)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, key) = self.session.early_crypto()?;
        Some((header, packet_key(key, Space::Data, &self.observer)))
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
        let parameters = self.session.transport_parameters()?;
        if let Some(parameters) = &parameters {
            // Before the server's handshake a client has those of its ticket.
            let restored = self.side == Side::Client && self.written == 0;
            self.observer.on_remote_parameters(parameters, restored);
        }
        Ok(parameters)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let made = self.session.write_handshake(buf)?;
        let space = if self.written == 0 { Space::Handshake } else { Space::Data };
        self.written = self.written.saturating_add(1);
        Some(keys(made, space, &self.observer))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair(self.session.next_1rtt_keys()?, Space::Data, &self.observer))
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

struct ObservedKey {
    key: Box<dyn PacketKey>,
    space: Space,
    observer: PacketObserver,
}

impl PacketKey for ObservedKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        let tag = self.tag_len();
        let end = buf.len().saturating_sub(tag);
        if let Some((header, payload)) = buf[..end].split_at_checked(header_len) {
            self.observer.on_sent(self.space, packet, header, tag, payload);
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
        self.observer.on_received(self.space, packet, header, self.tag_len(), payload);
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

fn keys(keys: Keys, space: Space, observer: &PacketObserver) -> Keys {
    Keys { header: keys.header, packet: pair(keys.packet, space, observer) }
}

fn pair(
    keys: KeyPair<Box<dyn PacketKey>>,
    space: Space,
    observer: &PacketObserver,
) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: packet_key(keys.local, space, observer),
        remote: packet_key(keys.remote, space, observer),
    }
}

fn packet_key(
    key: Box<dyn PacketKey>,
    space: Space,
    observer: &PacketObserver,
) -> Box<dyn PacketKey> {
    Box::new(ObservedKey { key, space, observer: observer.clone() })
}
