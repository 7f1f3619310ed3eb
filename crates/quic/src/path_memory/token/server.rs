//! Tokens at a server.

use super::seal::{PathTokens, TokenCounts, TokenError};
use crate::clock::EpochClock;
use crate::path_memory::{Prefixes, SavedPath};
use bentpipe_congestion::SavedParameters;
use bentpipe_units::{Span, Time};
use rustls::crypto::SecureRandom;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A server that issues and accepts tokens. Clones share its state.
#[derive(Debug, Clone)]
pub struct TokenServer {
    tokens: Arc<Mutex<PathTokens>>,
    prefixes: Prefixes,
    lifetime: Span,
    epoch: EpochClock,
    random: &'static dyn SecureRandom,
}

impl TokenServer {
    /// Issues `tokens` for client networks by `prefixes`, valid for `lifetime` by the `epoch`
    /// clock; `random` draws their nonces.
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

    /// Returns the outcomes of the tokens received.
    pub fn counts(&self) -> TokenCounts {
        self.lock().counts()
    }

    /// Seals the parameters of the path to `remote`; a set with an expiry keeps it. `None` if that
    /// fails: a client can do without.
    pub(super) fn seal(
        &self,
        saved: &SavedParameters,
        remote: IpAddr,
        clock: Time,
    ) -> Option<Vec<u8>> {
        let now = self.epoch.epoch();
        let left =
            saved.valid_until.map_or(self.lifetime, |until| until.since(clock).min(self.lifetime));
        let path = SavedPath::of(saved, now, left).ok()?;
        let sealed = self.lock().seal(&path, self.prefixes.of(remote), now, self.random);
        sealed.inspect_err(|error| tracing::warn!(%error, "path token")).ok()
    }

    /// Opens a token that `remote` sent. `Err`: a stream with invalid framing, and the length of
    /// its token.
    pub(super) fn open(
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
        Ok(path.parameters(clock + left))
    }

    /// Marks tokens that were issued as used.
    pub(super) fn revoke(&self, tokens: &[Vec<u8>]) {
        let now = self.epoch.epoch();
        tokens.iter().for_each(|token| self.lock().revoke(token, now));
    }
}
