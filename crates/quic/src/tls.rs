//! TLS 1.3 for QUIC: identities, configurations of both sides, and their two sources of randomness.

use crate::clock::EpochClock;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rand_core::{Rng, SeedableRng};
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring as provider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use thiserror::Error;

/// Application protocol of HTTP/3 (RFC 9114 §3.1).
pub const ALPN_H3: &[u8] = b"h3";
/// Application protocol of bare streams, ours alone.
pub const ALPN_RAW: &[u8] = b"bentpipe-raw";

/// Why no TLS configuration could be made.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The certificate could not be made.
    #[error("cannot make a certificate for {name}: {source}")]
    Certificate {
        /// The host name it was for.
        name: String,
        /// What the certificate library said.
        source: rcgen::Error,
    },
    /// rustls refused the certificate, the key or the protocol versions.
    #[error("TLS configuration refused: {0}")]
    Rustls(#[from] rustls::Error),
    /// The provider lacks TLS_AES_128_GCM_SHA256, which QUIC's Initial packets need (RFC 9001
    /// §5.2).
    #[error("the cryptography provider has no TLS_AES_128_GCM_SHA256")]
    NoInitialSuite,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    /// Chain as the server sends it, leaf first.
    pub certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A self-signed Ed25519 certificate for `name`, the same for the same `seed`.
    ///
    /// Ed25519, because its signatures have one length (RFC 8032): ECDSA's vary by a byte or two,
    /// and with them the size of handshake packets from run to run. The serial number is fixed for
    /// the same reason.
    ///
    /// # Errors
    /// `name` is no host name.
    pub fn self_signed(name: &str, seed: [u8; 32]) -> Result<Self, TlsError> {
        // PKCS#8 version 1 frame of an Ed25519 private key (RFC 8410 §7): the seed follows as it
        // is.
        let mut pkcs8 = vec![
            0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22,
            0x04, 0x20,
        ];
        pkcs8.extend_from_slice(&seed);
        let fail = |source| TlsError::Certificate { name: name.to_owned(), source };
        let pkcs8 = PrivatePkcs8KeyDer::from(pkcs8);
        let key_pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &rcgen::PKCS_ED25519)
            .map_err(fail)?;
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).map_err(fail)?;
        params.serial_number = Some(rcgen::SerialNumber::from(vec![0x42; 8]));
        let certificate = params.self_signed(&key_pair).map_err(fail)?;
        Ok(Self { certificates: vec![certificate.der().clone()], key: PrivateKeyDer::Pkcs8(pkcs8) })
    }

    /// Its private key, for configurations that are not made here.
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

thread_local! {
    static SEEDED: RefCell<Option<rand_pcg::Pcg64Mcg>> = const { RefCell::new(None) };
}

/// Seeds the generator that [`Randomness::Seeded`] configurations draw from on this thread. A
/// simulated run stays on one thread, so its draws come in one order whatever else runs.
pub fn seed_this_thread(seed: [u8; 16]) {
    SEEDED.with_borrow_mut(|generator| *generator = Some(rand_pcg::Pcg64Mcg::from_seed(seed)));
}

/// The thread's seeded generator as rustls wants it: reproducible, and for simulation only.
#[derive(Debug)]
struct SeededRandom;

impl SecureRandom for SeededRandom {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        SEEDED.with_borrow_mut(|generator| {
            generator.as_mut().map(|generator| generator.fill_bytes(buf)).ok_or(GetRandomFailed)
        })
    }
}

/// Where hello randoms, session identifiers and ticket ages come from.
///
/// Ephemeral keys always come from the operating system: the cryptography library takes no
/// generator for them. They have one length, so nothing but the encrypted bytes depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system.
    System,
    /// The generator seeded by [`seed_this_thread`]. Never on a real network.
    Seeded,
}

impl Randomness {
    /// The generator itself, for nonces and secrets.
    pub fn generator(self) -> &'static dyn SecureRandom {
        match self {
            Self::System => provider::default_provider().secure_random,
            Self::Seeded => &SeededRandom,
        }
    }
}

/// The cryptography that both sides use, drawing from `randomness`.
pub fn provider(randomness: Randomness) -> Arc<CryptoProvider> {
    let mut provider = provider::default_provider();
    // AES-128 first: it is what QUIC deployments negotiate where the processor has AES
    // instructions, and a third cheaper than the provider's default of AES-256.
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider.secure_random = randomness.generator();
    Arc::new(provider)
}

/// Collects the secrets of every connection in the format that Wireshark reads (`SSLKEYLOGFILE`).
/// Only for captures of simulated traffic.
#[derive(Debug, Clone, Default)]
pub struct SecretLog(Arc<Mutex<String>>);

impl SecretLog {
    /// The lines so far.
    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl rustls::KeyLog for SecretLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        use std::fmt::Write;
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hex = |text: &mut String, bytes: &[u8]| {
            for byte in bytes {
                // Writing into a String cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
        };
        text.push_str(label);
        text.push(' ');
        hex(&mut text, client_random);
        text.push(' ');
        hex(&mut text, secret);
        text.push('\n');
    }
}

/// A server's TLS side: one identity, tickets and 0-RTT on.
///
/// # Errors
/// rustls refuses the identity.
pub fn server(
    identity: &Identity,
    alpn: &[u8],
    randomness: Randomness,
    epoch: EpochClock,
    secrets: Option<SecretLog>,
) -> Result<QuicServerConfig, TlsError> {
    let mut config =
        rustls::ServerConfig::builder_with_details(provider(randomness), Arc::new(epoch))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(identity.certificates.clone(), identity.key.clone_key())?;
    config.alpn_protocols = vec![alpn.to_vec()];
    // RFC 9001 §4.6.1: in QUIC this value only says whether 0-RTT is accepted at all.
    config.max_early_data_size = u32::MAX;
    if let Some(secrets) = secrets {
        config.key_log = Arc::new(secrets);
    }
    QuicServerConfig::try_from(config).map_err(|_| TlsError::NoInitialSuite)
}

/// A client's TLS side, which keeps the tickets it is given.
#[derive(Debug, Clone)]
pub struct Client(rustls::ClientConfig);

impl Client {
    /// Trusts exactly `identity`.
    ///
    /// # Errors
    /// rustls refuses the certificate as a root.
    pub fn new(
        identity: &Identity,
        alpn: &[u8],
        randomness: Randomness,
        epoch: EpochClock,
    ) -> Result<Self, TlsError> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in &identity.certificates {
            roots.add(certificate.clone())?;
        }
        let mut config =
            rustls::ClientConfig::builder_with_details(provider(randomness), Arc::new(epoch))
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .with_root_certificates(roots)
                .with_no_client_auth();
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Self(config))
    }

    /// For QUIC: with `early_data` a ticket lets requests leave with the first flight; without, it
    /// only shortens the handshake's cryptography. Tickets are shared between all configurations
    /// made here: rustls takes up a session only with the very verifier that accepted it.
    ///
    /// # Errors
    /// The provider lacks what QUIC needs.
    pub fn quic(&self, early_data: bool) -> Result<QuicClientConfig, TlsError> {
        let mut config = self.0.clone();
        config.enable_early_data = early_data;
        QuicClientConfig::try_from(config).map_err(|_| TlsError::NoInitialSuite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_certificate() {
        let one = Identity::self_signed("server.test", [7; 32]).unwrap();
        let two = Identity::self_signed("server.test", [7; 32]).unwrap();
        assert_eq!(one.certificates, two.certificates);
        assert_ne!(
            one.certificates,
            Identity::self_signed("server.test", [8; 32]).unwrap().certificates
        );
    }

    #[test]
    fn a_seeded_thread_draws_the_same_bytes_again() {
        let draw = || {
            seed_this_thread([3; 16]);
            let mut bytes = [0; 32];
            SeededRandom.fill(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(draw(), draw());
    }

    #[test]
    fn aes_128_is_offered_first() {
        let first = provider(Randomness::System).cipher_suites[0].suite();
        assert_eq!(first, rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
    }
}
