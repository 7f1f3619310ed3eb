//! Errors of the emulator.

use std::io;
use thiserror::Error;

/// Why a path cannot be emulated or a program cannot run on it.
#[derive(Debug, Error)]
pub enum EmuError {
    /// The system does not let this user create network namespaces or TUN devices.
    #[error("{what}: {source}. Needed: {needed}")]
    NotPermitted {
        /// The operation refused.
        what: &'static str,
        /// The error of the kernel.
        source: io::Error,
        /// What is needed.
        needed: &'static str,
    },
    /// The path cannot be emulated.
    #[error("{what}; allowed: {allowed}")]
    Spec {
        /// What is wrong, with the value.
        what: String,
        /// What is needed.
        allowed: String,
    },
    /// An unexpected error of a system call.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot run `{program}`: {source}")]
    Program {
        /// Name of the program.
        program: String,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl EmuError {
    /// `what` failed with `source`.
    pub fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), source: source.into() }
    }
}
