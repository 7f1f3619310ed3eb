//! Whether a request waits for its client, by which its slot may be taken back under pressure.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

/// A request that waits for its client is stalled: the client sends nothing, or takes nothing of
/// the response. Time in which the server or an upstream works does not count.
#[derive(Debug)]
pub(crate) struct Activity {
    created: Instant,
    /// Since when it waits for its client, in ms after `created` and plus 1. 0: it does not wait.
    waits_since: AtomicU64,
    revoked: AtomicBool,
    revocation: Notify,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            created: Instant::now(),
            waits_since: AtomicU64::new(0),
            revoked: AtomicBool::new(false),
            revocation: Notify::new(),
        }
    }
}

impl Activity {
    fn set(&self, since: Instant) {
        let since = since.duration_since(self.created).as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX).saturating_add(1);
        self.waits_since.store(since, Ordering::Relaxed);
    }

    /// Notes that the request waits for its client from now on. Each call starts the time anew.
    pub fn waits(&self) {
        self.set(Instant::now());
    }

    /// As [`Activity::waits`], for a request whose client may be silent for `silence` without
    /// being stalled.
    pub fn waits_after(&self, silence: Duration) {
        self.set(Instant::now() + silence);
    }

    /// Notes that the request does not wait for its client.
    pub fn proceeds(&self) {
        self.waits_since.store(0, Ordering::Relaxed);
    }

    /// Returns how long the request has waited for its client. `None` if it does not.
    pub fn stalled_for(&self, now: Instant) -> Option<Duration> {
        let since = self.waits_since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(now.saturating_duration_since(self.created + Duration::from_millis(since)))
    }

    /// Takes the request's slot back: whoever serves it has to end it.
    pub fn revoke(&self) {
        self.revoked.store(true, Ordering::Release);
        self.revocation.notify_waiters();
    }

    /// Waits until the slot is taken back.
    pub async fn revoked(&self) {
        loop {
            // Created before the check, so that no notification is missed in between.
            let notified = self.revocation.notified();
            if self.revoked.load(Ordering::Acquire) {
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn only_time_spent_waiting_for_the_client_counts() {
        let activity = Activity::default();
        let stalled = |seconds: u64| {
            let now = activity.created + Duration::from_millis(seconds * 1000 + 500);
            activity.stalled_for(now).map(|time| time.as_secs())
        };
        assert_eq!(stalled(9), None);
        activity.waits();
        assert_eq!(stalled(9), Some(9));
        activity.waits_after(Duration::from_secs(5));
        assert_eq!((stalled(4), stalled(9)), (Some(0), Some(4)));
        activity.proceeds();
        assert_eq!(stalled(9), None);
    }

    #[tokio::test]
    async fn a_revocation_reaches_those_who_wait_and_those_who_ask_later() {
        let activity = Arc::new(Activity::default());
        let waiting = [activity.clone(), activity.clone()]
            .map(|activity| tokio::spawn(async move { activity.revoked().await }));
        tokio::task::yield_now().await;
        activity.revoke();
        for waiting in waiting {
            waiting.await.unwrap();
        }
        activity.revoked().await;
    }
}
