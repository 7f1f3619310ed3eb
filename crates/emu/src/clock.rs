//! The only module of this crate that reads a clock or sleeps.
#![allow(clippy::disallowed_methods)]

use crate::error::EmuError;
use crate::interrupts::Interrupts;
use bentpipe_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as ProcessorClock, clock_gettime};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time after which a wait looks whether a signal has asked this process to end.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// The real clock of an emulation: time since its start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: Instant,
    /// Start time, since 1970.
    epoch: Duration,
}

/// Times of day that an emulation has to meet: UTC is a multiple of `period` and `phase` when its
/// own time is `first`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UtcPhase {
    /// Time since the start of the emulation.
    pub first: Span,
    /// Time after which it repeats; a part of a minute.
    pub period: Span,
    /// Time after a whole minute, modulo `period`.
    pub phase: Span,
}

impl UtcPhase {
    /// Returns how long after `utc`, since 1970, an emulation can start.
    fn wait(&self, utc: Duration) -> Duration {
        let period = self.period.as_nanos().max(1);
        let start = u128::from(self.first.as_nanos()) + utc.as_nanos();
        let late = (start % u128::from(period)) as u64;
        Duration::from_nanos((self.phase.as_nanos() + 2 * period - late) % period)
    }
}

impl Clock {
    /// Creates a clock that starts when UTC is as `phase` says, after a wait of less than its
    /// period. It has that time even if the thread wakes up later.
    ///
    /// # Errors
    /// A signal asked this process to end meanwhile.
    pub fn start_in_phase(phase: UtcPhase) -> Result<Self, EmuError> {
        let Self { begin, epoch } = Self::start();
        let wait = phase.wait(epoch);
        loop {
            Interrupts::check()?;
            let left = wait.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Ok(Self { begin: begin + wait, epoch: epoch + wait });
            }
            std::thread::sleep(left.min(SIGNAL_CHECK));
        }
    }

    /// Creates a clock that starts now.
    pub fn start() -> Self {
        Self {
            begin: Instant::now(),
            epoch: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }

    /// Start time since 1970, for capture files.
    pub fn epoch(&self) -> Duration {
        self.epoch
    }

    /// Time since the start.
    #[inline]
    pub fn now(&self) -> Time {
        // 64 bits hold 584 years in nanoseconds.
        Time::from_nanos(u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Sleeps for `span`.
pub fn pause(span: Span) {
    std::thread::sleep(Duration::from_nanos(span.as_nanos()));
}

/// CPU time of the calling thread.
pub fn thread_time() -> Span {
    clock_gettime(ProcessorClock::CLOCK_THREAD_CPUTIME_ID)
        .map_or(Span::ZERO, |time| Span::from_nanos(Duration::from(time).as_nanos() as u64))
}

/// Wakes a thread after a time span, or earlier if input is available.
///
/// Threads without real-time priority use a timer of their own, because the timeout of `ppoll` may
/// be late by a thousandth of its length (`select_estimate_accuracy` in the kernel): 300 us for a
/// satellite's delay.
#[derive(Debug)]
pub struct WakeTimer {
    timer: Option<TimerFd>,
}

impl WakeTimer {
    /// Creates a timer for a thread with or without real-time priority.
    pub fn new(realtime: bool) -> Result<Self, EmuError> {
        if realtime {
            return Ok(Self { timer: None });
        }
        TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK)
            .map(|timer| Self { timer: Some(timer) })
            .map_err(|error| EmuError::system("timerfd_create", error))
    }

    /// Returns after `span`, or as soon as one of `inputs` is readable, or on a signal.
    pub fn wait(&self, span: Span, inputs: &[BorrowedFd<'_>]) -> Result<(), EmuError> {
        // Zero would disarm the timer.
        let span = TimeSpec::from_duration(Duration::from_nanos(span.as_nanos().max(1)));
        if let Some(timer) = &self.timer {
            timer
                .set(Expiration::OneShot(span), TimerSetTimeFlags::empty())
                .map_err(|error| EmuError::system("timerfd_settime", error))?;
        }
        let timeout = if self.timer.is_some() { None } else { Some(span) };
        let timer = self.timer.as_ref().map(AsFd::as_fd);
        let mut fds: Vec<PollFd<'_>> =
            inputs.iter().chain(&timer).map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
        match ppoll(&mut fds, timeout, None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(EmuError::system("ppoll", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S15 of specs/starlink-as-measured.md: reconfigurations at 12, 27, 42 and 57 s of a minute.
    #[test]
    fn a_clock_in_phase_meets_the_seconds_of_utc() {
        let phase = |first, phase| UtcPhase {
            first: Span::from_millis(first),
            period: Span::from_secs(15),
            phase: Span::from_millis(phase),
        };
        let day = 20_000 * 86_400;
        for (first, utc, waits) in
            [(0, 12_000, 0), (0, 0, 12_000), (4_200, 3_000, 4_800), (14_999, 58_000, 14_001)]
        {
            let utc = Duration::from_secs(day) + Duration::from_millis(utc);
            let wait = phase(first, 12_000).wait(utc);
            assert_eq!(wait, Duration::from_millis(waits), "first change after {first} ms");
        }
        let fast = UtcPhase { period: Span::from_millis(200), ..phase(70, 30) };
        let clock = Clock::start_in_phase(fast).unwrap();
        let first = clock.epoch().as_nanos() + 70_000_000;
        assert_eq!(first % 200_000_000, 30_000_000);
    }
}
