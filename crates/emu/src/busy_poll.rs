//! Decides when a real-time thread sleeps, so that it is punctual and other programs can run.
//!
//! Sleeping until a deadline costs the wake-up latency; busy-polling the clock costs a CPU. So a
//! thread busy-polls before deadlines, within a budget. It also never runs without pause: to
//! protect other threads, the kernel takes the CPU from real-time threads for 50 ms of each second
//! (`fair_server`, or `sched_rt_runtime_us` before Linux 6.12), which occasional short sleeps
//! avoid.

use bentpipe_units::{Span, Time};

/// Limit of the unused budget. A thread may busy-poll for as long as it has slept.
const MAX_BUDGET: Span = Span::from_millis(5);
/// A thread yields one twelfth of its CPU time to others in forced sleeps, somewhat more than the
/// one twentieth that the kernel reserves.
const FORCED_SLEEP_DIVISOR: u64 = 12;
const MIN_FORCED_SLEEP: Span = Span::from_micros(60);
const MAX_FORCED_SLEEP: Span = Span::from_millis(1);
/// Interval at which the CPU time is checked. Short sleeps consist mostly of falling asleep and
/// waking up, which leaves nothing to others, so only the kernel's accounting counts.
const CPU_CHECK_INTERVAL: Span = Span::from_micros(500);

/// Action while no packet is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Poll again at once.
    BusyPoll,
    /// Sleep for this long, or until input arrives.
    Sleep(Span),
}

/// The busy-poll budget of one thread.
#[derive(Debug)]
pub struct BusyPollBudget {
    /// Time before a deadline at which to stop sleeping.
    busy_poll: Span,
    budget: Span,
    /// Time up to which the budget is accounted for.
    accounted_until: Time,
    /// Time owed to other threads.
    debt: Span,
    checked_at: Time,
    used: Span,
    polling: bool,
}

impl BusyPollBudget {
    /// Creates the budget of a thread that starts at `now`, having used `used` CPU time.
    pub fn new(busy_poll: Span, now: Time, used: Span) -> Self {
        Self {
            busy_poll,
            budget: MAX_BUDGET,
            accounted_until: now,
            debt: Span::ZERO,
            checked_at: now,
            used,
            polling: false,
        }
    }

    /// Accounts for work done until `now`.
    pub fn work(&mut self, now: Time) {
        self.settle(now);
        self.polling = false;
    }

    /// Returns how long the thread must sleep now, even if a packet is due; `None` if it need not.
    /// `used` returns its CPU time.
    pub fn forced_sleep(&mut self, now: Time, used: impl FnOnce() -> Span) -> Option<Span> {
        let passed = now.since(self.checked_at);
        if passed < CPU_CHECK_INTERVAL {
            return None;
        }
        let used = used();
        let awake = used.saturating_sub(self.used);
        (self.checked_at, self.used) = (now, used);
        self.debt = (self.debt + awake / FORCED_SLEEP_DIVISOR)
            .saturating_sub(passed.saturating_sub(awake))
            .min(MAX_FORCED_SLEEP);
        (self.debt >= MIN_FORCED_SLEEP).then_some(self.debt)
    }

    /// Returns what to do at `now` if the next packet is due after `due`.
    pub fn idle(&mut self, now: Time, due: Span) -> Idle {
        self.settle(now);
        let early = if self.budget.is_zero() { Span::ZERO } else { self.busy_poll };
        self.polling = due <= early;
        if self.polling { Idle::BusyPoll } else { Idle::Sleep(due.saturating_sub(early)) }
    }

    /// Accounts for a sleep that ended at `now`.
    pub fn slept(&mut self, now: Time) {
        self.budget = (self.budget + now.since(self.accounted_until)).min(MAX_BUDGET);
        self.accounted_until = now;
        self.polling = false;
    }

    fn settle(&mut self, now: Time) {
        if self.polling {
            self.budget = self.budget.saturating_sub(now.since(self.accounted_until));
        }
        self.accounted_until = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY_POLL: Span = Span::from_micros(40);

    #[test]
    fn sleeps_until_shortly_before_a_deadline_then_busy_polls() {
        let mut budget = BusyPollBudget::new(BUSY_POLL, Time::ZERO, Span::ZERO);
        assert_eq!(
            budget.idle(Time::ZERO, Span::from_millis(10)),
            Idle::Sleep(Span::from_micros(9960))
        );
        let now = Time::from_nanos(9_970_000);
        budget.slept(now);
        assert_eq!(budget.idle(now, Span::from_micros(30)), Idle::BusyPoll);
    }

    #[test]
    fn closer_deadlines_than_the_busy_poll_span_leave_cpu_time() {
        // One packet every 20 us: without a budget, busy polling 40 us would never sleep.
        let mut budget = BusyPollBudget::new(BUSY_POLL, Time::ZERO, Span::ZERO);
        let (mut now, mut polled, step) = (Time::ZERO, Span::ZERO, Span::from_micros(20));
        for _ in 0..100_000 {
            match budget.idle(now, step) {
                Idle::BusyPoll => {
                    now += step;
                    polled += step;
                    budget.work(now);
                }
                Idle::Sleep(span) => {
                    now += span;
                    budget.slept(now);
                }
            }
        }
        let share = polled.as_secs_f64() / now.as_secs_f64();
        assert!((0.45..0.55).contains(&share), "{share}");
    }

    #[test]
    fn idle_time_is_shared_between_busy_polling_and_sleep() {
        // Work takes 12 us of every 24 us: 500 Mbps on a slow machine. Busy polling must not use
        // all the rest.
        let mut budget = BusyPollBudget::new(BUSY_POLL, Time::ZERO, Span::ZERO);
        let (mut now, mut slept) = (Time::ZERO, Span::ZERO);
        let half = Span::from_micros(12);
        for _ in 0..100_000 {
            now += half;
            budget.work(now);
            match budget.idle(now, half) {
                Idle::BusyPoll => now += half,
                Idle::Sleep(span) => {
                    assert!(span <= half);
                    now += half;
                    slept += half;
                    budget.slept(now);
                }
            }
        }
        let share = slept.as_secs_f64() / now.as_secs_f64();
        assert!((0.2..0.3).contains(&share), "{share}");
    }

    /// Share of time left to others by a thread that works 4 us and then sleeps for `nap`, of which
    /// the kernel charges `own` to the thread.
    fn share_for_others(nap: Span, own: Span) -> f64 {
        let mut budget = BusyPollBudget::new(Span::ZERO, Time::ZERO, Span::ZERO);
        let work = Span::from_micros(4);
        let (mut now, mut used) = (Time::ZERO, Span::ZERO);
        for _ in 0..100_000 {
            now += work + nap;
            used += work + own;
            if let Some(forced_sleep) = budget.forced_sleep(now, || used) {
                now += forced_sleep;
                budget.slept(now);
            }
        }
        1.0 - used.as_secs_f64() / now.as_secs_f64()
    }

    #[test]
    fn other_threads_always_get_their_share_of_the_cpu() {
        let never = share_for_others(Span::ZERO, Span::ZERO);
        assert!((0.07..0.085).contains(&never), "{never}");
        let hardly = share_for_others(Span::from_micros(10), Span::from_micros(10));
        assert!((0.07..0.085).contains(&hardly), "{hardly}");
        // A thread that sleeps half of its time owes nothing.
        let half = share_for_others(Span::from_micros(4), Span::ZERO);
        assert!((0.49..0.51).contains(&half), "{half}");
    }
}
