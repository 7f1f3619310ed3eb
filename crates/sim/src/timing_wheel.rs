//! A hierarchical timing wheel: a priority queue for times that mostly lie in the near future.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of a time below a tick: 2¹⁰ ns, about as long as events of busy links are apart.
const TICK_BITS: u32 = 10;
/// Bits of a tick per level.
const LEVEL_BITS: u32 = 8;
/// Slots per level.
const SLOTS: usize = 1 << LEVEL_BITS;
/// Levels. A slot lasts 1 µs, 0.26 ms, 67 ms and 17 s; all of them together 73 minutes.
const LEVELS: usize = 4;
/// End of a list.
const NONE: u32 = u32::MAX;

/// An entry. Entries leave in the order of time, then of `order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Time in nanoseconds.
    pub time: u64,
    /// Order among equal times.
    pub order: u64,
}

impl Entry {
    fn tick(&self) -> u64 {
        self.time >> TICK_BITS
    }
}

/// An entry in the list of a slot.
#[derive(Debug, Clone, Copy)]
struct Listed {
    entry: Entry,
    next: u32,
}

/// The slots of one level.
#[derive(Debug, Clone)]
struct Level {
    /// First entry of each slot, or [`NONE`].
    first: [u32; SLOTS],
    /// One bit per slot with entries.
    used: [u64; SLOTS / 64],
}

impl Level {
    const EMPTY: Self = Self { first: [NONE; SLOTS], used: [0; SLOTS / 64] };

    /// Returns the first slot after `slot` that has entries.
    fn next_used(&self, slot: usize) -> Option<usize> {
        let from = slot + 1;
        let mut word = from / 64;
        let mut bits = *self.used.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.used.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// A priority queue of [`Entry`].
///
/// Level 0 has a slot for each tick of the current 256, level 1 one for each 256 ticks of the
/// current 256², and so on. An entry moves down a level when time reaches its slot, so that it is
/// sorted only among the entries of its own tick. Inserting and removing cost the same for any
/// number of entries.
#[derive(Debug)]
pub struct TimingWheel {
    /// Current tick.
    tick: u64,
    /// Entries of the current tick and earlier, the next one last.
    ready: Vec<Entry>,
    levels: Box<[Level; LEVELS]>,
    /// Entries beyond the last level.
    beyond: BinaryHeap<Reverse<Entry>>,
    /// Storage of the lists.
    listed: Vec<Listed>,
    /// First free place in `listed`.
    free: u32,
}

impl TimingWheel {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            tick: 0,
            ready: Vec::new(),
            levels: Box::new([Level::EMPTY; LEVELS]),
            beyond: BinaryHeap::new(),
            listed: Vec::new(),
            free: NONE,
        }
    }

    /// Inserts an entry.
    #[inline]
    pub fn insert(&mut self, entry: Entry) {
        if entry.tick() > self.tick {
            self.list(entry);
        } else {
            let later = self.ready.iter().rev().take_while(|other| **other < entry).count();
            self.ready.insert(self.ready.len() - later, entry);
        }
    }

    /// Removes and returns the first entry.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.ready.pop() {
                return Some(entry);
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Appends an entry of a later tick to the list of its slot.
    #[inline]
    fn list(&mut self, entry: Entry) {
        let tick = entry.tick();
        let level = ((tick ^ self.tick).ilog2() / LEVEL_BITS) as usize;
        let Some(Level { first, used }) = self.levels.get_mut(level) else {
            self.beyond.push(Reverse(entry));
            return;
        };
        let slot = digit(tick, level);
        let listed = Listed { entry, next: first[slot] };
        first[slot] = match self.listed.get_mut(self.free as usize) {
            Some(place) => std::mem::replace(&mut self.free, std::mem::replace(place, listed).next),
            None => {
                self.listed.push(listed);
                (self.listed.len() - 1) as u32
            }
        };
        used[slot / 64] |= 1 << (slot % 64);
    }

    /// Advances to the next slot with entries. Returns false if there are none.
    fn advance(&mut self) -> bool {
        for level in 0..LEVELS {
            if let Some(slot) = self.levels[level].next_used(digit(self.tick, level)) {
                let above = LEVEL_BITS * (level as u32 + 1);
                let start = self.tick >> above << above;
                self.tick = start | (slot as u64) << (LEVEL_BITS * level as u32);
                self.open(level, slot);
                return true;
            }
        }
        let Some(Reverse(first)) = self.beyond.peek() else { return false };
        self.tick = first.tick();
        let block = |tick: u64| tick >> (LEVEL_BITS * LEVELS as u32);
        while let Some(&Reverse(entry)) = self.beyond.peek()
            && block(entry.tick()) == block(self.tick)
        {
            self.beyond.pop();
            self.insert(entry);
        }
        true
    }

    /// Moves the entries of a slot, which has become the current one, to lower levels.
    fn open(&mut self, level: usize, slot: usize) {
        let Level { first, used } = &mut self.levels[level];
        used[slot / 64] &= !(1 << (slot % 64));
        let mut index = std::mem::replace(&mut first[slot], NONE);
        while index != NONE {
            let place = &mut self.listed[index as usize];
            let Listed { entry, next } = *place;
            place.next = std::mem::replace(&mut self.free, index);
            index = next;
            if entry.tick() > self.tick {
                self.list(entry);
            } else {
                self.ready.push(entry);
            }
        }
        if self.ready.len() > 1 {
            self.ready.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

/// Returns the slot of `tick` at `level`.
#[inline]
fn digit(tick: u64, level: usize) -> usize {
    (tick >> (LEVEL_BITS * level as u32)) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_beyond_the_last_level_come_in_order() {
        let mut wheel = TimingWheel::new();
        let hours = |hours: u64| Entry { time: hours * 3_600_000_000_000, order: hours };
        for entry in [5, 2, 9, 1, 3] {
            wheel.insert(hours(entry));
        }
        let order: Vec<_> = std::iter::from_fn(|| wheel.pop()).map(|entry| entry.order).collect();
        assert_eq!(order, [1, 2, 3, 5, 9]);
    }

    #[test]
    fn storage_is_reused() {
        let mut wheel = TimingWheel::new();
        for step in 1..1000 {
            for entry in 0..3 {
                wheel.insert(Entry { time: step * 1_000_000, order: entry });
            }
            while wheel.pop().is_some() {}
        }
        assert_eq!(wheel.listed.len(), 3);
    }

    proptest! {
        /// A binary heap is the model. Delays are as different as those of a simulation: from
        /// nothing to hours.
        #[test]
        fn the_order_is_that_of_a_heap(
            steps in proptest::collection::vec((0u32..44, any::<u64>(), 0usize..3), 1..400),
        ) {
            let (mut wheel, mut model) = (TimingWheel::new(), BinaryHeap::new());
            let mut now = 0;
            for (order, (magnitude, delay, pops)) in (0..).zip(steps) {
                let time = now + delay % (1 << magnitude);
                wheel.insert(Entry { time, order });
                model.push(Reverse(Entry { time, order }));
                for _ in 0..pops {
                    let popped = wheel.pop();
                    prop_assert_eq!(popped, model.pop().map(|Reverse(entry)| entry));
                    now = popped.map_or(now, |entry| entry.time);
                }
            }
            while let Some(Reverse(entry)) = model.pop() {
                prop_assert_eq!(wheel.pop(), Some(entry));
            }
            prop_assert_eq!(wheel.pop(), None);
        }
    }
}
