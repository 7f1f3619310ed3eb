//! What the server shows of itself: a certificate from files, or one of its own making.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file that cannot be read or holds something else.
    #[error("{what} in {}: {reason}", file.display())]
    File {
        /// What was looked for.
        what: &'static str,
        /// Where.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// None could be made.
    #[error("cannot make a certificate for {names}: {source}")]
    Make {
        /// The names that it was for.
        names: String,
        /// What the library said.
        source: rcgen::Error,
    },
}

/// A chain of certificates and the key of the first.
#[derive(Debug)]
pub struct Certificate {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Clone for Certificate {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

impl Certificate {
    /// From PEM files (RFC 7468): the chain with the server's own certificate first, and its key.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds no certificate or no key.
    pub fn from_pem(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let certificates = certificates(chain)?;
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| wrong("private key", key, error.to_string()))?;
        Ok(Self { chain: certificates, key })
    }

    /// One for `names`, host names or addresses, that nobody vouches for: for tests. The key, ECDSA
    /// on P-256, which browsers take too, is drawn anew and lives in memory only.
    ///
    /// # Errors
    /// A name that is none.
    pub fn self_signed(names: &[String]) -> Result<Self, CertificateError> {
        let fail = |source| CertificateError::Make { names: names.join(", "), source };
        let made = rcgen::generate_simple_self_signed(names.to_vec()).map_err(fail)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Ok(Self { chain: vec![made.cert.der().clone()], key: PrivateKeyDer::Pkcs8(key) })
    }

    /// The SHA-256 of the server's own certificate, in hexadecimal: what to compare by eye.
    pub fn fingerprint(&self) -> String {
        let leaf = self.chain.first().map(AsRef::as_ref).unwrap_or_default();
        digest(&SHA256, leaf).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The server's own certificate as a PEM file (RFC 7468).
    pub fn pem(&self) -> String {
        let encoded = STANDARD.encode(self.chain.first().map(AsRef::as_ref).unwrap_or_default());
        let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
        let mut rest = encoded.as_str();
        while !rest.is_empty() {
            // RFC 7468 §2: 64 characters a line.
            let (line, after) = rest.split_at(rest.len().min(64));
            text.push_str(line);
            text.push('\n');
            rest = after;
        }
        text + "-----END CERTIFICATE-----\n"
    }

    /// The server's own certificate, for a client that is to trust it and nothing else.
    pub fn own(&self) -> Option<&CertificateDer<'static>> {
        self.chain.first()
    }
}

fn wrong(what: &'static str, file: &Path, reason: String) -> CertificateError {
    CertificateError::File { what, file: file.to_owned(), reason }
}

/// All certificates of a PEM file, of which there must be one at least.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| wrong("certificates", file, error.to_string()))?;
    if found.is_empty() {
        return Err(wrong(
            "certificates",
            file,
            "there is none; a PEM file is expected".to_owned(),
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_other_things_are_refused() {
        let here = tempfile::tempdir().unwrap();
        let made = Certificate::self_signed(&["server.test".to_owned()]).unwrap();
        let file = here.path().join("server.pem");
        std::fs::write(&file, made.pem()).unwrap();
        assert_eq!(certificates(&file).unwrap(), made.chain);
        assert!(made.pem().lines().all(|line| line.len() <= 64));

        let error = Certificate::from_pem(&file, &file).unwrap_err().to_string();
        assert!(error.starts_with("private key in ") && error.contains("server.pem"), "{error}");
        std::fs::write(&file, "nothing").unwrap();
        assert!(certificates(&file).unwrap_err().to_string().contains("there is none"));
        assert!(certificates(&here.path().join("absent")).is_err());
    }
}
