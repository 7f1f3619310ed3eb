//! How slowly a client may send the content of a request.

use crate::admission::activity::Activity;
use bentpipe_units::Rate;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// Time that a client may take in addition to that of the minimum rate. As in Apache
/// (mod_reqtimeout).
const GRACE: Duration = Duration::from_secs(20);

/// The pace of a client. Only time in which the proxy waits for it counts, and not that in which
/// the upstream takes nothing.
#[derive(Debug)]
pub(super) struct Pace {
    /// Minimum rate, bytes per second. 0: none.
    rate: u64,
    received: u64,
    waited: Duration,
    waiting: Option<(Instant, Option<Pin<Box<Sleep>>>)>,
    activity: Arc<Activity>,
    /// Time for which the client may send nothing without being stalled.
    silence: Duration,
}

impl Pace {
    /// Returns the pace of a client that has to send at `min` at least, whose request has
    /// `activity`.
    pub fn new(min: Rate, activity: Arc<Activity>) -> Self {
        let rate = min.as_bps() / 8;
        let (waited, silence) = (Duration::ZERO, Duration::ZERO);
        Self { rate, received: 0, waited, waiting: None, activity, silence }
    }

    /// Returns the pace of a client that may be silent, for `silence` without being stalled.
    pub fn unlimited(activity: Arc<Activity>, silence: Duration) -> Self {
        let mut pace = Self::new(Rate::ZERO, activity);
        pace.silence = silence;
        pace
    }

    /// Notes that the proxy waits for the client. Ready if the client is too slow.
    pub fn poll_too_slow(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_none() {
            self.activity.waits_after(self.silence);
            let allowed = self.allowed().map(|left| Box::pin(sleep(left)));
            self.waiting = Some((Instant::now(), allowed));
        }
        match &mut self.waiting {
            Some((_, Some(timer))) => timer.as_mut().poll(cx),
            _ => Poll::Pending,
        }
    }

    /// Returns the time that it may wait now. `None` without a minimum.
    fn allowed(&self) -> Option<Duration> {
        let time = self.received.saturating_mul(1000).checked_div(self.rate)?;
        Some((GRACE + Duration::from_millis(time)).saturating_sub(self.waited))
    }

    /// Notes that the client has sent some bytes.
    pub fn received(&mut self, bytes: u64) {
        self.received = self.received.saturating_add(bytes);
        if let Some((since, _)) = self.waiting.take() {
            self.waited += since.elapsed();
            self.activity.proceeds();
        }
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.activity.proceeds();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_client_grows_with_what_it_sends_and_shrinks_while_the_proxy_waits() {
        let mut pace = Pace::new(Rate::from_bps(4000), Arc::default());
        let seconds = |pace: &Pace| pace.allowed().map(|time| time.as_secs());
        assert_eq!(seconds(&pace), Some(20));
        pace.received(5000);
        assert_eq!(seconds(&pace), Some(30));
        pace.waited = Duration::from_secs(29);
        assert_eq!(seconds(&pace), Some(1));
        pace.waited = Duration::from_secs(31);
        assert_eq!(seconds(&pace), Some(0));
        assert_eq!(seconds(&Pace::new(Rate::ZERO, Arc::default())), None);
    }

    #[tokio::test]
    async fn a_client_that_waited_too_long_is_too_slow() {
        let activity = Arc::new(Activity::default());
        let mut pace = Pace::new(Rate::from_bps(4000), activity.clone());
        pace.waited = GRACE;
        std::future::poll_fn(|cx| pace.poll_too_slow(cx)).await;
        assert!(activity.stalled_for(Instant::now()).is_some());
        drop(pace);
        assert_eq!(activity.stalled_for(Instant::now()), None);
    }
}
