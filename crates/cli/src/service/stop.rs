//! Signals of a service: the first SIGINT or SIGTERM lets connections finish, the second ends it at
//! once, and SIGHUP reloads files.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Receives these signals, which no longer end the process by themselves.
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// SIGHUP, if there are files to reload. Otherwise it ends the process.
    hangup: Option<Signal>,
}

/// What a signal asks of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceSignal {
    /// To stop.
    Stop,
    /// To read its files again.
    Reload,
}

impl StopSignals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: None,
        })
    }

    /// As [`StopSignals::new`], for a service that reloads files on SIGHUP.
    pub fn with_reload() -> io::Result<Self> {
        Ok(Self { hangup: Some(signal(SignalKind::hangup())?), ..Self::new()? })
    }

    /// Waits for a signal to stop or to reload files.
    pub async fn stop_or_reload(&mut self) -> ServiceSignal {
        let Self { interrupt, terminate, hangup } = self;
        let reload = async {
            match hangup {
                Some(hangup) => _ = hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => ServiceSignal::Stop,
            _ = terminate.recv() => ServiceSignal::Stop,
            () = reload => ServiceSignal::Reload,
        }
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
