//! Stopping a service by SIGINT or SIGTERM: the first lets connections finish, the second ends it
//! at once.

use bentpipe_units::Span;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives these signals, which no longer end the process by themselves.
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Prints that the service stops.
    pub fn announce_stop(&self, connections: usize, drain: Span) {
        eprintln!(
            "stopping: {connections} connections have {drain} to finish; signal again to stop at \
             once"
        );
    }
}
