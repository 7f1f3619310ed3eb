//! Cryptography of the stack with changed packet protection: the handshake is that of the wrapped
//! implementation, and a [`WrapKeys`] replaces or observes its keys.

use crate::observer::Space;
use noq_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::Arc;

/// Makes the keys of packets from those of the wrapped implementation.
pub(crate) trait WrapKeys: Clone + Send + Sync + 'static {
    /// Returns the key that protects packets of `space` in place of `key`.
    fn packet(&self, key: Box<dyn PacketKey>, space: Space) -> Box<dyn PacketKey>;

    /// Returns the key that protects headers of `space` in place of `key`.
    fn header(&self, key: Box<dyn HeaderKey>, _space: Space) -> Box<dyn HeaderKey> {
        key
    }

    /// Takes the client's first destination connection ID (RFC 9000 §7.2), at the client.
    fn on_connection_id(&self, _connection_id: &[u8]) {}

    /// Passes bytes of the handshake that have arrived to `session`.
    fn read_handshake(
        &self,
        session: &mut dyn Session,
        bytes: &[u8],
    ) -> Result<bool, TransportError> {
        session.read_handshake(bytes)
    }

    /// Takes the transport parameters of this side.
    fn on_local_parameters(&self, _parameters: &TransportParameters) {}

    /// Takes the transport parameters of the peer, possibly several times. `restored`: those of an
    /// earlier connection, which 0-RTT uses.
    fn on_remote_parameters(&self, _parameters: &TransportParameters, _restored: bool) {}
}

/// Wraps the cryptography of a client.
pub(crate) fn client(config: Arc<dyn ClientConfig>, wrap: impl WrapKeys) -> Arc<dyn ClientConfig> {
    Arc::new(Wrapped { config, wrap })
}

/// Wraps the cryptography of a server.
pub(crate) fn server(config: Arc<dyn ServerConfig>, wrap: impl WrapKeys) -> Arc<dyn ServerConfig> {
    Arc::new(Wrapped { config, wrap })
}

struct Wrapped<T: ?Sized, W> {
    config: Arc<T>,
    wrap: W,
}

impl<W: WrapKeys> ClientConfig for Wrapped<dyn ClientConfig, W> {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.config.start_session(version, server_name, params)?;
        self.wrap.on_local_parameters(params);
        Ok(WrappedSession::boxed(session, Side::Client, &self.wrap))
    }
}

impl<W: WrapKeys> ServerConfig for Wrapped<dyn ServerConfig, W> {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(self.config.initial_keys(version, dst_cid)?, Space::Initial, &self.wrap))
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.config.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let session = self.config.start_session(version, params);
        self.wrap.on_local_parameters(params);
        WrappedSession::boxed(session, Side::Server, &self.wrap)
    }
}

pub(crate) struct WrappedSession<W> {
    session: Box<dyn Session>,
    side: Side,
    wrap: W,
    /// Number of key sets that the handshake has made: first those of Handshake packets, then those
    /// of 1-RTT packets (RFC 9001 §4.1.4).
    written: u8,
}

impl<W: WrapKeys> WrappedSession<W> {
    pub fn boxed(session: Box<dyn Session>, side: Side, wrap: &W) -> Box<dyn Session> {
        Box::new(Self { session, side, wrap: wrap.clone(), written: 0 })
    }
}

impl<W: WrapKeys> Session for WrappedSession<W> {
    fn initial_keys(&self, dst_cid: ConnectionId, side: Side) -> Keys {
        if side == Side::Client {
            self.wrap.on_connection_id(&dst_cid);
        }
        keys(self.session.initial_keys(dst_cid, side), Space::Initial, &self.wrap)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (header, key) = self.session.early_crypto()?;
        Some((self.wrap.header(header, Space::Data), self.wrap.packet(key, Space::Data)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.wrap.read_handshake(&mut *self.session, buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let parameters = self.session.transport_parameters()?;
        if let Some(parameters) = &parameters {
            // Before the server's handshake a client has those of its ticket.
            let restored = self.side == Side::Client && self.written == 0;
            self.wrap.on_remote_parameters(parameters, restored);
        }
        Ok(parameters)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let made = self.session.write_handshake(buf)?;
        let space = if self.written == 0 { Space::Handshake } else { Space::Data };
        self.written = self.written.saturating_add(1);
        Some(keys(made, space, &self.wrap))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair(self.session.next_1rtt_keys()?, Space::Data, &self.wrap))
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

fn keys(keys: Keys, space: Space, wrap: &impl WrapKeys) -> Keys {
    let KeyPair { local, remote } = keys.header;
    let header = KeyPair { local: wrap.header(local, space), remote: wrap.header(remote, space) };
    Keys { header, packet: pair(keys.packet, space, wrap) }
}

fn pair(
    keys: KeyPair<Box<dyn PacketKey>>,
    space: Space,
    wrap: &impl WrapKeys,
) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: wrap.packet(keys.local, space), remote: wrap.packet(keys.remote, space) }
}
