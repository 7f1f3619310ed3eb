//! Packets that a network card divides on sending, or has joined on receipt: the capture has them
//! as one datagram, in which all but the last have the same size.

use super::protection::Keys;

/// Smallest packet with a short header, without its connection ID: a byte, a packet number, a
/// frame and a tag (RFC 9001 §5.4.2).
pub const LEAST: usize = 1 + 4 + 16;
/// Shortest connection ID by which packets are told apart.
pub const LEAST_ID: usize = 4;
/// Largest packet of Ethernet.
pub const MTU: usize = 1500;
/// Sizes of packets that are tried where there is no connection ID: from RFC 9000 §14 on.
const SIZES: std::ops::RangeInclusive<usize> = 1200..=MTU;

/// Returns the size of the packets in `bytes`, from the connection ID of `id_length` bytes that
/// each has; `None` if they are a single one, or have no such ID.
pub fn size_from_id(bytes: &[u8], id_length: usize) -> Option<usize> {
    if id_length < LEAST_ID {
        return None;
    }
    let id = bytes.get(1..=id_length)?;
    let begins = |at: usize| {
        let (first, rest) = bytes.get(at..)?.split_first()?;
        (first & 0x80 == 0 && rest.starts_with(id)).then_some(())
    };
    let least = LEAST + id_length;
    (least..bytes.len().saturating_sub(least) + 1).find(|size| {
        begins(*size).is_some()
            && (2..)
                .map(|n| n * size)
                .take_while(|at| *at < bytes.len())
                .all(|at| begins(at).is_some())
    })
}

/// Returns the sizes that the first packet of `bytes` may have if there is no connection ID.
pub fn sizes(bytes: &[u8]) -> impl Iterator<Item = usize> {
    SIZES.take_while(|size| *size < bytes.len())
}

/// Returns the size of the packets in `bytes`, the first of which `keys` open.
pub fn size_from_keys(bytes: &[u8], number_at: usize, keys: &mut Keys) -> Option<usize> {
    sizes(bytes)
        .find(|size| bytes.get(..*size).is_some_and(|first| keys.open(first, number_at).is_some()))
}
