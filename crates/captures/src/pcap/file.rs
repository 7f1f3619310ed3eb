//! Packets of capture files: pcapng (draft-ietf-opsawg-pcapng) and pcap (draft-ietf-opsawg-pcap).

use crate::error::CaptureError;

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;
/// Interfaces of a section that are kept; packets of others are left out.
const MAX_INTERFACES: usize = 1024;
/// Most packets of a connection: about 600 MB without receive offload, and 300 MB of memory.
const MAX_PACKETS: usize = 1_000_000;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Decryption Secrets Block, and the type of those of TLS.
const SECRETS: u32 = 10;
const TLS_KEY_LOG: u32 = 0x544c_534b;
const TIME_RESOLUTION: u16 = 9;

/// A packet of a capture.
#[derive(Debug, Clone, Copy)]
pub struct CapturedPacket<'a> {
    /// Time in nanoseconds since the epoch of the capture.
    pub at: u64,
    /// Link type (`LINKTYPE_…` of the registry of tcpdump.org).
    pub link_type: u32,
    /// The bytes that were kept.
    pub data: &'a [u8],
}

/// What a file has.
#[derive(Debug, Clone, Copy)]
pub enum Record<'a> {
    /// A packet.
    Packet(CapturedPacket<'a>),
    /// Secrets of TLS in the form of `SSLKEYLOGFILE`.
    KeyLog(&'a [u8]),
}

/// Byte order and kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// pcapng, whose sections say their byte order.
    Pcapng,
    /// pcap: whether it is big-endian, and nanoseconds of its time unit.
    Pcap {
        /// Byte order.
        big: bool,
        /// Nanoseconds of the unit of time below the second.
        unit: u64,
    },
}

impl Format {
    /// Returns the format of a file that begins with `bytes`; `None` if it is no capture.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let pcap = |big, unit| Some(Self::Pcap { big, unit });
        match *bytes.first_chunk::<4>()? {
            [0x0a, 0x0d, 0x0d, 0x0a] => Some(Self::Pcapng),
            [0xa1, 0xb2, 0xc3, 0xd4] => pcap(true, 1000),
            [0xd4, 0xc3, 0xb2, 0xa1] => pcap(false, 1000),
            [0xa1, 0xb2, 0x3c, 0x4d] => pcap(true, 1),
            [0x4d, 0x3c, 0xb2, 0xa1] => pcap(false, 1),
            _ => None,
        }
    }
}

/// Reads numbers of a byte order.
#[derive(Debug, Clone, Copy)]
struct Order(bool);

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let field = *bytes.get(at..)?.first_chunk()?;
        Some(if self.0 { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let field = *bytes.get(at..)?.first_chunk()?;
        Some(if self.0 { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) })
    }
}

/// An interface of a pcapng section: its link type, and the units of its clock in a second.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u32,
    units: u64,
}

/// Returns what `of` makes of the packets of one connection, in the order of their times in ns, and
/// whether the file was read to its end.
///
/// # Errors
/// There are more than [`MAX_PACKETS`].
pub fn packets<'a, T>(
    bytes: &'a [u8],
    mut of: impl FnMut(&CapturedPacket<'a>) -> Option<T>,
) -> Result<(Vec<(u64, T)>, bool), CaptureError> {
    let mut kept = Vec::new();
    let mut count = 0;
    let complete = records(bytes, |record| {
        if let Record::Packet(packet) = record
            && let Some(content) = of(&packet)
        {
            count += 1;
            if kept.len() < MAX_PACKETS {
                kept.push((packet.at, content));
            }
        }
    });
    if count > MAX_PACKETS {
        return Err(CaptureError::TooManyPackets { count, limit: MAX_PACKETS });
    }
    kept.sort_by_key(|(at, _)| *at);
    Ok((kept, complete))
}

/// Calls `each` with every packet and every key log. Returns false if the file ends within a record
/// or has one that cannot be read, after which it is not read further.
pub fn records<'a>(bytes: &'a [u8], mut each: impl FnMut(Record<'a>)) -> bool {
    match Format::of(bytes) {
        Some(Format::Pcapng) => blocks(bytes, &mut each).is_some(),
        Some(Format::Pcap { big, unit }) => {
            pcap_records(bytes, Order(big), unit, &mut each).is_some()
        }
        None => false,
    }
}

fn pcap_records<'a>(
    bytes: &'a [u8],
    order: Order,
    unit: u64,
    each: &mut impl FnMut(Record<'a>),
) -> Option<()> {
    // The upper bits have the length of the frame check sequence.
    let link_type = order.u32(bytes, 20)? & 0xffff;
    let mut rest = bytes.get(24..)?;
    while !rest.is_empty() {
        let (seconds, part) = (order.u32(rest, 0)?, order.u32(rest, 4)?);
        let length = order.u32(rest, 8)? as usize;
        let data = rest.get(16..)?.get(..length)?;
        let at = u64::from(seconds) * SECOND as u64 + u64::from(part) * unit;
        each(Record::Packet(CapturedPacket { at, link_type, data }));
        rest = rest.get(16 + length..)?;
    }
    Some(())
}

fn blocks<'a>(bytes: &'a [u8], each: &mut impl FnMut(Record<'a>)) -> Option<()> {
    let mut order = Order(false);
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        if order.u32(rest, 0)? == SECTION_HEADER {
            order = match order.u32(rest, 8)? {
                0x1a2b_3c4d => order,
                0x4d3c_2b1a => Order(!order.0),
                _ => return None,
            };
            interfaces.clear();
        }
        let (kind, length) = (order.u32(rest, 0)?, order.u32(rest, 4)? as usize);
        if length < 12 || length % 4 != 0 {
            return None;
        }
        let body = rest.get(8..length - 4)?;
        match kind {
            INTERFACE if interfaces.len() < MAX_INTERFACES => {
                let link_type = u32::from(order.u16(body, 0)?);
                let units = time_units(order, body.get(8..)?);
                interfaces.push(Interface { link_type, units });
            }
            ENHANCED_PACKET => {
                let found = interfaces.get(order.u32(body, 0)? as usize);
                let units = u64::from(order.u32(body, 4)?) << 32 | u64::from(order.u32(body, 8)?);
                let captured = order.u32(body, 12)? as usize;
                let data = body.get(20..)?.get(..captured)?;
                if let Some(&Interface { link_type, units: of_second }) = found {
                    let at = u128::from(units) * SECOND / u128::from(of_second.max(1));
                    let at = u64::try_from(at).unwrap_or(u64::MAX);
                    each(Record::Packet(CapturedPacket { at, link_type, data }));
                }
            }
            SECRETS if order.u32(body, 0)? == TLS_KEY_LOG => {
                let length = order.u32(body, 4)? as usize;
                each(Record::KeyLog(body.get(8..)?.get(..length)?));
            }
            _ => {}
        }
        rest = rest.get(length..)?;
    }
    Some(())
}

/// Returns the units of an interface's clock in a second: `if_tsresol`, by default microseconds.
fn time_units(order: Order, mut options: &[u8]) -> u64 {
    while let (Some(code), Some(length)) = (order.u16(options, 0), order.u16(options, 2)) {
        if code == TIME_RESOLUTION
            && let Some(&exponent) = options.get(4)
        {
            let base: u64 = if exponent & 0x80 == 0 { 10 } else { 2 };
            return base.checked_pow(u32::from(exponent & 0x7f)).unwrap_or(u64::MAX);
        }
        let padded = 4 + usize::from(length).next_multiple_of(4);
        let Some(rest) = options.get(padded..) else { break };
        options = rest;
    }
    1_000_000
}
