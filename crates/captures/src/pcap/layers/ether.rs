//! Ethernet, what follows an EtherType, and headers in its place.

use super::kind::Kind;
use super::layer::{Layer, Next};
use super::part::Part;

/// Smallest EtherType; below, it is the length of an IEEE 802.3 frame with LLC.
const LEAST_TYPE: u16 = 0x0600;

/// Reads the header of an Ethernet frame.
pub fn ethernet(part: Part<'_>) -> Result<Next<'_>, Kind> {
    Ok(Next::Layer(Layer::EtherType(part.u16(12)?), part.skip(14)?))
}

/// Reads what follows an EtherType:
/// <https://www.iana.org/assignments/ieee-802-numbers>.
pub fn after_type(number: u16, part: Part<'_>) -> Result<Next<'_>, Kind> {
    let tag = |length: usize| {
        Ok(Next::Layer(Layer::EtherType(part.u16(length - 2)?), part.skip(length)?))
    };
    match number {
        0x0800 | 0x86dd => Ok(Next::Layer(Layer::Ip, part)),
        0x0806 => Err(Kind::Arp),
        // VLAN tags of IEEE 802.1Q and 802.1ad, and older numbers of the outer ones.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => tag(4),
        // VN-Tag and E-Tag (IEEE 802.1BR).
        0x8926 => tag(6),
        0x893f => tag(8),
        0x8847 | 0x8848 => Ok(Next::Layer(Layer::Mpls, part)),
        // PPPoE (RFC 2516): version, code, session and length.
        0x8864 => {
            let length = u64::from(part.u16(4)?);
            Ok(Next::Layer(Layer::Ppp, part.skip(6)?.limit(length)))
        }
        // PPP in GRE (RFC 2637), and transparent Ethernet bridging.
        0x880b => Ok(Next::Layer(Layer::Ppp, part)),
        0x6558 => Ok(Next::Layer(Layer::Ethernet, part)),
        // MACsec (IEEE 802.1AE): with or without the channel, and only if it is not encrypted.
        0x88e5 => match part.u8(0)? {
            control if control & 0x0c != 0 => Err(Kind::EtherType(number)),
            control if control & 0x20 != 0 => tag(16),
            _ => tag(8),
        },
        number if number < LEAST_TYPE => {
            let length = u64::from(number);
            Ok(Next::Layer(Layer::Llc, if length == 0 { part } else { part.limit(length) }))
        }
        number => Err(Kind::EtherType(number)),
    }
}

/// Reads the header of IEEE 802.2, with SNAP (RFC 1042) or without.
pub fn llc(part: Part<'_>) -> Result<Next<'_>, Kind> {
    match part.array(0)? {
        // Of encapsulated Ethernet, or of a bridge tunnel (IEEE 802.1H).
        [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8] => {
            Ok(Next::Layer(Layer::EtherType(part.u16(6)?), part.skip(8)?))
        }
        [6, 6, 3, ..] => Ok(Next::Layer(Layer::Ip, part.skip(3)?)),
        _ => Err(Kind::Llc),
    }
}

/// Reads the header of PPP (RFC 1661, RFC 1662).
pub fn ppp(part: Part<'_>) -> Result<Next<'_>, Kind> {
    let part = if part.u16(0)? == 0xff03 { part.skip(2)? } else { part };
    // An odd first byte is a whole protocol number.
    let (number, length) = match part.u8(0)? {
        odd if odd & 1 == 1 => (u16::from(odd), 1),
        _ => (part.u16(0)?, 2),
    };
    let layer = match number {
        0x21 | 0x57 => Layer::Ip,
        0x31 => Layer::Ethernet,
        0x281 => Layer::Mpls,
        other => return Err(Kind::Ppp(other)),
    };
    let rest = part.skip(length)?;
    // Bridged frames have flags and the kind of the network before them (RFC 3518 §4.2).
    Ok(Next::Layer(layer, if number == 0x31 { rest.skip(2)? } else { rest }))
}

/// Reads a label of MPLS (RFC 3032).
pub fn mpls(part: Part<'_>) -> Result<Next<'_>, Kind> {
    let is_last = part.u8(2)? & 1 != 0;
    let rest = part.skip(4)?;
    if !is_last {
        return Ok(Next::Layer(Layer::Mpls, rest));
    }
    match rest.u8(0)? >> 4 {
        4 | 6 => Ok(Next::Layer(Layer::Ip, rest)),
        // The control word of a pseudowire (RFC 4448 §4.6).
        0 => Ok(Next::Layer(Layer::Ethernet, rest.skip(4)?)),
        _ => Ok(Next::Layer(Layer::Ethernet, rest)),
    }
}
