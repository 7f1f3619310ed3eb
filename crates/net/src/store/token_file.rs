//! A client's tokens in a file.

use super::database::{failed, open, storage};
use bentpipe_quic::memory::StoreError;
use bentpipe_quic::noq_proto::TokenStore;
use bentpipe_quic::token::{Malformed, PathTokenStore, ReadToken};
use bentpipe_units::Epoch;
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Identifies the file as a token file (`PRAGMA application_id`): "bptk".
const APPLICATION: i64 = 0x6270_746b;
/// Largest number of servers with tokens of each kind. The oldest are removed first. Our choice.
const MAX_SERVERS: i64 = 1024;
/// Longest address-validation token, bytes. Our choice, far above the tokens of servers.
const MAX_TOKEN: usize = 1024;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS path_token (
    server     TEXT    PRIMARY KEY,
    token      BLOB    NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS address_token (
    number INTEGER PRIMARY KEY,
    server TEXT    NOT NULL UNIQUE,
    token  BLOB    NOT NULL
) STRICT;
";

/// Tokens in an SQLite file that only its owner may read. Programs may share the file; each token
/// is taken by one of them.
#[derive(Debug, Clone)]
pub struct TokenFile(Arc<Mutex<Connection>>);

impl TokenFile {
    /// Opens `file`. Creates it and its directories if necessary.
    ///
    /// # Errors
    /// A file that cannot be written or is not a token file.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        let database = open(file)?;
        let failed = |error: rusqlite::Error| failed(file, &error);
        let application: i64 = database
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .map_err(failed)?;
        let objects: i64 = database
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        if application != APPLICATION && (application, objects) != (0, 0) {
            return Err(storage(file, "it is another program's database", "name another file"));
        }
        let prepare = || {
            database.execute_batch(TABLES)?;
            database.pragma_update(None, "application_id", APPLICATION)?;
            // Used and deleted tokens are overwritten.
            database.pragma_update(None, "secure_delete", "ON")
        };
        prepare().map_err(failed)?;
        Ok(Self(Arc::new(Mutex::new(database))))
    }

    /// Returns the store of path tokens in the file.
    pub fn path_tokens(&self) -> impl PathTokenStore + use<> {
        self.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `change`. A failure is logged and has no other effect, because a client does not depend
    /// on tokens.
    fn attempt<T>(&self, change: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        change(&self.lock()).inspect_err(|error| tracing::warn!(%error, "token file")).ok()
    }

    /// Changes the file on a thread that may wait for the disk if there is a runtime, because the
    /// caller is a connection's task.
    fn later(&self, change: impl FnOnce(&Connection) -> rusqlite::Result<usize> + Send + 'static) {
        let file = self.clone();
        let work = move || {
            file.attempt(change);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
    }
}

impl PathTokenStore for TokenFile {
    fn put(&mut self, server: &str, token: &[u8], now: Epoch) -> Result<(), Malformed> {
        let read = ReadToken::parse(token)?;
        let millis = |epoch: Epoch| i64::try_from(epoch.as_unix_millis()).unwrap_or(i64::MAX);
        let (server, token) = (server.to_owned(), token.to_vec());
        self.later(move |database| {
            database.execute("DELETE FROM path_token WHERE expires_ms <= ?1", [millis(now)])?;
            if now < read.expires && server.len() <= 261 {
                let put = "INSERT OR REPLACE INTO path_token (server, token, expires_ms) VALUES \
                    (?1, ?2, ?3)";
                database.execute(put, params![server, token, millis(read.expires)])?;
            }
            let fewer = "DELETE FROM path_token WHERE server NOT IN
                (SELECT server FROM path_token ORDER BY expires_ms DESC LIMIT ?1)";
            database.execute(fewer, [MAX_SERVERS])
        });
        Ok(())
    }

    fn take(&mut self, server: &str, now: Epoch) -> Option<Vec<u8>> {
        let now = i64::try_from(now.as_unix_millis()).unwrap_or(i64::MAX);
        let take = "DELETE FROM path_token WHERE server = ?1 RETURNING token, expires_ms";
        let taken = self.attempt(|database| {
            database
                .query_row(take, [server], |row| {
                    Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?))
                })
                .optional()
        });
        taken.flatten().filter(|(_, expires)| now < *expires).map(|(token, _)| token)
    }

    fn forget(&mut self, server: &str) {
        self.attempt(|database| {
            database.execute("DELETE FROM path_token WHERE server = ?1", [server])
        });
    }

    fn forget_all(&mut self) {
        self.attempt(|database| database.execute("DELETE FROM path_token", []));
    }
}

impl TokenStore for TokenFile {
    fn insert(&self, server_name: &str, token: Bytes) {
        if token.len() > MAX_TOKEN || server_name.len() > 255 {
            return;
        }
        let server_name = server_name.to_owned();
        self.later(move |database| {
            let put = "INSERT OR REPLACE INTO address_token (server, token) VALUES (?1, ?2)";
            database.execute(put, params![server_name, &token[..]])?;
            let fewer = "DELETE FROM address_token WHERE number NOT IN
                (SELECT number FROM address_token ORDER BY number DESC LIMIT ?1)";
            database.execute(fewer, [MAX_SERVERS])
        });
    }

    fn take(&self, server_name: &str) -> Option<Bytes> {
        let take = "DELETE FROM address_token WHERE server = ?1 RETURNING token";
        let taken = self.attempt(|database| {
            database.query_row(take, [server_name], |row| row.get::<_, Vec<u8>>(0)).optional()
        });
        taken.flatten().map(Bytes::from)
    }
}
