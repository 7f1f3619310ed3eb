//! A client's tokens: one per server, each used once.

use super::format::{Malformed, ReadToken};
use bentpipe_units::Epoch;
use std::collections::BTreeMap;

/// Stores tokens by server name: at most one per server, the last one received.
///
/// The name is the one that certificates are verified against, with the port unless it is the
/// default: a token goes only to the server that issued it. Tokens are like cookies: clear both
/// together.
pub trait PathTokenStore: std::fmt::Debug + Send {
    /// Stores a token that `server` issued, replacing the one before. An expired token is not
    /// stored.
    ///
    /// # Errors
    /// The bytes are not a token; the one before stays.
    fn put(&mut self, server: &str, token: &[u8], now: Epoch) -> Result<(), Malformed>;

    /// Removes the token for `server` to send it: it is valid for one connection.
    fn take(&mut self, server: &str, now: Epoch) -> Option<Vec<u8>>;

    /// Deletes the token of `server`: after a change of network it is for another path.
    fn forget(&mut self, server: &str);

    /// Deletes all tokens.
    fn forget_all(&mut self);
}

/// A store in memory.
#[derive(Debug)]
pub struct MemoryPathTokenStore {
    max: usize,
    tokens: BTreeMap<String, (ReadToken, Vec<u8>)>,
}

impl MemoryPathTokenStore {
    /// A store for tokens of at most `max` servers; the token that expires first is removed first.
    pub const fn new(max: usize) -> Self {
        Self { max, tokens: BTreeMap::new() }
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
        // RFC 1035 §2.3.4: names have at most 255 bytes; with a port, 261.
        if now < read.expires && server.len() <= 261 {
            self.tokens.insert(server.to_owned(), (read, token.to_vec()));
        }
        while self.tokens.len() > self.max {
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
