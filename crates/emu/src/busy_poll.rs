//! Decides when a real-time thread sleeps, so that it is punctual and other programs still run.
//!
//! Sleeping until a deadline costs the wake-up latency; busy-polling the clock costs a CPU. So a
//! thread busy-polls before deadlines, within a budget. It also never runs without pause: to
//! protect other threads, the kernel takes the CPU from real-time threads for 50 ms of each second
//! (`fair_server`, or `sched_rt_runtime_us` before Linux 6.12), which occasional short sleeps
//! avoid.

use bentpipe_units::{Span, Time};

/// A thread may busy-poll for as long as it has slept. Limit of the unused budget.
const MAX_BUDGET: Span = Span::from_millis(5);
/// A thread yields one twelfth of its CPU time to others in forced sleeps: somewhat more than the
/// twentieth that the kernel reserves.
const FORCED_SLEEP_DIVISOR: u64 = 12;
const MIN_FORCED_SLEEP: Span = Span::from_micros(60);
const MAX_FORCED_SLEEP: Span = Span::from_millis(1);
/// How often the CPU time is checked. In short sleeps, falling asleep and waking up dominate and
/// leave nothing to others, so only the kernel's accounting counts.
const LOOK: Span = Span::from_micros(500);

/// What to do while nothing is due.
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
    /// How long before a deadline to stop sleeping.
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
    /// The budget of a thread that starts at `now`, having used `used` CPU time.
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

    /// How long the thread must sleep now, whatever is due; `None` if it need not. `used` returns
    /// its CPU time.
    pub fn forced_sleep(&mut self, now: Time, used: impl FnOnce() -> Span) -> Option<Span> {
        let passed = now.since(self.checked_at);
        if passed < LOOK {
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

    /// What to do at `now` if the next packet is due after `due`.
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

    const SPIN: Span = Span::from_micros(40);

    #[test]
    fn it_sleeps_until_a_little_before_a_deadline_and_then_spins() {
        let mut pace = BusyPollBudget::new(SPIN, Time::ZERO, Span::ZERO);
        assert_eq!(
            pace.idle(Time::ZERO, Span::from_millis(10)),
            Idle::Sleep(Span::from_micros(9960))
        );
        let now = Time::from_nanos(9_970_000);
        pace.slept(now);
        assert_eq!(pace.idle(now, Span::from_micros(30)), Idle::BusyPoll);
    }

    #[test]
    fn deadlines_nearer_than_the_spin_do_not_take_the_whole_processor() {
        // A packet each 20 us: with a spin of 40 us without a budget it would never sleep.
        let mut pace = BusyPollBudget::new(SPIN, Time::ZERO, Span::ZERO);
        let (mut now, mut spun, step) = (Time::ZERO, Span::ZERO, Span::from_micros(20));
        for _ in 0..100_000 {
            match pace.idle(now, step) {
                Idle::BusyPoll => {
                    now += step;
                    spun += step;
                    pace.work(now);
                }
                Idle::Sleep(span) => {
                    now += span;
                    pace.slept(now);
                }
            }
        }
        let share = spun.as_secs_f64() / now.as_secs_f64();
        assert!((0.45..0.55).contains(&share), "{share}");
    }

    #[test]
    fn what_work_leaves_is_shared_between_spin_and_sleep() {
        // Of each 24 us, work takes 12: at 500 Mbps on a slow machine. The rest is not all spun
        // away.
        let mut pace = BusyPollBudget::new(SPIN, Time::ZERO, Span::ZERO);
        let (mut now, mut slept) = (Time::ZERO, Span::ZERO);
        let half = Span::from_micros(12);
        for _ in 0..100_000 {
            now += half;
            pace.work(now);
            match pace.idle(now, half) {
                Idle::BusyPoll => now += half,
                Idle::Sleep(span) => {
                    assert!(span <= half);
                    now += half;
                    slept += half;
                    pace.slept(now);
                }
            }
        }
        let share = slept.as_secs_f64() / now.as_secs_f64();
        assert!((0.2..0.3).contains(&share), "{share}");
    }

    /// How long a thread sleeps of its time, that works 4 us and then sleeps so long of its own
    /// accord, of which so much is its own.
    fn share_for_others(nap: Span, own: Span) -> f64 {
        let mut pace = BusyPollBudget::new(Span::ZERO, Time::ZERO, Span::ZERO);
        let work = Span::from_micros(4);
        let (mut now, mut used) = (Time::ZERO, Span::ZERO);
        for _ in 0..100_000 {
            now += work + nap;
            used += work + own;
            if let Some(forced_sleep) = pace.forced_sleep(now, || used) {
                now += forced_sleep;
                pace.slept(now);
            }
        }
        1.0 - used.as_secs_f64() / now.as_secs_f64()
    }

    #[test]
    fn others_have_their_part_of_the_processor_whatever_a_thread_does() {
        let never = share_for_others(Span::ZERO, Span::ZERO);
        assert!((0.07..0.085).contains(&never), "{never}");
        let hardly = share_for_others(Span::from_micros(10), Span::from_micros(10));
        assert!((0.07..0.085).contains(&hardly), "{hardly}");
        // One that sleeps half of its time owes nothing.
        let half = share_for_others(Span::from_micros(4), Span::ZERO);
        assert!((0.49..0.51).contains(&half), "{half}");
    }
}
