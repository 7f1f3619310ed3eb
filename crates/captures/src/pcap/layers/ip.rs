//! Headers of IP.

use super::kind::Kind;
use super::layer::{IpPacket, Layer, Next};
use super::part::Part;
use std::net::IpAddr;

/// Option of a hop-by-hop header with the length of a packet above 64 KiB (RFC 2675 §2).
const JUMBO: u8 = 0xc2;

/// Reads the header of IPv4 (RFC 791) or IPv6 (RFC 8200), by its version.
pub fn read(part: Part<'_>) -> Result<Next<'_>, Kind> {
    match part.u8(0)? >> 4 {
        4 => version_4(part),
        6 => version_6(part),
        _ => Err(Kind::Malformed),
    }
}

fn version_4(part: Part<'_>) -> Result<Next<'_>, Kind> {
    let header = usize::from(part.u8(0)? & 0xf) * 4;
    let bytes = match u64::from(part.u16(2)?) {
        // Large sends, which the card divides later, may have no length.
        0 => part.wire(),
        length => length,
    };
    if header < 20 || bytes < header as u64 {
        return Err(Kind::Malformed);
    }
    if part.u16(6)? & 0x1fff != 0 {
        return Err(Kind::Fragment);
    }
    let addresses = [IpAddr::from(part.array::<4>(12)?), IpAddr::from(part.array::<4>(16)?)];
    let ip = IpPacket { addresses, bytes, id: Some(part.u16(4)?) };
    let rest = part.limit(bytes).skip(header)?;
    Ok(Next::Layer(Layer::Protocol(part.u8(9)?, ip), rest))
}

fn version_6(part: Part<'_>) -> Result<Next<'_>, Kind> {
    let first = part.u8(6)?;
    let bytes = match (u64::from(part.u16(4)?), first) {
        // Above 64 KiB, the length is in a header that follows; large sends may have none.
        (0, 0) => jumbo(part.skip(40)?)?.map_or(part.wire(), |length| 40 + u64::from(length)),
        (0, _) => part.wire(),
        (length, _) => 40 + length,
    };
    let addresses = [IpAddr::from(part.array::<16>(8)?), IpAddr::from(part.array::<16>(24)?)];
    let ip = IpPacket { addresses, bytes, id: None };
    let rest = part.limit(bytes).skip(40)?;
    Ok(Next::Layer(Layer::Protocol(first, ip), rest))
}

/// Returns the length of the packet in its hop-by-hop header.
fn jumbo(header: Part<'_>) -> Result<Option<u32>, Kind> {
    let end = (usize::from(header.u8(1)?) + 1) * 8;
    let mut at = 2;
    while at + 6 <= end {
        match header.u8(at)? {
            JUMBO => return Ok(Some(header.u32(at + 2)?)),
            0 => at += 1,
            _ => at += 2 + usize::from(header.u8(at + 1)?),
        }
    }
    Ok(None)
}
