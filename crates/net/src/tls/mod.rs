//! Certificates of servers, and the certificates that clients trust.

mod certificate;
mod trust;

pub use certificate::{Certificate, CertificateError};
pub use trust::Trust;
