//! A connection with a known destination. It is counted and logged when it ends.

use super::connection_log::{ConnectionLine, Origin, Outcome};
use super::metrics::Metrics;
use super::refusal::Refusal;
use super::relay::{End, Progress};
use super::target::Target;
use crate::clock::RealClock;
use crate::logging::LogWriter;
use bentpipe_units::Time;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

/// Counts and logs connections.
#[derive(Debug)]
pub(super) struct Recorder {
    pub clock: RealClock,
    pub metrics: Arc<Metrics>,
    pub log: Option<LogWriter<ConnectionLine>>,
}

/// A connection under way.
#[derive(Debug)]
pub(super) struct ProxiedConnection {
    recorder: Arc<Recorder>,
    client: SocketAddr,
    origin: Origin,
    target: Target,
    server: Option<SocketAddr>,
    started: (Time, SystemTime),
    progress: Progress,
    outcome: Outcome,
}

impl ProxiedConnection {
    /// Starts a connection. Without another outcome, it ends as [`Outcome::Stopped`].
    pub fn start(
        recorder: &Arc<Recorder>,
        client: SocketAddr,
        origin: Origin,
        target: Target,
    ) -> Self {
        Self {
            recorder: recorder.clone(),
            client,
            origin,
            target,
            server: None,
            started: (recorder.clock.now(), recorder.clock.system()),
            progress: Progress::default(),
            outcome: Outcome::Stopped,
        }
    }

    /// Sets the address of the server that was reached.
    pub fn set_server(&mut self, server: SocketAddr) {
        self.server = Some(server);
    }

    /// Records that the connection was not forwarded.
    pub fn refused(&mut self, refusal: Refusal) {
        self.outcome = Outcome::Refused(refusal);
    }

    /// Records that the connection was forwarded and has ended.
    pub fn ended(&mut self, end: End) {
        self.outcome = Outcome::Ended(end);
    }

    /// Returns the bytes that were forwarded so far.
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for ProxiedConnection {
    fn drop(&mut self) {
        let Recorder { clock, metrics, log } = &*self.recorder;
        let (up, down) = (self.progress.up.load(Relaxed), self.progress.down.load(Relaxed));
        metrics.bytes_up.fetch_add(up, Relaxed);
        metrics.bytes_down.fetch_add(down, Relaxed);
        let counter = match self.outcome {
            Outcome::Ended(End::Complete) => &metrics.complete,
            Outcome::Ended(End::Idle) => &metrics.idle,
            Outcome::Ended(End::StreamError(..)) | Outcome::Stopped => &metrics.cut,
            Outcome::Refused(Refusal::NotAllowed) => &metrics.not_allowed,
            Outcome::Refused(_) => &metrics.unreachable,
        };
        counter.fetch_add(1, Relaxed);
        let Some(log) = log else { return };
        log.write(ConnectionLine {
            client: self.client,
            time: self.started.1,
            origin: self.origin,
            target: self.target.clone(),
            server: self.server,
            up,
            down,
            duration: clock.now().since(self.started.0).into(),
            outcome: self.outcome,
        });
    }
}
