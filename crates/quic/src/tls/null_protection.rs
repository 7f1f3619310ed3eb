//! Packets without protection, for the virtual clock.
//!
//! In a simulation nobody reads or forges packets, and encrypting them costs a sixth of its
//! instructions. With [`null_client`] and [`null_server`] at both ends, 0-RTT and 1-RTT packets
//! leave in the clear, with their number in a tag where the AEAD's would be: every length, limit
//! and decision stays the same. The handshake stays that of TLS, since its messages and keys decide
//! what the ends accept.
//!
//! The number is in the tag because a receiver can take it for another: of a packet that arrives
//! after 128 later ones, one byte is not enough (RFC 9000 §17.1). The nonce of an AEAD contains the
//! number, so that such a packet is dropped.

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

/// Length of a packet number in the tag.
const NUMBER_LEN: usize = size_of::<u64>();

/// Leaves packets as they are but for the tag, with the lengths and limits of the key that it
/// replaces.
struct NullPacketKey {
    tag_len: usize,
    confidentiality_limit: u64,
    integrity_limit: u64,
}

impl PacketKey for NullPacketKey {
    fn encrypt(&self, _path_id: PathId, packet: u64, buf: &mut [u8], _header_len: usize) {
        let tag = buf.len() - self.tag_len;
        if let Some(number) = buf.get_mut(tag..tag + NUMBER_LEN) {
            number.copy_from_slice(&packet.to_be_bytes());
        }
    }

    fn decrypt(
        &self,
        _path_id: PathId,
        packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(self.tag_len).ok_or(CryptoError)?;
        if payload.get(end..end + NUMBER_LEN) != Some(packet.to_be_bytes().as_slice()) {
            return Err(CryptoError);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_taken_for_another_is_dropped() {
        let key = NullPacketKey { tag_len: 16, confidentiality_limit: 1, integrity_limit: 1 };
        let mut packet = b"headerpayload".to_vec();
        packet.resize(packet.len() + 16, 0);
        key.encrypt(PathId::ZERO, 9_515, &mut packet, 6);
        let open = |number| {
            let mut payload = BytesMut::from(&packet[6..]);
            key.decrypt(PathId::ZERO, number, b"header", &mut payload).map(|()| payload)
        };
        assert_eq!(open(9_515).unwrap(), "payload");
        // The number that one byte stands for after packet 9,642.
        assert!(open(9_771).is_err());
    }
}
