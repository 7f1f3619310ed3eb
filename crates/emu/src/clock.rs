//! The only module of this crate that reads a clock or sleeps.
#![allow(clippy::disallowed_methods)]

use crate::error::EmuError;
use bentpipe_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as ProcessorClock, clock_gettime};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The real clock of an emulation: time since its start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: Instant,
    /// Start time, since 1970.
    epoch: Duration,
}

impl Clock {
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
