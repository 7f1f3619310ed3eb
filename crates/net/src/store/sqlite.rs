//! The path store in an SQLite file, which processes may share and which survives crashes.

use super::database::{damaged, failed, open, storage};
use super::open_error::OpenError;
use bentpipe_quic::path_memory::{
    Entry, Holder, IpPrefix, Lease, Limits, PathKey, PathStore, SavedPath, StoreError,
};
use bentpipe_units::{Bytes, Epoch, Span};
use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior, params};
use std::path::{Path, PathBuf};

/// Identifies the file as a path store (`PRAGMA application_id`): "bpth".
const APPLICATION: i64 = 0x6270_7468;
/// Version of the tables (`PRAGMA user_version`). Version 1 had no `first_rtt_ns`.
const VERSION: i64 = 2;
/// Largest time in a column, ms. Later times mean "never".
const MAX_MILLIS: u64 = (1 << 62) - 1;

/// Holders are random 64-bit numbers. A signed column stores their bits.
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
    first_rtt_ns INTEGER,
    PRIMARY KEY (remote, local, dscp)
) STRICT, WITHOUT ROWID;
CREATE INDEX path_used ON path (used);
CREATE INDEX path_expires ON path (expires_ms);
";

/// From version 1.
const MIGRATE: &str = "ALTER TABLE path ADD COLUMN first_rtt_ns INTEGER";

const REPLACE: &str = "
INSERT INTO path
    (remote, local, dscp, window_bytes, rtt_ns, first_rtt_ns, saved_ms, expires_ms, used)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT coalesce(max(used), 0) + 1 FROM path))
ON CONFLICT (remote, local, dscp) DO UPDATE SET window_bytes = excluded.window_bytes,
    rtt_ns = excluded.rtt_ns, first_rtt_ns = excluded.first_rtt_ns,
    saved_ms = excluded.saved_ms, expires_ms = excluded.expires_ms, used = excluded.used";

/// One statement, so that no other process can intervene between check and lease.
const LEASE: &str = "
UPDATE path SET holder = ?4, since_ms = ?5, until_ms = ?6, used = (SELECT max(used) + 1 FROM path)
WHERE remote = ?1 AND local = ?2 AND dscp = ?3 AND saved_ms <= ?5 AND ?5 < expires_ms
    AND (holder IS NULL OR holder = ?4 OR NOT (since_ms <= ?5 AND ?5 < until_ms))
RETURNING window_bytes, rtt_ns, first_rtt_ns, saved_ms, expires_ms";

const IS_LEASED: &str = "
SELECT 1 FROM path WHERE remote = ?1 AND local = ?2 AND dscp = ?3 AND saved_ms <= ?4 AND ?4 < \
expires_ms
    AND holder IS NOT NULL AND since_ms <= ?4 AND ?4 < until_ms";

const RELEASE: &str = "
UPDATE path SET holder = NULL, since_ms = 0, until_ms = 0
WHERE remote = ?1 AND local = ?2 AND dscp = ?3 AND holder = ?4";

const FORGET: &str = "DELETE FROM path WHERE remote = ?1 AND local = ?2 AND dscp = ?3";

const LIST: &str = "
SELECT window_bytes, rtt_ns, first_rtt_ns, saved_ms, expires_ms,
    remote, local, dscp, holder, since_ms, until_ms
FROM path WHERE ?1 < expires_ms";

const EXPIRE: &str = "DELETE FROM path WHERE expires_ms <= ?1";

const LEAST_USED: &str = "
DELETE FROM path WHERE used IN (SELECT used FROM path ORDER BY used LIMIT ?1)";

/// Paths in an SQLite file with a write-ahead log.
///
/// Several processes may use one file, because each call is one transaction. After a process dies,
/// the file holds its last complete transaction. A power failure may lose the last transactions but
/// not the file. Only the owner may read the file, because it names the server's clients, and
/// deleted paths are overwritten. The file must be on a local disk: a write-ahead log does not work
/// over a network (<https://sqlite.org/wal.html>).
///
/// Calls block for up to five seconds while other processes write.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    limits: Limits,
    database: Connection,
}

impl SqliteStore {
    /// Opens `file`. Creates it and its directories if necessary.
    ///
    /// # Errors
    /// A file that cannot be written, is not a path store, is damaged or has a later version. The
    /// error names the file and what to do.
    pub fn open(file: &Path, limits: Limits) -> Result<Self, StoreError> {
        Ok(Self::open_classified(file, limits)?)
    }

    /// As [`SqliteStore::open`].
    pub(super) fn open_classified(file: &Path, limits: Limits) -> Result<Self, OpenError> {
        let database = open(file)?;
        let mut store = Self { file: file.to_owned(), limits, database };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&mut self) -> Result<(), OpenError> {
        let file = self.file.clone();
        let fails = |error: rusqlite::Error| OpenError::Unavailable(failed(&file, &error));
        let first =
            self.database.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match first.map_err(fails)? {
            ok if ok == "ok" => {}
            damage => return Err(OpenError::Unavailable(damaged(&self.file, &damage))),
        }
        match self.versions().map_err(fails)? {
            (APPLICATION, VERSION) => {}
            (APPLICATION, 1) => self.migrate().map_err(fails)?,
            (APPLICATION, version) => {
                let reason =
                    format!("its version is {version}; this program supports version {VERSION}");
                let remedy = "update bentpipe, or name another file";
                return Err(OpenError::Refused(storage(&self.file, &reason, remedy)));
            }
            _ => {
                let reason = "it is another program's database";
                return Err(OpenError::Refused(storage(&self.file, reason, "name another file")));
            }
        }
        let set = |name, value: &str| self.database.pragma_update(None, name, value);
        set("secure_delete", "ON").map_err(fails)?;
        // Consistent after a crash, with a sync at each checkpoint instead of each transaction.
        set("synchronous", "NORMAL").map_err(fails)
    }

    /// Returns the file's application and version. An empty file becomes a path store.
    fn versions(&mut self) -> rusqlite::Result<(i64, i64)> {
        let number = |database: &Connection, name| {
            database.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
        };
        let objects = |database: &Connection| {
            database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        };
        // Two processes may find the file empty at once. The second one checks again once it has
        // locked the file.
        if (number(&self.database, "application_id")?, objects(&self.database)?) == (0, 0) {
            self.enable_wal()?;
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

    /// Adds what version 1 had not, unless another process has just done so.
    fn migrate(&mut self) -> rusqlite::Result<()> {
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version =
            transaction.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
        if version == 1 {
            transaction.execute_batch(MIGRATE)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()
    }

    /// Enables the write-ahead log, a setting that the file keeps. SQLite does not wait for other
    /// processes while the mode changes. If the file is busy, this waits for a transaction of its
    /// own and tries again.
    fn enable_wal(&mut self) -> rusqlite::Result<()> {
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

    /// Returns the paths that are valid at `now`, and the number of rows that hold no valid path.
    pub(super) fn load(&mut self, now: Epoch) -> Result<(Vec<Entry>, usize), StoreError> {
        let rows = || -> rusqlite::Result<Vec<_>> {
            let mut statement = self.database.prepare(LIST)?;
            let mut rows = statement.query([millis(now)])?;
            let mut read = Vec::new();
            while let Some(row) = rows.next()? {
                read.push(list_row(row).ok().and_then(|row| row.entry(now).ok()));
            }
            Ok(read)
        };
        let rows = rows().map_err(|error| failed(&self.file, &error))?;
        let all = rows.len();
        let entries: Vec<Entry> = rows.into_iter().flatten().collect();
        let invalid = all - entries.len();
        Ok((entries, invalid))
    }

    /// Returns a number that changes with the file, except by this store.
    pub(super) fn others_version(&self) -> Option<i64> {
        self.database.pragma_query_value(None, "data_version", |row| row.get(0)).ok()
    }

    /// Runs a change in one transaction.
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
        let max = self.limits.paths as u64;
        self.change(|database| {
            let (remote, local, dscp) = columns(key);
            let (window, rtt) = (path.window.get(), path.rtt.as_nanos());
            let first_rtt = path.first_rtt.map(Span::as_nanos);
            let values = params![
                remote,
                local,
                dscp,
                window,
                rtt,
                first_rtt,
                millis(path.saved_at),
                millis(path.expires)
            ];
            database.execute(REPLACE, values)?;
            let count =
                || database.query_row("SELECT count(*) FROM path", [], |row| row.get::<_, u64>(0));
            if count()? > max {
                database.execute(EXPIRE, [millis(now)])?;
                database.execute(LEAST_USED, [count()?.saturating_sub(max)])?;
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
        let leased = self.change(|database| {
            let (remote, local, dscp) = columns(key);
            let values =
                params![remote, local, dscp, holder.0.cast_signed(), millis(now), millis(until)];
            let mut statement = database.prepare(LEASE)?;
            let mut rows = statement.query(values)?;
            rows.next()?.map(saved_path).transpose()
        })?;
        leased
            .map(|path| {
                path.check().map(|()| path).map_err(|error| damaged(&file, &error.to_string()))
            })
            .transpose()
    }

    fn is_leased(&self, key: &PathKey, now: Epoch) -> Result<bool, StoreError> {
        let (remote, local, dscp) = columns(key);
        let leased =
            || self.database.prepare(IS_LEASED)?.exists(params![remote, local, dscp, millis(now)]);
        leased().map_err(|error| failed(&self.file, &error))
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
            statement.query_map([millis(now)], list_row)?.collect()
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
        // The log still holds deleted rows: write it to the file and truncate it. While another
        // process reads, that waits for its end, but the paths are deleted all the same.
        let truncated = self.database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        truncated.map_err(|error| failed(&self.file, &error))?;
        Ok(count)
    }

    fn expire(&mut self, now: Epoch) -> Result<usize, StoreError> {
        self.change(|database| database.execute(EXPIRE, [millis(now)]))
    }
}

fn columns(key: &PathKey) -> (String, &str, u8) {
    (key.remote().to_string(), key.local(), key.dscp())
}

/// Returns a time as a column holds it.
fn millis(time: Epoch) -> u64 {
    time.as_unix_millis().min(MAX_MILLIS)
}

/// Reads the first five columns of a row.
fn saved_path(row: &Row<'_>) -> rusqlite::Result<SavedPath> {
    Ok(SavedPath {
        window: Bytes::new(row.get(0)?),
        rtt: Span::from_nanos(row.get(1)?),
        first_rtt: row.get::<_, Option<u64>>(2)?.map(Span::from_nanos),
        saved_at: Epoch::from_unix_millis(row.get(3)?),
        expires: Epoch::from_unix_millis(row.get(4)?),
    })
}

/// A row of the list, not yet validated.
struct ListRow {
    path: SavedPath,
    remote: String,
    local: String,
    dscp: u8,
    lease: Option<Lease>,
}

fn list_row(row: &Row<'_>) -> rusqlite::Result<ListRow> {
    let holder: Option<i64> = row.get(8)?;
    let (since, until) = (row.get(9)?, row.get(10)?);
    let lease = holder.map(|holder| Lease {
        holder: Holder(holder.cast_unsigned()),
        since: Epoch::from_unix_millis(since),
        until: Epoch::from_unix_millis(until),
    });
    Ok(ListRow {
        path: saved_path(row)?,
        remote: row.get(5)?,
        local: row.get(6)?,
        dscp: row.get(7)?,
        lease,
    })
}

impl ListRow {
    fn entry(self, now: Epoch) -> Result<Entry, String> {
        let remote: IpPrefix = self.remote.parse().map_err(|error| format!("{error}"))?;
        let key =
            PathKey::new(remote, &self.local, self.dscp).map_err(|error| error.to_string())?;
        self.path.check().map_err(|error| error.to_string())?;
        Ok(Entry { key, path: self.path, lease: self.lease.filter(|lease| lease.is_current(now)) })
    }
}
