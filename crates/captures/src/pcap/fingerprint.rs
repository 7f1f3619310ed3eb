//! What tells a packet of a connection from others.

use super::segment::{Datagram, Segment};
use std::hash::{Hash, Hasher};

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
        let header = (from, seq, ack, (syn, fin), window, timestamps, segment.sack());
        Self::new(segment.ip_id, (header, length, data), *length > 0 || *syn)
    }

    /// Returns that of a datagram.
    pub fn of_datagram(datagram: &Datagram<'_>) -> Self {
        let data = datagram.data.get(..DATA).unwrap_or(datagram.data);
        Self::new(datagram.ip_id, (datagram.from, datagram.length, data), datagram.length > 0)
    }

    fn new(ip_id: Option<u16>, content: impl Hash, has_data: bool) -> Self {
        let mut hasher = Mixer::default();
        (ip_id, content).hash(&mut hasher);
        // Zero is the identification of packets that need none.
        let has_id = ip_id.is_some_and(|id| id != 0);
        Self { hash: hasher.finish() as u32, is_unique: has_id || has_data }
    }
}

/// A hasher that is quicker than that of the standard library, which withstands those who choose
/// what is hashed. Here, they could only make packets of their own file look like copies.
#[derive(Debug, Default)]
struct Mixer(u64);

impl Mixer {
    /// An odd number without a pattern: 2^64 divided by the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ word) * u128::from(Self::FACTOR);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(word.try_into().map_or(0, u64::from_le_bytes));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut last = [0; 8];
            last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            self.mix(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(number.into());
    }

    fn write_u16(&mut self, number: u16) {
        self.mix(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
