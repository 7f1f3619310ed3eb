//! Headers of link layers: <https://www.tcpdump.org/linktypes.html>.

use super::kind::Kind;
use super::layer::{Before, Layer, Next};
use super::part::Part;

/// Attribute of an NFLOG packet with the packet itself (`NFULA_PAYLOAD`).
const NFLOG_PAYLOAD: u16 = 9;
/// Most attributes of an NFLOG packet.
const MAX_ATTRIBUTES: usize = 64;

/// Reads the header that a link type says.
pub fn read(link_type: u16, frame: Part<'_>) -> Result<Next<'_>, Kind> {
    let after = |layer, length| Ok(Next::Layer(layer, frame.skip(length)?));
    match link_type {
        // ETHERNET; NETANALYZER has four bytes before it.
        1 => after(Layer::Ethernet, 0),
        240 => after(Layer::Ethernet, 4),
        // NULL and LOOP: an address family, of which IP's version tells as much.
        0 | 108 => after(Layer::Ip, 4),
        // RAW in its numbers, IPV4, IPV6.
        12 | 14 | 101 | 228 | 229 => after(Layer::Ip, 0),
        // PPP and PPP_HDLC, each of which may be Cisco's; PPP_ETHER; PPP_WITH_DIR.
        9 | 50 if !matches!(frame.u8(0)?, 0x0f | 0x8f) => after(Layer::Ppp, 0),
        // Cisco HDLC: address, control, EtherType.
        9 | 50 | 104 => after(Layer::EtherType(frame.u16(2)?), 4),
        107 => frame_relay(frame),
        51 => after(Layer::EtherType(0x8864), 0),
        204 => after(Layer::Ppp, 1),
        // ATM_RFC1483.
        11 | 100 => after(Layer::Llc, 0),
        // LINUX_SLL and LINUX_SLL2: a protocol that is an EtherType, or LLC.
        113 => after(linux_protocol(frame.u16(14)?), 16),
        276 => after(linux_protocol(frame.u16(0)?), 20),
        219 => after(Layer::Mpls, 0),
        // IEEE802_11 and what is before it.
        105 => after(Layer::Wifi(Before::Nothing), 0),
        127 => after(Layer::Wifi(Before::Radiotap), 0),
        119 => after(Layer::Wifi(Before::Prism), 0),
        163 => after(Layer::Wifi(Before::Avs), 0),
        192 => after(Layer::Wifi(Before::Ppi), 0),
        // PFLOG: its length, without the padding.
        117 => after(Layer::Ip, usize::from(frame.u8(0)?).next_multiple_of(4)),
        239 => nflog(frame),
        other => Err(Kind::LinkType(other)),
    }
}

fn linux_protocol(number: u16) -> Layer {
    // `ETH_P_802_2`.
    if number == 4 { Layer::Llc } else { Layer::EtherType(number) }
}

/// Reads the header of Frame Relay: RFC 2427, or Cisco's with an EtherType.
fn frame_relay(frame: Part<'_>) -> Result<Next<'_>, Kind> {
    // The last byte of the address has its lowest bit set.
    let address = frame.kept().iter().take(4).position(|byte| byte & 1 == 1);
    let rest = frame.skip(address.ok_or(Kind::Malformed)? + 1)?;
    if rest.u8(0)? != 3 {
        return Ok(Next::Layer(Layer::EtherType(rest.u16(0)?), rest.skip(2)?));
    }
    // Padding before the protocol, if what follows has an even length then.
    let rest = rest.skip(if rest.u8(1)? == 0 { 2 } else { 1 })?;
    match rest.u8(0)? {
        0xcc | 0x8e => Ok(Next::Layer(Layer::Ip, rest.skip(1)?)),
        // SNAP, of a bridged frame or with an EtherType.
        0x80 => match rest.array(1)? {
            [0, 0x80, 0xc2] => Ok(Next::Layer(Layer::Ethernet, rest.skip(6)?)),
            _ => Ok(Next::Layer(Layer::EtherType(rest.u16(4)?), rest.skip(6)?)),
        },
        _ => Err(Kind::Llc),
    }
}

/// Reads the attributes of an NFLOG packet, which are in the byte order of the machine.
fn nflog(frame: Part<'_>) -> Result<Next<'_>, Kind> {
    let mut rest = frame.skip(4)?;
    for _ in 0..MAX_ATTRIBUTES {
        let (length, kind) = (rest.array(0)?, rest.array(2)?);
        // Kinds are small numbers.
        let is_little = u16::from_le_bytes(kind) < 0x100;
        let number = |bytes| {
            if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
        };
        let (length, kind) = (usize::from(number(length)), number(kind));
        if length < 4 {
            return Err(Kind::Malformed);
        }
        if kind == NFLOG_PAYLOAD {
            return Ok(Next::Layer(Layer::Ip, rest.skip(4)?));
        }
        rest = rest.skip(length.next_multiple_of(4))?;
    }
    Err(Kind::Malformed)
}
