//! Errors of a run.

use bentpipe_orbit::OrbitError;
use bentpipe_quic::SettingsError;
use bentpipe_quic::tls::TlsError;
use thiserror::Error;

/// Errors of a run.
#[derive(Debug, Error)]
pub enum SimError {
    /// The caller stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// A setting that QUIC does not support.
    #[error("flow `{flow}`: {source}")]
    Settings {
        /// The flow.
        flow: String,
        /// The invalid setting.
        source: SettingsError,
    },
    /// TLS could not be configured.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The stack refused to open a connection.
    #[error("flow `{flow}`: cannot connect: {reason}")]
    Connect {
        /// The flow.
        flow: String,
        /// The reason given by the stack.
        reason: String,
    },
    /// A satellite cannot be propagated, or a step is zero.
    #[error(transparent)]
    Orbit(#[from] OrbitError),
    /// The specification is invalid: for example a path without hops, an unknown terminal, or a
    /// proxy in a mesh.
    #[error("{0}")]
    Spec(String),
    /// A result is physically impossible: a bug in Bentpipe.
    #[error("impossible result, check `{check}`: {what}: expected {expected}, measured {measured}")]
    Physics {
        /// The check that failed.
        check: &'static str,
        /// The compared quantity.
        what: String,
        /// The expected value.
        expected: String,
        /// The actual value.
        measured: String,
    },
    /// The capture could not be written.
    #[error("capture: {0}")]
    Capture(String),
}
