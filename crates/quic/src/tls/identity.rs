//! Certificates.

use super::error::TlsError;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    /// Certificate chain, leaf first.
    pub certificates: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Makes a self-signed Ed25519 certificate for `name`, reproducible from `seed`.
    ///
    /// Ed25519 signatures have a fixed length (RFC 8032). Those of ECDSA vary by a byte or two, and
    /// with them the size of handshake packets from run to run. The serial number is fixed for the
    /// same reason.
    ///
    /// # Errors
    /// `name` is not a host name.
    pub fn self_signed(name: &str, seed: [u8; 32]) -> Result<Self, TlsError> {
        // PKCS#8 version 1 header of an Ed25519 private key (RFC 8410 §7); the seed follows.
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

    /// Returns the private key, for configurations made elsewhere.
    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
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
}
