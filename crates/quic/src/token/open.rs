//! The server's side: sealing tokens, and opening them with a reason for every refusal.

use super::ring::KeyRing;
use super::used::UsedTokens;
use super::{KEY_ID, MAX_TOKEN, Malformed, NONCE, Parts};
use crate::memory::{IpPrefix, SavedPath, StoreError};
use bentpipe_units::{Epoch, Span};
use noq_proto::VarInt;
use noq_proto::coding::{Decodable, Encodable};
use ring::aead::{Aad, Nonce};
use rustls::crypto::SecureRandom;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// Servers of a farm may be ahead of each other by this much: a token issued in the future by more
/// is refused. Our choice: far above what NTP leaves, far below a path's lifetime.
const SKEW: Span = Span::from_secs(60);

/// Used tokens remembered by default, our choice: about 3 MB.
const USED: usize = 65_536;

/// Why no token was made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SealError {
    /// Nothing to say about the path.
    #[error(transparent)]
    Path(#[from] StoreError),
    /// No nonce.
    #[error("the random generator failed")]
    Random,
    /// The cryptography library refused.
    #[error("the cipher failed")]
    Cipher,
}

/// Why a token was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    /// No token of this version.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Sealed with a key that is gone, or never was ours.
    #[error("the path token was sealed with an unknown key")]
    UnknownKey,
    /// A known key's identity, but not its seal.
    #[error("the path token's seal is broken")]
    Forged,
    /// Too old, or issued in the future.
    #[error("the path token is past its time, which ends at {0}")]
    Expired(Epoch),
    /// Sealed for another network.
    #[error("the path token is not for {0}")]
    WrongAddress(IpAddr),
    /// Used before.
    #[error("the path token has been used")]
    Replayed,
}

impl TokenError {
    /// In one word, as [`TokenCounts`] names it.
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

/// What became of tokens that were to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Opened.
    pub accepted: u64,
    /// The seal was broken.
    pub forged: u64,
    /// Too old.
    pub expired: u64,
    /// Of another client.
    pub wrong_address: u64,
    /// No tokens.
    pub malformed: u64,
    /// Of a key that is gone, or another server's.
    pub unknown_key: u64,
    /// Used before.
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
/// One for a server: a token opens once with it. Servers of a farm share keys, not the memory of
/// used tokens, so a token may open once at each of them; what it says is then still true for the
/// address it was sealed for.
#[derive(Debug)]
pub struct PathTokens {
    keys: KeyRing,
    used: UsedTokens,
    counts: TokenCounts,
}

impl PathTokens {
    /// With these keys, remembering 65,536 used tokens.
    pub fn new(keys: KeyRing) -> Self {
        Self::remembering(keys, USED)
    }

    /// With these keys, remembering `used` tokens. Beyond that, tokens that end early are refused
    /// unseen.
    pub fn remembering(keys: KeyRing, used: usize) -> Self {
        Self { keys, used: UsedTokens::new(used), counts: TokenCounts::default() }
    }

    /// The keys, to change the secret.
    pub const fn keys(&mut self) -> &mut KeyRing {
        &mut self.keys
    }

    /// What became of tokens so far.
    pub const fn counts(&self) -> TokenCounts {
        self.counts
    }

    /// A token that says `path` to us again when a client in the network `bound` brings it. It ends
    /// when the path's set does, or when its key does, whichever comes first. `random` is the
    /// system's generator; the seeded one in simulations.
    ///
    /// # Errors
    /// A path that says nothing, one that has expired at `now` among them; no randomness.
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
        let mut sealed = Sealed { issued: now, bound }.bytes().ok_or(SealError::Cipher)?;
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

    /// What a token brought by `remote` says, where its seal is ours, it is in time, for that
    /// address, and unused. It is used then. The set counts as measured when the token was issued.
    ///
    /// # Errors
    /// Why not; counted in [`PathTokens::counts`].
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

    /// Counts a stream that was to bring a token and broke its form.
    ///
    /// `length`: bytes of the token that it announced, or that there were.
    pub fn refuse_stream(&mut self, length: usize) -> TokenError {
        let error = TokenError::Malformed(Malformed(length));
        self.counts.count(Err(&error));
        error
    }

    /// From now on `token`, which was sealed here and turned out wrong, is taken for used.
    pub fn revoke(&mut self, token: &[u8], now: Epoch) {
        if let Ok(parts) = Parts::of(token) {
            self.used.insert(parts.read.expires, parts.nonce, now);
        }
    }

    fn check(&mut self, token: &[u8], remote: IpAddr, now: Epoch) -> Result<SavedPath, TokenError> {
        let parts = Parts::of(token)?;
        let sealed = unseal(&mut self.keys, &parts, now)?;
        // Sealed by us, so it can only be unreadable if a version was made that nobody counted up.
        let sealed = Sealed::read(&sealed).ok_or(Malformed(token.len()))?;
        let expires = parts.read.expires;
        if now >= expires || sealed.issued > now + SKEW {
            return Err(TokenError::Expired(expires));
        }
        if !sealed.bound.contains(remote) {
            return Err(TokenError::WrongAddress(remote));
        }
        // Last: a token that is refused for another reason is not used up.
        if !self.used.insert(expires, parts.nonce, now) {
            return Err(TokenError::Replayed);
        }
        let saved_at = sealed.issued.min(now);
        Ok(SavedPath { window: parts.read.window, rtt: parts.read.rtt, saved_at, expires })
    }
}

/// What is inside the seal, in bytes, where the seal is ours.
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

/// What only the server reads.
#[derive(Debug, PartialEq, Eq)]
struct Sealed {
    issued: Epoch,
    bound: IpPrefix,
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
        Some(bytes)
    }

    fn read(mut bytes: &[u8]) -> Option<Self> {
        let issued = Epoch::from_unix_millis(VarInt::decode(&mut bytes).ok()?.into_inner());
        let (&[family, length], address) = bytes.split_first_chunk()?;
        let address = match family {
            4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address).ok()?)),
            6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?)),
            _ => return None,
        };
        Some(Self { issued, bound: IpPrefix::new(address, length).ok()? })
    }
}
