//! The path store in a file: SQLite, shared by processes, whole after a crash.

use bentpipe_quic::path_memory::{
    Entry, Holder, IpPrefix, Lease, Limits, PathKey, PathStore, SavedPath, StoreError,
};
use bentpipe_units::{Bytes, Epoch, Span};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks the file as ours (`PRAGMA application_id`): "bpth".
const APPLICATION: i64 = 0x6270_7468;
/// The tables below (`PRAGMA user_version`). A later one brings the steps from those before it.
const VERSION: i64 = 1;
/// How long a call waits for another process. Each holds the file for one small transaction, a
/// millisecond or so.
const BUSY: Duration = Duration::from_secs(5);
/// What columns hold at most; times beyond it are "never".
const MOST: u64 = (1 << 62) - 1;

/// Holders are random 64-bit numbers: their bits are kept in a signed column.
const TABLES: &str = "
CREATE TABLE path (
    remote       TEXT    NOT NULL,
    local        TEXT    NOT NULL,
    dscp         INTEGER NOT NULL,
    window_bytes INTEGER NOT NULL,
    rtt_ns       INTEGER NOT NULL,
    saved_ms     INTEGER NOT NULL,
    expires_ms   INTEGER NOT NULL,
    holder       INTEGER,
    since_ms     INTEGER NOT NULL DEFAULT 0,
    until_ms     INTEGER NOT NULL DEFAULT 0,
    used         INTEGER NOT NULL,
    PRIMARY KEY (remote, local, dscp)
) STRICT, WITHOUT ROWID;
CREATE INDEX path_used ON path (used);
CREATE INDEX path_expires ON path (expires_ms);
";

const REPLACE: &str = "
INSERT INTO path (remote, local, dscp, window_bytes, rtt_ns, saved_ms, expires_ms, used)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(used), 0) + 1 FROM path))
ON CONFLICT (remote, local, dscp) DO UPDATE SET window_bytes = excluded.window_bytes, rtt_ns = \
excluded.rtt_ns,
    saved_ms = excluded.saved_ms, expires_ms = excluded.expires_ms, used = excluded.used";

/// One statement, so nobody comes between the look and the loan.
const LEASE: &str = "
UPDATE path SET holder = ?4, since_ms = ?5, until_ms = ?6, used = (SELECT max(used) + 1 FROM path)
WHERE remote = ?1 AND local = ?2 AND dscp = ?3 AND saved_ms <= ?5 AND ?5 < expires_ms
    AND (holder IS NULL OR holder = ?4 OR NOT (since_ms <= ?5 AND ?5 < until_ms))
RETURNING window_bytes, rtt_ns, saved_ms, expires_ms";

const IS_LENT: &str = "
SELECT 1 FROM path WHERE remote = ?1 AND local = ?2 AND dscp = ?3 AND saved_ms <= ?4 AND ?4 < \
expires_ms
    AND holder IS NOT NULL AND since_ms <= ?4 AND ?4 < until_ms";

const RELEASE: &str = "
UPDATE path SET holder = NULL, since_ms = 0, until_ms = 0
WHERE remote = ?1 AND local = ?2 AND dscp = ?3 AND holder = ?4";

const FORGET: &str = "DELETE FROM path WHERE remote = ?1 AND local = ?2 AND dscp = ?3";

const LIST: &str = "
SELECT window_bytes, rtt_ns, saved_ms, expires_ms, remote, local, dscp, holder, since_ms, until_ms
FROM path WHERE ?1 < expires_ms";

const EXPIRE: &str = "DELETE FROM path WHERE expires_ms <= ?1";

const LEAST_USED: &str = "
DELETE FROM path WHERE used IN (SELECT used FROM path ORDER BY used LIMIT ?1)";

/// Paths in an SQLite file with a write-ahead log.
///
/// Several processes may use one file: each call is one transaction. A process that dies leaves the
/// last whole transaction behind; a machine that loses power may lose the last ones, never the
/// file. The file is readable by its owner only, since it says whom the server has talked to, and
/// what is deleted is overwritten. It has to lie on a local disk: a write-ahead log does not work
/// over a network (<https://sqlite.org/wal.html>).
///
/// Calls block, for up to five seconds while other processes write.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    limits: Limits,
    database: Connection,
}

impl SqliteStore {
    /// Opens `file`, or makes it, with its directories.
    ///
    /// # Errors
    /// A place that cannot be written; a file that is no path store, is damaged, or was written by
    /// a later version. The error names the file and what to do.
    pub fn open(file: &Path, limits: Limits) -> Result<Self, StoreError> {
        let database = open(file)?;
        let mut store = Self { file: file.to_owned(), limits, database };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let first =
            self.database.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match first.map_err(|error| failed(&self.file, &error))? {
            ok if ok == "ok" => {}
            damage => return Err(damaged(&self.file, &damage)),
        }
        match self.versions().map_err(|error| failed(&self.file, &error))? {
            (APPLICATION, VERSION) => {}
            (APPLICATION, version) => {
                let reason = format!("its version is {version}, this program knows {VERSION}");
                return Err(storage(&self.file, &reason, "update bentpipe, or name another file"));
            }
            _ => {
                return Err(storage(
                    &self.file,
                    "it is another program's database",
                    "name another file",
                ));
            }
        }
        let set = |name, value: &str| self.database.pragma_update(None, name, value);
        set("secure_delete", "ON").map_err(|error| failed(&self.file, &error))?;
        // Whole after a crash; a sync at each checkpoint instead of each transaction.
        set("synchronous", "NORMAL").map_err(|error| failed(&self.file, &error))
    }

    /// Whose the file is and of which version; an empty one becomes ours.
    fn versions(&mut self) -> rusqlite::Result<(i64, i64)> {
        let number = |database: &Connection, name| {
            database.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
        };
        let objects = |database: &Connection| {
            database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        };
        // Two processes may find it empty at once: the second looks again once it has the file for
        // itself.
        if (number(&self.database, "application_id")?, objects(&self.database)?) == (0, 0) {
            self.log_ahead()?;
            let transaction =
                self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if (number(&transaction, "application_id")?, objects(&transaction)?) == (0, 0) {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        Ok((number(&self.database, "application_id")?, number(&self.database, "user_version")?))
    }

    /// Turns the write-ahead log on, which stays in the file. SQLite does not wait for others where
    /// the mode changes: whoever finds the file busy waits for a transaction of its own and looks
    /// again.
    fn log_ahead(&mut self) -> rusqlite::Result<()> {
        let mut tries = 10;
        loop {
            match self.database.pragma_update(None, "journal_mode", "WAL") {
                Err(error)
                    if tries > 0 && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
                {
                    tries -= 1;
                    self.database
                        .transaction_with_behavior(TransactionBehavior::Immediate)?
                        .rollback()?;
                }
                done => return done,
            }
        }
    }

    /// Runs a change, in one transaction.
    fn change<T>(
        &mut self,
        change: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let Self { file, database, .. } = self;
        let mut run = || {
            let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|error| failed(file, &error))
    }
}

impl PathStore for SqliteStore {
    fn replace(&mut self, key: &PathKey, path: SavedPath, now: Epoch) -> Result<(), StoreError> {
        path.check()?;
        let most = self.limits.paths as u64;
        self.change(|database| {
            let (remote, local, dscp) = columns(key);
            let (window, rtt) = (path.window.get(), path.rtt.as_nanos());
            let values = params![
                remote,
                local,
                dscp,
                window,
                rtt,
                millis(path.saved_at),
                millis(path.expires)
            ];
            database.execute(REPLACE, values)?;
            let count =
                || database.query_row("SELECT count(*) FROM path", [], |row| row.get::<_, u64>(0));
            if count()? > most {
                database.execute(EXPIRE, [millis(now)])?;
                database.execute(LEAST_USED, [count()?.saturating_sub(most)])?;
            }
            Ok(())
        })
    }

    fn lease(
        &mut self,
        key: &PathKey,
        now: Epoch,
        holder: Holder,
    ) -> Result<Option<SavedPath>, StoreError> {
        let until = now + self.limits.lease;
        let file = self.file.clone();
        let lent = self.change(|database| {
            let (remote, local, dscp) = columns(key);
            let values =
                params![remote, local, dscp, holder.0.cast_signed(), millis(now), millis(until)];
            let mut statement = database.prepare(LEASE)?;
            let mut rows = statement.query(values)?;
            rows.next()?.map(saved_path).transpose()
        })?;
        lent.map(|path| {
            path.check().map(|()| path).map_err(|error| damaged(&file, &error.to_string()))
        })
        .transpose()
    }

    fn is_leased(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError> {
        let (remote, local, dscp) = columns(key);
        let lent =
            || self.database.prepare(IS_LENT)?.exists(params![remote, local, dscp, millis(now)]);
        lent().map_err(|error| failed(&self.file, &error))
    }

    fn release(&mut self, key: &PathKey, holder: Holder) -> Result<(), StoreError> {
        self.change(|database| {
            let (remote, local, dscp) = columns(key);
            database
                .execute(RELEASE, params![remote, local, dscp, holder.0.cast_signed()])
                .map(|_| ())
        })
    }

    fn forget(&mut self, key: &PathKey) -> Result<bool, StoreError> {
        self.change(|database| {
            let (remote, local, dscp) = columns(key);
            database.execute(FORGET, params![remote, local, dscp]).map(|rows| rows > 0)
        })
    }

    fn list(&self, now: Epoch) -> Result<Vec<Entry>, StoreError> {
        let rows = || -> rusqlite::Result<Vec<_>> {
            let mut statement = self.database.prepare(LIST)?;
            statement.query_map([millis(now)], listed)?.collect()
        };
        let rows = rows().map_err(|error| failed(&self.file, &error))?;
        let entries = rows
            .into_iter()
            .map(|row| row.entry(now).map_err(|reason| damaged(&self.file, &reason)));
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|one, two| one.key.cmp(&two.key));
        Ok(entries)
    }

    fn forget_all(&mut self) -> Result<usize, StoreError> {
        let count = self.change(|database| database.execute("DELETE FROM path", []))?;
        // What was deleted still stands in the log: written over the file, and the log emptied.
        // Where another process is reading, that waits for its end; the paths are deleted all the
        // same.
        let emptied = self.database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        emptied.map_err(|error| failed(&self.file, &error))?;
        Ok(count)
    }

    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError> {
        self.change(|database| database.execute(EXPIRE, [millis(now)]))
    }
}

/// Opens `file`, or makes it for its owner alone, with its directories.
pub(crate) fn open(file: &Path) -> Result<Connection, StoreError> {
    let no_file = |error: std::io::Error| {
        let remedy = "name a place that can be written";
        storage(file, &error.to_string(), remedy)
    };
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory).map_err(no_file)?;
    }
    create(file).map_err(no_file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(file, flags).and_then(|database| {
        database.busy_timeout(BUSY)?;
        Ok(database)
    });
    opened.map_err(|error| failed(file, &error))
}

/// Makes `file` where there is none, for its owner alone. SQLite gives its log the same
/// permissions.
fn create(file: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(|_| ())
}

pub(crate) fn storage(file: &Path, reason: &str, remedy: &str) -> StoreError {
    StoreError::Storage {
        place: file.display().to_string(),
        reason: reason.to_owned(),
        remedy: remedy.to_owned(),
    }
}

fn damaged(file: &Path, reason: &str) -> StoreError {
    // Not only "delete it": whoever mistyped a name would lose that file.
    let remedy = "if it is a path store, delete it and what begins with its name, and paths are \
        found out anew; \
                  if not, name another file";
    storage(file, reason, remedy)
}

pub(crate) fn failed(file: &Path, error: &rusqlite::Error) -> StoreError {
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            storage(file, &reason, "another process keeps it; try again when that has ended")
        }
        Some(ErrorCode::DiskFull) => storage(file, &reason, "make room on its disk"),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::SystemIoFailure,
        ) => storage(
            file,
            &reason,
            "see that it and its directory are on a local disk and can be written",
        ),
        _ => damaged(file, &reason),
    }
}

fn columns(key: &PathKey) -> (String, &str, u8) {
    (key.remote().to_string(), key.local(), key.dscp())
}

/// A time as a column holds it.
fn millis(time: Epoch) -> u64 {
    time.as_unix_millis().min(MOST)
}

/// The first four columns of a row.
fn saved_path(row: &Row<'_>) -> rusqlite::Result<SavedPath> {
    Ok(SavedPath {
        window: Bytes::new(row.get(0)?),
        rtt: Span::from_nanos(row.get(1)?),
        saved_at: Epoch::from_unix_millis(row.get(2)?),
        expires: Epoch::from_unix_millis(row.get(3)?),
    })
}

/// A row of the list, not yet believed.
struct Listed {
    path: SavedPath,
    remote: String,
    local: String,
    dscp: u8,
    lease: Option<Lease>,
}

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let holder: Option<i64> = row.get(7)?;
    let (since, until) = (row.get(8)?, row.get(9)?);
    let lease = holder.map(|holder| Lease {
        holder: Holder(holder.cast_unsigned()),
        since: Epoch::from_unix_millis(since),
        until: Epoch::from_unix_millis(until),
    });
    Ok(Listed {
        path: saved_path(row)?,
        remote: row.get(4)?,
        local: row.get(5)?,
        dscp: row.get(6)?,
        lease,
    })
}

impl Listed {
    fn entry(self, now: Epoch) -> Result<Entry, String> {
        let remote: IpPrefix = self.remote.parse().map_err(|error| format!("{error}"))?;
        let key =
            PathKey::new(remote, &self.local, self.dscp).map_err(|error| error.to_string())?;
        self.path.check().map_err(|error| error.to_string())?;
        Ok(Entry { key, path: self.path, lease: self.lease.filter(|lease| lease.is_current(now)) })
    }
}
