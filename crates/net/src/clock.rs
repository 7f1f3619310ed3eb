//! The real clock. No other file of this crate reads the system's clocks; timers are tokio's.
#![allow(clippy::disallowed_methods, reason = "the only file that reads the system's clocks")]

use bentpipe_quic::{Clock, EpochClock};
use bentpipe_units::Time;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The real clock: time since it was made, and Unix time for what outlives a connection.
#[derive(Debug, Clone)]
pub struct RealClock {
    clock: Clock,
    epoch: EpochClock,
}

impl RealClock {
    /// A clock that starts now.
    #[allow(clippy::new_without_default, reason = "a default that reads the clock would surprise")]
    pub fn new() -> Self {
        // A system clock before 1970 counts as 1970: all remembered paths have expired then.
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { clock: Clock::new(), epoch: EpochClock::new(unix) }
    }

    /// Returns the time since the start, and updates [`RealClock::epoch`], which does not jump when
    /// the system's clock is set.
    pub fn now(&self) -> Time {
        let now = self.clock.time(Instant::now());
        self.epoch.set(now);
        now
    }

    /// Converts `time` for the runtime's timers.
    pub fn instant(&self, time: Time) -> Instant {
        self.clock.instant(time)
    }

    /// The clock that endpoints count from.
    pub fn base(&self) -> Clock {
        self.clock
    }

    /// Unix time, for what is saved.
    pub fn epoch(&self) -> EpochClock {
        self.epoch.clone()
    }

    /// The system's time, for logs.
    pub fn system(&self) -> SystemTime {
        SystemTime::now()
    }
}
