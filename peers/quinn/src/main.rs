//! A small HTTP/3 client and server on quinn and h3, with quinn's default transport settings.

mod interop;

use peer_common::{Error, Fetch, Fetched, Root, Serve, http3, run};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::process::ExitCode;
use std::sync::Arc;

/// Protocol of the TLS handshake (RFC 9114 §3.1).
const ALPN: &[u8] = b"h3";

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    if std::env::args().nth(1).as_deref() == Some("interop") {
        return interop::run().await;
    }
    run(get, serve).await
}

async fn get(fetch: &Fetch, fetched: &mut Fetched) -> Result<(), Error> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&fetch.ca)? {
        roots.add(certificate?)?;
    }
    let mut tls =
        rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let endpoint = quinn::Endpoint::client(fetch.local())?;
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let connection = endpoint.connect_with(config, fetch.server, &fetch.name)?.await?;
    fetched.handshake_done();
    http3::get(h3_quinn::Connection::new(connection), fetch, fetched).await
}

async fn serve(directory: &Serve) -> Result<(), Error> {
    let chain = CertificateDer::pem_file_iter(&directory.cert)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&directory.key)?;
    let mut tls =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, directory.listen)?;
    let root = Root::new(&directory.root);
    while let Some(incoming) = endpoint.accept().await {
        http3::spawn(async move { Ok(h3_quinn::Connection::new(incoming.await?)) }, &root);
    }
    Ok(())
}
