//! A recording that a direction uses.

use super::column::Gap;
use super::file::RecordedFile;
use crate::input_files::ReadFiles;
use crate::rate::delivery_trace::DeliveryTrace;
use crate::{ConfigError, LinkError};
use bentpipe_units::{Epoch, Span};
use std::path::{Path, PathBuf};

/// A file that a direction replays.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedSource {
    /// The file, relative to the scenario.
    pub file: PathBuf,
    /// Time from its start to its end.
    pub length: Span,
    /// Its start in UTC, if it is known.
    pub start: Option<Epoch>,
    /// First place at which something was not measured for more than five steps.
    pub gap: Option<Gap>,
    /// True for a trace of delivery opportunities, which has neither gaps nor a start.
    pub is_trace: bool,
}

/// Returns the error that a file has no `column`.
pub(crate) fn missing(files: &dyn ReadFiles, name: &Path, column: &str) -> LinkError {
    let allowed = "a file that has the column";
    let error = ConfigError::refused(column, "is no column of this recording", allowed);
    LinkError::Trace { path: files.location(name), line: 1, error }
}

impl RecordedSource {
    pub(crate) fn of_file(name: &Path, file: &RecordedFile, gap: Option<Gap>) -> Self {
        let (length, start) = (file.length, file.start);
        Self { file: name.to_owned(), length, start, gap, is_trace: false }
    }

    pub(crate) fn of_trace(name: &Path, trace: &DeliveryTrace) -> Self {
        let length = trace.period();
        Self { file: name.to_owned(), length, start: None, gap: None, is_trace: true }
    }
}
