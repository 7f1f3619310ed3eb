//! What a server and a client have to do with tokens, for all their connections and for one.

use super::{PathTokenStore, PathTokens, ReadToken, TokenCounts, TokenError};
use crate::clock::EpochClock;
use crate::memory::{Prefixes, SavedPath};
use bentpipe_congestion::resume::ResumeState;
use bentpipe_congestion::{ResumeHandle, SavedParameters};
use bentpipe_units::{Bytes, Span, Time};
use rustls::crypto::SecureRandom;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A server that issues tokens. Clones are the same one.
#[derive(Debug, Clone)]
pub struct TokenServer {
    tokens: Arc<Mutex<PathTokens>>,
    prefixes: Prefixes,
    lifetime: Span,
    epoch: EpochClock,
    random: &'static dyn SecureRandom,
}

impl TokenServer {
    /// Issues `tokens` for the networks of clients that `prefixes` tell apart, good for `lifetime`
    /// on `epoch`'s clock; `random` draws their nonces.
    pub fn new(
        tokens: PathTokens,
        prefixes: Prefixes,
        lifetime: Span,
        epoch: EpochClock,
        random: &'static dyn SecureRandom,
    ) -> Self {
        Self { tokens: Arc::new(Mutex::new(tokens)), prefixes, lifetime, epoch, random }
    }

    fn lock(&self) -> MutexGuard<'_, PathTokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of the tokens that were brought.
    pub fn counts(&self) -> TokenCounts {
        self.lock().counts()
    }

    /// Seals what is known of the path to `remote`; what was offered keeps its end. Nothing where
    /// that cannot be: a client can do without.
    pub(super) fn seal(
        &self,
        saved: &SavedParameters,
        remote: IpAddr,
        clock: Time,
    ) -> Option<Vec<u8>> {
        let now = self.epoch.epoch();
        let left =
            saved.valid_until.map_or(self.lifetime, |until| until.since(clock).min(self.lifetime));
        let path = SavedPath::new(saved.window, saved.rtt, now, left).ok()?;
        let sealed = self.lock().seal(&path, self.prefixes.of(remote), now, self.random);
        sealed.inspect_err(|error| tracing::warn!(%error, "path token")).ok()
    }

    /// Opens a token that `remote` brought, `Err` being a stream that broke its form at so many
    /// bytes.
    fn open(
        &self,
        token: Result<&[u8], usize>,
        remote: IpAddr,
        clock: Time,
    ) -> Result<SavedParameters, TokenError> {
        let now = self.epoch.epoch();
        let mut tokens = self.lock();
        let path = match token {
            Ok(token) => tokens.open(token, remote, now)?,
            Err(length) => return Err(tokens.refuse_stream(length)),
        };
        let left =
            Span::from_millis(path.expires.as_unix_millis().saturating_sub(now.as_unix_millis()));
        Ok(SavedParameters { window: path.window, rtt: path.rtt, valid_until: Some(clock + left) })
    }

    pub(super) fn revoke(&self, tokens: &[Vec<u8>]) {
        let now = self.epoch.epoch();
        tokens.iter().for_each(|token| self.lock().revoke(token, now));
    }
}

/// A client that keeps tokens. Clones are the same one.
#[derive(Debug, Clone)]
pub struct TokenClient {
    jar: Arc<Mutex<dyn PathTokenStore>>,
    epoch: EpochClock,
}

impl TokenClient {
    /// Keeps tokens in `jar`, by `epoch`'s clock.
    pub fn new(jar: impl PathTokenStore + 'static, epoch: EpochClock) -> Self {
        Self { jar: Arc::new(Mutex::new(jar)), epoch }
    }

    /// The jar itself, to forget what is in it.
    pub fn jar(&self) -> MutexGuard<'_, dyn PathTokenStore + 'static> {
        self.jar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, server: &str, token: &[u8]) {
        // What is no token is not kept; the server may have a later version of them.
        if let Err(error) = self.jar().put(server, token, self.epoch.epoch()) {
            tracing::debug!(%error, server, "path token not kept");
        }
    }

    pub(super) fn take(&self, server: &str) -> Option<Vec<u8>> {
        let now = self.epoch.epoch();
        self.jar().take(server, now)
    }
}

/// How far a client lets a token move its connection's flow-control window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientWindows {
    /// The window that the connection was configured with.
    pub present: Bytes,
    /// The largest it may become: what the client is willing to hold for a server that says so.
    pub most: Bytes,
}

impl ClientWindows {
    /// The largest window by default, our choice: 64 MB are 850 Mbps over 600 ms.
    pub const MOST: Bytes = Bytes::from_mb(64);

    /// The window that fits what the path carried: twice that, since credit returns a round trip
    /// late; at most [`ClientWindows::most`], and never below the present one.
    pub fn after(&self, token: &ReadToken) -> Bytes {
        token.window.mul_f64(2.0).min(self.most).max(self.present)
    }
}

/// What became of the token that a connection's client brought. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct TokenOutcome(Arc<Mutex<Option<Result<(), TokenError>>>>);

impl TokenOutcome {
    /// Nothing where no token was brought.
    pub fn get(&self) -> Option<Result<(), TokenError>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In one word: `none`, `accepted`, or why not.
    pub fn name(&self) -> &'static str {
        match self.get() {
            None => "none",
            Some(Ok(())) => "accepted",
            Some(Err(error)) => error.name(),
        }
    }
}

/// One connection's part in it.
#[derive(Debug, Clone)]
pub enum Tokens {
    /// Issues tokens, and takes the client's.
    Server {
        /// The server.
        server: TokenServer,
        /// The connection's notes, which its controller keeps too.
        notes: ResumeHandle,
        /// What became of the client's token.
        verdict: TokenOutcome,
    },
    /// Brings the server's token, and keeps new ones.
    Client {
        /// The client.
        client: TokenClient,
        /// The server's name in the jar.
        server: String,
        /// Its flow control.
        windows: ClientWindows,
    },
}

impl Tokens {
    /// A server's part for the connection with these notes.
    pub fn server(server: &TokenServer, notes: ResumeHandle) -> Self {
        Self::Server { server: server.clone(), notes, verdict: TokenOutcome::default() }
    }

    /// A client's part for a connection to `server`.
    pub fn client(client: &TokenClient, server: &str, windows: ClientWindows) -> Self {
        Self::Client { client: client.clone(), server: server.to_owned(), windows }
    }

    /// The verdict on the client's token, at a server.
    pub fn verdict(&self) -> Option<&TokenOutcome> {
        match self {
            Self::Server { verdict, .. } => Some(verdict),
            Self::Client { .. } => None,
        }
    }

    /// What the notes of a server's connection say.
    pub(crate) fn resume_state(&self) -> Option<ResumeState> {
        match self {
            Self::Server { notes, .. } => Some(notes.resume_state()),
            Self::Client { .. } => None,
        }
    }
}

/// A server judges the token that `remote` brought, and offers what it says to the connection.
pub(super) fn judge(
    (server, notes, verdict): (&TokenServer, &ResumeHandle, &TokenOutcome),
    token: Result<&[u8], usize>,
    remote: IpAddr,
    clock: Time,
) {
    let opened = server.open(token, remote, clock);
    *verdict.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.map(|_| ()));
    if let Ok(saved) = opened {
        // It may come too late for this connection; that is no fault of the token.
        notes.offer(saved);
    }
}
