//! A small HTTP/3 client and server on quinn and h3, with the transport settings that quinn has by default.

use peer_common::{Error, Fetch, Fetched, Role, Root, Serve, finish, http3};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

/// Protocol of the TLS handshake (RFC 9114 §3.1).
const ALPN: &[u8] = b"h3";

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    finish(match Role::read(std::env::args().skip(1)) {
        Ok(Role::Client(fetch)) => client(&fetch).await,
        Ok(Role::Server(serve)) => server(&serve).await,
        Err(error) => Err(error),
    })
}

async fn client(fetch: &Fetch) -> Result<(), Error> {
    let mut fetched = Fetched::begin(&fetch.output)?;
    let result = tokio::time::timeout(fetch.timeout, get(fetch, &mut fetched)).await;
    println!("{}", fetched.line());
    result.map_err(|_| format!("no end within {:?}", fetch.timeout))?
}

async fn get(fetch: &Fetch, fetched: &mut Fetched) -> Result<(), Error> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&fetch.ca)? {
        roots.add(certificate?)?;
    }
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let any = if fetch.server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let endpoint = quinn::Endpoint::client(SocketAddr::new(any, 0))?;
    let config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let connection = endpoint.connect_with(config, fetch.server, &fetch.name)?.await?;
    fetched.handshake_done();
    http3::get(h3_quinn::Connection::new(connection), fetch, fetched).await
}

async fn server(serve: &Serve) -> Result<(), Error> {
    let chain = CertificateDer::pem_file_iter(&serve.cert)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&serve.key)?;
    let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, serve.listen)?;
    let root = Root::new(&serve.root);
    while let Some(incoming) = endpoint.accept().await {
        let root = root.clone();
        tokio::spawn(async move {
            let served = async { http3::serve(h3_quinn::Connection::new(incoming.await?), root).await };
            if let Err(error) = served.await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}
