//! Results of runs in an SQLite file.
//!
//! A run that was recorded has two rows: its results, and its time series and files. Another
//! scenario that records something else of the same run shares the first.
//!
//! Every row is written by a transaction of its own in write-ahead mode, so the file is whole after
//! a process is killed at any point, and several processes may use it at once.

use super::RunStore;
use super::stored_run::{StoredRun, decode_recording, decode_run, encode_recording, encode_run};
use crate::plan::{Plan, Task};
use crate::task_id::{ENGINE, TaskId};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Name of the file in the directory of a store. It has the version of the tables, so that versions
/// of Bentpipe with other tables have another file.
const FILE: &str = "results-1.sqlite";
/// Version of the tables. A file with this name and another version is not a store.
const FORMAT: i64 = 1;
/// Time that a call waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Default size above which the rows that have not been used for longest are removed.
const DEFAULT_LIMIT: u64 = 4_000_000_000;
/// Bytes written between two checks of the size.
const CHECK_AFTER: u64 = 64 << 20;
/// Fraction of the limit that remains after old rows have been removed.
const KEPT: f64 = 0.8;
/// A use is noted if the last one was noted longer ago than this, in seconds.
const USE_INTERVAL_S: i64 = 3600;

/// A store that cannot be used.
#[derive(Debug, Error)]
#[error("the result store {}: {reason}; {remedy}", file.display())]
pub struct StoreError {
    /// The file.
    pub file: PathBuf,
    /// The reason.
    pub reason: String,
    /// What to do.
    pub remedy: &'static str,
}

/// What a store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSummary {
    /// The file.
    pub file: PathBuf,
    /// Number of runs with results.
    pub runs: u64,
    /// Number of runs with time series or other files.
    pub recordings: u64,
    /// Number of runs of other versions of the simulator, which this one does not reuse.
    pub other_engines: u64,
    /// Size of all rows in bytes.
    pub bytes: u64,
    /// Size above which old rows are removed, in bytes.
    pub limit: u64,
}

/// Kind of a row.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Run = 0,
    Recording = 1,
}

/// The result store of a user, in an SQLite file.
#[derive(Debug)]
pub struct ResultStore {
    file: PathBuf,
    database: Mutex<Connection>,
    limit: u64,
    /// Bytes written since the size was last checked.
    written: AtomicU64,
    /// True once a record could not be written.
    failed: AtomicBool,
}

impl ResultStore {
    /// Returns the default directory: `bentpipe` in `$XDG_CACHE_HOME`, or in `$HOME/.cache` if that
    /// variable is not set. `None` if neither holds an absolute path.
    pub fn default_directory() -> Option<PathBuf> {
        let absolute = |name| {
            std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME");
        cache.or_else(|| Some(absolute("HOME")?.join(".cache"))).map(|path| path.join("bentpipe"))
    }

    /// Opens the store in `directory`. Creates both if necessary, readable by their owner only.
    ///
    /// # Errors
    /// The file cannot be written, is not a store, or is one of another version.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let file = directory.join(FILE);
        let remedy = "name another directory, or run without a store";
        let no_file = |error: std::io::Error| StoreError {
            file: file.clone(),
            reason: error.to_string(),
            remedy,
        };
        bentpipe_files::create_named_dir(directory).map_err(no_file)?;
        bentpipe_files::ensure_private(&file).map_err(no_file)?;
        let opened = bentpipe_files::with_real_parent(&file).map_err(no_file)?;
        let failed = |error: rusqlite::Error| StoreError {
            file: file.clone(),
            reason: error.to_string(),
            remedy: "if it is a result store, delete it and all files whose names begin with its \
                name: runs are computed again",
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let database = Connection::open_with_flags(opened, flags).map_err(failed)?;
        let limit = prepare(&database).map_err(failed)?;
        let Some(limit) = limit else {
            return Err(StoreError {
                file,
                reason: "it is a database, and not a result store".to_owned(),
                remedy: "move it away, or name another directory",
            });
        };
        Ok(Self {
            file,
            database: Mutex::new(database),
            limit,
            written: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        })
    }

    /// Returns what the store has.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn summary(&self) -> Result<StoreSummary, StoreError> {
        let count = "SELECT count(*) FILTER (WHERE kind = 0), count(*) FILTER (WHERE kind = 1), \
            count(*) FILTER (WHERE kind = 0 AND engine <> ?1), coalesce(sum(bytes), 0) FROM record";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(StoreSummary {
                file: self.file.clone(),
                runs: row.get(0)?,
                recordings: row.get(1)?,
                other_engines: row.get(2)?,
                bytes: row.get(3)?,
                limit: self.limit,
            })
        };
        self.database().query_row(count, [ENGINE], read).map_err(|error| self.error(&error))
    }

    /// Removes all rows, or only those of other versions of the simulator, and returns the space.
    /// Returns the number of bytes removed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear(&self, only_other_engines: bool) -> Result<u64, StoreError> {
        let database = self.database();
        let condition = if only_other_engines { "engine <> ?1" } else { "?1 = ?1" };
        let size = format!("SELECT coalesce(sum(bytes), 0) FROM record WHERE {condition}");
        let removed = database.query_row(&size, [ENGINE], |row| row.get(0)).and_then(|bytes| {
            database.execute(&format!("DELETE FROM record WHERE {condition}"), [ENGINE])?;
            database.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?;
            Ok(bytes)
        });
        removed.map_err(|error| self.error(&error))
    }

    /// Sets the size above which the rows that have not been used for longest are removed, and
    /// removes them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_limit(&mut self, bytes: u64) -> Result<(), StoreError> {
        let set = "INSERT OR REPLACE INTO setting (name, value) VALUES ('limit', ?1)";
        let done = self.database().execute(set, [bytes.min(i64::MAX as u64)]);
        done.map_err(|error| self.error(&error))?;
        self.limit = bytes;
        self.evict().map_err(|error| self.error(&error))
    }

    /// Returns true if records could not be written, for example because the disk is full.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn database(&self) -> MutexGuard<'_, Connection> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        let remedy = "check that its disk has space and that it can be written";
        StoreError { file: self.file.clone(), reason: error.to_string(), remedy }
    }

    fn get(&self, id: &TaskId) -> Option<Vec<u8>> {
        let database = self.database();
        let select = "SELECT value, used FROM record WHERE id = ?1";
        let row = database.prepare_cached(select).and_then(|mut statement| {
            let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?));
            statement.query_row([id.as_bytes().as_slice()], read).optional()
        });
        let (value, used): (Vec<u8>, i64) = row.ok()??;
        let now = now();
        if now - used > USE_INTERVAL_S {
            // Only the order of eviction depends on it.
            let update = "UPDATE record SET used = ?2 WHERE id = ?1";
            let _ = database.execute(update, params![id.as_bytes().as_slice(), now]);
        }
        Some(value)
    }

    fn contains(&self, id: &TaskId) -> bool {
        let database = self.database();
        let select = database.prepare_cached("SELECT 1 FROM record WHERE id = ?1");
        let found = select.and_then(|mut select| select.exists([id.as_bytes().as_slice()]));
        found.unwrap_or(false)
    }

    /// Keeps `value`. `run` is the case of a run and the time that it took, for results of runs.
    fn put(&self, id: &TaskId, run: Option<(TaskId, f64)>, value: &[u8]) {
        let insert = "INSERT OR REPLACE INTO record \
            (id, kind, engine, bytes, used, value, case_id, seconds) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let kind = if run.is_some() { Kind::Run } else { Kind::Recording };
        let size = value.len() as u64;
        let written = self.database().prepare_cached(insert).and_then(|mut statement| {
            let id = id.as_bytes().as_slice();
            let case = run.as_ref().map(|(case, _)| case.as_bytes().as_slice());
            let seconds = run.as_ref().map(|(_, seconds)| *seconds);
            let size = size as i64;
            statement.execute(params![id, kind as i64, ENGINE, size, now(), value, case, seconds])
        });
        let total = self.written.fetch_add(size, Ordering::Relaxed) + size;
        let mut failed = written.is_err();
        if total >= CHECK_AFTER.min(self.limit / 8) {
            self.written.store(0, Ordering::Relaxed);
            failed |= self.evict().is_err();
        }
        if failed {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    /// Removes the rows that have not been used for longest, if the store is above its limit.
    fn evict(&self) -> Result<(), rusqlite::Error> {
        let database = self.database();
        let total: u64 =
            database
                .query_row("SELECT coalesce(sum(bytes), 0) FROM record", [], |row| row.get(0))?;
        if total <= self.limit {
            return Ok(());
        }
        let mut excess = total - (self.limit as f64 * KEPT) as u64;
        let mut last = None;
        {
            let mut rows =
                database.prepare("SELECT used, rowid, bytes FROM record ORDER BY 1, 2")?;
            let mut rows = rows.query([])?;
            while let (Some(row), true) = (rows.next()?, excess > 0) {
                last = Some((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
                excess = excess.saturating_sub(row.get::<_, u64>(2)?);
            }
        }
        if let Some((used, rowid)) = last {
            let delete = "DELETE FROM record WHERE (used, rowid) <= (?1, ?2)";
            database.execute(delete, [used, rowid])?;
        }
        Ok(())
    }
}

impl RunStore for ResultStore {
    fn record(&self, plan: &Plan, task: Task) -> Option<StoredRun> {
        let run = decode_run(&self.get(&plan.task_id(task)?)?).ok()?;
        let seconds = 0.0;
        let recording = match plan.recording_id(task) {
            Some(id) => decode_recording(&self.get(&id)?).ok(),
            None => None,
        };
        Some(StoredRun { run, recording, seconds })
    }

    fn is_empty(&self) -> bool {
        let any = "SELECT EXISTS (SELECT 1 FROM record)";
        let any = self.database().query_row(any, [], |row| row.get::<_, bool>(0));
        !any.unwrap_or(false)
    }

    /// The mean of all runs, with any seed, in any version of the simulator.
    fn seconds(&self, plan: &Plan, task: Task) -> Option<f64> {
        let mean = "SELECT avg(seconds) FROM record WHERE case_id = ?1";
        let case = plan.case_id(task)?;
        let database = self.database();
        let mut statement = database.prepare_cached(mean).ok()?;
        statement.query_row([case.as_bytes().as_slice()], |row| row.get(0)).ok()?
    }

    fn has(&self, plan: &Plan, task: Task) -> bool {
        let run = plan.task_id(task).is_some_and(|id| self.contains(&id));
        run && plan.recording_id(task).is_none_or(|id| self.contains(&id))
    }

    fn keep(&self, plan: &Plan, task: Task, record: &StoredRun) {
        let (Some(id), Some(case)) = (plan.task_id(task), plan.case_id(task)) else { return };
        self.put(&id, Some((case, record.seconds)), &encode_run(&record.run));
        if let (Some(id), Some(recording)) = (plan.recording_id(task), &record.recording) {
            self.put(&id, None, &encode_recording(recording));
        }
    }
}

/// Creates the tables if they do not exist, and returns the limit of the store. `None` if the file
/// is of another version.
fn prepare(database: &Connection) -> Result<Option<u64>, rusqlite::Error> {
    database.busy_timeout(BUSY_TIMEOUT)?;
    // Several rows share an id only if they are equal, so what the last second loses in a power
    // cut is computed again.
    database.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    let version = || database.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    if version()? == 0 {
        // Another process may be creating the tables.
        database.execute_batch(&format!(
            "BEGIN IMMEDIATE;
            CREATE TABLE IF NOT EXISTS record (
                id BLOB PRIMARY KEY, kind INTEGER NOT NULL, engine TEXT NOT NULL,
                bytes INTEGER NOT NULL, used INTEGER NOT NULL, value BLOB NOT NULL,
                case_id BLOB, seconds REAL);
            CREATE INDEX IF NOT EXISTS record_case ON record (case_id, seconds)
                WHERE case_id IS NOT NULL;
            CREATE INDEX IF NOT EXISTS record_use ON record (used, kind, engine, bytes);
            CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
            PRAGMA user_version = {FORMAT};
            COMMIT;"
        ))?;
    }
    if version()? != FORMAT {
        return Ok(None);
    }
    let limit = "SELECT value FROM setting WHERE name = 'limit'";
    let limit = database.query_row(limit, [], |row| row.get::<_, u64>(0)).optional()?;
    Ok(Some(limit.unwrap_or(DEFAULT_LIMIT)))
}

/// Returns the time in seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the age of rows on disk, not a simulated time")]
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests;
