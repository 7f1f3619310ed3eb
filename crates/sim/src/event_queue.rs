//! The event queue of a run.

use crate::timing_wheel::{Entry, TimingWheel};
use bentpipe_units::Time;

/// Index of a component that receives events: a network, a node of a flow, a flow, or a link.
pub type Component = u32;

/// Bits of an entry for the component.
const COMPONENT_BITS: u32 = 24;

/// A priority queue of (time, sequence, component).
///
/// Sequence and component share one integer: 2⁴⁰ values of the sequence before the order of equal
/// times becomes undefined.
///
/// Components change their deadlines far more often than deadlines pass, because a QUIC endpoint
/// re-arms its timers with each packet. So a deadline that moves back keeps its entry: the
/// component wakes too early, finds nothing due, and is scheduled again. Only a deadline that moves
/// forward adds an entry.
#[derive(Debug)]
pub struct EventQueue {
    entries: TimingWheel,
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
        Self { entries: TimingWheel::new(), due: vec![Time::MAX; count], sequence: 0 }
    }

    /// Wakes `component` by `deadline`.
    #[inline]
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
            let order = self.sequence << COMPONENT_BITS | u64::from(component);
            self.entries.insert(Entry { time: deadline.as_nanos(), order });
        }
    }

    /// Returns the next component to wake, with its time. Equal times come in the order in which
    /// they were scheduled.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, Component)> {
        while let Some(Entry { time, order }) = self.entries.pop() {
            let time = Time::from_nanos(time);
            let component = order as Component & (Self::MAX as Component - 1);
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
