//! The event queue of a run.

use bentpipe_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Index of a component that receives events: a network, a node of a flow, a flow, or a link.
pub type Component = u32;

/// Bits of an entry for the component.
const COMPONENT_BITS: u32 = 24;

/// A priority queue of (time, sequence, component).
///
/// An entry is one integer, so a comparison is one operation: the time in the upper bits, then the
/// sequence (2⁴⁰ values before the order of equal times becomes undefined), then the component.
///
/// Components change their deadlines far more often than deadlines pass, because a QUIC endpoint
/// re-arms its timers with each packet. So a deadline that moves back keeps its entry: the
/// component wakes too early, finds nothing due, and is scheduled again. Only a deadline that moves
/// forward adds an entry.
#[derive(Debug)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<u128>>,
    /// Valid entry of each component. Its other entries are stale.
    due: Vec<Time>,
    sequence: u64,
}

impl EventQueue {
    /// Maximum number of components.
    pub const MAX: usize = 1 << COMPONENT_BITS;

    /// Creates a queue for components `0..count`. Others, up to [`Self::MAX`] in total, are added
    /// when they are scheduled.
    pub fn new(count: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(4 * count),
            due: vec![Time::MAX; count],
            sequence: 0,
        }
    }

    /// Wakes `component` by `deadline`.
    pub fn schedule(&mut self, component: Component, deadline: Option<Time>) {
        let Some(deadline) = deadline else { return };
        let index = component as usize;
        if index >= self.due.len() {
            self.due.resize(index + 1, Time::MAX);
        }
        let due = &mut self.due[index];
        if deadline < *due {
            *due = deadline;
            self.sequence += 1;
            let rest = self.sequence << COMPONENT_BITS | u64::from(component);
            self.heap.push(Reverse(u128::from(deadline.as_nanos()) << 64 | u128::from(rest)));
        }
    }

    /// Returns the next component to wake, with its time. Equal times come in the order in which
    /// they were scheduled.
    pub fn pop(&mut self) -> Option<(Time, Component)> {
        while let Some(Reverse(entry)) = self.heap.pop() {
            let time = Time::from_nanos((entry >> 64) as u64);
            let component = entry as Component & (Self::MAX as Component - 1);
            let due = &mut self.due[component as usize];
            if *due == time {
                *due = Time::MAX;
                return Some((time, component));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_in_order_of_time_then_of_scheduling() {
        let mut event_queue = EventQueue::new(3);
        event_queue.schedule(2, Some(Time::from_millis(5)));
        event_queue.schedule(0, Some(Time::from_millis(5)));
        event_queue.schedule(1, Some(Time::from_millis(1)));
        let order: Vec<_> =
            std::iter::from_fn(|| event_queue.pop()).map(|(_, component)| component).collect();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn components_can_be_added_later() {
        let mut event_queue = EventQueue::new(1);
        event_queue.schedule(0, Some(Time::from_millis(9)));
        event_queue.schedule(70, Some(Time::from_millis(3)));
        assert_eq!(event_queue.pop(), Some((Time::from_millis(3), 70)));
        assert_eq!(event_queue.pop(), Some((Time::from_millis(9), 0)));
    }

    #[test]
    fn an_earlier_deadline_replaces_the_later_one() {
        let mut event_queue = EventQueue::new(1);
        event_queue.schedule(0, Some(Time::from_millis(9)));
        event_queue.schedule(0, Some(Time::from_millis(3)));
        assert_eq!(event_queue.pop(), Some((Time::from_millis(3), 0)));
        assert_eq!(event_queue.pop(), None);
    }

    #[test]
    fn a_later_deadline_wakes_once_too_early() {
        let mut event_queue = EventQueue::new(1);
        event_queue.schedule(0, Some(Time::from_millis(3)));
        event_queue.schedule(0, Some(Time::from_millis(9)));
        assert_eq!(event_queue.pop(), Some((Time::from_millis(3), 0)));
        event_queue.schedule(0, Some(Time::from_millis(9)));
        assert_eq!(event_queue.pop(), Some((Time::from_millis(9), 0)));
    }
}
