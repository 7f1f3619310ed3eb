//! The blocks of pcapng files (draft-ietf-opsawg-pcapng).

use super::record::{CapturedPacket, Order, Record, SECOND};

/// Interfaces of a section that are kept; packets of others are left out.
const MAX_INTERFACES: usize = 1024;
/// Byte-order magic of a section, in its own order.
pub const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Types of blocks.
pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub const INTERFACE: u32 = 1;
/// Packet Block, which the Enhanced Packet Block replaced.
pub const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub const ENHANCED_PACKET: u32 = 6;
/// Decryption Secrets Block, and the type of those of TLS.
const SECRETS: u32 = 10;
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// Options of an interface: units of its clock, and seconds to add to its times.
pub const TIME_RESOLUTION: u16 = 9;
const TIME_OFFSET: u16 = 14;

/// An interface of a section.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link_type: u16,
    /// Most bytes of a packet that are kept; 0 for all.
    snap_length: u32,
    /// Units of its clock in a second.
    units: u64,
    /// Seconds to add to its times.
    offset: i64,
}

impl Interface {
    fn read(order: Order, body: &[u8]) -> Option<Self> {
        let mut interface = Self {
            link_type: order.u16(body, 0)?,
            snap_length: order.u32(body, 4)?,
            units: 1_000_000,
            offset: 0,
        };
        let mut options = body.get(8..)?;
        while let (Some(code), Some(length)) = (order.u16(options, 0), order.u16(options, 2)) {
            match (code, options.get(4)) {
                (TIME_RESOLUTION, Some(&exponent)) if length > 0 => {
                    let base: u64 = if exponent & 0x80 == 0 { 10 } else { 2 };
                    let units = base.checked_pow(u32::from(exponent & 0x7f));
                    interface.units = units.unwrap_or(u64::MAX);
                }
                (TIME_OFFSET, Some(_)) if length == 8 => {
                    interface.offset = order.i64(options, 4).unwrap_or_default();
                }
                _ => {}
            }
            let padded = 4 + usize::from(length).next_multiple_of(4);
            let Some(rest) = options.get(padded..) else { break };
            options = rest;
        }
        Some(interface)
    }

    /// Returns the nanoseconds since the epoch of a time of its clock.
    fn time(&self, high: u32, low: u32) -> u64 {
        let units = u128::from(high) << 32 | u128::from(low);
        let second = u128::from(SECOND);
        // At most 2^94: the clock has 64 bits.
        let time = (units * second / u128::from(self.units.max(1))) as i128;
        let time = time + i128::from(self.offset) * i128::from(SECOND);
        u64::try_from(time.max(0)).unwrap_or(u64::MAX)
    }
}

/// Returns the length of the block with which `bytes` begin. If it begins a section, `order`
/// becomes that of the section.
pub fn block_length(bytes: &[u8], order: &mut Order) -> Option<usize> {
    if order.u32(bytes, 0)? == SECTION_HEADER {
        *order = match order.u32(bytes, 8)? {
            BYTE_ORDER => *order,
            other if other == BYTE_ORDER.swap_bytes() => Order { big: !order.big },
            _ => return None,
        };
    }
    let length = order.u32(bytes, 4)? as usize;
    (length >= 12 && length.is_multiple_of(4)).then_some(length)
}

/// Calls `each` with the packets and the secrets of all blocks. Returns `None` if the file ends
/// within a block or has one that cannot be read.
pub fn blocks<'a>(bytes: &'a [u8], each: &mut impl FnMut(Record<'a>)) -> Option<()> {
    let mut order = Order { big: false };
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let block = bytes.get(at..)?;
        let length = block_length(block, &mut order)?;
        let body = block.get(8..length - 4)?;
        let kind = order.u32(block, 0)?;
        match kind {
            SECTION_HEADER => interfaces.clear(),
            INTERFACE if interfaces.len() < MAX_INTERFACES => {
                interfaces.push(Interface::read(order, body)?);
            }
            ENHANCED_PACKET | PACKET => {
                let index = match kind {
                    PACKET => u32::from(order.u16(body, 0)?),
                    _ => order.u32(body, 0)?,
                };
                let (high, low) = (order.u32(body, 4)?, order.u32(body, 8)?);
                let captured = order.u32(body, 12)? as usize;
                let (data, wire) = (body.get(20..)?.get(..captured)?, order.u32(body, 16)?);
                if let Some(interface) = interfaces.get(index as usize) {
                    each(Record::Packet(CapturedPacket {
                        at: Some(interface.time(high, low)),
                        link_type: interface.link_type,
                        wire,
                        data,
                        start: at + 8 + 20,
                    }));
                }
            }
            SIMPLE_PACKET => {
                let (data, wire) = (body.get(4..)?, order.u32(body, 0)?);
                if let Some(&Interface { link_type, snap_length, .. }) = interfaces.first() {
                    let limit = if snap_length == 0 { u32::MAX } else { snap_length };
                    let data = data.get(..wire.min(limit) as usize)?;
                    let start = at + 8 + 4;
                    each(Record::Packet(CapturedPacket { at: None, link_type, wire, data, start }));
                }
            }
            SECRETS if order.u32(body, 0)? == TLS_KEY_LOG => {
                let length = order.u32(body, 4)? as usize;
                each(Record::KeyLog(body.get(8..)?.get(..length)?));
            }
            _ => {}
        }
        at += length;
    }
    Some(())
}
