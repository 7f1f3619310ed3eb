//! The cryptography provider of clients that keep tickets. Its key derivation is that of the usual
//! provider, and notes the secrets of tickets, or gives one that was kept.
//!
//! What happens to a secret is decided on the thread that derives it, for as long as one call
//! lasts: [`noting`] and [`giving`]. Otherwise, and for all other secrets, nothing happens.

use super::super::config;
use super::super::randomness::Randomness;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use rustls::crypto::{ActiveKeyExchange, CipherSuiteCommon, CryptoProvider, hmac};
use rustls::{Error, SupportedCipherSuite, Tls13CipherSuite};
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use zeroize::Zeroizing;

/// The label from which a ticket's secret is derived (RFC 8446 §4.6.1), and its place in what
/// rustls passes: length, length of the label, prefix, label.
const LABEL: &[u8] = b"resumption";
const LABEL_AT: usize = 3;

type Secret = Zeroizing<Vec<u8>>;

/// What happens to the secrets of tickets.
enum Scope {
    /// The latest is noted.
    Noting(Option<Secret>),
    /// This one is given in place of what is derived.
    Giving(Secret),
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

/// Ends a scope, also when a panic ends it.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        SCOPE.set(None);
    }
}

fn within<T>(scope: Scope, work: impl FnOnce() -> T) -> T {
    SCOPE.set(Some(scope));
    let _end = End;
    work()
}

/// Notes the secrets of tickets during `work`, in which [`noted`] returns them.
pub(super) fn noting<T>(work: impl FnOnce() -> T) -> T {
    within(Scope::Noting(None), work)
}

/// Returns the secret that was derived last, once.
pub(super) fn noted() -> Option<Secret> {
    SCOPE.with_borrow_mut(|scope| match scope {
        Some(Scope::Noting(secret)) => secret.take(),
        _ => None,
    })
}

/// Makes `secret` the secret of the tickets that are read during `work`.
pub(super) fn giving<T>(secret: Secret, work: impl FnOnce() -> T) -> T {
    within(Scope::Giving(secret), work)
}

/// Returns whether this thread is in [`giving`].
pub(super) fn is_giving() -> bool {
    SCOPE.with_borrow(|scope| matches!(scope, Some(Scope::Giving(_))))
}

/// Returns the provider. Its cipher suites are made once, since rustls keeps them for ever.
pub(super) fn provider() -> Arc<CryptoProvider> {
    static SUITES: LazyLock<Vec<SupportedCipherSuite>> = LazyLock::new(|| {
        let usual = config::provider(Randomness::System);
        usual.cipher_suites.iter().filter_map(|suite| suite.tls13()).map(watched).collect()
    });
    let usual = config::provider(Randomness::System);
    Arc::new(CryptoProvider { cipher_suites: SUITES.clone(), ..(*usual).clone() })
}

fn watched(suite: &'static Tls13CipherSuite) -> SupportedCipherSuite {
    SupportedCipherSuite::Tls13(Box::leak(Box::new(Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: Box::leak(Box::new(Derivation(suite.hkdf_provider))),
        aead_alg: suite.aead_alg,
        quic: suite.quic,
    })))
}

struct Derivation(&'static dyn Hkdf);

impl Hkdf for Derivation {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        Box::new(Expander(self.0.extract_from_zero_ikm(salt)))
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        Box::new(Expander(self.0.extract_from_secret(salt, secret)))
    }

    fn extract_from_kx_shared_secret(
        &self,
        salt: Option<&[u8]>,
        exchange: Box<dyn ActiveKeyExchange>,
        peer: &[u8],
    ) -> Result<Box<dyn HkdfExpander>, Error> {
        let expander = self.0.extract_from_kx_shared_secret(salt, exchange, peer)?;
        Ok(Box::new(Expander(expander)))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander(self.0.expander_for_okm(okm)))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> hmac::Tag {
        self.0.hmac_sign(key, message)
    }
}

struct Expander(Box<dyn HkdfExpander>);

impl HkdfExpander for Expander {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        self.0.expand_slice(info, output)
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let derived = self.0.expand_block(info);
        if info.get(LABEL_AT) != Some(&LABEL) {
            return derived;
        }
        SCOPE.with_borrow_mut(|scope| match scope {
            Some(Scope::Giving(secret)) => OkmBlock::new(secret),
            Some(Scope::Noting(secret)) => {
                *secret = Some(Zeroizing::new(derived.as_ref().to_vec()));
                derived
            }
            None => derived,
        })
    }

    fn hash_len(&self) -> usize {
        self.0.hash_len()
    }
}
