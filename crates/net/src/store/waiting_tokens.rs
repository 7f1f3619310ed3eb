//! Tokens that wait to be written to their file.

use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// Largest number of tokens that wait. Our choice: those of as many servers as the file keeps.
const MAX_WAITING: usize = 1024;
/// Tickets that are kept of a server. A visit with early data may be over before it brings another,
/// and servers send two. Our choice.
pub(super) const TICKETS: usize = 4;

/// A kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Proves the client's address (NEW_TOKEN, RFC 9000 §8.1.3).
    Address,
    /// Holds a server's observations of a path.
    Path,
    /// Resumes a TLS session.
    Ticket,
}

/// A token, and the server that it is for.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub server: String,
    pub token: Zeroizing<Vec<u8>>,
    /// When it was received, in ms since 1970. 0 for tokens of an address.
    pub received_ms: i64,
    /// When it expires, in ms since 1970. 0 for tokens of an address.
    pub expires_ms: i64,
}

impl fmt::Debug for Token {
    /// Without the token, which is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, server, expires_ms, .. } = self;
        f.debug_struct("Token")
            .field("kind", kind)
            .field("server", server)
            .field("expires_ms", expires_ms)
            .finish_non_exhaustive()
    }
}

/// Tokens that wait to be written: the newest of each kind for each server, and the newest
/// [`TICKETS`]. A server may send any number of them, at any rate.
#[derive(Debug, Default)]
pub(super) struct WaitingTokens {
    /// By kind, server, and number of a ticket.
    tokens: BTreeMap<(Kind, String, usize), Token>,
    /// Number of the next ticket.
    next_ticket: usize,
    /// Whether a writer was started that has not ended.
    writing: bool,
}

impl WaitingTokens {
    /// Adds a token, in place of the oldest. Returns whether the caller has to start a writer,
    /// which calls [`WaitingTokens::next`] until it returns nothing.
    pub fn put(&mut self, token: Token) -> bool {
        let number = if token.kind == Kind::Ticket { self.next_ticket } else { 0 };
        self.next_ticket = (self.next_ticket + 1) % TICKETS;
        let key = (token.kind, token.server.clone(), number);
        if self.tokens.len() >= MAX_WAITING && !self.tokens.contains_key(&key) {
            return false;
        }
        self.tokens.insert(key, token);
        !std::mem::replace(&mut self.writing, true)
    }

    /// Removes and returns a token that is not yet written.
    pub fn take(&mut self, kind: Kind, server: &str) -> Option<Token> {
        let of = |number| (kind, server.to_owned(), number);
        let key = self.tokens.range(of(0)..of(TICKETS)).next()?.0.clone();
        self.tokens.remove(&key)
    }

    /// Forgets all tokens of a kind.
    pub fn forget(&mut self, kind: Kind) {
        self.tokens.retain(|(other, ..), _| *other != kind);
    }

    /// Removes and returns all tokens, for the writer. The writer ends if there are none.
    pub fn next(&mut self) -> Vec<Token> {
        self.writing = !self.tokens.is_empty();
        std::mem::take(&mut self.tokens).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(kind: Kind, server: &str, token: u32) -> Token {
        let (server, token) = (server.to_owned(), token.to_be_bytes().to_vec().into());
        Token { kind, server, token, received_ms: 1, expires_ms: 2 }
    }

    #[test]
    fn a_flood_of_tokens_leaves_the_newest_and_starts_one_writer() {
        let mut waiting = WaitingTokens::default();
        let started =
            (0..10_000).filter(|number| waiting.put(token(Kind::Address, "a", *number))).count();
        assert_eq!(started, 1);
        assert!(!waiting.put(token(Kind::Path, "a", 1)));
        let written = waiting.next();
        assert_eq!(written.len(), 2);
        assert_eq!(written[0], token(Kind::Address, "a", 9999));
        // The writer is at work. Another starts only after it has found nothing.
        assert!(!waiting.put(token(Kind::Address, "a", 10_000)));
        assert_eq!((waiting.next().len(), waiting.next().len()), (1, 0));
        assert!(waiting.put(token(Kind::Address, "a", 10_001)));
    }

    #[test]
    fn tokens_that_are_taken_or_forgotten_are_not_written() {
        let mut waiting = WaitingTokens::default();
        for server in ["a", "b"] {
            waiting.put(token(Kind::Address, server, 1));
            waiting.put(token(Kind::Path, server, 2));
        }
        let taken = waiting.take(Kind::Path, "a");
        assert_eq!(taken, Some(token(Kind::Path, "a", 2)));
        waiting.forget(Kind::Path);
        assert_eq!(waiting.take(Kind::Path, "b"), None);
        assert_eq!(waiting.next().len(), 2);
    }

    #[test]
    fn a_flood_of_tickets_leaves_some_of_the_server() {
        let mut waiting = WaitingTokens::default();
        for number in 0..100 {
            waiting.put(token(Kind::Ticket, "a", number));
        }
        let mut left: Vec<u32> = std::iter::from_fn(|| waiting.take(Kind::Ticket, "a"))
            .map(|token| u32::from_be_bytes(token.token[..].try_into().unwrap()))
            .collect();
        left.sort_unstable();
        assert_eq!(left, [96, 97, 98, 99]);
    }

    #[test]
    fn the_servers_whose_tokens_wait_are_bounded() {
        let mut waiting = WaitingTokens::default();
        for number in 0..2000 {
            waiting.put(token(Kind::Address, &number.to_string(), number));
        }
        assert_eq!(waiting.next().len(), MAX_WAITING);
    }
}
