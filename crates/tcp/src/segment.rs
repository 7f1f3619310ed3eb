//! Segments as they cross links.

use bentpipe_units::Time;

/// Bytes of an IPv4 header without options.
const IP_HEADER: u32 = 20;
/// Bytes of a TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: u32 = 20;
/// Timestamps, padded (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// What a SYN carries: maximum segment size, SACK permitted, timestamps, window scale, padding.
const SYN_OPTIONS: u32 = 20;

/// Control bits (RFC 9293 §3.1, RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Opens.
    pub syn: bool,
    /// The sender of this has no more data.
    pub fin: bool,
    /// Ends at once.
    pub rst: bool,
    /// `ack` counts.
    pub ack: bool,
    /// Congestion was experienced, or, in a SYN, ECN is understood.
    pub ece: bool,
    /// The window was reduced, or, in a SYN, ECN is understood.
    pub cwr: bool,
}

/// Up to three blocks of data that arrived beyond `ack` (RFC 2018; three, since timestamps take the place of a fourth), the newest first. A
/// first block below `ack`, or within the second, tells of data that came twice (RFC 2883).
///
/// As on the wire it keeps the low 32 bits of positions, which is unambiguous within windows (RFC 7323 §2.3) and makes a segment
/// that waits in a queue smaller by a third.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    blocks: [(u32, u32); 3],
    count: u8,
}

impl Sack {
    /// Adds a block from `start` until before `end`. False where there is no place for it.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *place = (start as u32, end as u32);
        self.count += 1;
        true
    }

    /// The blocks of a segment that acknowledges everything before `ack`: less than 2 GiB from there.
    pub fn blocks(&self, ack: u64) -> impl ExactSizeIterator<Item = (u64, u64)> + use<'_> {
        let near = move |low: u32| ack.saturating_add_signed(i64::from(low.wrapping_sub(ack as u32).cast_signed()));
        self.blocks[..usize::from(self.count)].iter().map(move |&(start, end)| (near(start), near(end)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A segment: numbers, no payload.
///
/// Positions do not wrap: the SYN has position 0, the first byte of data 1, the FIN the one after the last byte. On the wire the
/// low 32 bits of them would stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Position of the first byte, or of the SYN or FIN.
    pub seq: u64,
    /// Position that the sender of this expects next.
    pub ack: u64,
    /// Bytes beyond `ack` that it takes, as the scaled field can say it.
    pub window: u64,
    /// When it was sent (TSval). The wire has milliseconds; nothing depends on more.
    pub timestamp: Time,
    /// `timestamp` of what it answers (TSecr); zero for none.
    pub echo: Time,
    /// Bytes of payload.
    pub len: u32,
    /// Control bits.
    pub flags: Flags,
    /// What arrived beyond `ack`.
    pub sack: Sack,
}

impl Segment {
    /// Bytes of the IP packet: IPv4 and TCP headers with options, and the payload.
    pub fn bytes(&self) -> u32 {
        self.ip_bytes() + self.tcp_bytes() + self.option_bytes() + self.len
    }

    /// Bytes of the IPv4 header.
    pub fn ip_bytes(&self) -> u32 {
        IP_HEADER
    }

    /// Bytes of the TCP header without options.
    pub fn tcp_bytes(&self) -> u32 {
        TCP_HEADER
    }

    /// Bytes of TCP options with their padding (RFC 2018 §3: two, and eight a block).
    pub fn option_bytes(&self) -> u32 {
        if self.flags.syn {
            return SYN_OPTIONS;
        }
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * u32::from(self.sack.count) };
        TIMESTAMPS + sack
    }

    /// Payload that fits an IP packet of `mtu` bytes, timestamps included.
    pub const fn payload_of(mtu: u32) -> u32 {
        mtu.saturating_sub(IP_HEADER + TCP_HEADER + TIMESTAMPS)
    }

    /// Position after everything that this carries.
    pub fn end(&self) -> u64 {
        let length = u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin);
        self.seq.saturating_add(length)
    }

    /// Whether it is an acknowledgement and nothing else.
    pub fn is_pure_ack(&self) -> bool {
        let Flags { syn, fin, rst, ack, .. } = self.flags;
        ack && !syn && !fin && !rst && self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_the_sizes_of_the_wire() {
        let ack = Flags { ack: true, ..Flags::default() };
        let data = Segment { len: 1448, flags: ack, ..Segment::default() };
        assert_eq!(data.bytes(), 1500);
        assert_eq!(Segment::payload_of(1500), 1448);
        assert_eq!(Segment { len: 0, ..data }.bytes(), 52);
        assert_eq!(Segment { flags: Flags { syn: true, ..Flags::default() }, ..Segment::default() }.bytes(), 60);
        let mut sack = Sack::default();
        assert!(sack.push(3000, 4448) && sack.push(6000, 7448) && sack.push(9000, 9500) && !sack.push(1, 2));
        // 20 + 20 + 12 + 2 (padding) + 2 + 3 * 8: the TCP header has its largest size, 60.
        assert_eq!(Segment { len: 0, sack, ..data }.bytes(), 80);
    }

    #[test]
    fn blocks_are_told_across_every_4_gib() {
        let ack = (5 << 32) - 1000;
        let summary = [(ack - 3000, ack - 1500), (ack + 500, ack + 1500), (ack + 2000, ack + (1 << 30))];
        let mut sack = Sack::default();
        assert!(summary.iter().all(|&(start, end)| sack.push(start, end)));
        assert_eq!(sack.blocks(ack).collect::<Vec<_>>(), summary);
        // Before the first byte there is nothing to tell of.
        assert_eq!(sack.blocks(0).next(), Some((0, 0)));
    }
}
