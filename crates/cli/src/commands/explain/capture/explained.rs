//! A file, and its connection that is explained.

use crate::args::Explain;
use bentpipe_captures::{CaptureError, CapturedConnection, CapturedTransfer, Recording, account};
use bentpipe_lab::LabError;
use std::path::Path;

/// A file, the connection of it that is explained, and its account.
pub(super) struct Explained {
    pub recording: Recording,
    /// Index of the connection in the recording.
    pub index: usize,
    pub trace: CapturedConnection,
    pub recorded: CapturedTransfer,
}

impl Explained {
    pub fn of(recording: Recording, path: &Path, args: &Explain) -> Result<Self, LabError> {
        let unreadable = |error: CaptureError| LabError::read(path, error);
        let chosen = args.connection.map(|number| number.get() - 1);
        let read = match chosen {
            Some(index) => recording.read(index).map(|trace| (index, trace)),
            None => recording.largest(),
        };
        let (index, trace) = read.map_err(unreadable)?;
        let recorded = account(&trace, args.rate).map_err(unreadable)?;
        Ok(Self { recording, index, trace, recorded })
    }
}
