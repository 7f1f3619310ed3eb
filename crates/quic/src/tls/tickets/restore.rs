//! Making a session of rustls from a ticket that was kept.

use super::messages;
use super::saved::SavedTicket;
use super::secrets;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::quic::{ClientConnection, Connection, ServerConnection, Version};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, NamedGroup, ServerConfig};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Flights of a handshake. One without a retry takes two.
const FLIGHTS: usize = 4;

/// Makes sessions for one client configuration.
#[derive(Debug)]
pub(super) struct Restorer {
    /// The client's, without a store of sessions.
    pub config: ClientConfig,
    /// Its verifier.
    pub verifier: Arc<dyn ServerCertVerifier>,
    /// The key whose signatures the verifier accepts while a session is restored.
    pub signing: Arc<dyn SigningKey>,
}

impl Restorer {
    /// Returns the session of `saved`, which a server gave that was `server`. `None` if its
    /// certificates are not trusted at `now`, it is out of date, or it is none that a server gives.
    pub fn restore(
        &self,
        server: &ServerName<'static>,
        saved: SavedTicket,
        now: u64,
    ) -> Option<Tls13ClientSessionValue> {
        let (own, chain) = saved.chain.split_first()?;
        if now < saved.received || now >= saved.expires() {
            return None;
        }
        let time = UnixTime::since_unix_epoch(Duration::from_secs(now));
        self.verifier.verify_server_cert(own, chain, server, &[], time).ok()?;
        let answer = self.answer(&saved)?;
        let session = Arc::new(OneSession::default());
        let mut config = self.config.clone();
        config.resumption = Resumption::store(session.clone());
        config.time_provider = Arc::new(Fixed(saved.received));
        let client = ClientConnection::new(config.into(), Version::V1, server.clone(), Vec::new());
        let server = ServerConnection::new(answer.into(), Version::V1, saved.parameters);
        let (mut client, mut server) =
            (Connection::Client(client.ok()?), Connection::Server(server.ok()?));
        let ticket = messages::message(&saved.new, saved.early)?;
        secrets::giving(saved.secret, || {
            for _ in 0..FLIGHTS {
                pass(&mut client, &mut server)?;
                pass(&mut server, &mut client)?;
            }
            client.read_hs(&ticket).ok()
        })?;
        session.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The configuration of the server in this process: the certificates and the cipher suite of
    /// the first handshake.
    fn answer(&self, saved: &SavedTicket) -> Option<ServerConfig> {
        let usual = provider::default_provider();
        let hash = |suite: &rustls::SupportedCipherSuite| {
            suite.tls13().map(|suite| suite.common.hash_provider.output_len())
        };
        let suites =
            usual.cipher_suites.iter().filter(|suite| u16::from(suite.suite()) == saved.suite);
        let cipher_suites: Vec<_> =
            suites.filter(|suite| hash(suite) == Some(saved.secret.len())).copied().collect();
        if cipher_suites.is_empty() {
            return None;
        }
        let key = CertifiedKey::new(saved.chain.clone(), self.signing.clone());
        let provider = CryptoProvider { cipher_suites, ..usual };
        let mut config = ServerConfig::builder_with_provider(provider.into())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .ok()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Always(key.into())));
        config.alpn_protocols.clone_from(&self.config.alpn_protocols);
        config.send_tls13_tickets = 0;
        Some(config)
    }
}

/// Passes what one end has to say to the other.
fn pass(from: &mut Connection, to: &mut Connection) -> Option<()> {
    loop {
        let mut flight = Vec::new();
        let keys = from.write_hs(&mut flight);
        if flight.is_empty() && keys.is_none() {
            return Some(());
        }
        if !flight.is_empty() {
            to.read_hs(&flight).ok()?;
        }
    }
}

/// Presents the same certificates to whoever asks.
#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// The time at which a ticket was received, in seconds since 1970.
#[derive(Debug)]
struct Fixed(u64);

impl TimeProvider for Fixed {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0)))
    }
}

/// Takes the session that is made.
#[derive(Debug, Default)]
struct OneSession(Mutex<Option<Tls13ClientSessionValue>>);

impl ClientSessionStore for OneSession {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}
