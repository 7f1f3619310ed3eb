//! What one end of a TCP connection sent, and what became of it.

use std::collections::BTreeMap;

/// Most earlier copies of data that are kept, the first ones.
const MAX_EARLIER: usize = 8;

/// Data that is not acknowledged.
#[derive(Debug)]
struct Piece {
    /// Offset of the byte behind it.
    end: u64,
    copy: Copy,
    /// True if some of its bytes had been sent before.
    repeats: bool,
    /// Packets with the same bytes before it.
    earlier: Vec<Copy>,
}

/// A packet with data.
#[derive(Debug, Clone, Copy)]
struct Copy {
    number: u64,
    /// Time in ns.
    at: u64,
    /// Its timestamp (RFC 7323 §3).
    timestamp: Option<u32>,
}

/// Packets that an acknowledgement names.
#[derive(Debug, Default)]
pub struct Acknowledged {
    /// Their numbers.
    pub numbers: Vec<u64>,
    /// Those of which no RTT is known: which copy of the data arrived, or when, is not said.
    pub ambiguous: Vec<u64>,
}

impl Acknowledged {
    fn add(&mut self, number: u64, is_ambiguous: bool) {
        self.numbers.push(number);
        if is_ambiguous {
            self.ambiguous.push(number);
        }
    }

    /// Adds those of another part of the same acknowledgement.
    pub fn extend(&mut self, other: Self) {
        self.numbers.extend(other.numbers);
        self.ambiguous.extend(other.ambiguous);
    }
}

/// When an acknowledgement came, and the timestamp that it echoes.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// Time in ns.
    pub at: u64,
    /// The timestamp of the segment that advanced it, if it has one: of SACK it is another's.
    pub echo: Option<u32>,
}

/// The SYN segment of an end.
#[derive(Debug)]
struct Syn {
    /// Its last copy, and the one before.
    last: Copy,
    before: Option<Copy>,
    is_acknowledged: bool,
    /// Shift of the windows that the end announces (RFC 7323 §2.2), if it offers one.
    shift: Option<u8>,
}

/// One direction of the connection.
#[derive(Debug, Default)]
pub struct Direction {
    /// Sequence number of the first byte of data, once known.
    first: Option<u32>,
    /// Number of bytes up to the highest sent, and of those acknowledged.
    highest: u64,
    acknowledged: u64,
    syn: Option<Syn>,
    /// The last window that its sender announced, not scaled.
    window: Option<u16>,
    /// Number of the last packet with data. Zero is the SYN.
    last: u64,
    /// Data that is not acknowledged, by the offset of its first byte.
    outstanding: BTreeMap<u64, Piece>,
}

impl Direction {
    /// Handles the SYN segment of the end.
    pub fn open(&mut self, seq: u32, shift: Option<u8>, at: u64, timestamp: Option<u32>) {
        self.first = Some(seq.wrapping_add(1));
        let before = self.syn.as_ref().map(|syn| syn.last);
        let is_acknowledged = self.syn.as_ref().is_some_and(|syn| syn.is_acknowledged);
        let last = Copy { number: 0, at, timestamp };
        self.syn = Some(Syn { last, before, is_acknowledged, shift });
    }

    /// Returns how many bytes are before the one numbered `seq`; `None` before the first.
    pub fn offset(&mut self, seq: u32) -> Option<u64> {
        let first = *self.first.get_or_insert(seq);
        let next = first.wrapping_add(self.highest as u32);
        let ahead = seq.wrapping_sub(next) as i32;
        self.highest.checked_add_signed(i64::from(ahead))
    }

    /// Returns true if a segment is no data but asks for an answer: a keep-alive, whose byte was
    /// acknowledged before (RFC 9293 §3.8.4), or the same byte once more while the peer has no
    /// window (§3.8.6.1).
    pub fn is_probe(&self, offset: u64, length: u32, peer: &Self) -> bool {
        let end = offset.saturating_add(u64::from(length));
        let is_known = end <= self.highest;
        length <= 1
            && is_known
            && (end <= self.acknowledged || offset == self.acknowledged && peer.window == Some(0))
    }

    /// Sends bytes. Returns the number of the packet, and those of packets that it repeats.
    pub fn send(
        &mut self,
        offset: u64,
        length: u64,
        at: u64,
        timestamp: Option<u32>,
    ) -> (u64, Vec<u64>) {
        let end = offset.saturating_add(length);
        self.last += 1;
        let repeats = offset < self.highest;
        let (mut earlier, mut repeated) = (Vec::new(), Vec::new());
        if repeats {
            let covered: Vec<u64> =
                self.outstanding.range(offset..end).map(|(start, _)| *start).collect();
            let before = self.outstanding.range(..offset).next_back();
            let before = before.filter(|(_, piece)| piece.end > offset).map(|(start, _)| *start);
            for start in covered.into_iter().chain(before) {
                if let Some(piece) = self.outstanding.remove(&start) {
                    repeated.push(piece.copy.number);
                    earlier.extend(piece.earlier.into_iter().chain([piece.copy]));
                }
            }
        }
        let copy = Copy { number: self.last, at, timestamp };
        earlier.truncate(MAX_EARLIER);
        self.highest = self.highest.max(end);
        self.outstanding.insert(offset, Piece { end, copy, repeats, earlier });
        (self.last, repeated)
    }

    /// Handles that the peer acknowledges the SYN. Returns it the first time.
    pub fn acknowledge_syn(&mut self, answer: Answer) -> Option<Acknowledged> {
        let syn = self.syn.as_mut().filter(|syn| !syn.is_acknowledged)?;
        syn.is_acknowledged = true;
        let is_echo = answer.echo.is_some() && answer.echo == syn.last.timestamp;
        let is_last =
            syn.before.is_none_or(|before| is_echo && before.timestamp != syn.last.timestamp);
        let mut acknowledged = Acknowledged::default();
        acknowledged.add(0, !is_last || answer.at <= syn.last.at);
        Some(acknowledged)
    }

    /// Handles that the peer has all bytes before `to`.
    pub fn acknowledge(&mut self, to: u64, answer: Answer) -> Acknowledged {
        self.acknowledged = self.acknowledged.max(to.min(self.highest));
        self.acknowledge_range(0, to, answer)
    }

    /// Handles that the peer has the bytes from `from` to `to`.
    pub fn acknowledge_range(&mut self, from: u64, to: u64, answer: Answer) -> Acknowledged {
        let within = self.outstanding.range(from..to.max(from));
        let starts: Vec<u64> =
            within.filter(|(_, piece)| piece.end <= to).map(|(start, _)| *start).collect();
        let mut acknowledged = Acknowledged::default();
        for piece in starts.into_iter().filter_map(|start| self.outstanding.remove(&start)) {
            piece.acknowledge(answer, &mut acknowledged);
        }
        acknowledged
    }

    /// Handles a window that the end announces. Returns it in bytes; `None` if its scale is not
    /// known.
    pub fn announce(&mut self, window: u16, peer: &Self) -> Option<u64> {
        self.window = Some(window);
        let own = self.syn.as_ref()?.shift;
        // Both ends have to offer it.
        let peer_offers = peer.syn.as_ref().is_none_or(|syn| syn.shift.is_some());
        Some(u64::from(window) << own.filter(|_| peer_offers).unwrap_or_default())
    }
}

impl Piece {
    /// Adds the packets of this piece that an answer acknowledges.
    ///
    /// Of data that was sent more than once, the answer names the copy only by its timestamp
    /// (Karn's rule, RFC 6298 §3, and Eifel detection, RFC 3522).
    fn acknowledge(&self, answer: Answer, acknowledged: &mut Acknowledged) {
        let Self { copy, repeats, earlier, .. } = self;
        let is_instant = answer.at <= copy.at;
        if !repeats {
            acknowledged.add(copy.number, is_instant);
            return;
        }
        let same = |one: &Copy| answer.echo.is_some() && one.timestamp == answer.echo;
        let of_earlier = earlier.iter().find(|one| same(one));
        match (of_earlier, same(copy)) {
            // An earlier copy arrived: its loss was a mistake.
            (Some(one), false) => {
                acknowledged.add(one.number, answer.at <= one.at);
                acknowledged.add(copy.number, true);
            }
            (None, true) => acknowledged.add(copy.number, is_instant),
            _ => acknowledged.add(copy.number, true),
        }
    }
}
