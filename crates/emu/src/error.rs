//! What can go wrong.

use std::io;
use thiserror::Error;

/// Why a path cannot be emulated, or a program not be run on it.
#[derive(Debug, Error)]
pub enum EmuError {
    /// The machine does not let this user make network namespaces or TUN devices.
    #[error("{what}: {source}. Needed: {needed}")]
    NotPermitted {
        /// What was refused.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
        /// What would do.
        needed: &'static str,
    },
    /// The path is one that cannot be emulated.
    #[error("{what}; allowed: {allowed}")]
    Spec {
        /// What is wrong, with the value.
        what: String,
        /// What would do.
        allowed: String,
    },
    /// A system call that should work did not.
    #[error("{what}: {source}")]
    System {
        /// What was being done.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot run `{program}`: {source}")]
    Program {
        /// Its name.
        program: String,
        /// What the kernel said.
        source: io::Error,
    },
}

impl EmuError {
    /// `what` failed with `source`.
    pub fn system(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), source: source.into() }
    }
}
