//! Initial packets, whose keys anyone can derive (RFC 9001 §5.2).

use super::header::LongPacket;
use super::protection::Keys;
use super::version::{Kind, Version};

/// Most connection IDs from which keys are derived: that of the first packet and, after Retry or
/// Version Negotiation, others.
const MAX_IDS: usize = 4;
/// Most pairs of keys: of each ID, for the versions that the ends agree on (RFC 9368).
const MAX_PAIRS: usize = 8;

/// The keys of the Initial packets of a connection.
#[derive(Default)]
pub struct InitialKeys {
    ids: Vec<Vec<u8>>,
    pairs: Vec<Pair>,
}

struct Pair {
    version: &'static Version,
    id: usize,
    keys: [Keys; 2],
}

impl InitialKeys {
    /// Opens a packet that the client (0) or the server (1) sent. Returns its number and frames.
    pub fn open(&mut self, packet: &LongPacket<'_>, sender: usize) -> Option<(u64, Vec<u8>)> {
        if packet.kind != Kind::Initial {
            return None;
        }
        let of_version = |pair: &&mut Pair| std::ptr::eq(pair.version, packet.version);
        let mut known = self.pairs.iter_mut().filter(of_version);
        let opened = known.find_map(|pair| pair.keys[sender].open(packet.bytes, packet.number_at));
        if opened.is_some() {
            return opened;
        }
        let is_new = sender == 0 && !self.ids.iter().any(|id| id == packet.target_id);
        for index in 0..self.ids.len() {
            let is_known = self
                .pairs
                .iter()
                .any(|pair| pair.id == index && std::ptr::eq(pair.version, packet.version));
            if !is_known && let Some(opened) = self.open_with(index, packet, sender) {
                return Some(opened);
            }
        }
        if is_new && self.ids.len() < MAX_IDS {
            self.ids.push(packet.target_id.to_vec());
            let opened = self.open_with(self.ids.len() - 1, packet, sender);
            if opened.is_none() {
                self.ids.pop();
            }
            return opened;
        }
        None
    }

    /// Opens a packet with keys from an ID, which are kept if they do.
    fn open_with(
        &mut self,
        id: usize,
        packet: &LongPacket<'_>,
        sender: usize,
    ) -> Option<(u64, Vec<u8>)> {
        let mut keys = Keys::initial(packet.version, &self.ids[id])?;
        let opened = keys[sender].open(packet.bytes, packet.number_at)?;
        if self.pairs.len() < MAX_PAIRS {
            self.pairs.push(Pair { version: packet.version, id, keys });
        }
        Some(opened)
    }
}

/// Returns true if a packet is an Initial of a client in its first flight: the keys that open it
/// are of the connection ID in its own header. Nothing else looks like that.
pub fn begins_connection(packet: &LongPacket<'_>) -> bool {
    packet.kind == Kind::Initial
        && Keys::initial(packet.version, packet.target_id)
            .is_some_and(|mut keys| keys[0].open(packet.bytes, packet.number_at).is_some())
}
