//! SQLite files of this crate: opening them, and their errors.

use super::open_error::OpenError;
use bentpipe_quic::path_memory::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// Time that a call waits for another process. Each process locks the file for one small
/// transaction, about a millisecond.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Remedy for a full disk.
const DISK_FULL: &str = "free some space on its disk";

/// Opens `file`. Creates it and its directories if necessary, readable by its owner only.
pub(crate) fn open(file: &Path) -> Result<Connection, OpenError> {
    let no_file = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            OpenError::Unavailable(storage(file, &error.to_string(), DISK_FULL))
        }
        _ => {
            let remedy = "name a file that can be written";
            OpenError::Refused(storage(file, &error.to_string(), remedy))
        }
    };
    if let Some(directory) = file.parent() {
        bentpipe_files::create_named_dir(directory).map_err(no_file)?;
    }
    bentpipe_files::ensure_private(file).map_err(no_file)?;
    let real = bentpipe_files::with_real_parent(file).map_err(no_file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let opened = Connection::open_with_flags(real, flags).and_then(|database| {
        database.busy_timeout(BUSY_TIMEOUT)?;
        Ok(database)
    });
    opened.map_err(|error| OpenError::Unavailable(failed(file, &error)))
}

/// Returns the error about `file`, with what to do.
pub(crate) fn storage(file: &Path, reason: &str, remedy: &str) -> StoreError {
    StoreError::Storage {
        place: file.display().to_string(),
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// Returns the error for a file with invalid content.
pub(crate) fn damaged(file: &Path, reason: &str) -> StoreError {
    // The user may have mistyped the name of the file, so the text is not just "delete it".
    let remedy = "if it is a path store, delete it and all files whose names begin with its name, \
        and paths are learned anew; if not, name another file";
    storage(file, reason, remedy)
}

/// Returns the error of the store for an error of SQLite.
pub(crate) fn failed(file: &Path, error: &rusqlite::Error) -> StoreError {
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => storage(
            file,
            &reason,
            "another process has it locked; try again when that process has ended",
        ),
        Some(ErrorCode::DiskFull) => storage(file, &reason, DISK_FULL),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure,
        ) => storage(
            file,
            &reason,
            "check that it and its directory are on a local disk and can be written",
        ),
        _ => damaged(file, &reason),
    }
}
