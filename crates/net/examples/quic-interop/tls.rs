//! TLS of both sides, as the test case asks for it.

use crate::case::{Case, Orders};
use bentpipe_quic::noq_proto::ServerConfig;
use bentpipe_quic::noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use bentpipe_quic::tls::{Randomness, provider};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CipherSuite, KeyLogFile, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Application protocol of HTTP/0.9 in the runner.
const HQ: &[u8] = b"hq-interop";

fn provider_for(case: Case) -> Arc<CryptoProvider> {
    let mut provider = (*provider(Randomness::System)).clone();
    if case.chacha20 {
        provider
            .cipher_suites
            .retain(|suite| suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
    }
    Arc::new(provider)
}

/// Returns the cipher suite of Initial packets (RFC 9001 §5.2), whatever TLS may negotiate.
fn initial_suite() -> Result<rustls::quic::Suite, String> {
    let all = rustls::crypto::ring::default_provider().cipher_suites;
    all.iter()
        .filter_map(|suite| suite.tls13())
        .find(|suite| suite.common.suite == CipherSuite::TLS13_AES_128_GCM_SHA256)
        .and_then(|suite| suite.quic_suite())
        .ok_or_else(|| "no TLS_AES_128_GCM_SHA256".to_owned())
}

/// Reads the certificates of a PEM file.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    read.map_err(|error: rustls::pki_types::pem::Error| format!("{}: {error}", file.display()))
}

/// Returns the certificates that a client trusts: the authority's, and those of the chain, because
/// the runner's longest chain is longer than rustls follows one.
pub fn trusted(orders: &Orders) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut all = certificates(&orders.certs.join("ca.pem"))?;
    all.extend(certificates(&orders.certs.join("cert.pem"))?);
    Ok(all)
}

/// Returns a client's configurations without and with early data. They share tickets.
pub fn client(orders: &Orders, case: Case) -> Result<[Arc<QuicClientConfig>; 2], String> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted(orders)? {
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let mut config = rustls::ClientConfig::builder_with_provider(provider_for(case))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![HQ.to_vec()];
    // Writes to the file that SSLKEYLOGFILE names, if it does.
    config.key_log = Arc::new(KeyLogFile::new());
    let quic = |early| {
        let mut config = config.clone();
        config.enable_early_data = early;
        QuicClientConfig::with_initial(Arc::new(config), initial_suite()?)
            .map(Arc::new)
            .map_err(|error| error.to_string())
    };
    Ok([quic(false)?, quic(true)?])
}

/// Returns the server's configuration.
pub fn server(orders: &Orders, case: Case) -> Result<ServerConfig, String> {
    let key = orders.certs.join("priv.key");
    let private = PrivateKeyDer::from_pem_file(&key)
        .map_err(|error| format!("{}: {error}", key.display()))?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider_for(case))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(certificates(&orders.certs.join("cert.pem"))?, private)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![HQ.to_vec()];
    config.max_early_data_size = u32::MAX;
    config.key_log = Arc::new(KeyLogFile::new());
    let quic = QuicServerConfig::with_initial(Arc::new(config), initial_suite()?)
        .map_err(|error| error.to_string())?;
    Ok(ServerConfig::with_crypto(Arc::new(quic)))
}
