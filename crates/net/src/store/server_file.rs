//! What a server needs to recognize clients after a restart: secrets of its tokens, and TLS
//! sessions.

use super::database::{damaged, failed, log_ahead, open, prepare, storage};
use super::open_error::OpenError;
use crate::admission::client::{client_network, site_network};
use crate::tls::foreign_or_open;
use bentpipe_quic::EpochClock;
use bentpipe_quic::path_memory::StoreError;
use bentpipe_quic::tls::{Randomness, handshake_peer};
use rusqlite::{Connection, OptionalExtension, params};
use rustls::server::StoresServerSessions;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// Identifies the file (`PRAGMA application_id`): "bpsv".
const APPLICATION: i64 = 0x6270_7376;
/// TLS sessions that are kept. The oldest are removed first. Each takes about 500 bytes. A
/// handshake brings two, so our choice is enough for 65,536 visits in a day.
const MAX_SESSIONS: i64 = 131_072;
/// TLS sessions of one client: an IPv4 address or an IPv6 /56. An IPv6 /48 has twice as many. Our
/// choice: 2,048 visits of people behind one address, and 32 addresses have to act together to
/// remove the sessions of others.
const MAX_OF_CLIENT: i64 = 4096;
/// One in this many sessions is followed by the removal of those beyond these bounds, which reads
/// the table. Chosen by the session's random ID, which no client knows beforehand. Our choice.
const TRIM_ONE_IN: u8 = 64;
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
    expires_s INTEGER NOT NULL,
    client    TEXT,
    site      TEXT
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
        // Used sessions are overwritten.
        database.pragma_update(None, "secure_delete", "ON").map_err(fails)?;
        if !prepare(&database, APPLICATION, TABLES).map_err(fails)? {
            let reason = "it is another program's database";
            return Err(OpenError::Refused(storage(file, reason, "name another file")));
        }
        log_ahead(&database).map_err(fails)?;
        add_clients(&database).map_err(fails)?;
        Ok(Self { file: file.to_owned(), database })
    }

    /// Opens a file that is in memory only, and ends with the program.
    ///
    /// # Errors
    /// There is too little memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        let file = PathBuf::from("memory");
        let database = Connection::open_in_memory()
            .and_then(|database| {
                database.execute_batch(TABLES)?;
                add_clients(&database)?;
                Ok(database)
            })
            .map_err(|error| failed(&file, &error))?;
        Ok(Self { file, database })
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

/// Adds what a file of an earlier version lacks: the clients of its sessions, by which they are
/// found.
fn add_clients(database: &Connection) -> rusqlite::Result<()> {
    for column in ["client", "site"] {
        let has = "SELECT count(*) FROM pragma_table_info('session') WHERE name = ?1";
        if database.query_row(has, [column], |row| row.get::<_, i64>(0))? == 0 {
            database.execute_batch(&format!("ALTER TABLE session ADD COLUMN {column} TEXT"))?;
        }
        database.execute_batch(&format!(
            "CREATE INDEX IF NOT EXISTS session_{column} ON session ({column}, number)"
        ))?;
    }
    Ok(())
}

/// A session that waits to be written.
#[derive(Debug)]
struct NewSession {
    id: Vec<u8>,
    value: Vec<u8>,
    client: Option<IpAddr>,
}

/// TLS sessions in a file. Each is used once, by one process.
#[derive(Debug)]
pub(crate) struct Sessions {
    file: PathBuf,
    database: Arc<Mutex<Connection>>,
    clock: EpochClock,
    failures: Arc<AtomicU64>,
    /// Sessions that a thread of its own writes.
    new: SyncSender<NewSession>,
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
    inbox: &Receiver<NewSession>,
) {
    while let Ok(new) = inbox.recv() {
        let database = lock(database);
        let written = put(&database, &new, seconds(clock).saturating_add(LIFETIME), MAX_SESSIONS);
        if let Err(error) = written {
            failed_to_keep(file, &error, failures);
        }
    }
}

/// Writes a session that ends at `expires`, and sometimes removes the oldest beyond the bounds:
/// `most` of all, and those of its client.
fn put(
    database: &Connection,
    NewSession { id, value, client }: &NewSession,
    expires: u64,
    most: i64,
) -> rusqlite::Result<()> {
    let site = client.and_then(site_network).map(|site| site.to_string());
    let client = client.map(|client| client_network(client).to_string());
    let put = "INSERT OR REPLACE INTO session (id, value, expires_s, client, site) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    database.prepare_cached(put)?.execute(params![id, value, expires, client, site])?;
    if id.first().is_none_or(|first| first % TRIM_ONE_IN != 0) {
        return Ok(());
    }
    for (column, network, most) in
        [("client", client, MAX_OF_CLIENT), ("site", site, 2 * MAX_OF_CLIENT)]
    {
        let trim = format!(
            "DELETE FROM session WHERE number IN (SELECT number FROM session WHERE {column} = ?1 \
             ORDER BY number DESC LIMIT -1 OFFSET ?2)"
        );
        database.prepare_cached(&trim)?.execute(params![network, most])?;
    }
    let trim = "DELETE FROM session WHERE number IN (SELECT number FROM session ORDER BY number \
                LIMIT max(0, (SELECT count(*) FROM session) - ?1))";
    database.prepare_cached(trim)?.execute([most])?;
    Ok(())
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
        self.new.try_send(NewSession { id, value, client: handshake_peer() }).is_ok()
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

    /// Writes `count` sessions of `client`, of which the IDs begin with `first`.
    fn put_many(kept: &Sessions, client: IpAddr, first: u8, count: u32, most: i64) {
        let database = lock(&kept.database);
        for number in 0..count {
            // All but the last are followed by no removal.
            let begin = if number + 1 == count { 64 } else { 1 };
            let id = [&[begin, first][..], &number.to_be_bytes()].concat();
            let new = NewSession { id, value: vec![1], client: Some(client) };
            put(&database, &new, u64::from(u32::MAX), most).unwrap();
        }
    }

    fn count(kept: &Sessions) -> i64 {
        let count = "SELECT count(*) FROM session";
        lock(&kept.database).query_row(count, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_oldest_sessions_are_removed() {
        let kept = ServerFile::in_memory().unwrap();
        let kept =
            kept.sessions_in("a", "boot", EpochClock::new(1_800_000_000), Arc::default()).unwrap();
        put_many(&kept, [192, 0, 2, 1].into(), 1, 10, 8);
        assert_eq!(count(&kept), 8);
        assert_eq!(kept.take(&[1, 1, 0, 0, 0, 1]), None);
        assert!(kept.take(&[1, 1, 0, 0, 0, 2]).is_some());
        assert!(kept.take(&[64, 1, 0, 0, 0, 9]).is_some());
    }

    /// One address made 8,300 handshakes, and no ticket of others was left.
    #[test]
    fn the_sessions_of_one_client_remove_its_own_only() {
        let kept = ServerFile::in_memory().unwrap();
        let kept =
            kept.sessions_in("a", "boot", EpochClock::new(1_800_000_000), Arc::default()).unwrap();
        put_many(&kept, [192, 0, 2, 1].into(), 1, 1, MAX_SESSIONS);
        put_many(&kept, [192, 0, 2, 2].into(), 2, 5000, MAX_SESSIONS);
        assert_eq!(count(&kept), 1 + MAX_OF_CLIENT);
        assert!(kept.take(&[64, 1, 0, 0, 0, 0]).is_some(), "that of the other client");
        for network in 0..3 {
            let client = IpAddr::from([0x2001, 0xdb8, 7, network << 8, 0, 0, 0, 1]);
            put_many(&kept, client, 3 + network as u8, 4000, MAX_SESSIONS);
        }
        assert_eq!(count(&kept), 3 * MAX_OF_CLIENT, "a /48 has twice as many");
    }

    #[test]
    fn a_file_of_an_earlier_version_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.sqlite");
        keep(&sessions(&file, "a", "boot"), b"id");
        let before = "DROP INDEX session_client; DROP INDEX session_site; \
                      ALTER TABLE session DROP COLUMN client; ALTER TABLE session DROP COLUMN site";
        Connection::open(&file).unwrap().execute_batch(before).unwrap();
        let after = sessions(&file, "a", "boot");
        keep(&after, b"new");
        assert!(after.take(b"id").is_some());
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
