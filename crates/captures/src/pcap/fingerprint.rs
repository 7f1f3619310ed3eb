//! What tells a packet of a connection from others.

use super::segment::{Datagram, Segment};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of data that are compared.
const DATA: usize = 64;

/// What tells a packet from others.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprint {
    /// Hash of what copies have in common.
    pub hash: u32,
    /// True if no two packets have the same: by IPv4's identification, or by its data. Several
    /// acknowledgements in a row may be equal without.
    pub is_unique: bool,
}

impl Fingerprint {
    /// Returns that of a segment.
    pub fn of_segment(segment: &Segment<'_>) -> Self {
        let Segment { from, seq, ack, syn, fin, window, timestamps, length, .. } = segment;
        let data = segment.data.get(..DATA).unwrap_or(segment.data);
        let header = (from, seq, ack, (syn, fin), window, timestamps, &segment.sack);
        Self::new(segment.ip_id, (header, length, data), *length > 0 || *syn)
    }

    /// Returns that of a datagram.
    pub fn of_datagram(datagram: &Datagram<'_>) -> Self {
        let data = datagram.data.get(..DATA).unwrap_or(datagram.data);
        Self::new(datagram.ip_id, (datagram.from, datagram.length, data), datagram.length > 0)
    }

    fn new(ip_id: Option<u16>, content: impl Hash, has_data: bool) -> Self {
        let mut hasher = DefaultHasher::new();
        (ip_id, content).hash(&mut hasher);
        // Zero is the identification of packets that need none.
        let has_id = ip_id.is_some_and(|id| id != 0);
        Self { hash: hasher.finish() as u32, is_unique: has_id || has_data }
    }
}
