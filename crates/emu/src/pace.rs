//! When a thread with real-time priority sleeps, so that it is punctual and the machine's other programs still run.
//!
//! Sleeping until a deadline costs the time that the machine takes to wake a thread; looking at the clock instead costs a processor. So a thread spins before deadlines, within a budget. And it
//! never works on and on: a kernel that sees others starve takes the processor away from real-time threads for 50 ms of each second (`fair_server`, or `sched_rt_runtime_us` before Linux
//! 6.12), which a short sleep now and then avoids.

use bentpipe_units::{Span, Time};

/// Of all time, what spinning may take at most: a half. A budget that is not used is kept up to [`KEPT`].
const SHARE: u64 = 2;
const KEPT: Span = Span::from_millis(5);
/// After so long without sleep, so long a sleep: somewhat more than the twentieth that the kernel keeps for others.
const STRETCH: Span = Span::from_millis(1);
const BREATH: Span = Span::from_micros(60);

/// What to do where nothing is due yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Look again at once.
    Spin,
    /// Sleep so long, or until something comes in.
    Sleep(Span),
}

/// The budget of one thread.
#[derive(Debug)]
pub struct Pace {
    /// How long before a deadline to stop sleeping.
    spin: Span,
    budget: Span,
    /// Up to when the budget is in order.
    seen: Time,
    /// When it last woke up.
    woken: Time,
    spinning: bool,
}

impl Pace {
    /// For a thread that begins at `now`.
    pub fn new(spin: Span, now: Time) -> Self {
        Self { spin, budget: KEPT, seen: now, woken: now, spinning: false }
    }

    /// Work was done: time spent since the last call was not spent spinning.
    pub fn work(&mut self, now: Time) {
        self.settle(now);
        self.spinning = false;
    }

    /// A sleep that is due although there is work: how long.
    pub fn breath(&self, now: Time) -> Option<Span> {
        (now.since(self.woken) >= STRETCH).then_some(BREATH)
    }

    /// What to do at `now`, where the next packet is due in `due`.
    pub fn idle(&mut self, now: Time, due: Span) -> Idle {
        self.settle(now);
        let early = if self.budget.is_zero() { Span::ZERO } else { self.spin };
        self.spinning = due <= early;
        if self.spinning { Idle::Spin } else { Idle::Sleep(due.saturating_sub(early)) }
    }

    /// It has slept, until `now`.
    pub fn slept(&mut self, now: Time) {
        self.spinning = false;
        self.settle(now);
        self.woken = now;
    }

    fn settle(&mut self, now: Time) {
        let passed = now.since(self.seen);
        self.seen = now;
        self.budget = (self.budget + passed / SHARE).min(KEPT);
        if self.spinning {
            self.budget = self.budget.saturating_sub(passed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Span = Span::from_micros(40);

    #[test]
    fn it_sleeps_until_a_little_before_a_deadline_and_then_spins() {
        let mut pace = Pace::new(SPIN, Time::ZERO);
        assert_eq!(pace.idle(Time::ZERO, Span::from_millis(10)), Idle::Sleep(Span::from_micros(9960)));
        let now = Time::from_nanos(9_970_000);
        pace.slept(now);
        assert_eq!(pace.idle(now, Span::from_micros(30)), Idle::Spin);
        assert_eq!(pace.breath(now), None);
    }

    #[test]
    fn deadlines_nearer_than_the_spin_do_not_take_the_whole_processor() {
        // A packet each 20 us: with a spin of 40 us without a budget it would never sleep.
        let mut pace = Pace::new(SPIN, Time::ZERO);
        let (mut now, mut spun, step) = (Time::ZERO, Span::ZERO, Span::from_micros(20));
        for _ in 0..100_000 {
            match pace.idle(now, step) {
                Idle::Spin => {
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
        assert!((0.4..0.55).contains(&share), "{share}");
    }

    #[test]
    fn a_thread_that_never_waits_takes_a_breath() {
        let mut pace = Pace::new(Span::ZERO, Time::ZERO);
        let now = Time::from_millis(1);
        pace.work(now);
        assert_eq!(pace.breath(now), Some(BREATH));
        pace.slept(now);
        assert_eq!(pace.breath(now), None);
    }
}
