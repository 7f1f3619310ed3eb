//! The window and the limit of one connection: when an update is due, and to which limit.

use super::arrival_rate::ArrivalRate;
use super::rule::FlowControlRule;
use bentpipe_units::{Bytes, Span, Time};

/// Largest limit (RFC 9000 §16).
const MAX_LIMIT: u64 = (1 << 62) - 1;
/// Smallest window left to the stack, in bytes: below eight it would announce its limit whenever
/// anything is read.
pub(super) const MIN_WINDOW: u64 = 8;
/// Bytes that may be held unread beyond twice the largest window. Our choice: room for the largest
/// chunk that the stack returns at once.
const SLACK: u64 = 65_536;

/// The flow control of one connection at its receiver: the bytes announced, arrived and consumed.
///
/// Order of calls: [`FlowControlWindow::on_arrival`] for datagrams from the network;
/// [`FlowControlWindow::read`] for bytes read from the stack and [`FlowControlWindow::consumed`]
/// for those that the application takes or that are discarded; then [`FlowControlWindow::poll`],
/// and again at [`FlowControlWindow::due`]. `now` never goes back.
#[derive(Debug, Clone)]
pub struct FlowControlWindow {
    rule: FlowControlRule,
    /// The target window, without the allowance for bytes that wait behind gaps.
    window: u64,
    limit: u64,
    consumed: u64,
    read: u64,
    waiting: u64,
    /// Time of the last update.
    updated: Option<Time>,
    arrival_rate: ArrivalRate,
}

impl FlowControlWindow {
    /// `initial`: the limit that the peer knows from the handshake.
    pub fn new(rule: FlowControlRule, initial: Bytes) -> Self {
        let limit = initial.get().min(MAX_LIMIT);
        Self {
            rule,
            window: limit,
            limit,
            consumed: 0,
            read: 0,
            waiting: 0,
            updated: None,
            arrival_rate: ArrivalRate::default(),
        }
    }

    /// Counts `bytes` that arrived from the network, duplicates and headers included, at that
    /// smoothed RTT. Tunes the window.
    pub fn on_arrival(&mut self, now: Time, bytes: u64, smoothed_rtt: Span) {
        if self.rule.tuned {
            self.arrival_rate.on_arrival(now, bytes, smoothed_rtt);
            let window = self.arrival_rate.window().min(self.rule.max_window.get());
            self.window = self.window.max(window);
        }
    }

    /// Counts `bytes` of stream data that were read from the stack.
    pub fn read(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
    }

    /// Counts `bytes`, of those read, that the application took or that were discarded.
    pub fn consumed(&mut self, bytes: u64) {
        self.consumed = self.consumed.saturating_add(bytes).min(self.read);
    }

    /// Sets how many bytes, of those read and not consumed, wait behind gaps.
    pub fn set_waiting(&mut self, bytes: u64) {
        self.waiting = bytes;
    }

    /// Raises the target window to at least `window`, for knowledge of the path other than
    /// arrivals.
    pub fn raise(&mut self, window: Bytes) {
        self.window = self.window.max(window.get().min(MAX_LIMIT));
    }

    /// Returns the target window. A tuned window includes the bytes that wait behind gaps, up to
    /// its own size: a gap is filled an RTT after it was noticed, often two, and the sender must
    /// not wait for that.
    pub fn window(&self) -> u64 {
        if !self.rule.tuned {
            return self.window;
        }
        self.window.saturating_add(self.waiting.min(self.window)).min(self.bound())
    }

    /// Returns the largest window that it may reach.
    pub fn bound(&self) -> u64 {
        if self.rule.tuned { self.window.max(self.rule.max_window.get()) } else { self.window }
    }

    /// Returns the limit announced to the peer.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the bytes that were read and not consumed.
    pub fn held(&self) -> u64 {
        self.read - self.consumed
    }

    /// Returns how many bytes may be read now without holding more than any window allows.
    ///
    /// A peer that respects its limit stays far below. A peer that leaves a gap open for ever is
    /// cut off here.
    pub fn room(&self) -> u64 {
        self.bound().saturating_mul(2).saturating_add(SLACK).saturating_sub(self.held())
    }

    /// Returns the bytes that must be free for an update. Less than the whole window, since the
    /// stack announces [`MIN_WINDOW`] bytes by itself once all is used up, and the update would
    /// wait for those.
    fn update_threshold(&self) -> u64 {
        let window = self.window();
        let share = Bytes::new(window).mul_f64(self.rule.update_fraction.get()).get();
        share.min(window.saturating_sub(MIN_WINDOW)).max(1)
    }

    /// Returns the limit that an update would announce now.
    fn target(&self) -> u64 {
        self.consumed.saturating_add(self.window()).clamp(self.limit, MAX_LIMIT)
    }

    /// Returns when [`FlowControlWindow::poll`] is due if nothing happens before: the time of an
    /// update that waits only for its interval.
    pub fn due(&self) -> Option<Time> {
        let interval = self.rule.update_interval?;
        (self.target() > self.limit)
            .then(|| self.updated.map_or(Time::ZERO, |updated| updated + interval))
    }

    /// Returns the limit to announce now, if an update is due: at its share of the window, or at
    /// the end of its interval.
    pub fn poll(&mut self, now: Time) -> Option<u64> {
        let target = self.target();
        let over = || self.due().is_some_and(|due| due <= now);
        if target == self.limit || (target - self.limit < self.update_threshold() && !over()) {
            return None;
        }
        self.limit = target;
        self.updated = Some(now);
        Some(target)
    }

    /// Returns the window of the stack between updates: see [the module](super).
    pub(super) fn rest(&self) -> u64 {
        self.window()
            .saturating_sub(self.update_threshold())
            .saturating_sub(self.held())
            .max(MIN_WINDOW)
    }

    /// Notes that the stack has announced up to `limit` by itself.
    pub(super) fn announced_by_stack(&mut self, limit: u64) {
        self.limit = self.limit.max(limit.min(MAX_LIMIT));
    }

    /// Returns the bytes read from the stack so far.
    pub(super) fn total_read(&self) -> u64 {
        self.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_units::Ratio;
    use proptest::prelude::*;

    fn rule(after: f64, every: Option<u64>) -> FlowControlRule {
        FlowControlRule {
            update_fraction: Ratio::new(after).unwrap(),
            update_interval: every.map(Span::from_millis),
            ..FlowControlRule::default()
        }
    }

    fn take(window: &mut FlowControlWindow, bytes: u64) {
        window.read(bytes);
        window.consumed(bytes);
    }

    #[test]
    fn an_update_leaves_when_its_share_of_the_window_is_consumed() {
        let mut window = FlowControlWindow::new(rule(0.5, None), Bytes::new(1000));
        take(&mut window, 499);
        assert_eq!((window.poll(Time::ZERO), window.due()), (None, None));
        take(&mut window, 1);
        assert_eq!(window.poll(Time::ZERO), Some(1500));
        assert_eq!(window.poll(Time::ZERO), None);
    }

    #[test]
    fn an_update_leaves_in_time_whatever_was_consumed() {
        let mut window = FlowControlWindow::new(rule(1.0, Some(50)), Bytes::new(1000));
        assert_eq!(window.due(), None, "nothing was consumed");
        take(&mut window, 1);
        assert_eq!(window.poll(Time::from_millis(7)), Some(1001), "there was none before");
        take(&mut window, 5);
        assert_eq!(window.due(), Some(Time::from_millis(57)));
        assert_eq!(window.poll(Time::from_millis(56)), None);
        assert_eq!(window.poll(Time::from_millis(57)), Some(1006));
        assert_eq!(window.due(), None);
    }

    /// Updates of a flow that uses 12 packets in each of 15 round trips, after it had 5 MB in one.
    fn updates_of_a_slow_flow(rule: FlowControlRule) -> usize {
        let rtt = Span::from_millis(650);
        let mut window = FlowControlWindow::new(rule, Bytes::from_mb(4));
        let mut now = Time::ZERO;
        for _ in 0..4000 {
            now += Span::from_micros(250);
            window.on_arrival(now, 2000, rtt);
        }
        take(&mut window, 4_000_000);
        assert!(window.poll(now).is_some());
        let packets = (0..12 * 15).map(|_| {
            now += rtt / 12;
            window.on_arrival(now, 1472, rtt);
            take(&mut window, 1472);
            window.poll(now)
        });
        packets.flatten().count()
    }

    #[test]
    fn a_slow_flow_in_a_large_window_gets_updates_only_by_time() {
        let tuned = FlowControlRule::tuned();
        let by_time = FlowControlRule { update_interval: Some(Span::from_millis(50)), ..tuned };
        assert!(updates_of_a_slow_flow(by_time) > 150);
        assert_eq!(updates_of_a_slow_flow(tuned), 0);
    }

    #[test]
    fn bytes_that_are_read_and_not_consumed_return_no_flow_control() {
        let mut window = FlowControlWindow::new(rule(0.25, Some(10)), Bytes::new(1000));
        window.read(1000);
        assert_eq!(
            (window.held(), window.poll(Time::from_secs(9)), window.rest()),
            (1000, None, MIN_WINDOW)
        );
        window.consumed(300);
        assert_eq!(window.poll(Time::from_secs(9)), Some(1300));
    }

    #[test]
    fn a_tuned_window_makes_room_for_bytes_behind_gaps_up_to_its_own_size() {
        let most = Bytes::new(5000);
        let mut window = FlowControlWindow::new(
            FlowControlRule { tuned: true, max_window: most, ..rule(0.1, None) },
            Bytes::new(1000),
        );
        window.read(600);
        window.set_waiting(600);
        assert_eq!(window.poll(Time::ZERO), Some(1600));
        window.read(600);
        window.set_waiting(1200);
        assert_eq!(window.poll(Time::ZERO), Some(2000));
        window.consumed(1200);
        window.set_waiting(0);
        assert_eq!(window.poll(Time::ZERO), Some(2200));
    }

    #[test]
    fn the_largest_window_of_quic_overflows_nothing() {
        let mut window = FlowControlWindow::new(rule(0.125, None), Bytes::MAX);
        take(&mut window, MAX_LIMIT);
        assert_eq!((window.poll(Time::ZERO), window.limit()), (None, MAX_LIMIT));
        window.raise(Bytes::MAX);
        assert_eq!(window.poll(Time::ZERO), None);
    }

    proptest! {
        #[test]
        fn limits_never_shrink_stay_bounded_and_leave_when_they_are_due(
            tuned: bool,
            after in 0.01f64..=1.0,
            every in prop::option::of(1u64..200),
            initial in 1u64..100_000,
            most in 1u64..1_000_000,
            steps in prop::collection::vec((0u8..5, 0u64..50_000), 1..200),
        ) {
            let max_window = Bytes::new(most);
            let rule = FlowControlRule { tuned, max_window, ..rule(after, every) };
            let mut window = FlowControlWindow::new(rule, Bytes::new(initial));
            let mut now = Time::ZERO;
            let bound = if tuned { most.max(initial) } else { initial };
            for (kind, value) in steps {
                match kind {
                    0 => now += Span::from_millis(value / 100),
                    1 => window.on_arrival(now, value, Span::from_millis(100)),
                    2 => window.read(value.min(window.limit() - window.total_read())),
                    3 => window.consumed(value),
                    _ => window.set_waiting(value.min(window.held())),
                }
                let (before, due) = (window.limit(), window.due());
                let free = window.target() - before;
                let announced = window.poll(now);
                let over = due.is_some_and(|due| due <= now);
                let expected = free > 0 && (free >= window.update_threshold() || over);
                prop_assert_eq!(announced.is_some(), expected);
                prop_assert!(window.limit() >= before);
                prop_assert!(announced.is_none_or(|limit| limit == window.limit()));
                prop_assert!(window.limit() - window.consumed <= bound, "more announced \
                    than allowed");
                prop_assert!(window.held() <= bound);
                prop_assert!(window.rest() <= (window.limit() - window.read).max(MIN_WINDOW));
                prop_assert!(window.due().is_none_or(|due| due > now), "an update was due and \
                    stayed here");
            }
        }
    }
}
