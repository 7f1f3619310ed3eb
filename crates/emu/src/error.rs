//! Errors of the emulator.

use nix::sys::signal::Signal;
use std::io;
use thiserror::Error;

/// Error from emulating a path or running a program on it.
#[derive(Debug, Error)]
pub enum EmuError {
    /// The system does not permit this user to create network namespaces or TUN devices.
    #[error("{what}: {source}. Needed: {needed}")]
    NotPermitted {
        /// The refused operation.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// The permission or feature required.
        needed: &'static str,
    },
    /// The path specification is invalid.
    #[error("{what}; allowed: {allowed}")]
    Spec {
        /// The invalid value and what is wrong with it.
        what: String,
        /// The allowed values.
        allowed: String,
    },
    /// An unexpected error of a system call.
    #[error("{what}: {source}")]
    System {
        /// The operation that failed.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A signal asked this process to end, while it waited ([`Interrupts`](crate::Interrupts)).
    #[error("ended by {}", named(*signal))]
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// A program cannot be started.
    #[error("cannot run `{program}`: {source}")]
    Program {
        /// Name of the program.
        program: String,
        /// The kernel's error.
        source: io::Error,
    },
}

impl EmuError {
    /// Creates [`Self::System`] for operation `what` that failed with `source`.
    pub fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), source: source.into() }
    }
}

fn named(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |known| known.to_string())
}
