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
        // PPP; PPP_HDLC, which may be Cisco's; PPP_ETHER; PPP_WITH_DIR.
        9 => after(Layer::Ppp, 0),
        50 | 104 if matches!(frame.u8(0)?, 0x0f | 0x8f) => {
            // Cisco HDLC: address, control, EtherType.
            after(Layer::EtherType(frame.u16(2)?), 4)
        }
        50 => after(Layer::Ppp, 0),
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
