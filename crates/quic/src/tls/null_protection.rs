//! Packets without protection, for the virtual clock.
//!
//! In a simulation nobody reads or forges packets, and encrypting them costs a sixth of its
//! instructions. With [`null_client`] and [`null_server`] at both ends, 0-RTT and 1-RTT packets
//! leave in the clear, with a tag of zeros where the AEAD's would be: every length, limit and
//! decision stays the same. The handshake stays that of TLS, since its messages and keys decide
//! what the ends accept.

use super::wrapped::{self, WrapKeys};
use crate::observer::Space;
use bytes::BytesMut;
use noq_proto::PathId;
use noq_proto::crypto::{ClientConfig, CryptoError, HeaderKey, PacketKey, ServerConfig};
use std::sync::Arc;

/// Returns `config` without protection of 0-RTT and 1-RTT packets. Only for a simulation: such
/// packets can be read and forged by anyone on the path.
pub fn null_client(config: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
    wrapped::client(config, NullProtection)
}

/// Returns `config` like [`null_client`].
pub fn null_server(config: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
    wrapped::server(config, NullProtection)
}

#[derive(Clone)]
struct NullProtection;

impl WrapKeys for NullProtection {
    fn packet(&self, key: Box<dyn PacketKey>, space: Space) -> Box<dyn PacketKey> {
        if space != Space::Data {
            return key;
        }
        Box::new(NullPacketKey {
            tag_len: key.tag_len(),
            confidentiality_limit: key.confidentiality_limit(),
            integrity_limit: key.integrity_limit(),
        })
    }

    fn header(&self, key: Box<dyn HeaderKey>, space: Space) -> Box<dyn HeaderKey> {
        if space != Space::Data {
            return key;
        }
        Box::new(NullHeaderKey { sample_size: key.sample_size() })
    }
}

/// Leaves packets as they are, with the lengths and limits of the key that it replaces.
struct NullPacketKey {
    tag_len: usize,
    confidentiality_limit: u64,
    integrity_limit: u64,
}

impl PacketKey for NullPacketKey {
    /// The stack has made room for the tag with zeros.
    fn encrypt(&self, _path_id: PathId, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _path_id: PathId,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(self.tag_len).ok_or(CryptoError)?;
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.tag_len
    }

    fn confidentiality_limit(&self) -> u64 {
        self.confidentiality_limit
    }

    fn integrity_limit(&self) -> u64 {
        self.integrity_limit
    }
}

/// Leaves headers as they are.
struct NullHeaderKey {
    sample_size: usize,
}

impl HeaderKey for NullHeaderKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        self.sample_size
    }
}
