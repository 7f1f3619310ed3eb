//! Packets of capture files: pcapng, and pcap (draft-ietf-opsawg-pcap).

use super::pcapng;
use super::record::{CapturedPacket, Order, Record, SECOND};

/// Bytes of a pcap file before its first record, and of a record before its packet.
const PCAP_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Bytes of a record's header in files of Kuznetzov's modified pcap, which also has the interface,
/// the protocol and the kind of the packet.
const MODIFIED_RECORD_HEADER: usize = 24;

/// Byte order and kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// pcapng, whose sections say their byte order.
    Pcapng,
    /// pcap.
    Pcap {
        /// True if it is big-endian.
        big: bool,
        /// Nanoseconds of the unit of time below the second.
        unit: u64,
        /// Bytes of a record before its packet.
        header: usize,
    },
}

impl Format {
    /// Returns the format of a file that begins with `bytes`; `None` if it is no capture.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let pcap = |big, unit, header| Some(Self::Pcap { big, unit, header });
        match *bytes.first_chunk::<4>()? {
            [0x0a, 0x0d, 0x0d, 0x0a] => Some(Self::Pcapng),
            [0xa1, 0xb2, 0xc3, 0xd4] => pcap(true, 1000, RECORD_HEADER),
            [0xd4, 0xc3, 0xb2, 0xa1] => pcap(false, 1000, RECORD_HEADER),
            [0xa1, 0xb2, 0x3c, 0x4d] => pcap(true, 1, RECORD_HEADER),
            [0x4d, 0x3c, 0xb2, 0xa1] => pcap(false, 1, RECORD_HEADER),
            [0xa1, 0xb2, 0xcd, 0x34] => pcap(true, 1000, MODIFIED_RECORD_HEADER),
            [0x34, 0xcd, 0xb2, 0xa1] => pcap(false, 1000, MODIFIED_RECORD_HEADER),
            _ => None,
        }
    }
}

/// Calls `each` with every packet and every key log. Returns false if the file ends within a record
/// or has one that cannot be read, after which it is not read further.
pub fn records<'a>(bytes: &'a [u8], mut each: impl FnMut(Record<'a>)) -> bool {
    match Format::of(bytes) {
        Some(Format::Pcapng) => pcapng::blocks(bytes, &mut each).is_some(),
        Some(Format::Pcap { big, unit, header }) => {
            pcap_records(bytes, Order { big }, unit, header, &mut each).is_some()
        }
        None => false,
    }
}

fn pcap_records<'a>(
    bytes: &'a [u8],
    order: Order,
    unit: u64,
    header: usize,
    each: &mut impl FnMut(Record<'a>),
) -> Option<()> {
    // The upper bits have the length of the frame check sequence.
    let link_type = order.u32(bytes, 20)? as u16;
    let mut at = PCAP_HEADER;
    while at < bytes.len() {
        let field = |index: usize| order.u32(bytes, at + 4 * index);
        let (seconds, part, length, wire) = (field(0)?, field(1)?, field(2)? as usize, field(3)?);
        let start = at + header;
        let data = bytes.get(start..)?.get(..length)?;
        let time = u64::from(seconds) * SECOND + u64::from(part) * unit;
        each(Record::Packet(CapturedPacket { at: Some(time), link_type, wire, data, start }));
        at = start + length;
    }
    Some(())
}
