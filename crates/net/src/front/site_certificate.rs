//! A certificate with its key, and what it says of itself.

use super::scan::{MAX_FILE, Pair};
use crate::tls::Certificate;
use bentpipe_quic::tls::{Randomness, provider};
use rustls::SignatureAlgorithm;
use rustls::sign::CertifiedKey;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

/// Most names of one certificate that count. Our choice: authorities allow 100.
const MAX_SITE_NAMES: usize = 1000;

/// Kind of a certificate's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA.
    Rsa,
    /// ECDSA, or Ed25519: smaller and faster.
    Ec,
}

impl KeyKind {
    /// Returns the name as people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rsa => "RSA",
            Self::Ec => "ECDSA",
        }
    }
}

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct SiteCertificate {
    pub(super) certified: Arc<CertifiedKey>,
    pub(super) names: Vec<String>,
    not_after: SystemTime,
    kind: KeyKind,
    pair: Pair,
    warning: Option<String>,
}

impl SiteCertificate {
    /// Reads a chain and its key.
    ///
    /// # Errors
    /// A file that cannot be read, or a certificate that cannot be used: which, and why.
    pub(super) fn load(pair: &Pair) -> Result<Self, String> {
        let Pair { chain, key } = pair;
        for file in [chain, key] {
            let metadata = fs::metadata(file).map_err(|error| failed(file, &error))?;
            if !metadata.is_file() || metadata.len() > MAX_FILE {
                let why = format_args!("it is no regular file of up to {MAX_FILE} bytes");
                return Err(failed(file, &why));
            }
        }
        let certificate = Certificate::from_pem(chain, key).map_err(|error| error.to_string())?;
        let leaf = certificate.own().ok_or_else(|| failed(chain, &"it holds no certificate"))?;
        let (names, not_after) = described(leaf).map_err(|why| failed(chain, &why))?;
        let warning = certificate.warning().map(str::to_owned);
        let certified = CertifiedKey::from_der(
            certificate.chain,
            certificate.key,
            &provider(Randomness::System),
        );
        let certified = certified.map_err(|error| {
            failed(chain, &format_args!("it cannot be used with {}: {error}", key.display()))
        })?;
        let kind = match certified.key.algorithm() {
            SignatureAlgorithm::RSA => KeyKind::Rsa,
            _ => KeyKind::Ec,
        };
        let certified = Arc::new(certified);
        Ok(Self { certified, names, not_after, kind, pair: pair.clone(), warning })
    }

    /// Returns the names that it is valid for, in lower case; one may begin with `*.`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the end of its validity.
    pub const fn not_after(&self) -> SystemTime {
        self.not_after
    }

    /// Returns the kind of its key.
    pub const fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Returns the file of its chain.
    pub fn file(&self) -> &Path {
        &self.pair.chain
    }

    /// Returns a warning if other users may read or change the file of its key.
    pub(super) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Returns whether its own certificate is this one.
    pub(super) fn is(&self, certificate: &[u8]) -> bool {
        self.certified.cert.first().is_some_and(|own| own.as_ref() == certificate)
    }
}

fn failed(file: &Path, reason: &dyn std::fmt::Display) -> String {
    format!("{}: {reason}", file.display())
}

/// Returns the DNS names in a certificate (RFC 5280 §4.2.1.6), and the end of its validity.
fn described(certificate: &[u8]) -> Result<(Vec<String>, SystemTime), String> {
    let (_, parsed) = parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
    let names = parsed.subject_alternative_name().map_err(|error| error.to_string())?;
    let names = names.iter().flat_map(|names| &names.value.general_names);
    let dns = names.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
        _ => None,
    });
    let names: Vec<String> = dns.take(MAX_SITE_NAMES).collect();
    if names.is_empty() {
        return Err("it names no host (subjectAltName)".to_owned());
    }
    let end = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0);
    let not_after = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(end));
    Ok((names, not_after.ok_or("the end of its validity is out of range")?))
}
