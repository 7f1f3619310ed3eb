//! The server's certificate: from files, or self-signed.

use super::open_to_others;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fs::File;
use std::path::{Path, PathBuf};
use thiserror::Error;
use zeroize::Zeroizing;

/// Why a certificate cannot be loaded or made.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read or holds something else.
    #[error("{what} in {}: {reason}", file.display())]
    File {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A self-signed certificate cannot be made.
    #[error("cannot make a self-signed certificate for {names}: {source}")]
    SelfSigned {
        /// The names in it.
        names: String,
        /// The library's error.
        source: rcgen::Error,
    },
}

/// A chain of certificates and the private key of the first one.
#[derive(Debug)]
pub struct Certificate {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    warning: Option<String>,
}

impl Clone for Certificate {
    fn clone(&self) -> Self {
        let Self { chain, key, warning } = self;
        Self { chain: chain.clone(), key: key.clone_key(), warning: warning.clone() }
    }
}

impl Certificate {
    /// Loads PEM files (RFC 7468): the chain, with the server's own certificate first, and its
    /// private key.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds no certificate or no key.
    pub fn from_pem(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let certificates = certificates(chain)?;
        let fail = |error: pem::Error| unusable("private key", key, error.to_string());
        let opened = File::open(key).map_err(|error| fail(pem::Error::Io(error)))?;
        // Of the open file, so that it describes what is read.
        let metadata = opened.metadata().map_err(|error| fail(pem::Error::Io(error)))?;
        let warning = open_to_others(&metadata)
            .map(|why| format!("private key in {}: {why} (chmod 640 {0})", key.display()));
        let key = PrivateKeyDer::from_pem_reader(opened).map_err(fail)?;
        Ok(Self { chain: certificates, key, warning })
    }

    /// Returns a warning, with what to do, if other users may read or change the file that the
    /// private key was loaded from: whoever reads it can pass for this server.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Makes a self-signed certificate for `names`, which are host names or addresses. For tests.
    /// The key is a new one (ECDSA on P-256, which browsers accept too) and stays in memory.
    ///
    /// # Errors
    /// An invalid name.
    pub fn self_signed(names: &[String]) -> Result<Self, CertificateError> {
        let fail = |source| CertificateError::SelfSigned { names: names.join(", "), source };
        let made = rcgen::generate_simple_self_signed(names.to_vec()).map_err(fail)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let chain = vec![made.cert.der().clone()];
        Ok(Self { chain, key: PrivateKeyDer::Pkcs8(key), warning: None })
    }

    /// Returns the SHA-256 fingerprint of the server's own certificate, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let leaf = self.chain.first().map(AsRef::as_ref).unwrap_or_default();
        digest(&SHA256, leaf).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the server's own certificate in PEM (RFC 7468).
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", self.chain.first().map(AsRef::as_ref).unwrap_or_default())
    }

    /// Returns the private key in PEM, as it was read or made: PKCS #8 if it was made here.
    pub fn key_pem(&self) -> Zeroizing<String> {
        let label = match &self.key {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        Zeroizing::new(pem(label, self.key.secret_der()))
    }

    /// Returns the server's own certificate, for clients that trust no other.
    pub fn own(&self) -> Option<&CertificateDer<'static>> {
        self.chain.first()
    }
}

/// Returns `der` in PEM, under a label.
fn pem(label: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        // 64 characters a line (RFC 7468 §2).
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + &format!("-----END {label}-----\n")
}

fn unusable(what: &'static str, file: &Path, reason: String) -> CertificateError {
    CertificateError::File { what, file: file.to_owned(), reason }
}

/// Reads the certificates of a PEM file, at least one.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unusable("certificates", file, error.to_string()))?;
    if found.is_empty() {
        return Err(unusable(
            "certificates",
            file,
            "the file holds none; expected: a PEM file".to_owned(),
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn certificates_are_read_back_and_other_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let made = Certificate::self_signed(&["server.test".to_owned()]).unwrap();
        let file = directory.path().join("server.pem");
        std::fs::write(&file, made.pem()).unwrap();
        assert_eq!(certificates(&file).unwrap(), made.chain);
        assert!(made.pem().lines().all(|line| line.len() <= 64));

        let error = Certificate::from_pem(&file, &file).unwrap_err().to_string();
        assert!(error.starts_with("private key in ") && error.contains("server.pem"), "{error}");
        std::fs::write(&file, "nothing").unwrap();
        assert!(certificates(&file).unwrap_err().to_string().contains("the file holds none"));
        assert!(certificates(&directory.path().join("absent")).is_err());
    }

    #[test]
    fn a_private_key_that_others_may_read_or_change_is_loaded_with_a_warning() {
        let directory = tempfile::tempdir().unwrap();
        let [chain, key] = ["chain.pem", "key.pem"].map(|name| directory.path().join(name));
        let made = Certificate::self_signed(&["server.test".to_owned()]).unwrap();
        assert_eq!(made.warning(), None, "it is in memory only");
        std::fs::write(&chain, made.pem()).unwrap();
        std::fs::write(&key, made.key_pem()).unwrap();
        // The chain is public: its mode does not matter.
        std::fs::set_permissions(&chain, Permissions::from_mode(0o644)).unwrap();
        for (mode, warned) in [
            (0o400, false),
            (0o600, false),
            (0o640, false),
            (0o660, true),
            (0o644, true),
            (0o604, true),
            (0o602, true),
        ] {
            std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
            let loaded = Certificate::from_pem(&chain, &key).unwrap();
            assert_eq!(loaded.key, made.key);
            let warning = loaded.warning().unwrap_or_default();
            assert_eq!(!warning.is_empty(), warned, "{mode:o}: {warning}");
            let named = format!("its mode {mode:04o} ");
            assert!(
                !warned || warning.contains(&named) && warning.contains("key.pem"),
                "{warning}"
            );
        }
    }
}
