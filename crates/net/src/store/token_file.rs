//! A client's tokens and TLS tickets in a file.

use super::database::{failed, log_ahead, open, prepare, storage};
use super::waiting_tokens::{Kind, TICKETS, Token, WaitingTokens};
use bentpipe_quic::noq_proto::TokenStore;
use bentpipe_quic::path_memory::StoreError;
use bentpipe_quic::path_memory::token::{Malformed, PathTokenStore, ReadToken};
use bentpipe_quic::tls::tickets::{MAX_TICKET, TicketStore};
use bentpipe_units::Epoch;
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, params};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// Identifies the file as a token file (`PRAGMA application_id`): "bptk".
const APPLICATION: i64 = 0x6270_746b;
/// Largest number of servers with tokens of each kind. The oldest are removed first. Our choice.
const MAX_SERVERS: i64 = 1024;
/// Largest number of tickets, which are longer: a few kilobytes, and at most [`MAX_TICKET`]. Our
/// choice.
const MAX_TICKETS: i64 = 256;
/// Longest address-validation token, bytes. Our choice, far above the tokens of servers.
const MAX_TOKEN: usize = 1024;
/// Longest server, bytes: names have at most 255 (RFC 1035 §2.3.4), and a port six more.
const MAX_SERVER: usize = 261;

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
CREATE TABLE IF NOT EXISTS ticket (
    number     INTEGER PRIMARY KEY,
    server     TEXT    NOT NULL,
    token      BLOB    NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
";

/// Tokens and TLS tickets in an SQLite file that only its owner may read, by host and port of their
/// servers. Programs may share the file; each token and each ticket is taken by one of them.
#[derive(Debug, Clone)]
pub struct TokenFile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    database: Mutex<Connection>,
    /// Not yet in the database. If both are locked, the database is locked first.
    waiting: Mutex<WaitingTokens>,
    /// Whether nobody else can read or write the file.
    is_private: bool,
}

impl TokenFile {
    /// Opens `file`. Creates it and its directories if necessary.
    ///
    /// # Errors
    /// A file that cannot be written or is not a token file.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        let database = open(file)?;
        let failed = |error: rusqlite::Error| failed(file, &error);
        // Used and deleted tokens are overwritten.
        database.pragma_update(None, "secure_delete", "ON").map_err(failed)?;
        if !prepare(&database, APPLICATION, TABLES).map_err(failed)? {
            return Err(storage(file, "it is another program's database", "name another file"));
        }
        // A first flight waits for what is taken from the file, but not for the disk: after a power
        // failure, a token or ticket that was used shortly before may be used again.
        log_ahead(&database).map_err(failed)?;
        let is_private = is_private(file);
        if !is_private {
            tracing::warn!(
                file = %file.display(),
                "TLS tickets are kept in memory only: the file is another user's, or others may \
                 read or write it; make it private: chmod 600"
            );
        }
        let (database, waiting) = (Mutex::new(database), Mutex::default());
        Ok(Self(Arc::new(Shared { database, waiting, is_private })))
    }

    /// Returns whether TLS tickets are kept in the file: whoever can read it can read early data,
    /// and whoever can write it can stand for a server.
    pub(crate) fn keeps_tickets(&self) -> bool {
        self.0.is_private
    }

    /// Returns the store of path tokens in the file.
    pub fn path_tokens(&self) -> impl PathTokenStore + use<> {
        self.clone()
    }

    fn database(&self) -> MutexGuard<'_, Connection> {
        self.0.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingTokens> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `change`. A failure is logged and has no other effect, because a client does not depend
    /// on tokens.
    fn attempt<T>(&self, change: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        log(change(&self.database()))
    }

    /// Writes a token, on a thread that may wait for the disk if there is a runtime, because the
    /// caller is a connection's task.
    fn write_later(&self, token: Token) {
        if !self.waiting().put(token) {
            return;
        }
        let file = self.clone();
        let write = move || while file.write() {};
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(write)),
            Err(_) => write(),
        }
    }

    /// Takes the token of `server` with the statement `take`, from what waits and from the file,
    /// unless it has expired.
    fn take_current(
        &self,
        kind: Kind,
        take: &str,
        server: &str,
        now: Epoch,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let newest = self.waiting().take(kind, server);
        if newest.is_some() && kind == Kind::Ticket {
            return newest.filter(|newest| millis(now) < newest.expires_ms).map(|one| one.token);
        }
        // An older one goes too.
        let taken = self.attempt(|database| {
            database
                .query_row(take, [server], |row| {
                    Ok((Zeroizing::new(row.get::<_, Vec<u8>>(0)?), row.get::<_, i64>(1)?))
                })
                .optional()
        });
        let newest = newest.map(|newest| (newest.token, newest.expires_ms));
        let current = newest.or(taken.flatten()).filter(|(_, expires)| millis(now) < *expires);
        current.map(|(token, _)| token)
    }

    /// Writes the tokens that wait. Returns false if there are none.
    fn write(&self) -> bool {
        // Whoever takes a token finds it in one of the two.
        let database = self.database();
        let tokens = self.waiting().next();
        log(write_all(&database, &tokens));
        !tokens.is_empty()
    }
}

/// Returns whether a file is this user's, and nobody else may read or write it.
fn is_private(file: &Path) -> bool {
    let owned = |metadata: fs::Metadata| {
        metadata.mode() & 0o077 == 0 && metadata.uid() == rustix::process::geteuid().as_raw()
    };
    fs::symlink_metadata(file).is_ok_and(owned)
}

fn log<T>(result: rusqlite::Result<T>) -> Option<T> {
    result.inspect_err(|error| tracing::warn!(%error, "a token is not kept, or not found")).ok()
}

fn write_all(database: &Connection, tokens: &[Token]) -> rusqlite::Result<()> {
    if tokens.is_empty() {
        return Ok(());
    }
    let transaction = database.unchecked_transaction()?;
    for Token { kind, server, token, received_ms, expires_ms } in tokens {
        match kind {
            Kind::Address => {
                let put = "INSERT OR REPLACE INTO address_token (server, token) VALUES (?1, ?2)";
                transaction.execute(put, params![server, **token])?;
            }
            Kind::Path => {
                transaction
                    .execute("DELETE FROM path_token WHERE expires_ms <= ?1", [received_ms])?;
                let put = "INSERT OR REPLACE INTO path_token (server, token, expires_ms) VALUES \
                    (?1, ?2, ?3)";
                transaction.execute(put, params![server, **token, expires_ms])?;
            }
            Kind::Ticket => {
                transaction.execute("DELETE FROM ticket WHERE expires_ms <= ?1", [received_ms])?;
                let put = "INSERT INTO ticket (server, token, expires_ms) VALUES (?1, ?2, ?3)";
                transaction.execute(put, params![server, **token, expires_ms])?;
                let fewer = "DELETE FROM ticket WHERE server = ?1 AND number NOT IN
                    (SELECT number FROM ticket WHERE server = ?1 ORDER BY number DESC LIMIT ?2)";
                transaction.execute(fewer, params![server, TICKETS as i64])?;
            }
        }
    }
    for (fewer, most) in [
        (
            "DELETE FROM address_token WHERE number NOT IN
                (SELECT number FROM address_token ORDER BY number DESC LIMIT ?1)",
            MAX_SERVERS,
        ),
        (
            "DELETE FROM path_token WHERE server NOT IN
                (SELECT server FROM path_token ORDER BY expires_ms DESC LIMIT ?1)",
            MAX_SERVERS,
        ),
        (
            "DELETE FROM ticket WHERE number NOT IN
                (SELECT number FROM ticket ORDER BY number DESC LIMIT ?1)",
            MAX_TICKETS,
        ),
    ] {
        transaction.execute(fewer, [most])?;
    }
    transaction.commit()
}

/// A time of the database.
fn millis(epoch: Epoch) -> i64 {
    i64::try_from(epoch.as_unix_millis()).unwrap_or(i64::MAX)
}

impl PathTokenStore for TokenFile {
    fn put(&mut self, server: &str, token: &[u8], now: Epoch) -> Result<(), Malformed> {
        let read = ReadToken::parse(token)?;
        if now < read.expires && server.len() <= MAX_SERVER {
            self.write_later(Token {
                kind: Kind::Path,
                server: server.to_owned(),
                token: token.to_vec().into(),
                received_ms: millis(now),
                expires_ms: millis(read.expires),
            });
        }
        Ok(())
    }

    fn take(&mut self, server: &str, now: Epoch) -> Option<Vec<u8>> {
        let take = "DELETE FROM path_token WHERE server = ?1 RETURNING token, expires_ms";
        Some(self.take_current(Kind::Path, take, server, now)?.to_vec())
    }

    fn forget(&mut self, server: &str) {
        self.waiting().take(Kind::Path, server);
        self.attempt(|database| {
            database.execute("DELETE FROM path_token WHERE server = ?1", [server])
        });
    }

    fn forget_all(&mut self) {
        self.waiting().forget(Kind::Path);
        self.attempt(|database| database.execute("DELETE FROM path_token", []));
    }
}

impl TicketStore for TokenFile {
    fn put(&self, server: &str, ticket: Zeroizing<Vec<u8>>, now: Epoch, expires: Epoch) {
        if self.keeps_tickets() && ticket.len() <= MAX_TICKET && server.len() <= MAX_SERVER {
            self.write_later(Token {
                kind: Kind::Ticket,
                server: server.to_owned(),
                token: ticket,
                received_ms: millis(now),
                expires_ms: millis(expires),
            });
        }
    }

    fn take(&self, server: &str, now: Epoch) -> Option<Zeroizing<Vec<u8>>> {
        let take = "DELETE FROM ticket WHERE number =
            (SELECT max(number) FROM ticket WHERE server = ?1) RETURNING token, expires_ms";
        self.take_current(Kind::Ticket, take, server, now).filter(|_| self.keeps_tickets())
    }
}

impl TokenStore for TokenFile {
    fn insert(&self, server_name: &str, token: Bytes) {
        if token.len() <= MAX_TOKEN && server_name.len() <= MAX_SERVER {
            self.write_later(Token {
                kind: Kind::Address,
                server: server_name.to_owned(),
                // A copy, because the token is a part of its datagram.
                token: token.to_vec().into(),
                received_ms: 0,
                expires_ms: 0,
            });
        }
    }

    fn take(&self, server_name: &str) -> Option<Bytes> {
        let take = "DELETE FROM address_token WHERE server = ?1 RETURNING token";
        let newest = self.waiting().take(Kind::Address, server_name);
        let newest = newest.map(|waiting| waiting.token.to_vec());
        let taken = self.attempt(|database| {
            database.query_row(take, [server_name], |row| row.get::<_, Vec<u8>>(0)).optional()
        });
        newest.or(taken.flatten()).map(Bytes::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_begin_at_once_share_a_new_file_that_waits_for_no_disk() {
        for _ in 0..20 {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("tokens.sqlite");
            std::thread::scope(|scope| {
                for number in 0..8 {
                    let path = &path;
                    scope.spawn(move || {
                        let file = TokenFile::open(path).unwrap();
                        let server = number.to_string();
                        file.insert(&server, Bytes::from_static(b"token"));
                        assert!(TokenStore::take(&file, &server).is_some());
                    });
                }
            });
            let file = TokenFile::open(&path).unwrap();
            let database = file.database();
            let mode = |name| {
                let text = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
                database.pragma_query_value(None, name, text).unwrap()
            };
            assert_eq!(mode("journal_mode"), "wal".to_owned().into());
            assert_eq!(mode("synchronous"), 1.into());
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_a_flood_of_tokens_the_newest_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens.sqlite");
        let file = TokenFile::open(&path).unwrap();
        let number = |number: u32| Bytes::copy_from_slice(&number.to_be_bytes());
        (0..20_000).for_each(|count| file.insert("server", number(count)));
        // Whether it is written by now or not.
        assert_eq!(TokenStore::take(&file, "server"), Some(number(19_999)));
        assert_eq!(TokenStore::take(&file, "server"), None);
        file.insert("server", number(1));
        let written = || {
            let other = Connection::open(&path).unwrap();
            let count = "SELECT count(*) FROM address_token";
            other.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap_or(0)
        };
        while written() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}
