//! From the bytes of a frame to the header of TCP or UDP, through link layers and tunnels.
//!
//! - `part`: the bytes of a layer;
//! - `layer`: what they can be;
//! - `kind`: what else a packet may be;
//! - `link`: headers of link layers (`LINKTYPE_…`);
//! - `wifi`: IEEE 802.11 and what is before it;
//! - `ether`: what follows an EtherType;
//! - `ip`: IPv4, IPv6 and their extension headers;
//! - `tunnel`: what IP and UDP carry that is a packet again.
//!
//! Each function reads one header and returns what follows it; [`find`] calls them, at most
//! [`MAX_HEADERS`] times. Names of headers are those of their documents.

mod ether;
mod ip;
mod kind;
mod layer;
mod link;
mod part;
mod tunnel;
mod wifi;

pub use kind::Kind;
pub use layer::Found;
pub use part::Part;

use layer::{Layer, Next};

/// Most headers of a packet before that of TCP or UDP: sixteen tunnels of an IP and a UDP header.
const MAX_HEADERS: usize = 32;

/// Finds the innermost packet of TCP or UDP in a frame.
///
/// # Errors
/// There is none; says what there is.
pub fn find(link_type: u16, frame: Part<'_>) -> Result<Found<'_>, Kind> {
    let mut next = link::read(link_type, frame)?;
    // A datagram that may carry another packet, and need not.
    let mut outer = None;
    for _ in 0..MAX_HEADERS {
        let result = match next {
            Next::Transport(found) => match tunnel::in_datagram(&found) {
                Some(inner) => {
                    outer = outer.or(Some(found));
                    Ok(inner)
                }
                None => return Ok(found),
            },
            Next::Layer(layer, part) => match layer {
                Layer::EtherType(kind) => ether::after_type(kind, part),
                Layer::Ethernet => ether::ethernet(part),
                Layer::Llc => ether::llc(part),
                Layer::Ppp => ether::ppp(part),
                Layer::Mpls => ether::mpls(part),
                Layer::Ip => ip::read(part),
                Layer::Protocol(number, ip) => tunnel::after_protocol(number, ip, part),
                Layer::Wifi(before) => wifi::read(before, part),
            },
        };
        next = match (result, outer) {
            (Ok(next), _) => next,
            (Err(_), Some(datagram)) => return Ok(datagram),
            (Err(kind), None) => return Err(kind),
        };
    }
    outer.ok_or(Kind::TooDeep)
}
