//! The clocks: the one place of this crate that looks at them.
#![allow(clippy::disallowed_methods, reason = "the crate's one place that looks at clocks")]

use bentpipe_quic::{Clock, EpochClock};
use bentpipe_units::Time;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Time since the program's endpoint began, and wall time beside it for what outlives a connection.
#[derive(Debug, Clone)]
pub struct WallClock {
    clock: Clock,
    epoch: EpochClock,
}

impl WallClock {
    /// Clocks that begin now.
    #[allow(clippy::new_without_default, reason = "a default that reads the clock would surprise")]
    pub fn new() -> Self {
        // A clock set before 1970 counts as 1970: nothing that is remembered would be current then.
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { clock: Clock::new(), epoch: EpochClock::new(unix) }
    }

    /// What time it is. Wall time, as [`WallClock::epoch`] has it, follows: it does not jump when
    /// the system's is set.
    pub fn now(&self) -> Time {
        let now = self.clock.time(Instant::now());
        self.epoch.set(now);
        now
    }

    /// `time` as the runtime's timers want it.
    pub fn instant(&self, time: Time) -> Instant {
        self.clock.instant(time)
    }

    /// The base that endpoints count from.
    pub fn base(&self) -> Clock {
        self.clock
    }

    /// Wall time, for what is saved.
    pub fn epoch(&self) -> EpochClock {
        self.epoch.clone()
    }

    /// The system's own wall time, for logs.
    pub fn system(&self) -> SystemTime {
        SystemTime::now()
    }
}
