//! Why a server could not be handed over.

use crate::steering::GENERATIONS;
use std::io;

/// Why a server could not be handed over, or taken over.
#[derive(Debug, thiserror::Error)]
pub enum HandOverError {
    /// The other process ended, or the system failed.
    #[error("the other process does not answer: {0}")]
    Io(#[from] io::Error),
    /// The other process said something else, for example because it is of another version.
    #[error("the other process says {said:?}; expected: {expected:?}")]
    Unexpected {
        /// What it said, or its beginning.
        said: String,
        /// What was expected.
        expected: &'static str,
    },
    /// Too many processes of this address still have connections.
    #[error(
        "{0} processes before this one still have connections; allowed: at most {most}",
        most = GENERATIONS - 1
    )]
    Generations(usize),
    /// The server has sockets that cannot be handed over.
    #[error("a server over TCP cannot be handed over")]
    Tcp,
}

impl HandOverError {
    pub(super) fn unexpected(said: &[u8], expected: &'static str) -> Self {
        let said = said.get(..said.len().min(100)).unwrap_or_default();
        Self::Unexpected { said: String::from_utf8_lossy(said).into_owned(), expected }
    }
}
