//! How a service is told to stop: by SIGINT or SIGTERM, once to finish what is under way, and again
//! to leave it.

use bentpipe_units::Span;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for those signals, which end nothing by themselves from now on.
pub struct Asked {
    interrupt: Signal,
    terminate: Signal,
}

impl Asked {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits until one comes, or one more.
    pub async fn again(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Says what comes now.
    pub fn tell(&self, connections: usize, drain: Span) {
        eprintln!(
            "stopping: {connections} connections have {drain} to finish; again to stop at once"
        );
    }
}
