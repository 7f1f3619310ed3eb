//! Why the file of a path store cannot be opened, and whether a server can do without it.

use bentpipe_quic::path_memory::StoreError;

/// Why the file of a path store cannot be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// The file is not one of this program's, or no file can have this name. The operator named the
    /// wrong file.
    Refused(StoreError),
    /// The file is damaged or locked, or its disk is full or fails. A server can serve without it.
    Unavailable(StoreError),
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Refused(error) | OpenError::Unavailable(error) => error,
        }
    }
}
