//! A file, and its connection that is explained.

use crate::args::Explain;
use bentpipe_captures::{
    CaptureError, CapturedConnection, CapturedTransfer, Recording, Side, account, account_of_both,
    is_same_connection,
};
use bentpipe_lab::LabError;
use std::path::Path;
use std::sync::Arc;

/// Most connections of a file among which the other end of a connection is looked for.
const MAX_TRIES: usize = 1000;

/// A file, the connection of it that is explained, and its account.
pub(super) struct Explained {
    pub recording: Recording,
    /// Index of the connection in the recording.
    pub index: usize,
    pub trace: Arc<CapturedConnection>,
    /// The connection at the end whose times the account has.
    pub timed: Arc<CapturedConnection>,
    /// The end whose file the account is of.
    pub side: Side,
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
        let side = trace.side;
        let timed = Arc::clone(&trace);
        Ok(Self { recording, index, trace, timed, side, recorded })
    }

    /// Returns the connection of another file that is this one at its other end; `None` if it has
    /// none.
    pub fn other_end(&self, recording: &Recording) -> Option<Arc<CapturedConnection>> {
        if self.trace.ids.is_empty() {
            return None;
        }
        let connections = 0..recording.connections().len().min(MAX_TRIES);
        let mut read = connections.filter_map(|index| recording.read(index).ok());
        read.find(|other| is_same_connection(&self.trace, other) && self.trace.side != other.side)
    }

    /// Explains the connection with what its other end recorded in `path`. Returns false if the
    /// files do not have the packets of one transfer.
    pub fn join(
        &mut self,
        other: &Arc<CapturedConnection>,
        path: &Path,
        args: &Explain,
    ) -> Result<bool, LabError> {
        if self.trace.is_encrypted != other.is_encrypted {
            let reason = "the connection is that of the first file at its other end, and the \
                packets of one of them are encrypted; needed: the keys of both (`--keys`), or of \
                none";
            return Err(LabError::read(path, reason));
        }
        // Simulated connections have the same names in every run.
        let Ok(joined) = account_of_both(&self.trace, other, args.rate) else { return Ok(false) };
        self.recorded = joined;
        // The account is that of the sender of the data.
        let is_here = self.recorded.is_upload == (self.trace.side == Side::Client);
        if !is_here {
            self.side = other.side;
            self.timed = Arc::clone(other);
        }
        self.recorded.notes.push(
            "the clocks of the two files are aligned by the shortest times there and back, as if \
             these were equal"
                .to_owned(),
        );
        Ok(true)
    }
}
