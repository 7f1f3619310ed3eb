//! The keys of a server: of path tokens, of address-validation tokens, of stateless resets, and of
//! TLS sessions. With a file, they outlive the server.

use super::error::ServerError;
use super::holdback::Holdback;
use crate::clock::RealClock;
use crate::store::{OpenError, ServerFile};
use bentpipe_quic::DEFAULT_LIFETIME;
use bentpipe_quic::noq_proto::crypto::{CryptoError, HandshakeTokenKey, HmacKey};
use bentpipe_quic::path_memory::token::{KeyRing, PathTokens, Secret, TokenServer};
use bentpipe_quic::path_memory::{Prefixes, StoreError};
use bentpipe_quic::tls::Randomness;
use bentpipe_units::Ratio;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::hmac;
use rustls::server::StoresServerSessions;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use zeroize::Zeroizing;

/// TLS sessions of connections over TCP, in memory, each resumed once. Each takes about 500 bytes.
/// Without one, a client has a full handshake of as many round trips. Our choice.
pub(super) const SESSIONS: usize = 16_384;

/// The keys of a server.
pub(super) struct ServerKeys {
    path_tokens: Secret,
    /// Seals the tokens of Retry and NEW_TOKEN (RFC 9000 §8.1).
    pub address_tokens: Arc<AddressTokenKey>,
    resets: Zeroizing<[u8; 32]>,
    /// Sessions of QUIC connections, which may send early data.
    pub sessions: Arc<dyn StoresServerSessions>,
}

impl ServerKeys {
    /// Returns the keys in `file`, or new ones that last until the program ends. A file that is
    /// damaged or on a full disk does not keep the server from starting: `warnings` says so, and
    /// also if other users may read the file.
    /// `failures` counts sessions that are not written or read later.
    /// `settings` describes the transport settings, which sessions are bound to.
    pub fn open(
        file: Option<&Path>,
        (settings, clock): (&str, &RealClock),
        warnings: &mut Vec<String>,
        failures: &Arc<AtomicU64>,
    ) -> Result<Self, ServerError> {
        let Some(file) = file else { return Self::draw(settings, clock, failures) };
        let error = match ServerFile::open(file) {
            Ok(opened) => {
                warnings.extend(opened.warning());
                match Self::read(opened, settings, clock, failures) {
                    Ok(keys) => return Ok(keys),
                    Err(error) => error,
                }
            }
            Err(OpenError::Refused(error)) => return Err(error.into()),
            Err(OpenError::Unavailable(error)) => error,
        };
        warnings.push(format!("keys and TLS sessions are kept in memory only: {error}"));
        Self::draw(settings, clock, failures)
    }

    fn read(
        file: ServerFile,
        settings: &str,
        clock: &RealClock,
        failures: &Arc<AtomicU64>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            path_tokens: Secret::new(&*file.secret("path tokens")?),
            address_tokens: Arc::new(AddressTokenKey::new(&*file.secret("address tokens")?)),
            resets: file.secret("stateless resets")?,
            sessions: Arc::new(file.sessions(settings, clock.epoch(), failures.clone())?),
        })
    }

    fn draw(
        settings: &str,
        clock: &RealClock,
        failures: &Arc<AtomicU64>,
    ) -> Result<Self, ServerError> {
        let kept = ServerFile::in_memory()?;
        let none = |_| ServerError::System("the system has no random numbers".to_owned());
        let random = Randomness::System.generator();
        let [mut drawn, mut resets] = [Zeroizing::new([0; 32]), Zeroizing::new([0; 32])];
        random.fill(&mut *drawn).map_err(none)?;
        random.fill(&mut *resets).map_err(none)?;
        Ok(Self {
            path_tokens: Secret::draw(random).map_err(none)?,
            address_tokens: Arc::new(AddressTokenKey::new(&drawn)),
            resets,
            sessions: Arc::new(kept.sessions(settings, clock.epoch(), failures.clone())?),
        })
    }

    /// Returns the key of the stateless resets of a server at `address`, with which clients learn
    /// at once that it has forgotten their connection (RFC 9000 §10.3). Another address has another
    /// key: servers with the same one would end each other's connections (§21.11).
    pub fn reset_key(&self, address: SocketAddr) -> Arc<dyn HmacKey> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &*self.resets);
        let derived =
            hmac::sign(&secret, format!("bentpipe stateless reset 1 {address}").as_bytes());
        Arc::new(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    /// Returns the division of clients that holds `share` of them back. It lasts as long as the
    /// keys.
    pub fn holdback(&self, share: Ratio) -> Holdback {
        Holdback::new(share.get(), &*self.resets)
    }

    /// Returns the server of path tokens.
    pub fn token_server(&self, clock: &RealClock) -> Result<TokenServer, ServerError> {
        let random = Randomness::System.generator();
        let ring = KeyRing::new(self.path_tokens.clone(), KeyRing::PERIOD)?;
        let (tokens, prefixes) = (PathTokens::new(ring), Prefixes::default());
        Ok(TokenServer::new(tokens, prefixes, DEFAULT_LIFETIME, clock.epoch(), random))
    }
}

/// Seals tokens that validate addresses, each with a key derived from a random number in it. The
/// same construction as in noq, whose key cannot be kept.
pub(super) struct AddressTokenKey(Prk);

impl AddressTokenKey {
    fn new(secret: &[u8; 32]) -> Self {
        Self(Salt::new(HKDF_SHA256, b"bentpipe address token 1").extract(secret))
    }

    fn cipher(&self, token_nonce: u128) -> Result<LessSafeKey, CryptoError> {
        let info = token_nonce.to_le_bytes();
        let mut key = Zeroizing::new([0; 32]);
        self.0
            .expand(&[&info], HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut *key))
            .and_then(|()| UnboundKey::new(&AES_256_GCM, &*key))
            .map(LessSafeKey::new)
            .map_err(|_| CryptoError)
    }

    /// Returns the nonce of each token. Its key is used once.
    fn nonce() -> Nonce {
        Nonce::assume_unique_for_key([0; 12])
    }
}

impl HandshakeTokenKey for AddressTokenKey {
    fn seal(&self, token_nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        let sealed =
            self.cipher(token_nonce)?.seal_in_place_append_tag(Self::nonce(), Aad::empty(), data);
        sealed.map_err(|_| CryptoError)
    }

    fn open<'a>(&self, token_nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let cipher = self.cipher(token_nonce)?;
        let opened = cipher.open_in_place(Self::nonce(), Aad::empty(), data);
        opened.map(|opened| &*opened).map_err(|_| CryptoError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn a_file_that_others_may_read_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.sqlite");
        let warnings = || {
            let mut warnings = Vec::new();
            ServerKeys::open(Some(&file), ("", &RealClock::new()), &mut warnings, &Arc::default())
                .unwrap();
            warnings
        };
        assert_eq!(warnings(), [""; 0], "a new file");
        for (mode, reported) in [(0o644, true), (0o660, true), (0o640, false), (0o600, false)] {
            File::open(&file).unwrap().set_permissions(Permissions::from_mode(mode)).unwrap();
            let warnings = warnings();
            assert_eq!(warnings.len(), usize::from(reported), "{mode:04o}: {warnings:?}");
            assert!(warnings.iter().all(|text| text.contains(&format!("its mode {mode:04o} "))));
        }
        // Only root can give it to another user.
        if chown(&file, Some(1234), None).is_ok() {
            assert!(warnings()[0].contains("user 1234 owns it"));
        }
    }

    #[test]
    fn a_token_opens_with_its_key_and_number_only() {
        let (key, other) = (AddressTokenKey::new(&[1; 32]), AddressTokenKey::new(&[2; 32]));
        let mut token = b"192.0.2.1".to_vec();
        key.seal(7, &mut token).unwrap();
        assert_eq!(
            AddressTokenKey::new(&[1; 32]).open(7, &mut token.clone()).unwrap(),
            b"192.0.2.1"
        );
        assert!(other.open(7, &mut token.clone()).is_err());
        assert!(key.open(8, &mut token.clone()).is_err());
        token[0] ^= 1;
        assert!(key.open(7, &mut token).is_err());
    }
}
