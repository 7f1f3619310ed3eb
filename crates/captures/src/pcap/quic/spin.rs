//! The latency spin bit (RFC 9000 §17.4): the server repeats what it last saw, the client inverts
//! it, so that it changes once in each RTT.

/// Fewest changes that follow each other as they should.
const LEAST: usize = 4;
/// Share of the changes that follow each other as they should. Of bits at random it is a quarter.
const SHARE: f64 = 0.8;

/// A change of the bit.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// When it passed, in nanoseconds.
    pub at: u64,
    /// The end that sent it, 0 for the client.
    pub sender: usize,
    value: bool,
}

/// One direction.
#[derive(Debug, Default)]
struct Direction {
    last: Option<Edge>,
    /// Value of the packet before.
    value: bool,
    /// Packets, those with another value than the one before, and the changes that count.
    packets: usize,
    flips: usize,
    edges: usize,
}

impl Direction {
    /// Returns true if the bit of most packets is that of the packet before, or each change counts:
    /// of bits at random half are others.
    fn is_steady(&self) -> bool {
        self.flips * 5 <= self.packets || self.flips <= 2 * self.edges + 2
    }
}

/// The changes of both directions.
#[derive(Debug, Default)]
pub struct Spin {
    directions: [Direction; 2],
    edges: Vec<Edge>,
    /// Shortest time between changes of a direction, in nanoseconds. What changes sooner is a
    /// packet that was reordered.
    shortest: u64,
}

impl Spin {
    /// Creates it for a path with an RTT of about `rtt` nanoseconds.
    pub fn new(rtt: u64) -> Self {
        Self { shortest: rtt / 3, ..Self::default() }
    }

    /// Adds the bit of a packet.
    pub fn add(&mut self, at: u64, sender: usize, value: bool) {
        let direction = &mut self.directions[sender];
        direction.packets += 1;
        direction.flips += usize::from(direction.value != value);
        direction.value = value;
        let is_new = direction.last.map_or(value, |last| last.value != value);
        let is_soon = direction.last.is_some_and(|last| at - last.at < self.shortest);
        if is_new && !is_soon {
            let edge = Edge { at, sender, value };
            direction.last = Some(edge);
            direction.edges += 1;
            self.edges.push(edge);
        }
    }

    /// Returns each change with the one that answers it; nothing if the bit does not spin: it stays
    /// as it is, or changes at random.
    pub fn answers(&self) -> Vec<(Edge, Edge)> {
        if !self.directions.iter().all(Direction::is_steady) {
            return Vec::new();
        }
        let pairs = self.edges.windows(2).filter_map(|pair| match pair {
            [first, second] => Some((*first, *second)),
            _ => None,
        });
        let answers: Vec<(Edge, Edge)> = pairs
            .filter(|(first, second)| {
                let is_inverted = first.value != second.value;
                first.sender != second.sender && is_inverted == (second.sender == 0)
            })
            .collect();
        let share = answers.len() as f64 / self.edges.len().saturating_sub(1).max(1) as f64;
        if answers.len() >= LEAST && share >= SHARE { answers } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(bits: impl Iterator<Item = (usize, bool)>) -> usize {
        let mut spin = Spin::new(30);
        for (index, (sender, value)) in bits.enumerate() {
            spin.add(index as u64, sender, value);
        }
        spin.answers().len()
    }

    #[test]
    fn a_bit_that_stays_or_is_random_does_not_spin() {
        assert_eq!(answers((0..1000).map(|n| (n % 2, true))), 0);
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 31 == 1
        };
        assert_eq!(answers((0..1000).map(|_| (usize::from(random()), random()))), 0);
        // The client inverts what it sees of a server whose bits are at random.
        let server: Vec<bool> = (0..500).map(|_| random()).collect();
        let bits = (0..1000).map(|n| (n % 2, server[n.max(1) / 2] != (n % 2 == 0)));
        assert_eq!(answers(bits), 0);
        // 20 packets of each end in an RTT.
        let spins = (0..400).map(|n| (n % 2, (n + 20 - 20 * (n % 2)) / 40 % 2 == 1));
        assert!(answers(spins) > 10);
    }
}
