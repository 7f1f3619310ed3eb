//! The secret that both proxies of a tunnel have in a file, and the keys derived from it.
//!
//! Each proxy has an Ed25519 key for its role, derived from the secret, with a self-signed
//! certificate. It trusts the certificate of the other role and no other (TLS 1.3 with client
//! authentication, RFC 8446 §4.3.2). The secret never crosses the network. A client can see a
//! public key derived from it, so the secret must be hard to guess. It is drawn at random.
//!
//! Guesses have no rate limit of their own, because it could not help: whoever has seen the public
//! key compares guesses with it on machines of theirs. What protects the secret are its 256 random
//! bits: at 10¹² guesses a second half of them take 10⁵⁷ years. At the egress a guess is a whole
//! handshake. What bounds handshakes bounds their cost: 64 tunnels and handshakes together, 8 of
//! them for one client, 15 s for each handshake, and Retry from 8 incomplete ones on.

use crate::pep::error::PepError;
use crate::tls::open_to_others;
use bentpipe_quic::noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use bentpipe_quic::tls::{Identity, Randomness, provider};
use ring::hkdf::{HKDF_SHA256, Salt};
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

/// ALPN name of the tunnel's protocol (RFC 7301).
pub(super) const ALPN: &[u8] = b"bentpipe-pep/1";
/// Length of a secret, bytes.
const LENGTH: usize = 32;

/// Returns what to do about a handshake that failed for `reason`, to append to it.
pub(super) fn hint(reason: &str) -> &'static str {
    match reason.contains("certificate") {
        true => "; both proxies need the same secret",
        false => "",
    }
}

/// Name of the end that accepts connections, in its certificate.
pub(crate) const EXIT_NAME: &str = "exit.pep.bentpipe";

/// The role of a proxy in a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Connections enter the tunnel here.
    Ingress,
    /// Connections leave the tunnel here.
    Egress,
}

impl Role {
    /// Returns the name in the certificate.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "entrance.pep.bentpipe",
            Self::Egress => EXIT_NAME,
        }
    }
}

/// A secret that two proxies share. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; LENGTH]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Reads a secret of 64 hexadecimal digits from a file.
    ///
    /// # Errors
    /// The file cannot be read or holds something else. The message does not show its content.
    pub fn from_file(file: &Path) -> Result<Self, PepError> {
        let wrong = |reason: String| PepError::Secret { file: file.to_owned(), reason };
        let mut text = String::new();
        let open = std::fs::File::open(file).map_err(|error| wrong(error.to_string()))?;
        let metadata = open.metadata().map_err(|error| wrong(error.to_string()))?;
        // A longer file is not a secret.
        open.take(4 * LENGTH as u64)
            .read_to_string(&mut text)
            .map_err(|error| wrong(error.to_string()))?;
        let secret = Self::parse(text.trim()).ok_or_else(|| {
            wrong(
                "the file does not hold a secret; expected: 64 hexadecimal digits, as written by \
                 `bentpipe pep --make-secret` or `bentpipe measure --make-token`"
                    .to_owned(),
            )
        })?;
        if let Some(why) = open_to_others(&metadata) {
            return Err(wrong(format!("{why} (chmod 600 {})", file.display())));
        }
        Ok(secret)
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

    /// Draws a new secret and writes it to a new file that only its owner may read.
    ///
    /// # Errors
    /// The file exists already or cannot be written.
    pub fn make(file: &Path) -> Result<(), PepError> {
        let wrong = |reason: String| PepError::Secret { file: file.to_owned(), reason };
        let mut secret = [0; LENGTH];
        let drawn = Randomness::System.generator().fill(&mut secret);
        drawn.map_err(|_| wrong("the system has no random numbers".to_owned()))?;
        let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let opened = bentpipe_files::create_new_private(file);
        opened
            .and_then(|mut opened| opened.write_all(format!("{text}\n").as_bytes()))
            .map_err(|error| wrong(error.to_string()))
    }

    /// Returns the key and certificate of a role in the protocol of this ALPN name: a secret that
    /// serves two protocols has other keys in each.
    fn identity(&self, role: Role, alpn: &[u8]) -> Result<Identity, PepError> {
        let mut seed = [0; 32];
        let key = Salt::new(HKDF_SHA256, alpn).extract(&self.0);
        let info = [role.name().as_bytes()];
        key.expand(&info, HKDF_SHA256)
            .and_then(|expanded| expanded.fill(&mut seed))
            .map_err(|_| PepError::system("HKDF"))?;
        Identity::self_signed(role.name(), seed).map_err(PepError::system)
    }

    /// Returns the certificates that trust a role.
    fn roots(&self, role: Role, alpn: &[u8]) -> Result<RootCertStore, PepError> {
        let mut roots = RootCertStore::empty();
        for certificate in self.identity(role, alpn)?.certificates {
            roots.add(certificate).map_err(PepError::system)?;
        }
        Ok(roots)
    }

    /// Returns the TLS configuration of the ingress, in the protocol of this ALPN name.
    pub(crate) fn client(&self, alpn: &[u8]) -> Result<QuicClientConfig, PepError> {
        let own = self.identity(Role::Ingress, alpn)?;
        let mut config = rustls::ClientConfig::builder_with_provider(provider(Randomness::System))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(PepError::system)?
            .with_root_certificates(self.roots(Role::Egress, alpn)?)
            .with_client_auth_cert(own.certificates.clone(), own.private_key())
            .map_err(PepError::system)?;
        config.alpn_protocols = vec![alpn.to_vec()];
        QuicClientConfig::try_from(config).map_err(PepError::system)
    }

    /// Returns the TLS configuration of the egress, in the protocol of this ALPN name. Without
    /// early data, which an attacker could replay to repeat connections.
    pub(crate) fn server(&self, alpn: &[u8]) -> Result<QuicServerConfig, PepError> {
        let own = self.identity(Role::Egress, alpn)?;
        let provider = provider(Randomness::System);
        let trusted = Arc::new(self.roots(Role::Ingress, alpn)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider.clone())
            .build()
            .map_err(PepError::system)?;
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(PepError::system)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(own.certificates.clone(), own.private_key())
            .map_err(PepError::system)?;
        config.alpn_protocols = vec![alpn.to_vec()];
        QuicServerConfig::try_from(config).map_err(PepError::system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_written_once_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        Secret::make(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let secret = Secret::from_file(&file).unwrap();
        assert_eq!(secret, Secret::from_file(&file).unwrap());
        assert!(Secret::make(&file).is_err(), "an existing file is not overwritten");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!format!("{secret:?}").contains(text.trim()));
    }

    #[test]
    fn an_invalid_secret_is_refused_without_being_shown() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        for text in [
            "",
            "hunter2hunter2",
            &"ab".repeat(31),
            &"ab".repeat(33),
            &"zz".repeat(32),
            &"ab".repeat(500),
        ] {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            let error = Secret::from_file(&file).unwrap_err().to_string();
            assert!(text.is_empty() || !error.contains(text), "{error}");
            assert!(error.contains("64 hexadecimal digits") && error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_secret_that_others_may_read_or_change_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        Secret::make(&file).unwrap();
        for (mode, allowed) in [
            (0o400, true),
            (0o600, true),
            (0o640, true),
            (0o660, false),
            (0o644, false),
            (0o602, false),
        ] {
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            match Secret::from_file(&file) {
                Ok(_) => assert!(allowed, "{mode:o}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!allowed && error.contains("chmod 600"), "{mode:o}: {error}");
                }
            }
        }
    }

    #[test]
    fn roles_and_secrets_have_different_keys() {
        let (one, two) = (Secret([1; 32]), Secret([2; 32]));
        let certificate = |secret: &Secret, role| secret.identity(role, ALPN).unwrap().certificates;
        assert_eq!(certificate(&one, Role::Egress), certificate(&one, Role::Egress));
        assert_ne!(certificate(&one, Role::Egress), certificate(&one, Role::Ingress));
        assert_ne!(certificate(&one, Role::Egress), certificate(&two, Role::Egress));
        let other = one.identity(Role::Egress, b"other/1").unwrap().certificates;
        assert_ne!(certificate(&one, Role::Egress), other);
    }
}
