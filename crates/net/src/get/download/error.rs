//! Errors of downloads.

use super::super::error::ClientError;
use bentpipe_units::Printable;
use http::{StatusCode, Uri};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a download failed. Content that arrived for a file is kept beside it, for the next attempt.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// The output cannot be written. No request was sent.
    #[error("cannot write to {}: {reason}", file.display())]
    Destination {
        /// The output.
        file: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The partial file or its record cannot be used.
    #[error("{}: {reason}", file.display())]
    Partial {
        /// The file.
        file: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The request failed, or its content is incomplete.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server did not send the file.
    #[error("{}: the server answered {status}", Printable(url))]
    Status {
        /// The URL.
        url: String,
        /// The response's status.
        status: StatusCode,
    },
    /// The response contradicts itself or its content.
    #[error("{}: {}", Printable(url), Printable(reason))]
    Response {
        /// The URL.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The file cannot be written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl DownloadError {
    /// Returns the error for an invalid response.
    pub(super) fn response(url: &Uri, reason: String) -> Self {
        Self::Response { url: url.to_string(), reason }
    }

    /// Converts an error of the system to one about `file`.
    pub(super) fn file(file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::File { file, source }
    }
}
