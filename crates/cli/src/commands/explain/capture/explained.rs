//! A file, and its connection that is explained.

use crate::args::Explain;
use bentpipe_captures::{CaptureError, CapturedConnection, CapturedTransfer, Recording, account};
use bentpipe_lab::LabError;
use std::path::Path;

/// A file, the connection of it that is explained, and its account.
pub(super) struct Explained {
    pub recording: Recording,
    pub trace: CapturedConnection,
    pub recorded: CapturedTransfer,
}

impl Explained {
    pub fn of(recording: Recording, path: &Path, args: &Explain) -> Result<Self, LabError> {
        let unreadable = |error: CaptureError| LabError::read(path, error);
        let trace = match args.connection {
            Some(number) => recording.read(number.get() - 1),
            None => recording.largest(),
        };
        let trace = trace.map_err(unreadable)?;
        let recorded = account(&trace, args.rate).map_err(unreadable)?;
        Ok(Self { recording, trace, recorded })
    }
}
