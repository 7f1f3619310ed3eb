//! The endpoint of the QUIC interop runner, with quinn's default transport settings.

use peer_common::interop::{self, Orders, Request};
use peer_common::{Error, Root, http3};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint, Incoming};
use rustls::CipherSuite;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinSet;

/// quinn has version 1 only, and its client ignores preferred addresses.
const CASES: [&str; 8] = [
    "handshake",
    "transfer",
    "chacha20",
    "multiconnect",
    "resumption",
    "zerortt",
    "http3",
    "retry",
];

/// Plays the test case of the environment.
pub async fn run() -> ExitCode {
    // Updating keys is for the client.
    let of_client = [&CASES[..], &["keyupdate"]].concat();
    interop::run(&of_client, &CASES, client, server).await
}

/// Returns the cryptography of the test case.
fn provider(orders: &Orders) -> Arc<CryptoProvider> {
    let mut provider = rustls::crypto::ring::default_provider();
    if orders.test_case == "chacha20" {
        let only = CipherSuite::TLS13_CHACHA20_POLY1305_SHA256;
        provider.cipher_suites.retain(|suite| suite.suite() == only);
    }
    Arc::new(provider)
}

/// Returns the cipher suite of Initial packets (RFC 9001 §5.2), whatever TLS may negotiate.
fn initial_suite() -> Result<rustls::quic::Suite, Error> {
    let all = rustls::crypto::ring::default_provider().cipher_suites;
    let initial = all
        .iter()
        .filter_map(|suite| suite.tls13())
        .find(|suite| suite.common.suite == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Ok(initial.and_then(|suite| suite.quic_suite()).ok_or("no TLS_AES_128_GCM_SHA256")?)
}

async fn client(orders: &Orders) -> Result<(), Error> {
    let mut roots = rustls::RootCertStore::empty();
    // Those of the chain too: the longest is longer than rustls follows.
    for file in [interop::CA, interop::CERT] {
        for certificate in CertificateDer::pem_file_iter(Path::new(file))? {
            roots.add(certificate?)?;
        }
    }
    let mut tls = rustls::ClientConfig::builder_with_provider(provider(orders))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![orders.alpn().to_vec()];
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    tls.enable_early_data = orders.early();
    let crypto = QuicClientConfig::with_initial(Arc::new(tls), initial_suite()?)?;
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    for requests in orders.connections() {
        fetch(orders, &requests, config.clone()).await?;
    }
    Ok(())
}

/// Downloads files over a connection of its own.
async fn fetch(
    orders: &Orders,
    requests: &[Request],
    config: quinn::ClientConfig,
) -> Result<(), Error> {
    let Some(first) = requests.first() else { return Ok(()) };
    let remote = first.address()?;
    let any =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let endpoint = Endpoint::client(SocketAddr::new(any, 0))?;
    let connecting = endpoint.connect_with(config, remote, &first.host)?;
    let connection = if orders.early() {
        match connecting.into_0rtt() {
            Ok((connection, _)) => connection,
            Err(connecting) => connecting.await?,
        }
    } else {
        connecting.await?
    };
    if orders.test_case == "http3" {
        http3::get_all(h3_quinn::Connection::new(connection.clone()), requests).await?;
    } else {
        download(&connection, requests, orders.test_case == "keyupdate").await?;
    }
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Downloads files over HTTP/0.9, at the same time.
async fn download(
    connection: &Connection,
    requests: &[Request],
    key_update: bool,
) -> Result<(), Error> {
    let key_update = Arc::new(AtomicBool::new(key_update));
    let mut downloads = JoinSet::new();
    for request in requests {
        let (connection, request) = (connection.clone(), request.clone());
        let key_update = key_update.clone();
        downloads.spawn(async move {
            let (send, receive) = connection.open_bi().await?;
            // The server's data follows its HANDSHAKE_DONE, before which an update is forbidden
            // (RFC 9001 §6).
            let update = || {
                if key_update.swap(false, Ordering::Relaxed) {
                    connection.force_key_update();
                }
            };
            interop::get(send, receive, &request, update).await
        });
    }
    while let Some(downloaded) = downloads.join_next().await {
        downloaded??;
    }
    Ok(())
}

async fn server(orders: &Orders) -> Result<(), Error> {
    let chain =
        CertificateDer::pem_file_iter(Path::new(interop::CERT))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(Path::new(interop::KEY))?;
    let mut tls = rustls::ServerConfig::builder_with_provider(provider(orders))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![orders.alpn().to_vec()];
    tls.key_log = Arc::new(rustls::KeyLogFile::new());
    tls.max_early_data_size = u32::MAX;
    let crypto = QuicServerConfig::with_initial(Arc::new(tls), initial_suite()?)?;
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let endpoint = Endpoint::server(config, interop::LISTEN.parse()?)?;
    let root = Root::new(Path::new("/www"));
    while let Some(incoming) = endpoint.accept().await {
        if orders.test_case == "retry" && !incoming.remote_address_validated() {
            incoming.retry()?;
        } else if orders.test_case == "http3" {
            http3::spawn(async move { Ok(h3_quinn::Connection::new(incoming.await?)) }, &root);
        } else {
            tokio::spawn(serve(incoming, root.clone()));
        }
    }
    Ok(())
}

/// Serves a connection until it ends.
async fn serve(incoming: Incoming, root: Root) {
    let Ok(connection) = incoming.await else { return };
    while let Ok((send, receive)) = connection.accept_bi().await {
        let root = root.clone();
        tokio::spawn(async move {
            if let Err(error) = interop::respond(send, receive, &root).await {
                eprintln!("{error}");
            }
        });
    }
}
