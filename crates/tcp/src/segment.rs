//! TCP segments, as links carry them.

use bentpipe_units::Time;

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;
/// Bytes of a TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: u32 = 20;
/// Timestamps, padded (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// Options of a SYN: maximum segment size, SACK permitted, timestamps, window scale, padding.
const SYN_OPTIONS: u32 = 20;

/// AccECN option with three counters, padded (RFC 9768 §3.2.3). Pure acknowledgements have it if
/// there is space.
const ACCECN: u32 = 12;
/// Most bytes of options (RFC 9293 §3.1).
const MAX_OPTIONS: u32 = 40;

/// Control bits (RFC 9293 §3.1, RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Opens the connection.
    pub syn: bool,
    /// The sender has no more data.
    pub fin: bool,
    /// Resets the connection.
    pub rst: bool,
    /// The acknowledgement field is valid.
    pub ack: bool,
    /// ECN echo; in a SYN, ECN support.
    pub ece: bool,
    /// Congestion window reduced; in a SYN, ECN support.
    pub cwr: bool,
}

/// Up to three SACK blocks (RFC 2018; timestamps leave no space for a fourth), newest first. A
/// first block below `ack`, or within the second, reports a duplicate (D-SACK, RFC 2883).
///
/// As on the wire, positions keep their low 32 bits, which is unambiguous within windows (RFC 7323
/// §2.3) and makes queued segments a third smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    blocks: [(u32, u32); 3],
    count: u8,
}

impl Sack {
    /// Adds the block from `start` up to but excluding `end`. Returns false if there is no space.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *place = (start as u32, end as u32);
        self.count += 1;
        true
    }

    /// Returns the blocks of a segment that acknowledges everything before `ack`. They lie less
    /// than 2 GiB from there.
    pub fn blocks(&self, ack: u64) -> impl ExactSizeIterator<Item = (u64, u64)> + use<'_> {
        let near = move |low: u32| {
            ack.saturating_add_signed(i64::from(low.wrapping_sub(ack as u32).cast_signed()))
        };
        self.blocks[..usize::from(self.count)]
            .iter()
            .map(move |&(start, end)| (near(start), near(end)))
    }

    /// Returns true if there is no block.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A segment: header fields without payload.
///
/// Positions do not wrap: the SYN has position 0, the first byte of data 1, the FIN the one after
/// the last byte. The wire carries their low 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Position of the first byte, or of the SYN or FIN.
    pub seq: u64,
    /// Acknowledgement: the next position expected by the sender of this segment.
    pub ack: u64,
    /// Receive window beyond `ack`, in bytes, as the scaled field expresses it.
    pub window: u64,
    /// Time of transmission (TSval). The wire carries milliseconds, and no algorithm needs a finer
    /// value.
    pub timestamp: Time,
    /// Echoed timestamp (TSecr). Zero if there is none.
    pub echo: Time,
    /// Bytes of payload.
    pub len: u32,
    /// Control bits.
    pub flags: Flags,
    /// SACK blocks.
    pub sack: Sack,
    /// AccECN (RFC 9768): number of packets received with CE, from [`Self::FIRST_CE_PACKETS`] on;
    /// [`Self::next_ce_packets`] follows. Zero without AccECN; in a SYN, 1 asks for it (AE).
    ///
    /// The wire has it modulo 8 in the flags, and bytes modulo 2^24 in an option, from which a
    /// sender reckons the number.
    pub ce_packets: u16,
}

impl Segment {
    /// The count of CE packets at the start (RFC 9768 §3.2.1).
    pub const FIRST_CE_PACKETS: u16 = 5;

    /// What follows on the highest count: not zero, and like 65,536 a multiple of 8, so that the
    /// flags on the wire go on.
    const CE_PACKETS_WRAP: u16 = 8;

    /// Returns the count after one more CE packet. It never is zero.
    pub fn next_ce_packets(count: u16) -> u16 {
        count.checked_add(1).unwrap_or(Self::CE_PACKETS_WRAP)
    }

    /// Returns how many CE packets a count reports beyond `before`. None if it is an older one.
    pub fn ce_packets_since(&self, before: u16) -> u64 {
        if self.ce_packets == 0 || self.flags.syn {
            return 0;
        }
        let states = u32::from(u16::MAX - Self::CE_PACKETS_WRAP) + 1;
        // Twice, as the first counts are lower than what the highest wraps to.
        let more = (u32::from(self.ce_packets) + 2 * states - u32::from(before)) % states;
        if more > states / 2 { 0 } else { u64::from(more) }
    }

    /// Returns the size of the IP packet in bytes: IPv4 and TCP headers with options, and payload.
    pub fn bytes(&self) -> u32 {
        self.ip_bytes() + self.tcp_bytes() + self.option_bytes() + self.len
    }

    /// Returns the bytes of the IPv4 header.
    pub fn ip_bytes(&self) -> u32 {
        IP_HEADER
    }

    /// Returns the bytes of the TCP header without options.
    pub fn tcp_bytes(&self) -> u32 {
        TCP_HEADER
    }

    /// Returns the bytes of TCP options with their padding (RFC 2018 §3: two, and eight per block).
    pub fn option_bytes(&self) -> u32 {
        if self.flags.syn {
            return SYN_OPTIONS;
        }
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * u32::from(self.sack.count) };
        let plain = TIMESTAMPS + sack;
        let counts = self.ce_packets != 0 && self.len == 0 && plain + ACCECN <= MAX_OPTIONS;
        plain + if counts { ACCECN } else { 0 }
    }

    /// Returns the payload in bytes of an IP packet of `mtu` bytes, with timestamps.
    pub const fn payload_of(mtu: u32) -> u32 {
        mtu.saturating_sub(IP_HEADER + TCP_HEADER + TIMESTAMPS)
    }

    /// Returns the position after the last one that this segment carries.
    pub fn end(&self) -> u64 {
        let length = u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin);
        self.seq.saturating_add(length)
    }

    /// Returns true if it is a pure acknowledgement.
    pub fn is_pure_ack(&self) -> bool {
        let Flags { syn, fin, rst, ack, .. } = self.flags;
        ack && !syn && !fin && !rst && self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_their_size_on_the_wire() {
        let ack = Flags { ack: true, ..Flags::default() };
        let data = Segment { len: 1448, flags: ack, ..Segment::default() };
        assert_eq!(data.bytes(), 1500);
        assert_eq!(Segment::payload_of(1500), 1448);
        assert_eq!(Segment { len: 0, ..data }.bytes(), 52);
        assert_eq!(
            Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() }
                .bytes(),
            60
        );
        let mut sack = Sack::default();
        assert!(
            sack.push(3000, 4448)
                && sack.push(6000, 7448)
                && sack.push(9000, 9500)
                && !sack.push(1, 2)
        );
        // 20 + 20 + 12 + 2 (padding) + 2 + 3 * 8: the TCP header has its maximum size, 60.
        assert_eq!(Segment { len: 0, sack, ..data }.bytes(), 80);
    }

    #[test]
    fn counts_of_marks_are_compared_beyond_their_wrap() {
        let count = |ce_packets| Segment { ce_packets, ..Segment::default() };
        assert_eq!(count(9).ce_packets_since(5), 4);
        assert_eq!(count(5).ce_packets_since(9), 0, "an older segment");
        assert_eq!(count(0).ce_packets_since(5), 0, "no AccECN");
        let mut after = u16::MAX - 1;
        (0..3).for_each(|_| after = Segment::next_ce_packets(after));
        assert_eq!((after, count(after).ce_packets_since(u16::MAX - 1)), (9, 3));
        for before in [Segment::FIRST_CE_PACKETS, 7, 8, u16::MAX - 1, u16::MAX] {
            let next = Segment::next_ce_packets(before);
            assert_eq!(next % 8, (before % 8 + 1) % 8, "on the wire after {before}");
            assert_eq!(count(next).ce_packets_since(before), 1);
            assert_eq!(count(before).ce_packets_since(next), 0);
        }
        let ack = Segment { flags: Flags { ack: true, ..Flags::default() }, ..count(5) };
        assert_eq!((ack.bytes(), Segment { len: 1448, ..ack }.bytes()), (64, 1500));
    }

    #[test]
    fn blocks_are_reported_across_every_4_gib() {
        let ack = (5 << 32) - 1000;
        let summary =
            [(ack - 3000, ack - 1500), (ack + 500, ack + 1500), (ack + 2000, ack + (1 << 30))];
        let mut sack = Sack::default();
        assert!(summary.iter().all(|&(start, end)| sack.push(start, end)));
        assert_eq!(sack.blocks(ack).collect::<Vec<_>>(), summary);
        // Before the first byte there is nothing to report.
        assert_eq!(sack.blocks(0).next(), Some((0, 0)));
    }
}
