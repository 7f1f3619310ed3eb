//! TLS of both ends: a certificate for the server's address, which the client trusts.

use bentpipe_tcp::http::Version;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// TLS 1.3 for one visit. Nothing is resumed.
pub(super) struct Tls {
    server: TlsAcceptor,
    client: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// Makes a certificate for `address`, and offers the protocol of `version` (ALPN).
    pub fn new(address: IpAddr, version: Version) -> io::Result<Self> {
        let certified =
            rcgen::generate_simple_self_signed([address.to_string()]).map_err(io::Error::other)?;
        let certificate = certified.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
        let protocols: Vec<Vec<u8>> = match version {
            Version::H2 => vec![b"h2".to_vec()],
            Version::H1 | Version::Raw | Version::Echo => vec![b"http/1.1".to_vec()],
        };
        let provider = Arc::new(default_provider());
        let mut server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .map_err(io::Error::other)?;
        server.alpn_protocols.clone_from(&protocols);
        let mut roots = RootCertStore::empty();
        roots.add(certificate).map_err(io::Error::other)?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = protocols;
        client.resumption = Resumption::disabled();
        Ok(Self {
            server: TlsAcceptor::from(Arc::new(server)),
            client: TlsConnector::from(Arc::new(client)),
            name: ServerName::from(address),
        })
    }

    /// Returns the server's side.
    pub fn server(&self) -> TlsAcceptor {
        self.server.clone()
    }

    /// Returns the client's side, and the server's name.
    pub fn client(&self) -> (TlsConnector, ServerName<'static>) {
        (self.client.clone(), self.name.clone())
    }
}
