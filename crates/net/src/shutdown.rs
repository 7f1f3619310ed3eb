//! Shutdown in two steps: gracefully, so that clients can finish, then hard.

use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// Interval between two looks at the number of connections that are left.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Running,
    Graceful,
    Hard,
}

/// Starts a shutdown. Dropping it counts as a hard shutdown.
#[derive(Debug)]
pub(crate) struct Shutdown(watch::Sender<Stage>);

/// Waits for a shutdown. Clones wait for the same one.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownSignal(watch::Receiver<Stage>);

impl Shutdown {
    pub fn new() -> Self {
        Self(watch::Sender::new(Stage::Running))
    }

    /// Returns the signal for tasks.
    pub fn signal(&self) -> ShutdownSignal {
        ShutdownSignal(self.0.subscribe())
    }

    /// Asks tasks to finish their work and to start nothing new.
    pub fn start(&self) {
        self.0.send_modify(|stage| *stage = (*stage).max(Stage::Graceful));
    }

    /// Asks tasks to end at once.
    pub fn force(&self) {
        self.0.send_replace(Stage::Hard);
    }
}

impl ShutdownSignal {
    /// Waits until a shutdown starts.
    pub async fn started(&mut self) {
        // The error means that the sender is gone: a hard shutdown.
        let _ = self.0.wait_for(|stage| *stage >= Stage::Graceful).await;
    }

    /// Waits until the shutdown is hard.
    pub async fn forced(&mut self) {
        let _ = self.0.wait_for(|stage| *stage == Stage::Hard).await;
    }
}

/// Waits until `connections` returns 0, for at most `limit`. Returns the number that is left.
pub(crate) async fn drain(connections: impl Fn() -> usize, limit: Duration) -> usize {
    let deadline = Instant::now() + limit;
    while connections() > 0 && Instant::now() < deadline {
        sleep(POLL_INTERVAL).await;
    }
    connections()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn a_graceful_shutdown_becomes_a_hard_one_and_never_the_other_way_round() {
        let shutdown = Shutdown::new();
        let mut signal = shutdown.signal();
        assert!(signal.started().now_or_never().is_none());
        shutdown.start();
        assert!(signal.clone().started().now_or_never().is_some());
        assert!(signal.forced().now_or_never().is_none());
        shutdown.force();
        shutdown.start();
        assert!(signal.forced().now_or_never().is_some());
    }

    #[test]
    fn a_dropped_sender_is_a_hard_shutdown() {
        let mut signal = Shutdown::new().signal();
        assert!(signal.started().now_or_never().is_some());
        assert!(signal.forced().now_or_never().is_some());
    }
}
