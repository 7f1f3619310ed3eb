//! A copy of a capture as pcapng, with comments on packets, which Wireshark shows.

use super::file::{Format, records};
use super::pcapng::{
    BYTE_ORDER, ENHANCED_PACKET, INTERFACE, PACKET, SECTION_HEADER, TIME_RESOLUTION, block_length,
};
use super::record::{CapturedPacket, Order, Record};
use std::collections::BTreeMap;

/// A section whose length is not said.
const NO_LENGTH: [u8; 8] = [0xff; 8];
/// Option of a block: a comment.
const COMMENT: u16 = 1;
/// Nanoseconds, as a power of ten.
const NANOSECONDS: u8 = 9;
/// Longest comment, in bytes.
const MAX_COMMENT: usize = 4096;
/// Bytes of a block of a packet before the packet itself, its own header included.
const BEFORE_PACKET: usize = 28;

/// Comments by the offset of their packet in the file.
pub type Comments = BTreeMap<usize, String>;

/// Returns the capture `bytes` with comments: of pcapng every block as it is, of pcap the packets.
pub fn annotated(bytes: &[u8], comments: &Comments) -> Vec<u8> {
    match Format::of(bytes) {
        Some(Format::Pcapng) => of_blocks(bytes, comments),
        _ => of_packets(bytes, comments),
    }
}

/// Copies blocks. What follows one that cannot be read is copied as it is.
fn of_blocks(bytes: &[u8], comments: &Comments) -> Vec<u8> {
    let mut copy = Vec::with_capacity(bytes.len());
    let mut order = Order { big: false };
    let mut at = 0;
    while let Some(block) = block(bytes.get(at..).unwrap_or_default(), &mut order) {
        match order.u32(block, 0) {
            Some(SECTION_HEADER) => {
                copy.extend_from_slice(block);
                // It becomes longer than it says.
                let from = copy.len() - block.len() + 16;
                if let Some(length) = copy.get_mut(from..from + 8) {
                    length.copy_from_slice(&NO_LENGTH);
                }
            }
            Some(PACKET | ENHANCED_PACKET) => {
                let comment = comments.get(&(at + BEFORE_PACKET));
                let longer = comment.and_then(|comment| with_comment(block, order, comment));
                copy.extend_from_slice(longer.as_deref().unwrap_or(block));
            }
            _ => copy.extend_from_slice(block),
        }
        at += block.len();
    }
    copy.extend_from_slice(bytes.get(at..).unwrap_or_default());
    copy
}

/// Returns the block with which `bytes` begin.
fn block<'a>(bytes: &'a [u8], order: &mut Order) -> Option<&'a [u8]> {
    bytes.get(..block_length(bytes, order)?)
}

/// Returns the block of a packet with one more option.
fn with_comment(block: &[u8], order: Order, comment: &str) -> Option<Vec<u8>> {
    let kept = order.u32(block, 20)? as usize;
    let options_at = BEFORE_PACKET.checked_add(kept.checked_next_multiple_of(4)?)?;
    let options = block.get(options_at..block.len() - 4)?;
    let mut longer = block.get(..options_at)?.to_vec();
    add_option(&mut longer, order, COMMENT, shortened(comment).as_bytes());
    // The list of options has an end.
    longer.extend_from_slice(if options.is_empty() { &[0; 4] } else { options });
    close(&mut longer, order)?;
    Some(longer)
}

fn shortened(comment: &str) -> &str {
    let end = (0..=comment.len().min(MAX_COMMENT)).rev().find(|at| comment.is_char_boundary(*at));
    comment.get(..end.unwrap_or_default()).unwrap_or_default()
}

fn add_option(block: &mut Vec<u8>, order: Order, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or_default();
    for number in [code, length] {
        block.extend(order.put_u16(number));
    }
    block.extend_from_slice(value);
    block.resize(block.len().next_multiple_of(4), 0);
}

/// Sets the length of a block, which stands at its begin and its end.
fn close(block: &mut Vec<u8>, order: Order) -> Option<()> {
    let length = order.put_u32(u32::try_from(block.len() + 4).ok()?);
    block.get_mut(4..8)?.copy_from_slice(&length);
    block.extend(length);
    Some(())
}

/// Writes packets as a section with an interface for each link type.
fn of_packets(bytes: &[u8], comments: &Comments) -> Vec<u8> {
    let order = Order { big: false };
    let mut copy = Vec::with_capacity(bytes.len() + bytes.len() / 4);
    let mut head = fields(order, &[SECTION_HEADER, 0, BYTE_ORDER, 1]);
    head.extend(NO_LENGTH);
    let _ = close(&mut head, order);
    copy.extend(head);
    let mut interfaces: Vec<u16> = Vec::new();
    records(bytes, |record| {
        let Record::Packet(packet) = record else { return };
        let known = interfaces.iter().position(|link_type| *link_type == packet.link_type);
        let interface = known.unwrap_or_else(|| {
            interfaces.push(packet.link_type);
            let mut block = fields(order, &[INTERFACE, 0, u32::from(packet.link_type), 0]);
            add_option(&mut block, order, TIME_RESOLUTION, &[NANOSECONDS]);
            block.extend([0; 4]);
            let _ = close(&mut block, order);
            copy.extend(block);
            interfaces.len() - 1
        });
        copy.extend(packet_block(order, interface, &packet, comments));
    });
    copy
}

fn packet_block(
    order: Order,
    interface: usize,
    packet: &CapturedPacket<'_>,
    comments: &Comments,
) -> Vec<u8> {
    let time = packet.at.unwrap_or_default();
    let (high, low) = ((time >> 32) as u32, time as u32);
    let kept = u32::try_from(packet.data.len()).unwrap_or_default();
    let interface = u32::try_from(interface).unwrap_or_default();
    let mut block = fields(order, &[ENHANCED_PACKET, 0, interface, high, low, kept, packet.wire]);
    block.extend_from_slice(packet.data);
    block.resize(block.len().next_multiple_of(4), 0);
    if let Some(comment) = comments.get(&packet.start) {
        add_option(&mut block, order, COMMENT, shortened(comment).as_bytes());
        block.extend([0; 4]);
    }
    let _ = close(&mut block, order);
    block
}

fn fields(order: Order, numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| order.put_u32(*number)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The packets of a file: time, offset and content.
    fn packets(bytes: &[u8]) -> Vec<(Option<u64>, usize, Vec<u8>)> {
        let mut found = Vec::new();
        let is_whole = records(bytes, |record| {
            if let Record::Packet(packet) = record {
                found.push((packet.at, packet.start, packet.data.to_vec()));
            }
        });
        assert!(is_whole);
        found
    }

    fn pcap(big: bool) -> Vec<u8> {
        let order = Order { big };
        let magic = if big { 0xa1b2_c3d4_u32 } else { 0xd4c3_b2a1 };
        let mut file = magic.to_be_bytes().to_vec();
        file.extend(fields(order, &[0, 0, 0, 65_535, 1]));
        for index in 0..5_u32 {
            file.extend(fields(order, &[1_700_000_000 + index, 250, 11 + index, 60]));
            file.extend(std::iter::repeat_n(index as u8, 11 + index as usize));
        }
        file
    }

    #[test]
    fn a_copy_has_the_same_packets_and_comments_on_those_that_were_named() {
        for big in [false, true] {
            let file = pcap(big);
            let before = packets(&file);
            let comment = "waited ü 0.5 s";
            let copy = annotated(&file, &Comments::from([(before[2].1, comment.to_owned())]));
            let same = |copy: &[u8]| {
                let after = packets(copy);
                let of = |all: &[(Option<u64>, usize, Vec<u8>)]| -> Vec<_> {
                    all.iter().map(|(at, _, data)| (*at, data.clone())).collect()
                };
                assert_eq!(of(&before), of(&after));
                after
            };
            let count = |copy: &[u8]| {
                copy.windows(comment.len()).filter(|part| *part == comment.as_bytes()).count()
            };
            // The copy is pcapng, and can be annotated again.
            let after = same(&copy);
            assert_eq!(count(&copy), 1);
            let again = Comments::from([2, 4].map(|index| (after[index].1, comment.to_owned())));
            let again = annotated(&copy, &again);
            same(&again);
            assert_eq!(count(&again), 3);
            assert_eq!(annotated(&copy, &Comments::new()), copy);
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_copied_up_to_its_end() {
        let copy = annotated(&pcap(false), &Comments::new());
        let all = (4..copy.len()).map(|length| (length, Comments::from([(28, "x".to_owned())])));
        for (length, comments) in all {
            let part = annotated(&copy[..length], &comments);
            assert!(part.len() >= length && part.len() <= length + 16, "{length}");
        }
        assert_eq!(shortened(&"ü".repeat(3000)).len(), MAX_COMMENT);
    }
}
