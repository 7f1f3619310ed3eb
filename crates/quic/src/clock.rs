//! Conversion between [`Time`], which every core takes as an argument, and the `Instant` of
//! noq-proto.

use bentpipe_units::{Epoch, Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use web_time::{Instant, SystemTime, UNIX_EPOCH};

/// Converts a run's [`Time`] to an `Instant` and back. Two clocks of one program differ only in
/// their base.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock whose [`Time::ZERO`] is now.
    ///
    /// The only place below the operating-system crates that reads a clock: noq-proto needs *an*
    /// `Instant` to start from, and only differences between instants reach the protocol.
    #[allow(clippy::new_without_default, reason = "a default that reads the clock would surprise")]
    pub fn new() -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "the base of virtual time; see the doc comment"
        )]
        Self { base: Instant::now() }
    }

    /// Converts `time` to an `Instant`.
    pub fn instant(&self, time: Time) -> Instant {
        self.base + Duration::from_nanos(time.as_nanos())
    }

    /// Converts `instant` to the time since the run began; instants before it become zero.
    pub fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Span::from(instant.saturating_duration_since(self.base))
    }
}

/// Time of day of a run, for the lifetimes of tickets, tokens and saved parameters.
///
/// Every endpoint of a run shares it, and the driver of the run advances it.
#[derive(Debug, Clone)]
pub struct EpochClock {
    nanos: Arc<AtomicU64>,
    start_unix_secs: u64,
}

impl EpochClock {
    /// A clock that starts the run at `start_unix_secs` seconds after 1970.
    pub fn new(start_unix_secs: u64) -> Self {
        Self { nanos: Arc::new(AtomicU64::new(0)), start_unix_secs }
    }

    /// Advances the clock to `now`.
    pub fn set(&self, now: Time) {
        self.nanos.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// Returns the time of day.
    pub fn epoch(&self) -> Epoch {
        Epoch::from_unix_secs(self.start_unix_secs)
            + Span::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    pub(crate) fn since_unix_epoch(&self) -> Duration {
        Duration::from_secs(self.start_unix_secs)
            + Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

impl rustls::time_provider::TimeProvider for EpochClock {
    fn current_time(&self) -> Option<rustls::pki_types::UnixTime> {
        Some(rustls::pki_types::UnixTime::since_unix_epoch(self.since_unix_epoch()))
    }
}

impl noq_proto::TimeSource for EpochClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + self.since_unix_epoch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_converts_to_an_instant_and_back() {
        let clock = Clock::new();
        let time = Time::from_nanos(123_456_789_012);
        assert_eq!(clock.time(clock.instant(time)), time);
    }

    #[test]
    fn the_epoch_moves_with_the_run() {
        let epoch = EpochClock::new(1_700_000_000);
        epoch.set(Time::from_secs(5));
        assert_eq!(epoch.epoch(), Epoch::from_unix_secs(1_700_000_005));
        assert_eq!(
            noq_proto::TimeSource::now(&epoch),
            UNIX_EPOCH + Duration::from_secs(1_700_000_005)
        );
    }
}
