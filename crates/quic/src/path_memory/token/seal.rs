//! Sealing and opening tokens at a server.

use super::format::{KEY_ID, MAX_TOKEN, Malformed, NONCE, Parts, read_rtt, write_rtt};
use super::key_ring::KeyRing;
use super::used_tokens::UsedTokens;
use crate::path_memory::{IpPrefix, SavedPath, StoreError};
use bentpipe_units::{Epoch, Span};
use noq_proto::VarInt;
use noq_proto::coding::{Decodable, Encodable};
use ring::aead::{Aad, Nonce};
use rustls::crypto::SecureRandom;
use std::net::IpAddr;
use thiserror::Error;

/// Largest clock difference between servers of a farm: a token issued further in the future is
/// refused. Our choice: far above the error of NTP, far below the lifetime of a set.
const SKEW: Span = Span::from_secs(60);

/// Default number of used tokens that are remembered: 72 a second for the lifetime of a set, an
/// hour. Our choice: about 12 MB.
const USED_TOKENS: usize = 262_144;

/// Why a token cannot be sealed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SealError {
    /// The set is not usable.
    #[error(transparent)]
    Path(#[from] StoreError),
    /// No random nonce.
    #[error("the random generator failed")]
    Random,
    /// The cryptography library failed.
    #[error("the cipher failed")]
    Cipher,
}

/// Why a token was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    /// Not a token of this version.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Sealed with a key that was dropped, or is another server's.
    #[error("the path token was sealed with an unknown key")]
    UnknownKey,
    /// A known key identifier, but an invalid seal.
    #[error("the path token has an invalid seal")]
    Forged,
    /// Too old, or issued in the future.
    #[error("the path token is out of its lifetime, which ends at {0}")]
    Expired(Epoch),
    /// Sealed for another network.
    #[error("the path token is sealed for another network than that of {0}")]
    WrongAddress(IpAddr),
    /// Used before.
    #[error("the path token was used before")]
    Replayed,
}

impl TokenError {
    /// Returns the name of its counter in [`TokenCounts`].
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged",
            Self::Expired(_) => "expired",
            Self::WrongAddress(_) => "wrong_address",
            Self::Replayed => "replayed",
        }
    }
}

/// Outcomes of opening tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Accepted.
    pub accepted: u64,
    /// Refused: invalid seal.
    pub forged: u64,
    /// Refused: out of its lifetime.
    pub expired: u64,
    /// Refused: sealed for another network.
    pub wrong_address: u64,
    /// Refused: not a token.
    pub malformed: u64,
    /// Refused: unknown key.
    pub unknown_key: u64,
    /// Refused: used before.
    pub replayed: u64,
}

impl TokenCounts {
    fn count(&mut self, outcome: Result<(), &TokenError>) {
        let counter = match outcome {
            Ok(()) => &mut self.accepted,
            Err(TokenError::Forged) => &mut self.forged,
            Err(TokenError::Expired(_)) => &mut self.expired,
            Err(TokenError::WrongAddress(_)) => &mut self.wrong_address,
            Err(TokenError::Malformed(_)) => &mut self.malformed,
            Err(TokenError::UnknownKey) => &mut self.unknown_key,
            Err(TokenError::Replayed) => &mut self.replayed,
        };
        *counter = counter.saturating_add(1);
    }
}

/// Seals and opens path tokens.
///
/// A server has one, and a token opens once with it. Servers of a farm share keys but not the
/// record of used tokens, so a token may open once at each of them; its content is then still true
/// for the address that it was sealed for.
#[derive(Debug)]
pub struct PathTokens {
    keys: KeyRing,
    used: UsedTokens,
    counts: TokenCounts,
}

impl PathTokens {
    /// With these keys, and a record of 262,144 used tokens.
    pub fn new(keys: KeyRing) -> Self {
        Self::with_used_tokens(keys, USED_TOKENS)
    }

    /// With these keys, and a record of at most `max` used tokens. If it overflows, tokens that
    /// expire early are refused.
    pub fn with_used_tokens(keys: KeyRing, max: usize) -> Self {
        Self { keys, used: UsedTokens::new(max), counts: TokenCounts::default() }
    }

    /// Returns the keys, to change the secret.
    pub const fn keys(&mut self) -> &mut KeyRing {
        &mut self.keys
    }

    /// Returns the outcomes so far.
    pub const fn counts(&self) -> TokenCounts {
        self.counts
    }

    /// Seals `path` in a token for clients of the network `bound`. The token expires with the set
    /// or with its key, whichever is first. `random` is the system's generator; the seeded one in
    /// simulations.
    ///
    /// # Errors
    /// The set is not usable, or has expired at `now`; no randomness.
    pub fn seal(
        &mut self,
        path: &SavedPath,
        bound: IpPrefix,
        now: Epoch,
        random: &dyn SecureRandom,
    ) -> Result<Vec<u8>, SealError> {
        let path = SavedPath {
            saved_at: now,
            expires: path.expires.min(self.keys.latest_expiry(now)),
            ..*path
        };
        path.check()?;
        let mut nonce = [0; NONCE];
        random.fill(&mut nonce).map_err(|_| SealError::Random)?;
        let (key, cipher) = self.keys.current(now).ok_or(SealError::Cipher)?;
        let mut token = Parts::clear(key, nonce, &path).ok_or(SealError::Cipher)?;
        let mut sealed = Sealed { issued: now, bound, first_rtt: path.first_rtt }
            .bytes()
            .ok_or(SealError::Cipher)?;
        cipher
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(&token),
                &mut sealed,
            )
            .map_err(|_| SealError::Cipher)?;
        token.append(&mut sealed);
        Ok(token)
    }

    /// Opens a token that `remote` sent, and marks it as used. The seal must be valid, and the
    /// token within its lifetime, for that address, and unused. The set counts as measured when the
    /// token was issued.
    ///
    /// # Errors
    /// Why it is refused, counted in [`PathTokens::counts`].
    pub fn open(
        &mut self,
        token: &[u8],
        remote: IpAddr,
        now: Epoch,
    ) -> Result<SavedPath, TokenError> {
        let opened = self.check(token, remote, now);
        self.counts.count(opened.as_ref().map(|_| ()));
        opened
    }

    /// Counts a token stream with invalid framing.
    ///
    /// `length`: bytes of the token that it announced or contained.
    pub fn refuse_stream(&mut self, length: usize) -> TokenError {
        let error = TokenError::Malformed(Malformed(length));
        self.counts.count(Err(&error));
        error
    }

    /// Marks `token`, which was sealed here and turned out wrong, as used.
    pub fn revoke(&mut self, token: &[u8], now: Epoch) {
        let Ok(parts) = Parts::of(token) else { return };
        let sealed = unseal(&mut self.keys, &parts, now).ok();
        if let Some(Sealed { bound, .. }) = sealed.and_then(|sealed| Sealed::read(&sealed)) {
            self.used.insert(bound, parts.read.expires, parts.nonce, now);
        }
    }

    fn check(&mut self, token: &[u8], remote: IpAddr, now: Epoch) -> Result<SavedPath, TokenError> {
        let parts = Parts::of(token)?;
        let sealed = unseal(&mut self.keys, &parts, now)?;
        // The seal is ours, so it is unreadable only if the format changed without a new version.
        let sealed = Sealed::read(&sealed).ok_or(Malformed(token.len()))?;
        let expires = parts.read.expires;
        if now >= expires || sealed.issued > now + SKEW {
            return Err(TokenError::Expired(expires));
        }
        if !sealed.bound.contains(remote) {
            return Err(TokenError::WrongAddress(remote));
        }
        // Last, so that a token refused for another reason stays unused.
        if !self.used.insert(sealed.bound, expires, parts.nonce, now) {
            return Err(TokenError::Replayed);
        }
        let saved_at = sealed.issued.min(now);
        Ok(SavedPath {
            window: parts.read.window,
            rtt: parts.read.rtt,
            first_rtt: sealed.first_rtt,
            saved_at,
            expires,
        })
    }
}

/// Returns the sealed bytes, if the seal is valid.
fn unseal(keys: &mut KeyRing, parts: &Parts<'_>, now: Epoch) -> Result<Vec<u8>, TokenError> {
    let key: [u8; KEY_ID] = parts.key;
    let mut refused = TokenError::UnknownKey;
    for cipher in keys.find(key, now) {
        let mut bytes = parts.seal.to_vec();
        let nonce = Nonce::assume_unique_for_key(parts.nonce);
        if let Ok(plain) = cipher.open_in_place(nonce, Aad::from(parts.clear), &mut bytes) {
            let length = plain.len();
            bytes.truncate(length);
            return Ok(bytes);
        }
        refused = TokenError::Forged;
    }
    Err(refused)
}

/// The part of a token that only the server reads.
#[derive(Debug, PartialEq, Eq)]
struct Sealed {
    issued: Epoch,
    bound: IpPrefix,
    first_rtt: Option<Span>,
}

impl Sealed {
    fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(MAX_TOKEN);
        VarInt::from_u64(self.issued.as_unix_millis()).ok()?.encode(&mut bytes);
        match self.bound.address() {
            IpAddr::V4(address) => {
                bytes.extend_from_slice(&[4, self.bound.length()]);
                bytes.extend_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                bytes.extend_from_slice(&[6, self.bound.length()]);
                bytes.extend_from_slice(&address.octets());
            }
        }
        if let Some(rtt) = self.first_rtt {
            VarInt::from_u64(write_rtt(rtt)).ok()?.encode(&mut bytes);
        }
        Some(bytes)
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let issued = Epoch::from_unix_millis(VarInt::decode(&mut bytes).ok()?.into_inner());
        let (&[family, length], bytes) = bytes.split_first_chunk()?;
        let (address, mut rest) = match family {
            4 => {
                let (octets, rest) = bytes.split_first_chunk::<4>()?;
                (IpAddr::from(*octets), rest)
            }
            6 => {
                let (octets, rest) = bytes.split_first_chunk::<16>()?;
                (IpAddr::from(*octets), rest)
            }
            _ => return None,
        };
        let first_rtt = match rest {
            [] => None,
            _ => Some(read_rtt(VarInt::decode(&mut rest).ok()?.into_inner())?),
        };
        // Nothing may follow.
        rest.is_empty().then_some(())?;
        Some(Self { issued, bound: IpPrefix::new(address, length).ok()?, first_rtt })
    }
}
