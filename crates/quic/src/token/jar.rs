//! The client's side: one token for each server, handed out once.

use super::{Malformed, ReadToken};
use bentpipe_units::Epoch;
use std::collections::BTreeMap;

/// Keeps tokens by server name: at most one each, the last one given.
///
/// Names are what certificates are checked against, with the port where it is not the usual one: a
/// token goes to nobody but the server that gave it. Tokens are like cookies: what clears those
/// clears these.
pub trait PathTokenStore: std::fmt::Debug + Send {
    /// Keeps what `server` gave at `now`, instead of what it gave before. What has expired is not
    /// kept.
    ///
    /// # Errors
    /// What is no token; what was kept before stays.
    fn put(&mut self, server: &str, token: &[u8], now: Epoch) -> Result<(), Malformed>;

    /// Takes the token for `server` out, to send it: it is good for one connection.
    fn take(&mut self, server: &str, now: Epoch) -> Option<Vec<u8>>;

    /// Drops the token of `server`: after a change of network it is for another path.
    fn forget(&mut self, server: &str);

    /// Drops all tokens.
    fn forget_all(&mut self);
}

/// A jar in memory.
#[derive(Debug)]
pub struct MemoryPathTokenStore {
    most: usize,
    tokens: BTreeMap<String, (ReadToken, Vec<u8>)>,
}

impl MemoryPathTokenStore {
    /// A jar for tokens of at most `most` servers; the token that expires first goes first.
    pub const fn new(most: usize) -> Self {
        Self { most, tokens: BTreeMap::new() }
    }
}

impl Default for MemoryPathTokenStore {
    /// For 1024 servers, our choice: about 300 kB.
    fn default() -> Self {
        Self::new(1024)
    }
}

impl PathTokenStore for MemoryPathTokenStore {
    fn put(&mut self, server: &str, token: &[u8], now: Epoch) -> Result<(), Malformed> {
        let read = ReadToken::parse(token)?;
        self.tokens.retain(|_, (kept, _)| now < kept.expires);
        // RFC 1035 §2.3.4: names have at most 255 bytes; with a port, 261. A longer one is no
        // server's.
        if now < read.expires && server.len() <= 261 {
            self.tokens.insert(server.to_owned(), (read, token.to_vec()));
        }
        while self.tokens.len() > self.most {
            let first = self
                .tokens
                .iter()
                .min_by_key(|(_, (read, _))| read.expires)
                .map(|(server, _)| server.clone());
            let Some(first) = first else { break };
            self.tokens.remove(&first);
        }
        Ok(())
    }

    fn take(&mut self, server: &str, now: Epoch) -> Option<Vec<u8>> {
        self.tokens.remove(server).filter(|(read, _)| now < read.expires).map(|(_, token)| token)
    }

    fn forget(&mut self, server: &str) {
        self.tokens.remove(server);
    }

    fn forget_all(&mut self) {
        self.tokens.clear();
    }
}
