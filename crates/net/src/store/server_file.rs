//! What a server needs to recognize clients after a restart: secrets of its tokens, and TLS
//! sessions.

use super::database::{damaged, failed, open, storage};
use super::open_error::OpenError;
use crate::tls::foreign_or_open;
use bentpipe_quic::EpochClock;
use bentpipe_quic::path_memory::StoreError;
use bentpipe_quic::tls::Randomness;
use rusqlite::{Connection, OptionalExtension, params};
use rustls::server::StoresServerSessions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// Identifies the file (`PRAGMA application_id`): "bpsv".
const APPLICATION: i64 = 0x6270_7376;
/// TLS sessions in the file. The oldest are removed first. Each takes about 500 bytes. Our choice.
const MAX_SESSIONS: i64 = 16_384;
/// Lifetime of a session, seconds: that of tickets of rustls, one day.
const LIFETIME: u64 = 86_400;
/// Sessions that may wait to be written. Further ones are not kept, which costs their clients a
/// full handshake.
const QUEUE: usize = 1024;
/// Identifies the run of the system (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS session (
    number    INTEGER PRIMARY KEY,
    id        BLOB    NOT NULL UNIQUE,
    value     BLOB    NOT NULL,
    expires_s INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS valid_for (circumstances TEXT NOT NULL) STRICT;
";

/// The file of a server, which only its owner may read. Whoever reads it can make tokens of this
/// server and decrypt early data of the sessions in it.
#[derive(Debug)]
pub(crate) struct ServerFile {
    file: PathBuf,
    database: Connection,
}

impl ServerFile {
    /// Opens `file`. Creates it and its directories if necessary.
    pub fn open(file: &Path) -> Result<Self, OpenError> {
        let database = open(file)?;
        let fails = |error: rusqlite::Error| OpenError::Unavailable(failed(file, &error));
        let application: i64 =
            database.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(fails)?;
        let objects: i64 = database
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(fails)?;
        if application != APPLICATION && (application, objects) != (0, 0) {
            let reason = "it is another program's database";
            return Err(OpenError::Refused(storage(file, reason, "name another file")));
        }
        let prepare = || {
            // A killed process loses no transaction, and used sessions are overwritten.
            database.pragma_update(None, "journal_mode", "WAL")?;
            database.pragma_update(None, "synchronous", "NORMAL")?;
            database.pragma_update(None, "secure_delete", "ON")?;
            database.execute_batch(TABLES)?;
            database.pragma_update(None, "application_id", APPLICATION)
        };
        prepare().map_err(fails)?;
        Ok(Self { file: file.to_owned(), database })
    }

    /// Returns a warning, with what to do, if other users may read or change the file: it may have
    /// existed before, or come from a backup.
    pub fn warning(&self) -> Option<String> {
        let why = foreign_or_open(&std::fs::metadata(&self.file).ok()?)?;
        let file = self.file.display();
        Some(format!(
            "keys of tokens and TLS sessions in {file}: {why}; if others may have read them, \
             delete {file} and all files whose names begin with its name, for new keys, else \
             chmod 600 them"
        ))
    }

    /// Returns the secret of that name. Draws it the first time.
    ///
    /// # Errors
    /// The file cannot be written or is damaged, or the system has no random numbers.
    pub fn secret(&self, name: &str) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        let mut drawn = Zeroizing::new([0; 32]);
        Randomness::System.generator().fill(&mut *drawn).map_err(|_| {
            storage(&self.file, "the system has no random numbers", "start the server later")
        })?;
        let fails = |error: rusqlite::Error| failed(&self.file, &error);
        // Another process may have drawn one meanwhile.
        self.database
            .execute("INSERT OR IGNORE INTO secret VALUES (?1, ?2)", params![name, &drawn[..]])
            .map_err(fails)?;
        let kept: Zeroizing<Vec<u8>> = self
            .database
            .query_row("SELECT value FROM secret WHERE name = ?1", [name], |row| row.get(0))
            .map(Zeroizing::new)
            .map_err(fails)?;
        let kept: [u8; 32] = kept
            .as_slice()
            .try_into()
            .map_err(|_| damaged(&self.file, &format!("the secret `{name}` is not 32 bytes")))?;
        Ok(Zeroizing::new(kept))
    }

    /// Returns the TLS sessions in the file.
    ///
    /// They are kept only for servers with the same `settings`: early data obeys the transport
    /// parameters of the connection before, which a server must not reduce (RFC 9001 §4.6.1). They
    /// end with the run of the system, because a power failure may undo the removal of a used
    /// session, whose early data could be replayed then. `failures` counts sessions that cannot be
    /// written or read.
    ///
    /// # Errors
    /// The file cannot be written, or no thread can be started.
    pub fn sessions(
        self,
        settings: &str,
        clock: EpochClock,
        failures: Arc<AtomicU64>,
    ) -> Result<Sessions, StoreError> {
        let boot = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        self.sessions_in(settings, boot.trim(), clock, failures)
    }

    fn sessions_in(
        self,
        settings: &str,
        boot: &str,
        clock: EpochClock,
        failures: Arc<AtomicU64>,
    ) -> Result<Sessions, StoreError> {
        let Self { file, mut database } = self;
        let fails = |error: rusqlite::Error| failed(&file, &error);
        let circumstances = format!("{boot} {settings}");
        let transaction = database.transaction().map_err(fails)?;
        let before: Option<String> = transaction
            .query_row("SELECT circumstances FROM valid_for", [], |row| row.get(0))
            .optional()
            .map_err(fails)?;
        if boot.is_empty() || before.as_deref() != Some(circumstances.as_str()) {
            transaction
                .execute_batch("DELETE FROM session; DELETE FROM valid_for")
                .and_then(|()| {
                    transaction.execute("INSERT INTO valid_for VALUES (?1)", [&circumstances])
                })
                .map_err(fails)?;
        }
        transaction
            .execute("DELETE FROM session WHERE expires_s <= ?1", [seconds(&clock)])
            .map_err(fails)?;
        transaction.commit().map_err(fails)?;
        let database = Arc::new(Mutex::new(database));
        let (new, inbox) = sync_channel(QUEUE);
        let (writing, writing_clock) = (database.clone(), clock.clone());
        let (writing_file, writing_failures) = (file.clone(), failures.clone());
        std::thread::Builder::new()
            .name("TLS sessions".to_owned())
            .spawn(move || {
                write(&writing_file, &writing, &writing_clock, &writing_failures, &inbox)
            })
            .map_err(|error| storage(&file, &error.to_string(), "free some memory or threads"))?;
        Ok(Sessions { file, database, clock, failures, new })
    }
}

/// TLS sessions in a file. Each is used once, by one process.
#[derive(Debug)]
pub(crate) struct Sessions {
    file: PathBuf,
    database: Arc<Mutex<Connection>>,
    clock: EpochClock,
    failures: Arc<AtomicU64>,
    /// Sessions that a thread of its own writes.
    new: SyncSender<(Vec<u8>, Vec<u8>)>,
}

fn lock(database: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    database.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the present, in seconds of Unix time.
fn seconds(clock: &EpochClock) -> u64 {
    clock.epoch().as_unix_millis() / 1000
}

fn failed_to_keep(file: &Path, error: &rusqlite::Error, failures: &AtomicU64) {
    failures.fetch_add(1, Relaxed);
    let error = failed(file, error);
    tracing::warn!(%error, "a TLS session is not kept, or not found");
}

fn write(
    file: &Path,
    database: &Mutex<Connection>,
    clock: &EpochClock,
    failures: &AtomicU64,
    inbox: &Receiver<(Vec<u8>, Vec<u8>)>,
) {
    while let Ok((id, value)) = inbox.recv() {
        let database = lock(database);
        let put = || {
            let put = "INSERT OR REPLACE INTO session (id, value, expires_s) VALUES (?1, ?2, ?3)";
            database.execute(put, params![id, value, seconds(clock).saturating_add(LIFETIME)])?;
            // By the number, because a count would read the whole table.
            let oldest = database.last_insert_rowid().saturating_sub(MAX_SESSIONS);
            database.execute("DELETE FROM session WHERE number <= ?1", [oldest])
        };
        if let Err(error) = put() {
            failed_to_keep(file, &error, failures);
        }
    }
}

impl Sessions {
    fn find(&self, query: &str, id: &[u8]) -> Option<Vec<u8>> {
        let found = lock(&self.database)
            .query_row(query, params![id, seconds(&self.clock)], |row| row.get::<_, Vec<u8>>(0))
            .optional();
        found.inspect_err(|error| failed_to_keep(&self.file, error, &self.failures)).ok().flatten()
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, id: Vec<u8>, value: Vec<u8>) -> bool {
        self.new.try_send((id, value)).is_ok()
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        self.find("SELECT value FROM session WHERE id = ?1 AND ?2 < expires_s", id)
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        // One statement, so that no other process can use the session too. It is gone from the file
        // before its early data is accepted.
        self.find("DELETE FROM session WHERE id = ?1 AND ?2 < expires_s RETURNING value", id)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test waits for a thread")]
mod tests {
    use super::*;
    use std::time::Duration;

    fn sessions(file: &Path, settings: &str, boot: &str) -> Sessions {
        let clock = EpochClock::new(1_800_000_000);
        ServerFile::open(file).unwrap().sessions_in(settings, boot, clock, Arc::default()).unwrap()
    }

    /// Keeps a session and waits until it is in the file.
    fn keep(sessions: &Sessions, id: &[u8]) {
        assert!(sessions.put(id.to_vec(), b"value".to_vec()));
        for _ in 0..6000 {
            if sessions.get(id).is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the session is not written");
    }

    #[test]
    fn a_session_outlives_its_server_and_is_used_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.sqlite");
        keep(&sessions(&file, "a", "boot"), b"id");
        // Two servers that share the file.
        let both = [sessions(&file, "a", "boot"), sessions(&file, "a", "boot")];
        let taken: Vec<_> = both.iter().filter_map(|sessions| sessions.take(b"id")).collect();
        assert_eq!(taken, [b"value".to_vec()]);
        assert_eq!(sessions(&file, "a", "boot").take(b"id"), None);
    }

    #[test]
    fn sessions_end_with_the_settings_and_with_the_run_of_the_system() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.sqlite");
        for (settings, boot) in [("b", "boot"), ("a", "other"), ("a", "")] {
            keep(&sessions(&file, "a", "boot"), b"id");
            assert_eq!(sessions(&file, settings, boot).take(b"id"), None, "{settings} {boot}");
        }
    }

    #[test]
    fn the_oldest_sessions_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.sqlite");
        let kept = sessions(&file, "a", "boot");
        keep(&kept, b"old");
        keep(&kept, b"middle");
        let many = "UPDATE session SET number = 16384 WHERE id = ?1";
        lock(&kept.database).execute(many, [&b"middle"[..]]).unwrap();
        keep(&kept, b"new");
        assert_eq!(kept.take(b"old"), None);
        assert!(kept.take(b"middle").is_some());
        assert!(kept.take(b"new").is_some());
    }

    #[test]
    fn secrets_are_drawn_once_and_only_the_owner_may_read_them() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.sqlite");
        let file = ServerFile::open(&path).unwrap();
        let (one, other) = (file.secret("one").unwrap(), file.secret("other").unwrap());
        assert_ne!(one, other);
        assert_eq!(ServerFile::open(&path).unwrap().secret("one").unwrap(), one);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
