//! What IP and UDP carry: extension headers, packets in packets, TCP and UDP.

use super::kind::Kind;
use super::layer::{Found, IpPacket, Layer, Next};
use super::part::Part;

/// Ports of UDP to which packets are sent in datagrams.
const VXLAN: [u16; 2] = [4789, 8472];
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
const GTP_USER: u16 = 2152;
const MPLS: u16 = 6635;
/// Most extension headers of a GTP-U packet.
const MAX_GTP_HEADERS: usize = 8;
/// Bits of the first bytes of GRE (RFC 2784, RFC 2890), and of its version 1 (RFC 2637 §4.1).
const GRE_CHECKSUM: u16 = 0x8000;
const GRE_ROUTING: u16 = 0x4000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;
const GRE_ACKNOWLEDGEMENT: u16 = 0x0080;

/// Reads what follows a header of IP with this protocol number:
/// <https://www.iana.org/assignments/protocol-numbers>.
pub fn after_protocol(number: u8, ip: IpPacket, part: Part<'_>) -> Result<Next<'_>, Kind> {
    let extension =
        |length: usize| Ok(Next::Layer(Layer::Protocol(part.u8(0)?, ip), part.skip(length)?));
    match number {
        6 | 17 => Ok(Next::Transport(Found { ip, is_tcp: number == 6, part })),
        4 | 41 => Ok(Next::Layer(Layer::Ip, part)),
        47 => gre(part),
        // Extension headers of IPv6: hop-by-hop, routing, destination, mobility, HIP, shim6.
        0 | 43 | 60 | 135 | 139 | 140 => extension((usize::from(part.u8(1)?) + 1) * 8),
        // Fragment header.
        44 if part.u16(2)? & 0xfff8 != 0 => Err(Kind::Fragment),
        44 => extension(8),
        // Authentication header (RFC 4302), of IPv4, too.
        51 => extension((usize::from(part.u8(1)?) + 2) * 4),
        // EtherIP (RFC 3378), MPLS in IP (RFC 4023), Ethernet in IPv6 (RFC 8986).
        97 => Ok(Next::Layer(Layer::Ethernet, part.skip(2)?)),
        137 => Ok(Next::Layer(Layer::Mpls, part)),
        143 => Ok(Next::Layer(Layer::Ethernet, part)),
        other => Err(Kind::Protocol(other)),
    }
}

/// Reads the header of GRE, and those of ERSPAN.
fn gre(part: Part<'_>) -> Result<Next<'_>, Kind> {
    let (flags, protocol) = (part.u16(0)?, part.u16(2)?);
    let version = flags & 7;
    if version > 1 || flags & GRE_ROUTING != 0 {
        return Err(Kind::Malformed);
    }
    let mut length = 4;
    length += [GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE]
        .into_iter()
        .map(|flag| if flags & flag != 0 { 4 } else { 0 })
        .sum::<usize>();
    if version == 1 && flags & GRE_ACKNOWLEDGEMENT != 0 {
        length += 4;
    }
    let rest = part.skip(length)?;
    match protocol {
        // ERSPAN I has no header, II one of eight bytes (draft-foschiano-erspan).
        0x88be if flags & GRE_SEQUENCE == 0 => Ok(Next::Layer(Layer::Ethernet, rest)),
        0x88be => Ok(Next::Layer(Layer::Ethernet, rest.skip(8)?)),
        // ERSPAN III: twelve bytes, and eight more of the platform.
        0x22eb => {
            let last = rest.u16(10)?;
            let layer = if last >> 10 & 0x1f == 2 { Layer::Ip } else { Layer::Ethernet };
            Ok(Next::Layer(layer, rest.skip(if last & 1 == 0 { 12 } else { 20 })?))
        }
        number => Ok(Next::Layer(Layer::EtherType(number), rest)),
    }
}

/// Returns what a datagram carries, if its port and its first bytes say that it is a packet.
pub fn in_datagram<'a>(found: &Found<'a>) -> Option<Next<'a>> {
    if found.is_tcp {
        return None;
    }
    let port = found.part.u16(2).ok()?;
    let content = found.part.skip(8).ok()?;
    let (layer, rest) = match port {
        GTP_USER => (Layer::Ip, gtp_user(content)?),
        GENEVE => geneve(content)?,
        MPLS => (Layer::Mpls, content),
        // RFC 7348 §5: the flag I, and nothing in what is reserved.
        port if VXLAN.contains(&port) && content.u32(0).ok()? == 0x0800_0000 => {
            (Layer::Ethernet, content.skip(8).ok()?)
        }
        // draft-ietf-nvo3-vxlan-gpe §3.
        VXLAN_GPE if content.u8(0).ok()? & 0xf4 == 4 => {
            let layer = match content.u8(3).ok()? {
                1 | 2 => Layer::Ip,
                3 => Layer::Ethernet,
                _ => return None,
            };
            (layer, content.skip(8).ok()?)
        }
        _ => return None,
    };
    Some(Next::Layer(layer, rest))
}

/// Reads the header of Geneve (RFC 8926 §3.4).
fn geneve(content: Part<'_>) -> Option<(Layer, Part<'_>)> {
    let first = content.u8(0).ok()?;
    let kind = content.u16(2).ok()?;
    let is_geneve = first >> 6 == 0 && content.u8(7).ok()? == 0;
    let rest = content.skip(8 + usize::from(first & 0x3f) * 4).ok()?;
    is_geneve.then_some((Layer::EtherType(kind), rest))
}

/// Reads the headers of a G-PDU (3GPP TS 29.281 §5.1).
fn gtp_user(content: Part<'_>) -> Option<Part<'_>> {
    let flags = content.u8(0).ok()?;
    if flags >> 4 != 3 || content.u8(1).ok()? != 255 {
        return None;
    }
    if flags & 7 == 0 {
        return content.skip(8).ok();
    }
    let mut next = content.u8(11).ok()?;
    let mut rest = content.skip(12).ok()?;
    if flags & 4 == 0 {
        return Some(rest);
    }
    for _ in 0..MAX_GTP_HEADERS {
        if next == 0 {
            return Some(rest);
        }
        let length = usize::from(rest.u8(0).ok()?) * 4;
        next = rest.u8(length.checked_sub(1)?).ok()?;
        rest = rest.skip(length).ok()?;
    }
    None
}
