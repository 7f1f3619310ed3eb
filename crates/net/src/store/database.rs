//! SQLite files of this crate: opening and preparing them, and their errors.

use super::open_error::OpenError;
use bentpipe_quic::path_memory::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
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

/// Lets changes of a file go to a log first, so that a killed process loses none, and no change
/// waits for the disk. Of processes that open a new file at once, one does it for all.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn log_ahead(database: &Connection) -> rusqlite::Result<()> {
    match database.pragma_update(None, "journal_mode", "WAL") {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
        other => other?,
    }
    database.pragma_update(None, "synchronous", "NORMAL")
}

/// Makes `tables` where they are missing, in a file that is new or has this `application_id`.
/// Returns false, and changes nothing, if it is another program's.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn prepare(
    database: &Connection,
    application: i64,
    tables: &str,
) -> rusqlite::Result<bool> {
    // One process after another, so that none finds the tables of another without its mark.
    let transaction = Transaction::new_unchecked(database, TransactionBehavior::Immediate)?;
    let number = |query| transaction.query_row(query, [], |row| row.get::<_, i64>(0));
    let found = number("PRAGMA application_id")?;
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    if found != application && (found, objects) != (0, 0) {
        return Ok(false);
    }
    transaction.execute_batch(tables)?;
    if found != application {
        transaction.pragma_update(None, "application_id", application)?;
    }
    transaction.commit().map(|()| true)
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
