//! What limited a sender, over time. The time budget of a transfer is derived from it.

use bentpipe_units::{Span, Time};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What keeps a sender from sending more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendLimit {
    /// It has no data to send.
    Application,
    /// The receiver's flow control, or the send buffer.
    FlowControl,
    /// The window or the pacing of a controller that still searches for the path's capacity.
    SlowStart,
    /// The congestion window, after slow start, and in the slow start that follows a retransmission
    /// timeout or persistent congestion: losses are what made the window small.
    CongestionWindow,
    /// Pacing at the controller's own rate, after slow start. Pacing that only spreads the window
    /// over the RTT (RFC 9002 §7.7) counts as the window.
    Pacing,
    /// The limit before the peer's address is validated (RFC 9000 §8).
    AddressValidation,
    /// Loss that the sender does not know of yet: it has nothing else to send.
    LossDetection,
    /// A probe or retransmission timeout that had to expire.
    Timeout,
}

impl SendLimit {
    const COUNT: usize = 8;
    /// The order in which the limits of several connections determine that of their flow: what
    /// holds data back counts more than a lack of data.
    const BY_PRIORITY: [Self; Self::COUNT] = [
        Self::Timeout,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::Pacing,
        Self::FlowControl,
        Self::AddressValidation,
        Self::LossDetection,
        Self::Application,
    ];
}

/// The limits of a flow's senders over time. Clones share them.
///
/// Senders report each change ([`SendLimits::set`]); the other side takes the time under each limit
/// in intervals that do not go back ([`SendLimits::take`]), which forgets what lies before them, so
/// that the log covers about the transit time of a packet.
#[derive(Debug, Clone, Default)]
pub struct SendLimits(Arc<Mutex<Log>>);

/// Number of a connection of the flow.
pub type SenderNumber = u32;

#[derive(Debug, Default)]
struct Log {
    /// The limit of each connection.
    senders: Vec<Option<SendLimit>>,
    /// Number of connections under each limit.
    counts: [u32; SendLimit::COUNT],
    /// Changes of the flow's limit, in order of time.
    changes: VecDeque<(Time, SendLimit)>,
}

impl Log {
    fn push(&mut self, now: Time, limit: SendLimit) {
        match self.changes.back_mut() {
            Some((_, last)) if *last == limit => {}
            Some((at, last)) if *at == now => *last = limit,
            _ => self.changes.push_back((now, limit)),
        }
    }

    /// Replaces the limits from `since` on by `limit`.
    fn replace_since(&mut self, since: Time, limit: SendLimit) {
        while self.changes.back().is_some_and(|&(at, _)| at >= since) {
            self.changes.pop_back();
        }
        self.changes.push_back((since, limit));
    }
}

impl SendLimits {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that `limit` limits connection `sender` from `now` on.
    pub fn set(&self, sender: SenderNumber, now: Time, limit: SendLimit) {
        let mut guard = self.log();
        let log = &mut *guard;
        let index = sender as usize;
        if log.senders.len() <= index {
            log.senders.resize(index + 1, None);
        }
        if let Some(before) = log.senders[index].replace(limit) {
            if before == limit {
                return;
            }
            log.counts[before as usize] -= 1;
        }
        log.counts[limit as usize] += 1;
        let all = SendLimit::BY_PRIORITY.into_iter().find(|&limit| log.counts[limit as usize] > 0);
        log.push(now, all.unwrap_or(limit));
    }

    /// Replaces the flow's limit from `since` to `now` by `limit`, which has only now become known.
    pub fn replace(&self, since: Time, now: Time, limit: SendLimit) {
        let mut log = self.log();
        let current = log.changes.back().map(|&(_, limit)| limit);
        log.replace_since(since, limit);
        if let Some(current) = current {
            log.push(now, current);
        }
    }

    /// Passes the time under each limit in the interval from `from` to `to` to `add`, and forgets
    /// everything before `from`. Time before the first limit counts as the first one.
    pub fn take(&self, from: Time, to: Time, mut add: impl FnMut(SendLimit, Span)) {
        let mut log = self.log();
        while log.changes.get(1).is_some_and(|&(at, _)| at <= from) {
            log.changes.pop_front();
        }
        let mut changes = log.changes.iter().copied().peekable();
        let mut begin = from;
        while let Some((_, limit)) = changes.next() {
            let end = changes.peek().map_or(to, |&(at, _)| at.min(to));
            if end > begin {
                add(limit, end.since(begin));
                begin = end;
            }
            if begin >= to {
                break;
            }
        }
    }
}

/// Derives the limit of one connection from what its sender reports.
#[derive(Debug)]
pub(crate) struct LimitReporter {
    limits: SendLimits,
    sender: SenderNumber,
    current: Option<SendLimit>,
    /// Whether the controller searches for the path's capacity.
    in_slow_start: bool,
    /// True from a collapse of the window until the slow start that follows it has ended.
    restarts: bool,
    /// Whether the controller sets a pacing rate of its own.
    has_own_rate: bool,
    /// True if the congestion window has held data back since sending last stopped.
    window_full: bool,
    last_sent: Time,
    last_acked: Time,
}

impl LimitReporter {
    pub(crate) fn new(limits: SendLimits, sender: SenderNumber) -> Self {
        Self {
            limits,
            sender,
            current: None,
            in_slow_start: true,
            restarts: false,
            has_own_rate: false,
            window_full: false,
            last_sent: Time::ZERO,
            last_acked: Time::ZERO,
        }
    }

    pub(crate) fn set_state(&mut self, in_slow_start: bool, has_own_rate: bool) {
        self.in_slow_start = in_slow_start;
        self.restarts &= in_slow_start;
        self.has_own_rate = has_own_rate;
    }

    /// Handles the collapse of the window by losses without any answer: a retransmission timeout
    /// (RFC 5681 §3.1) or persistent congestion (RFC 9002 §7.6).
    pub(crate) fn collapsed(&mut self) {
        self.restarts = true;
    }

    /// Handles the report that the losses were spurious.
    pub(crate) fn restored(&mut self) {
        self.restarts = false;
    }

    pub(crate) fn window_full(&mut self) {
        self.window_full = true;
    }

    /// Handles the end of an attempt to send, which `stop` has ended unless the window was full.
    pub(crate) fn stopped(&mut self, now: Time, stop: SendLimit) {
        let stop =
            if std::mem::take(&mut self.window_full) { SendLimit::CongestionWindow } else { stop };
        let limit = self.phase(stop);
        if self.current != Some(limit) {
            self.current = Some(limit);
            self.limits.set(self.sender, now, limit);
        }
    }

    pub(crate) fn sent(&mut self, now: Time) {
        self.last_sent = now;
    }

    pub(crate) fn acked(&mut self, now: Time) {
        self.last_acked = now;
    }

    /// Handles a timeout that expires after silence since the last packet sent or acknowledged.
    pub(crate) fn timed_out(&mut self, now: Time) {
        self.limits.replace(self.last_sent.max(self.last_acked), now, SendLimit::Timeout);
    }

    /// Handles a packet declared lost: a sender with nothing else to send has waited for that.
    pub(crate) fn lost(&mut self, now: Time) {
        if self.current == Some(SendLimit::Application) && self.last_sent < now {
            self.limits.replace(self.last_sent, now, SendLimit::LossDetection);
        }
    }

    /// Returns the limit in the current phase of the controller: while it searches, its window and
    /// its pacing are one; so are they if the pacing rate follows from the window.
    fn phase(&self, stop: SendLimit) -> SendLimit {
        match stop {
            SendLimit::CongestionWindow | SendLimit::Pacing if self.in_slow_start => {
                if self.restarts { SendLimit::CongestionWindow } else { SendLimit::SlowStart }
            }
            SendLimit::Pacing if !self.has_own_rate => SendLimit::CongestionWindow,
            stop => stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn taken(limits: &SendLimits, from: u64, to: u64) -> Vec<(SendLimit, u64)> {
        let mut taken = Vec::new();
        limits.take(ms(from), ms(to), |limit, span| {
            taken.push((limit, span.as_nanos() / 1_000_000));
        });
        taken
    }

    #[test]
    fn an_interval_is_divided_at_the_changes_within_it() {
        let limits = SendLimits::default();
        limits.set(0, ms(10), SendLimit::SlowStart);
        limits.set(0, ms(20), SendLimit::FlowControl);
        limits.set(0, ms(40), SendLimit::Application);
        assert_eq!(
            taken(&limits, 5, 30),
            [(SendLimit::SlowStart, 15), (SendLimit::FlowControl, 10)]
        );
        assert_eq!(taken(&limits, 35, 36), [(SendLimit::FlowControl, 1)]);
        assert_eq!(
            taken(&limits, 36, 50),
            [(SendLimit::FlowControl, 4), (SendLimit::Application, 10)]
        );
        assert_eq!(limits.log().changes.len(), 2, "what lies before is forgotten");
    }

    #[test]
    fn a_connection_without_data_does_not_hide_one_that_is_held_back() {
        let limits = SendLimits::default();
        limits.set(0, ms(0), SendLimit::CongestionWindow);
        limits.set(1, ms(10), SendLimit::Application);
        limits.set(0, ms(20), SendLimit::Application);
        limits.set(1, ms(30), SendLimit::Pacing);
        assert_eq!(
            taken(&limits, 0, 40),
            [
                (SendLimit::CongestionWindow, 20),
                (SendLimit::Application, 10),
                (SendLimit::Pacing, 10)
            ]
        );
    }

    #[test]
    fn slow_start_after_a_collapse_is_the_window_that_losses_left() {
        let limits = SendLimits::default();
        let mut reporter = LimitReporter::new(limits.clone(), 0);
        let mut stop = |at, in_slow_start, change: fn(&mut LimitReporter)| {
            change(&mut reporter);
            reporter.set_state(in_slow_start, false);
            reporter.stopped(ms(at), SendLimit::CongestionWindow);
        };
        stop(0, true, |_| ());
        stop(10, true, LimitReporter::collapsed);
        stop(20, false, |_| ());
        // Slow start after an idle period, and after a timeout that was spurious.
        stop(30, true, |_| ());
        stop(40, true, LimitReporter::collapsed);
        stop(50, true, LimitReporter::restored);
        let expected = [
            (SendLimit::SlowStart, 10),
            (SendLimit::CongestionWindow, 20),
            (SendLimit::SlowStart, 10),
            (SendLimit::CongestionWindow, 10),
            (SendLimit::SlowStart, 10),
        ];
        assert_eq!(taken(&limits, 0, 60), expected);
    }

    #[test]
    fn a_timeout_replaces_what_seemed_to_be_the_limit_before_it() {
        let limits = SendLimits::default();
        limits.set(0, ms(0), SendLimit::SlowStart);
        limits.set(0, ms(10), SendLimit::Application);
        limits.replace(ms(5), ms(30), SendLimit::Timeout);
        limits.set(0, ms(40), SendLimit::SlowStart);
        assert_eq!(
            taken(&limits, 0, 50),
            [
                (SendLimit::SlowStart, 5),
                (SendLimit::Timeout, 25),
                (SendLimit::Application, 10),
                (SendLimit::SlowStart, 10)
            ]
        );
    }
}
