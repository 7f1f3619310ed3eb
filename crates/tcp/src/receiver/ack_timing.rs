//! The times at which acknowledgements are sent: delayed and quick acknowledgements (RFC 9293
//! §3.8.6.3, RFC 5681 §4.2, Linux's quick ACKs).

use crate::settings::AckPolicy;
use bentpipe_units::{Span, Time};

/// Maximum bytes that generic receive offload (GRO) merges: the size limit of an IP packet.
const MOST_COALESCED: u64 = 65_535;
/// Assumed full segment size before one has arrived, in bytes (RFC 9293 §3.7.1).
const SMALLEST_FULL: u64 = 536;

/// Segments merged by GRO.
#[derive(Debug, Clone, Copy)]
struct Batch {
    bytes: u64,
    /// End of the batch, unless another segment joins.
    ends: Time,
}

/// Decides when to acknowledge.
#[derive(Debug)]
pub(super) struct AckTiming {
    policy: AckPolicy,
    /// Remaining quick acknowledgements.
    quick: u32,
    due: bool,
    /// Bytes received in order since the last acknowledgement.
    unacknowledged: u64,
    /// Largest segment received, up to `segment`, in bytes.
    full: u64,
    segment: u64,
    last_arrival: Option<Time>,
    /// Deadline of the delayed acknowledgement.
    deadline: Option<Time>,
    batch: Option<Batch>,
}

impl AckTiming {
    /// Creates the state before any arrival. Segments have at most `segment` bytes.
    pub(super) fn new(policy: AckPolicy, segment: u64) -> Self {
        Self {
            policy,
            quick: policy.quick,
            due: false,
            unacknowledged: 0,
            full: SMALLEST_FULL.min(segment),
            segment,
            last_arrival: None,
            deadline: None,
            batch: None,
        }
    }

    /// Returns the largest segment so far, in bytes.
    pub(super) fn full(&self) -> u64 {
        self.full
    }

    /// Handles a segment of `bytes` that arrived in order. After a pause of `idle`, the sender may
    /// have restarted from slow start and needs quick acknowledgements, at most `max_quick`.
    pub(super) fn on_arrival(&mut self, now: Time, bytes: u64, idle: Span, max_quick: u32) {
        self.note_arrival(now, bytes, idle, max_quick);
        self.unacknowledged = self.unacknowledged.saturating_add(bytes);
        let latest = now + self.policy.delay;
        self.deadline.get_or_insert(latest);
        let Some(within) = self.policy.coalesce else { return self.evaluate() };
        let joins = self.batch.filter(|batch| {
            now <= batch.ends && batch.bytes.saturating_add(bytes) <= MOST_COALESCED
        });
        if joins.is_none() && self.batch.take().is_some() {
            // The segment just received does not belong to the batch but is acknowledged with it.
            self.evaluate();
        }
        let bytes = joins.map_or(0, |batch| batch.bytes).saturating_add(bytes);
        self.batch = Some(Batch { bytes, ends: now + within });
        if bytes.saturating_add(self.full) > MOST_COALESCED {
            self.batch = None;
            self.evaluate();
        }
    }

    /// Handles a segment that must be acknowledged at once (RFC 5681 §4.2: a gap, a filled gap, a
    /// duplicate).
    pub(super) fn on_urgent(&mut self, now: Time, bytes: u64, idle: Span, max_quick: u32) {
        self.note_arrival(now, bytes, idle, max_quick);
        self.ack_now();
    }

    /// Requests an acknowledgement now, whatever arrived.
    pub(super) fn ack_now(&mut self) {
        self.due = true;
    }

    /// Restarts quick acknowledgements, at most `max_quick`.
    pub(super) fn enter_quick_ack(&mut self, max_quick: u32) {
        self.quick = self.quick.max(self.policy.quick.min(max_quick));
    }

    /// Ends quick acknowledgements.
    pub(super) fn leave_quick_ack(&mut self) {
        self.quick = 0;
    }

    /// Handles that the receive window grows: the next acknowledgement is a quick one (Linux,
    /// `tcp_grow_window`, which sets the lowest bit of the number).
    pub(super) fn on_window_growth(&mut self) {
        self.quick |= 1;
    }

    /// Returns true if an acknowledgement is due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.due || self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Returns when to call [`Self::handle_timeout`].
    pub(super) fn next_timeout(&self) -> Option<Time> {
        if self.due {
            return None;
        }
        self.batch.map(|batch| batch.ends).into_iter().chain(self.deadline).min()
    }

    /// Handles timers that expired by `now`.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.batch.is_some_and(|batch| batch.ends <= now) {
            self.batch = None;
            self.evaluate();
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.due = true;
        }
    }

    /// Records that an acknowledgement is sent, alone or with data.
    pub(super) fn on_acknowledged(&mut self) {
        if self.due || self.unacknowledged > 0 {
            self.quick = self.quick.saturating_sub(1);
        }
        self.due = false;
        self.unacknowledged = 0;
        self.deadline = None;
        self.batch = None;
    }

    fn note_arrival(&mut self, now: Time, bytes: u64, idle: Span, max_quick: u32) {
        self.full = self.full.max(bytes.min(self.segment));
        if self.last_arrival.is_some_and(|last| now.since(last) > idle) {
            self.enter_quick_ack(max_quick);
        }
        self.last_arrival = Some(now);
    }

    fn evaluate(&mut self) {
        // More bytes than `every` minus one full segments: a short last one counts as a segment, as
        // in Linux.
        let enough = self.full.saturating_mul(u64::from(self.policy.every.saturating_sub(1)));
        if self.unacknowledged > 0 && (self.quick > 0 || self.unacknowledged > enough) {
            self.due = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Span = Span::from_secs(1);

    fn ack_timing(quick: u32, coalesce: Option<Span>) -> AckTiming {
        AckTiming::new(AckPolicy { quick, coalesce, ..AckPolicy::default() }, 1448)
    }

    /// Returns the number of acknowledgements of `count` segments that arrive `apart` from each
    /// other.
    fn acknowledgements(ack_timing: &mut AckTiming, from: Time, count: u64, apart: Span) -> u64 {
        let mut sent = 0;
        for n in 0..count {
            let now = from + apart * n;
            while let Some(due) = ack_timing.next_timeout().filter(|&due| due <= now) {
                ack_timing.handle_timeout(due);
                if ack_timing.is_due(due) {
                    ack_timing.on_acknowledged();
                    sent += 1;
                }
            }
            ack_timing.on_arrival(now, 1448, IDLE, u32::MAX);
            if ack_timing.is_due(now) {
                ack_timing.on_acknowledged();
                sent += 1;
            }
        }
        sent
    }

    #[test]
    fn every_second_full_segment_is_acknowledged() {
        let mut ack_timing = ack_timing(0, None);
        assert_eq!(acknowledgements(&mut ack_timing, Time::ZERO, 100, Span::from_millis(1)), 50);
    }

    #[test]
    fn a_single_segment_is_acknowledged_a_delay_after_its_arrival() {
        let mut ack_timing = ack_timing(0, None);
        ack_timing.on_arrival(Time::from_millis(5), 1448, IDLE, u32::MAX);
        assert!(!ack_timing.is_due(Time::from_millis(44)));
        assert_eq!(ack_timing.next_timeout(), Some(Time::from_millis(45)));
        ack_timing.handle_timeout(Time::from_millis(45));
        assert!(ack_timing.is_due(Time::from_millis(45)));
        assert_eq!(ack_timing.next_timeout(), None, "a due acknowledgement needs no timer");
        ack_timing.on_acknowledged();
        assert!(!ack_timing.is_due(Time::from_secs(9)));
        assert_eq!(ack_timing.next_timeout(), None);
    }

    #[test]
    fn the_first_segments_and_those_after_a_pause_are_acknowledged_one_by_one() {
        let mut ack_timing = ack_timing(16, None);
        assert_eq!(
            acknowledgements(&mut ack_timing, Time::ZERO, 36, Span::from_millis(1)),
            16 + 10
        );
        assert_eq!(
            acknowledgements(&mut ack_timing, Time::from_millis(900), 20, Span::from_millis(1)),
            10
        );
        assert_eq!(
            acknowledgements(&mut ack_timing, Time::from_secs(2), 20, Span::from_millis(1)),
            16 + 2
        );
    }

    #[test]
    fn a_policy_of_ten_acknowledges_every_tenth() {
        let mut ack_timing =
            AckTiming::new(AckPolicy { every: 10, quick: 0, ..AckPolicy::default() }, 1448);
        assert_eq!(acknowledgements(&mut ack_timing, Time::ZERO, 100, Span::from_millis(1)), 10);
    }

    #[test]
    fn segments_that_arrive_together_are_acknowledged_once_at_their_end() {
        let mut ack_timing = ack_timing(0, Some(Span::from_micros(50)));
        for n in 0..10 {
            let now = Time::ZERO + Span::from_micros(10 * n);
            ack_timing.on_arrival(now, 1448, IDLE, u32::MAX);
            assert!(!ack_timing.is_due(now));
        }
        let end = Time::ZERO + Span::from_micros(90 + 50);
        assert_eq!(ack_timing.next_timeout(), Some(end));
        ack_timing.handle_timeout(end);
        assert!(ack_timing.is_due(end));
    }

    #[test]
    fn coalesced_segments_fit_an_ip_packet() {
        let mut ack_timing = ack_timing(0, Some(Span::from_micros(50)));
        // 45 segments of 1448 bytes are 65,160.
        assert_eq!(acknowledgements(&mut ack_timing, Time::ZERO, 450, Span::from_micros(10)), 10);
    }

    #[test]
    fn segments_without_a_pause_are_acknowledged_after_the_delay() {
        let mut ack_timing = ack_timing(0, Some(Span::from_millis(30)));
        for n in 0..2u64 {
            ack_timing.on_arrival(Time::from_millis(25 * n), 100, IDLE, u32::MAX);
        }
        assert_eq!(ack_timing.next_timeout(), Some(Time::from_millis(40)));
        ack_timing.handle_timeout(Time::from_millis(40));
        assert!(ack_timing.is_due(Time::from_millis(40)));
    }

    #[test]
    fn segments_too_far_apart_to_coalesce_are_acknowledged_in_pairs() {
        let mut ack_timing = ack_timing(0, Some(Span::from_micros(50)));
        assert_eq!(acknowledgements(&mut ack_timing, Time::ZERO, 101, Span::from_millis(1)), 50);
    }
}
