//! What two proxies know of each other: a secret in a file of each, from which both derive the keys
//! that they show.
//!
//! Each has an Ed25519 key of its role, derived from the secret, and a self-signed certificate for
//! it; each trusts that of the other role and no other (TLS 1.3 with certificates of both sides,
//! RFC 8446 §4.3.2). Nothing of the secret crosses the network. Who talks to a proxy can see a
//! public key that was derived from it, so that it has to be one that nobody can guess: it is
//! drawn, not chosen.

use super::super::PepError;
use bentpipe_quic::noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use bentpipe_quic::tls::{Identity, Randomness, provider};
use ring::hkdf::{HKDF_SHA256, Salt};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// What the tunnel's protocol is called in the handshake (RFC 7301).
const ALPN: &[u8] = b"bentpipe-pep/1";
/// Bytes of a secret.
const LENGTH: usize = 32;

/// The name in the certificate of either role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Role {
    /// Where connections enter the tunnel.
    Listener,
    /// Where they leave it.
    Exit,
}

impl Role {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Listener => "entrance.pep.bentpipe",
            Self::Exit => "exit.pep.bentpipe",
        }
    }
}

/// A secret that two proxies share. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; LENGTH]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

fn system(what: impl fmt::Display) -> PepError {
    PepError::System(io::Error::other(what.to_string()))
}

impl Secret {
    /// Reads the 64 hexadecimal digits that a file holds.
    ///
    /// # Errors
    /// A file that cannot be read, or holds something else: the message does not say what.
    pub fn from_file(file: &Path) -> Result<Self, PepError> {
        let wrong = |why: String| PepError::Secret { file: file.to_owned(), why };
        let mut text = String::new();
        let open = std::fs::File::open(file).map_err(|error| wrong(error.to_string()))?;
        // A file that goes on is not a secret.
        open.take(4 * LENGTH as u64)
            .read_to_string(&mut text)
            .map_err(|error| wrong(error.to_string()))?;
        Self::parse(text.trim()).ok_or_else(|| {
            wrong(
                "64 hexadecimal digits are expected, and nothing else; `--make-secret` writes \
                such a file"
                    .to_owned(),
            )
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> =
            text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
        let bytes: Vec<u8> = digits
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect();
        (digits.len() == 2 * LENGTH).then(|| bytes.try_into().ok().map(Self))?
    }

    /// Draws a new one and writes it to a new file that only its owner may read.
    ///
    /// # Errors
    /// A file that exists already, or cannot be written.
    pub fn make(file: &Path) -> Result<(), PepError> {
        let wrong =
            |error: io::Error| PepError::Secret { file: file.to_owned(), why: error.to_string() };
        let mut secret = [0; LENGTH];
        let drawn = Randomness::System.generator().fill(&mut secret);
        drawn.map_err(|_| wrong(io::Error::other("the system has no random numbers")))?;
        let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        opened
            .and_then(|mut opened| opened.write_all(format!("{text}\n").as_bytes()))
            .map_err(wrong)
    }

    /// The key and certificate of a role.
    fn identity(&self, role: Role) -> Result<Identity, PepError> {
        let mut seed = [0; 32];
        let key = Salt::new(HKDF_SHA256, ALPN).extract(&self.0);
        let info = [role.name().as_bytes()];
        key.expand(&info, HKDF_SHA256)
            .and_then(|expanded| expanded.fill(&mut seed))
            .map_err(|_| system("HKDF"))?;
        Identity::self_signed(role.name(), seed).map_err(system)
    }

    fn trusting(&self, role: Role) -> Result<RootCertStore, PepError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.identity(role)?.certificates {
            roots.add(certificate).map_err(system)?;
        }
        Ok(roots)
    }

    /// The cryptography of an entrance.
    pub(super) fn client(&self) -> Result<QuicClientConfig, PepError> {
        let own = self.identity(Role::Listener)?;
        let mut config = rustls::ClientConfig::builder_with_provider(provider(Randomness::System))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(system)?
            .with_root_certificates(self.trusting(Role::Exit)?)
            .with_client_auth_cert(own.certificates.clone(), own.private_key())
            .map_err(system)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        QuicClientConfig::try_from(config).map_err(system)
    }

    /// The cryptography of an exit. No early data: it could be replayed, and connections with it.
    pub(super) fn server(&self) -> Result<QuicServerConfig, PepError> {
        let own = self.identity(Role::Exit)?;
        let provider = provider(Randomness::System);
        let trusted = Arc::new(self.trusting(Role::Listener)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider.clone())
            .build()
            .map_err(system)?;
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(system)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(own.certificates.clone(), own.private_key())
            .map_err(system)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        QuicServerConfig::try_from(config).map_err(system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_for_its_owner_alone_and_read_again() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("secret");
        Secret::make(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let secret = Secret::from_file(&file).unwrap();
        assert_eq!(secret, Secret::from_file(&file).unwrap());
        assert!(Secret::make(&file).is_err(), "it is not written over");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!format!("{secret:?}").contains(text.trim()));
    }

    #[test]
    fn what_is_no_secret_is_refused_without_being_shown() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("secret");
        for text in [
            "",
            "hunter2hunter2",
            &"ab".repeat(31),
            &"ab".repeat(33),
            &"zz".repeat(32),
            &"ab".repeat(500),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = Secret::from_file(&file).unwrap_err().to_string();
            assert!(text.is_empty() || !error.contains(text), "{error}");
            assert!(error.contains("64 hexadecimal digits") && error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn roles_have_different_keys_and_secrets_too() {
        let (one, two) = (Secret([1; 32]), Secret([2; 32]));
        let certificate = |secret: &Secret, role| secret.identity(role).unwrap().certificates;
        assert_eq!(certificate(&one, Role::Exit), certificate(&one, Role::Exit));
        assert_ne!(certificate(&one, Role::Exit), certificate(&one, Role::Listener));
        assert_ne!(certificate(&one, Role::Exit), certificate(&two, Role::Exit));
    }
}
