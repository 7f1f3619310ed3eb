//! The bridge between [`Time`], which every core takes as an argument, and the `Instant` that
//! noq-proto counts in.

use bentpipe_units::{Epoch, Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maps the run's [`Time`] to `Instant`s and back. Two clocks made in one program differ only in
/// their base.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Instant,
}

impl Clock {
    /// A clock whose [`Time::ZERO`] is now.
    ///
    /// This is the one place below the operating-system crates that reads a clock: noq-proto needs
    /// *an* `Instant` to start from, and only differences between instants ever reach the protocol.
    #[allow(clippy::new_without_default, reason = "a default that reads the clock would surprise")]
    pub fn new() -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "the base of virtual time; see the doc comment"
        )]
        Self { base: Instant::now() }
    }

    /// `time` as an `Instant`.
    pub fn instant(&self, time: Time) -> Instant {
        self.base + Duration::from_nanos(time.as_nanos())
    }

    /// `instant` as time since the run began; instants before it become zero.
    pub fn time(&self, instant: Instant) -> Time {
        Time::ZERO + Span::from(instant.saturating_duration_since(self.base))
    }
}

/// Wall time of a simulated world, for what outlives a connection: ticket lifetimes, token
/// lifetimes.
///
/// Shared by every endpoint of a run and moved by whoever drives the run.
#[derive(Debug, Clone)]
pub struct EpochClock {
    nanos: Arc<AtomicU64>,
    start_unix_secs: u64,
}

impl EpochClock {
    /// A clock that says `start_unix_secs` seconds after 1970 when the run begins.
    pub fn new(start_unix_secs: u64) -> Self {
        Self { nanos: Arc::new(AtomicU64::new(0)), start_unix_secs }
    }

    /// Moves the clock to `now`.
    pub fn set(&self, now: Time) {
        self.nanos.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// What the clock says, for path memory and tokens.
    pub fn epoch(&self) -> Epoch {
        Epoch::from_unix_secs(self.start_unix_secs)
            + Span::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    fn since_unix_epoch(&self) -> Duration {
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
    fn time_survives_the_way_to_an_instant_and_back() {
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
