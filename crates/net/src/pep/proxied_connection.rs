//! A connection from when it is known where it goes: counted and logged when it is over, however it
//! ends.

use super::Shared;
use super::log::{How, Line, Outcome};
use super::refusal::Refusal;
use super::relay::{End, Moved};
use super::target::Target;
use bentpipe_units::Time;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

/// A connection under way.
#[derive(Debug)]
pub(super) struct ProxiedConnection {
    shared: Arc<Shared>,
    client: SocketAddr,
    how: How,
    target: Target,
    server: Option<SocketAddr>,
    began: (Time, SystemTime),
    moved: Moved,
    fate: Outcome,
}

impl ProxiedConnection {
    /// One that begins.
    pub fn begin(shared: &Arc<Shared>, client: SocketAddr, how: How, target: Target) -> Self {
        let began = (shared.clock.now(), shared.clock.system());
        let moved = Moved::default();
        Self {
            shared: shared.clone(),
            client,
            how,
            target,
            server: None,
            began,
            moved,
            fate: Outcome::Stopped,
        }
    }

    /// Where it is led to.
    pub fn reached(&mut self, server: SocketAddr) {
        self.server = Some(server);
    }

    /// It was not led on.
    pub fn refused(&mut self, refusal: Refusal) {
        self.fate = Outcome::Refused(refusal);
    }

    /// It was led on, and has ended.
    pub fn ended(&mut self, end: End) {
        self.fate = Outcome::Ended(end);
    }

    /// What was led on so far.
    pub const fn moved(&self) -> &Moved {
        &self.moved
    }
}

impl Drop for ProxiedConnection {
    fn drop(&mut self) {
        let metrics = &self.shared.metrics;
        let (up, down) = (self.moved.up.load(Relaxed), self.moved.down.load(Relaxed));
        metrics.bytes_up.fetch_add(up, Relaxed);
        metrics.bytes_down.fetch_add(down, Relaxed);
        let counter = match self.fate {
            Outcome::Ended(End::Complete) => &metrics.complete,
            Outcome::Ended(End::Idle) => &metrics.idle,
            Outcome::Ended(End::StreamError(..)) | Outcome::Stopped => &metrics.cut,
            Outcome::Refused(Refusal::NotAllowed) => &metrics.not_allowed,
            Outcome::Refused(_) => &metrics.unreachable,
        };
        counter.fetch_add(1, Relaxed);
        let Some(log) = &self.shared.log else { return };
        let line = Line {
            client: self.client,
            time: self.began.1,
            how: self.how,
            target: self.target.clone(),
            server: self.server,
            up,
            down,
            took: self.shared.clock.now().since(self.began.0).into(),
            fate: self.fate,
        };
        if !log.write(line) {
            metrics.log_lost.fetch_add(1, Relaxed);
        }
    }
}
