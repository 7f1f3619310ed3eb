//! A queue for each flow or for each value of a hash, and which of them holds a packet's flow.

use super::packet_lists::{List, PacketLists};
use crate::FlowKey;
use crate::queue::accepted::Accepted;
use crate::random::Stream;
use bentpipe_units::{Bytes, Span, Time};
use rand_core::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Most queues of flows without packets that are kept. With an exact hash, a queue with packets is
/// bounded by the limit of packets; those without remember their drop state for a while.
const MAX_IDLE: usize = 1 << 16;

/// How packets are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowHash {
    /// A hash, keyed anew in each run, selects one of so many queues (RFC 8290 §4.1.2). Flows may
    /// share a queue by chance.
    Stochastic(u32),
    /// Each flow has a queue of its own.
    Exact,
}

/// A queue of a flow, or of the flows with one hash.
#[derive(Debug, Clone)]
pub(super) struct FlowQueue<S> {
    pub packets: List,
    /// Bytes that it may send before it is another's turn (RFC 8290 §4.2); below zero if the last
    /// packet exceeded them.
    pub deficit: i64,
    /// True if it is in one of the lists of the scheduler.
    pub listed: bool,
    /// What the discipline keeps of it.
    pub state: S,
    /// The flow, with an exact hash.
    key: u32,
    /// When its last packet left.
    idle_since: Time,
}

/// The queues, each known by its number.
#[derive(Debug, Clone)]
pub(super) struct FlowQueues<S> {
    pub queues: Vec<FlowQueue<S>>,
    /// The bytes in each queue. Apart, since all are searched for the largest.
    pub bytes: Vec<u64>,
    numbers: Numbers,
}

#[derive(Debug, Clone)]
enum Numbers {
    /// The number of the queue of each hash plus one; 0 if it has none yet.
    Stochastic { key: u64, of_hash: Vec<u32>, hashes: u32 },
    Exact {
        of_flow: BTreeMap<u32, u32>,
        /// Queues without packets, by the time since when.
        idle: BTreeSet<(Time, u32)>,
        /// How long the state of such a queue has a meaning.
        memory: Span,
    },
}

impl<S: Default> FlowQueues<S> {
    /// Creates queues. Their state has a meaning for `memory` after their last packet, for an exact
    /// hash. Draws the key of a stochastic one.
    pub fn new(hash: FlowHash, memory: Span, random: impl FnOnce() -> Stream) -> Self {
        match hash {
            FlowHash::Exact => Self::exact(memory),
            FlowHash::Stochastic(hashes) => {
                let key = random().next_u64();
                Self::with(Numbers::Stochastic { key, of_hash: Vec::new(), hashes })
            }
        }
    }

    /// Creates a queue for each flow.
    pub fn exact(memory: Span) -> Self {
        Self::with(Numbers::Exact { of_flow: BTreeMap::new(), idle: BTreeSet::new(), memory })
    }

    fn with(numbers: Numbers) -> Self {
        Self { queues: Vec::new(), bytes: Vec::new(), numbers }
    }

    /// Returns the number of the queue of a flow at `now`. It stays the same until the queue
    /// becomes empty.
    #[inline]
    pub fn number(&mut self, now: Time, flow: FlowKey) -> usize {
        match &mut self.numbers {
            Numbers::Stochastic { key, of_hash, hashes } => {
                if of_hash.is_empty() {
                    of_hash.resize(*hashes as usize, 0);
                }
                let hash = mix(u64::from(flow.0) ^ *key);
                let hash = (u128::from(hash) * u128::from(*hashes)) >> 64;
                let number = &mut of_hash[hash as usize];
                if *number == 0 {
                    self.queues.push(FlowQueue::new(flow.0));
                    self.bytes.push(0);
                    *number = self.queues.len() as u32;
                }
                *number as usize - 1
            }
            Numbers::Exact { of_flow, .. } => match of_flow.get(&flow.0) {
                Some(number) => *number as usize,
                None => self.add(now, flow.0),
            },
        }
    }

    /// Adds a queue for the flow `key`, in the place of one that has been empty for long.
    fn add(&mut self, now: Time, key: u32) -> usize {
        let Numbers::Exact { of_flow, idle, memory } = &mut self.numbers else { return 0 };
        let expired = idle
            .first()
            .copied()
            .filter(|(since, _)| now.since(*since) >= *memory || idle.len() >= MAX_IDLE);
        let number = match expired {
            Some((since, number)) => {
                idle.remove(&(since, number));
                let queue = &mut self.queues[number as usize];
                of_flow.remove(&queue.key);
                *queue = FlowQueue::new(key);
                number
            }
            None => {
                self.queues.push(FlowQueue::new(key));
                self.bytes.push(0);
                self.queues.len() as u32 - 1
            }
        };
        of_flow.insert(key, number);
        self.queues[number as usize].idle_since = now;
        idle.insert((now, number));
        number as usize
    }

    /// Returns the most bytes in a queue, and the number of the first queue with so many.
    pub fn fattest(&self) -> Option<(u64, usize)> {
        let most = self.bytes.iter().copied().max()?;
        let number = self.bytes.iter().position(|bytes| *bytes == most)?;
        Some((most, number))
    }

    /// Removes the packets of `port`, which are in `packets`, from all queues.
    pub fn withdraw<P>(&mut self, packets: &mut PacketLists<P>, port: u32) -> Vec<Accepted<P>> {
        let mut all = Vec::new();
        for (queue, bytes) in self.queues.iter_mut().zip(&mut self.bytes) {
            let removed = packets.withdraw(&mut queue.packets, port);
            *bytes -= removed.iter().map(|packet| u64::from(packet.packet.bytes)).sum::<u64>();
            all.extend(removed);
        }
        all
    }

    /// Records that a queue has entered the scheduler's lists.
    #[inline]
    pub fn enter(&mut self, number: usize) {
        let queue = &mut self.queues[number];
        queue.listed = true;
        if let Numbers::Exact { idle, .. } = &mut self.numbers {
            idle.remove(&(queue.idle_since, number as u32));
        }
    }

    /// Records that a queue, now empty, has left the scheduler's lists.
    #[inline]
    pub fn leave(&mut self, now: Time, number: usize) {
        let queue = &mut self.queues[number];
        queue.listed = false;
        if let Numbers::Exact { idle, .. } = &mut self.numbers {
            queue.idle_since = now;
            idle.insert((now, number as u32));
        }
    }
}

impl<S: Default> FlowQueue<S> {
    fn new(key: u32) -> Self {
        Self {
            packets: List::new(),
            deficit: 0,
            listed: false,
            state: S::default(),
            key,
            idle_since: Time::ZERO,
        }
    }
}

/// Returns a hash of `word`, by the last steps of SplitMix64 (see `random.rs`).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The least quantum: Linux allows no less. With less, a large packet takes many turns.
pub(super) const MIN_QUANTUM: Bytes = Bytes::new(256);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn a_hundred_flows_share_queues_by_chance_and_otherwise_in_each_run() {
        // A flow shares its queue with probability 1 - (1 - 1/1024)^99 = 9.2 %.
        let (runs, flows) = (100, 100u32);
        let mut shared = Vec::new();
        for run in 0..runs {
            let random = || stream(1, run, "test/queue");
            let mut queues = FlowQueues::<()>::new(FlowHash::Stochastic(1024), Span::ZERO, random);
            // Keys of flows that follow each other are not far apart.
            let numbers: Vec<usize> =
                (0..flows).map(|flow| queues.number(Time::ZERO, FlowKey(flow))).collect();
            let alone = |number| numbers.iter().filter(|other| **other == number).count() == 1;
            shared.push(numbers.iter().filter(|number| !alone(**number)).count() as f64);
        }
        let count = shared.len() as f64;
        let mean = shared.iter().sum::<f64>() / count;
        let variance = shared.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let expected = 100.0 * (1.0 - (1.0 - 1.0 / 1024.0f64).powi(99));
        assert!((expected - 9.2).abs() < 0.05, "{expected}");
        let error = (variance / count).sqrt();
        assert!((mean - expected).abs() < 3.0 * error, "{mean}, expected {expected}, s.e. {error}");
        assert!(error > 0.1, "each run has another key");
    }

    #[test]
    fn an_exact_hash_takes_the_memory_of_flows_that_have_ended() {
        let mut queues = FlowQueues::<()>::exact(Span::from_millis(1700));
        let mut now = Time::ZERO;
        for flow in 0..10_000u32 {
            now += Span::from_millis(10);
            let number = queues.number(now, FlowKey(flow));
            assert_eq!(queues.number(now, FlowKey(flow)), number);
            queues.enter(number);
            queues.leave(now, number);
        }
        assert!((170..=171).contains(&queues.queues.len()), "{}", queues.queues.len());
        // Without a pause, their number is bounded.
        for flow in 0..100_000u32 {
            let _ = queues.number(now, FlowKey(flow + 10_000));
        }
        assert!(queues.queues.len() <= MAX_IDLE, "{}", queues.queues.len());
    }
}
