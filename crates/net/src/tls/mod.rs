//! Certificates of servers, and the certificates that clients trust.

mod certificate;
mod secret_file;
mod trust;

pub use certificate::{Certificate, CertificateError};
pub(crate) use secret_file::{foreign_or_open, open_to_others};
pub(crate) use trust::KnownCertificates;
pub use trust::Trust;
