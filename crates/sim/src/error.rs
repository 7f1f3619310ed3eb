//! Why a run cannot be made or finished.

use bentpipe_orbit::OrbitError;
use bentpipe_quic::SettingsError;
use bentpipe_quic::tls::TlsError;
use thiserror::Error;

/// Why a run cannot be made or finished.
#[derive(Debug, Error)]
pub enum SimError {
    /// The run was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A setting that QUIC cannot express.
    #[error("flow `{flow}`: {source}")]
    Settings {
        /// The flow.
        flow: String,
        /// What is wrong.
        source: SettingsError,
    },
    /// No TLS configuration.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The stack refused to begin a connection.
    #[error("flow `{flow}`: cannot connect: {reason}")]
    Connect {
        /// The flow.
        flow: String,
        /// What the stack said.
        reason: String,
    },
    /// A satellite that cannot be followed, a step of no length.
    #[error(transparent)]
    Orbit(#[from] OrbitError),
    /// A path without hops, a flow without a terminal of its own, a capture of an unknown hop, a proxy in a mesh.
    #[error("{0}")]
    Spec(String),
    /// What a run found cannot be: a bug in Bentpipe.
    #[error("what the run found cannot be ({check}): {what}: expected {expected}, measured {measured}")]
    Physics {
        /// The check that it does not pass.
        check: &'static str,
        /// What was compared.
        what: String,
        /// What it should be.
        expected: String,
        /// What it is.
        measured: String,
    },
    /// The capture could not be put together.
    #[error("capture: {0}")]
    Capture(String),
}
