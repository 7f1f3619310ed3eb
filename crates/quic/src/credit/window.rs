//! The rule itself: what is promised to the peer, and when more is.

use super::pace::ArrivalRate;
use crate::settings::FlowControlRule;
use bentpipe_units::{Bytes, Span, Time};

/// Largest limit (RFC 9000 §16).
const MOST_LIMIT: u64 = (1 << 62) - 1;
/// The least window that the stack is left with: below eight bytes it would announce its limit with
/// everything that is read.
pub(super) const LEAST: u64 = 8;
/// Beyond twice the largest window, so many bytes may still lie here unread: our choice, room for
/// what a stack hands out in one piece.
const SLACK: u64 = 65_536;

/// The flow-control account of one connection: what was announced, what arrived, what was consumed.
///
/// Order of calls: [`FlowControlWindow::arrived`] for what the network brings;
/// [`FlowControlWindow::read`] for what is taken from the stack and [`FlowControlWindow::consumed`]
/// for what the application takes of that, or what is thrown away; then
/// [`FlowControlWindow::poll`], and again at [`FlowControlWindow::due`]. `now` never goes back.
#[derive(Debug, Clone)]
pub struct FlowControlWindow {
    rule: FlowControlRule,
    /// The window that is aimed at, but for what waits behind holes.
    window: u64,
    limit: u64,
    consumed: u64,
    read: u64,
    waiting: u64,
    /// When the last update left.
    updated: Option<Time>,
    pace: ArrivalRate,
}

impl FlowControlWindow {
    /// `initial`: the limit that the peer knows from the handshake.
    pub fn new(rule: FlowControlRule, initial: Bytes) -> Self {
        let limit = initial.get().min(MOST_LIMIT);
        Self {
            rule,
            window: limit,
            limit,
            consumed: 0,
            read: 0,
            waiting: 0,
            updated: None,
            pace: ArrivalRate::default(),
        }
    }

    /// `bytes` arrived from the network, duplicates and headers among them, when the smoothed round
    /// trip was `smoothed`. Tunes the window.
    pub fn arrived(&mut self, now: Time, bytes: u64, smoothed: Span) {
        if self.rule.tuned {
            self.pace.arrived(now, bytes, smoothed);
            self.window = self.window.max(self.pace.window().min(self.rule.most.get()));
        }
    }

    /// `bytes` of stream data were taken from the stack.
    pub fn read(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
    }

    /// Of those read, `bytes` were taken by the application or thrown away.
    pub fn consumed(&mut self, bytes: u64) {
        self.consumed = self.consumed.saturating_add(bytes).min(self.read);
    }

    /// Of those read and not consumed, `bytes` now wait behind holes.
    pub fn waits(&mut self, bytes: u64) {
        self.waiting = bytes;
    }

    /// Aims at no less than `window` from now on: something else than arrivals knows the path.
    pub fn raise(&mut self, window: Bytes) {
        self.window = self.window.max(window.get().min(MOST_LIMIT));
    }

    /// The window that is aimed at. Where windows are tuned, what waits behind holes comes on top,
    /// up to as much again: a hole is filled a round trip after it was noticed, often two, and the
    /// sender is not to wait for that.
    pub fn window(&self) -> u64 {
        if !self.rule.tuned {
            return self.window;
        }
        self.window.saturating_add(self.waiting.min(self.window)).min(self.bound())
    }

    /// The largest window that it may come to.
    pub fn bound(&self) -> u64 {
        if self.rule.tuned { self.window.max(self.rule.most.get()) } else { self.window }
    }

    /// The limit that the peer may send up to, as far as announced.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that were read and not consumed.
    pub fn held(&self) -> u64 {
        self.read - self.consumed
    }

    /// What may be read now without holding more than any window allows.
    ///
    /// A peer that keeps to the limit stays far below; one that leaves a hole for ever is cut off
    /// there, not fed for ever.
    pub fn room(&self) -> u64 {
        self.bound().saturating_mul(2).saturating_add(SLACK).saturating_sub(self.held())
    }

    /// Bytes that have to be free for an update. Not quite the whole window: the stack announces
    /// [`LEAST`] bytes by itself once all is used up, and the update would wait for those.
    fn share(&self) -> u64 {
        let window = self.window();
        let share = Bytes::new(window).mul_f64(self.rule.after.get()).get();
        share.min(window.saturating_sub(LEAST)).max(1)
    }

    /// What the limit would be if it were announced now.
    fn target(&self) -> u64 {
        self.consumed.saturating_add(self.window()).clamp(self.limit, MOST_LIMIT)
    }

    /// When [`FlowControlWindow::poll`] is due, if nothing happens before: an update that only
    /// waits for its time.
    pub fn due(&self) -> Option<Time> {
        let every = self.rule.every?;
        (self.target() > self.limit)
            .then(|| self.updated.map_or(Time::ZERO, |updated| updated + every))
    }

    /// A limit that is to be announced now, where one is due: at a share of the window, or once its
    /// time is over.
    pub fn poll(&mut self, now: Time) -> Option<u64> {
        let target = self.target();
        let over = || self.due().is_some_and(|due| due <= now);
        if target == self.limit || (target - self.limit < self.share() && !over()) {
            return None;
        }
        self.limit = target;
        self.updated = Some(now);
        Some(target)
    }

    /// The window that the stack rests at between updates: see [the module](super).
    pub(super) fn rest(&self) -> u64 {
        self.window().saturating_sub(self.share()).saturating_sub(self.held()).max(LEAST)
    }

    /// The stack has announced up to `limit` by itself.
    pub(super) fn surpassed(&mut self, limit: u64) {
        self.limit = self.limit.max(limit.min(MOST_LIMIT));
    }

    /// Bytes taken from the stack so far.
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
        let after = Ratio::new(after).unwrap();
        FlowControlRule { after, every: every.map(Span::from_millis), ..FlowControlRule::default() }
    }

    fn take(promise: &mut FlowControlWindow, bytes: u64) {
        promise.read(bytes);
        promise.consumed(bytes);
    }

    #[test]
    fn an_update_leaves_when_its_share_of_the_window_is_consumed() {
        let mut promise = FlowControlWindow::new(rule(0.5, None), Bytes::new(1000));
        take(&mut promise, 499);
        assert_eq!((promise.poll(Time::ZERO), promise.due()), (None, None));
        take(&mut promise, 1);
        assert_eq!(promise.poll(Time::ZERO), Some(1500));
        assert_eq!(promise.poll(Time::ZERO), None);
    }

    #[test]
    fn an_update_leaves_in_time_whatever_was_consumed() {
        let mut promise = FlowControlWindow::new(rule(1.0, Some(50)), Bytes::new(1000));
        assert_eq!(promise.due(), None, "nothing was consumed");
        take(&mut promise, 1);
        assert_eq!(promise.poll(Time::from_millis(7)), Some(1001), "there was none before");
        take(&mut promise, 5);
        assert_eq!(promise.due(), Some(Time::from_millis(57)));
        assert_eq!(promise.poll(Time::from_millis(56)), None);
        assert_eq!(promise.poll(Time::from_millis(57)), Some(1006));
        assert_eq!(promise.due(), None);
    }

    #[test]
    fn what_is_read_and_not_consumed_gives_no_credit() {
        let mut promise = FlowControlWindow::new(rule(0.25, Some(10)), Bytes::new(1000));
        promise.read(1000);
        assert_eq!(
            (promise.held(), promise.poll(Time::from_secs(9)), promise.rest()),
            (1000, None, LEAST)
        );
        promise.consumed(300);
        assert_eq!(promise.poll(Time::from_secs(9)), Some(1300));
    }

    #[test]
    fn a_tuned_window_makes_room_for_what_waits_behind_holes_up_to_as_much_again() {
        let most = Bytes::new(5000);
        let mut promise = FlowControlWindow::new(
            FlowControlRule { tuned: true, most, ..rule(0.1, None) },
            Bytes::new(1000),
        );
        promise.read(600);
        promise.waits(600);
        assert_eq!(promise.poll(Time::ZERO), Some(1600));
        promise.read(600);
        promise.waits(1200);
        assert_eq!(promise.poll(Time::ZERO), Some(2000));
        promise.consumed(1200);
        promise.waits(0);
        assert_eq!(promise.poll(Time::ZERO), Some(2200));
    }

    #[test]
    fn a_window_as_large_as_quic_knows_overflows_nothing() {
        let mut promise = FlowControlWindow::new(rule(0.125, None), Bytes::MAX);
        take(&mut promise, MOST_LIMIT);
        assert_eq!((promise.poll(Time::ZERO), promise.limit()), (None, MOST_LIMIT));
        promise.raise(Bytes::MAX);
        assert_eq!(promise.poll(Time::ZERO), None);
    }

    proptest! {
        #[test]
        fn credit_never_shrinks_stays_bounded_and_leaves_when_it_is_due(
            tuned: bool,
            after in 0.01f64..=1.0,
            every in prop::option::of(1u64..200),
            initial in 1u64..100_000,
            most in 1u64..1_000_000,
            steps in prop::collection::vec((0u8..5, 0u64..50_000), 1..200),
        ) {
            let rule = FlowControlRule { tuned, most: Bytes::new(most), ..rule(after, every) };
            let mut promise = FlowControlWindow::new(rule, Bytes::new(initial));
            let mut now = Time::ZERO;
            let bound = if tuned { most.max(initial) } else { initial };
            for (kind, value) in steps {
                match kind {
                    0 => now += Span::from_millis(value / 100),
                    1 => promise.arrived(now, value, Span::from_millis(100)),
                    2 => promise.read(value.min(promise.limit() - promise.total_read())),
                    3 => promise.consumed(value),
                    _ => promise.waits(value.min(promise.held())),
                }
                let (before, due) = (promise.limit(), promise.due());
                let free = promise.target() - before;
                let announced = promise.poll(now);
                let expected = free > 0 && (free >= promise.share() || due.is_some_and(|due| due <= now));
                prop_assert_eq!(announced.is_some(), expected);
                prop_assert!(promise.limit() >= before && announced.is_none_or(|limit| limit == promise.limit()));
                prop_assert!(promise.limit() - promise.consumed <= bound, "more promised than \
                    allowed");
                prop_assert!(promise.held() <= bound);
                prop_assert!(promise.rest() <= (promise.limit() - promise.read).max(LEAST));
                prop_assert!(promise.due().is_none_or(|due| due > now), "an update was due and \
                    stayed here");
            }
        }
    }
}
