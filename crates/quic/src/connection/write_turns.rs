//! Turns of the streams that share a send buffer.
//!
//! The stack sends the streams whose data it has in turn, a packet of each (round robin), but it
//! sends only what is in its send buffer, and it reports space there to the stream that asked last
//! first. Writers that take whatever space they find would decide the shares by the order in which
//! they find it: one stream fills the buffer while others have nothing in it. Here the streams that
//! want to write take turns of equal size, in the order in which they asked.

use noq_proto::StreamId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Smallest turn, bytes. The stack searches the chunks of its buffer one by one, so that many small
/// ones cost CPU time. Our choice: 13 ms at 10 Mbps.
const MIN_TURN: u64 = 16 * 1024;

/// Who may write next, and how much.
#[derive(Debug, Default)]
pub(super) struct WriteTurns {
    /// Streams that wait for space, in the order in which they get it.
    waiting: VecDeque<StreamId>,
    /// Streams that the stack lets write again, since the last call of [`WriteTurns::next`].
    writable: BTreeSet<StreamId>,
    /// Bytes written in turns that are not over.
    used: BTreeMap<StreamId, u64>,
    /// Priorities that were set; 0 for all other streams.
    priorities: BTreeMap<StreamId, i32>,
}

impl WriteTurns {
    /// Returns how many bytes `id` may write now, if `streams` streams share `space`, the space of
    /// a buffer that is refilled. `None` if its turn is over: it has to let others write.
    pub fn take(&mut self, id: StreamId, streams: usize, space: u64) -> Option<u64> {
        let turn = (space / streams.max(1) as u64).max(MIN_TURN);
        // The first turn is short, because others may open their streams at the same time.
        let used = self.used.entry(id).or_insert(turn - MIN_TURN);
        if *used >= turn {
            *used = 0;
            return None;
        }
        Some(turn - *used)
    }

    /// Sets the priority of a stream: those of higher ones are sent first.
    pub fn set_priority(&mut self, id: StreamId, priority: i32) {
        self.priorities.insert(id, priority);
    }

    /// Returns true if streams wait for space, and the stack sends what `id` writes before what
    /// they have written.
    pub fn precedes_waiting(&self, id: StreamId) -> bool {
        if self.priorities.is_empty() || self.waiting.is_empty() {
            return false;
        }
        let mut others = self.waiting.iter().filter(|other| **other != id).peekable();
        others.peek().is_some() && others.all(|other| self.priority(*other) < self.priority(id))
    }

    /// Counts `bytes` that `id` has written.
    pub fn wrote(&mut self, id: StreamId, bytes: u64) {
        if let Some(used) = self.used.get_mut(&id) {
            *used = used.saturating_add(bytes);
        }
    }

    /// Makes `id` wait for space behind those that wait already. If its turn is not over, the rest
    /// of it follows when there is space.
    pub fn wait(&mut self, id: StreamId) {
        if !self.waiting.contains(&id) {
            self.waiting.push_back(id);
        }
    }

    /// Notes that the stack lets `id` write again.
    pub fn set_writable(&mut self, id: StreamId) {
        self.writable.insert(id);
    }

    /// Removes and returns the streams that may write again, in the order in which they shall. Of
    /// those that wait for space, the ones of the highest priority write first: the others stay
    /// until these are done or wait once more.
    pub fn next(&mut self) -> Vec<StreamId> {
        let later = self.take_later();
        let mut writable = std::mem::take(&mut self.writable);
        let mut next = Vec::with_capacity(writable.len());
        self.waiting.retain(|id| {
            let may_write = writable.remove(id);
            if may_write {
                next.push(*id);
            }
            !may_write
        });
        // Writers that did not wait in a turn.
        next.extend(writable);
        self.writable = later;
        next
    }

    /// Removes from the writable streams, and returns, those that wait for space and are not of the
    /// highest priority among these.
    fn take_later(&mut self) -> BTreeSet<StreamId> {
        if self.priorities.is_empty() {
            return BTreeSet::new();
        }
        let Self { waiting, writable, .. } = self;
        let waits: Vec<StreamId> =
            waiting.iter().filter(|id| writable.contains(id)).copied().collect();
        let most = waits.iter().map(|id| self.priority(*id)).max();
        let later = waits.into_iter().filter(|id| Some(self.priority(*id)) < most).collect();
        self.writable = self.writable.difference(&later).copied().collect();
        later
    }

    fn priority(&self, id: StreamId) -> i32 {
        self.priorities.get(&id).copied().unwrap_or_default()
    }

    /// Forgets a stream that writes nothing more.
    pub fn remove(&mut self, id: StreamId) {
        self.used.remove(&id);
        self.priorities.remove(&id);
        self.writable.remove(&id);
        self.waiting.retain(|waiting| *waiting != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noq_proto::{Dir, Side};

    fn stream(index: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Bi, index)
    }

    /// Lets every stream that has a turn write into `space` bytes, in the order of `order`.
    fn fill(turns: &mut WriteTurns, order: &[StreamId], mut space: u64, written: &mut [u64]) {
        let mut order: VecDeque<StreamId> = order.iter().copied().collect();
        while let Some(id) = order.pop_front() {
            match turns.take(id, written.len(), 200_000) {
                None => order.push_back(id),
                Some(_) if space == 0 => turns.wait(id),
                Some(turn) => {
                    let bytes = turn.min(space);
                    space -= bytes;
                    written[id.index() as usize] += bytes;
                    turns.wrote(id, bytes);
                    order.push_front(id);
                }
            }
        }
    }

    #[test]
    fn streams_get_equal_parts_of_whatever_space_there_is() {
        let ids: Vec<StreamId> = (0..8).map(stream).collect();
        for space in [1200, 20_000, 200_000, 333_333] {
            let (mut turns, mut written) = (WriteTurns::default(), [0; 8]);
            fill(&mut turns, &ids, 1_000_000, &mut written);
            for _ in 0..100 {
                // The order of the stack: who asked last comes first.
                ids.iter().rev().for_each(|&id| turns.set_writable(id));
                let next = turns.next();
                assert_eq!(next.len(), 8);
                fill(&mut turns, &next, space, &mut written);
            }
            let (least, most) = (written.iter().min().unwrap(), written.iter().max().unwrap());
            assert!(most - least <= 25_000, "{space}: {written:?}");
        }
    }

    #[test]
    fn the_first_turn_is_short_and_the_rest_of_a_turn_is_kept() {
        let mut turns = WriteTurns::default();
        assert_eq!(turns.take(stream(0), 1, 200_000), Some(MIN_TURN));
        turns.wrote(stream(0), MIN_TURN);
        assert_eq!(turns.take(stream(0), 1, 200_000), None);
        assert_eq!(turns.take(stream(0), 1, 200_000), Some(200_000), "alone");
        assert_eq!(turns.take(stream(0), 2, 200_000), Some(100_000));
        turns.wrote(stream(0), 60_000);
        turns.wait(stream(0));
        assert_eq!(turns.take(stream(0), 2, 200_000), Some(40_000));
        turns.wrote(stream(0), 40_000);
        assert_eq!(turns.take(stream(0), 2, 200_000), None);
        assert_eq!(turns.take(stream(0), 2, 200_000), Some(100_000), "the next turn");
        turns.remove(stream(0));
        assert!(turns.next().is_empty());
        assert_eq!(turns.take(stream(1), 100, 200_000), Some(MIN_TURN));
    }

    #[test]
    fn streams_of_the_highest_priority_write_first_and_precede_those_that_wait() {
        let mut turns = WriteTurns::default();
        let ids = [stream(0), stream(1), stream(2)];
        turns.set_priority(ids[0], -7);
        turns.set_priority(ids[1], -5);
        turns.set_priority(ids[2], -5);
        assert!(!turns.precedes_waiting(ids[1]), "nobody waits");
        turns.wait(ids[0]);
        assert!(turns.precedes_waiting(ids[1]) && !turns.precedes_waiting(ids[0]));
        turns.wait(ids[1]);
        turns.wait(ids[2]);
        assert!(!turns.precedes_waiting(ids[1]), "another one of its priority waits");
        ids.iter().for_each(|id| turns.set_writable(*id));
        assert_eq!(turns.next(), [ids[1], ids[2]]);
        turns.wait(ids[2]);
        turns.set_writable(ids[2]);
        assert_eq!(turns.next(), [ids[2]], "the last one waits on");
        turns.remove(ids[2]);
        assert_eq!(turns.next(), [ids[0]]);
        assert!(turns.next().is_empty());
    }
}
