//! Tickets between clients that share nothing but their store.

use super::*;
use crate::tls::{self, ALPN_H3, Identity, Randomness};
use bentpipe_units::{Epoch, Span, Time};
use noq_proto::Side;
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::crypto::{ServerConfig, Session};
use noq_proto::transport_parameters::TransportParameters;
use proptest::prelude::*;
use ring::digest::{SHA256, digest};
use rustls::RootCertStore;
use rustls::crypto::ring as provider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::collections::BTreeMap;
use std::sync::Mutex;
use zeroize::Zeroizing;

const NAME: &str = "server.test";
const PORT: u16 = 443;
/// As tickets are kept.
const SERVER: &str = "server.test:443";
const START: u64 = 1_767_225_600;

#[derive(Debug, Default)]
struct Kept(Mutex<BTreeMap<String, (Vec<u8>, Epoch)>>);

impl TicketStore for Kept {
    fn put(&self, server: &str, ticket: Zeroizing<Vec<u8>>, _: Epoch, expires: Epoch) {
        self.0.lock().unwrap().insert(server.to_owned(), (ticket.to_vec(), expires));
    }

    fn take(&self, server: &str, now: Epoch) -> Option<Zeroizing<Vec<u8>>> {
        let (ticket, expires) = self.0.lock().unwrap().remove(server)?;
        (now < expires).then(|| ticket.into())
    }
}

impl Kept {
    fn ticket(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(SERVER).map(|(ticket, _)| ticket.clone())
    }

    fn with(ticket: Vec<u8>) -> Arc<Self> {
        let kept = Self::default();
        let expires = EpochClock::new(START + 1_000_000).epoch();
        kept.0.lock().unwrap().insert(SERVER.to_owned(), (ticket, expires));
        Arc::new(kept)
    }
}

fn identity(seed: u8) -> Identity {
    Identity::self_signed(NAME, [seed; 32]).unwrap()
}

/// A client in a process of its own, so to speak, at a time in seconds.
fn client(trusted: &Identity, store: &Arc<Kept>, after: u64) -> Arc<dyn ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.certificates[0].clone()).unwrap();
    let usual = tls::provider(Randomness::System);
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), usual).build();
    let epoch = EpochClock::new(START);
    epoch.set(Time::ZERO + Span::from_secs(after));
    let client = TicketClient::new(verifier.unwrap(), ALPN_H3, store.clone(), epoch).unwrap();
    let [_, early] = client.quic(PORT).unwrap();
    early
}

fn parameters(side: Side) -> TransportParameters {
    TransportParameters::read(side, &mut &[][..]).unwrap()
}

/// Makes a handshake. Returns whether early data was offered, and whether it was accepted.
fn visit(client: &Arc<dyn ClientConfig>, server: QuicServerConfig) -> Result<(bool, bool), String> {
    let mut client = client.start_session(1, NAME, &parameters(Side::Server)).unwrap();
    let mut server = Arc::new(server).start_session(1, &parameters(Side::Client));
    let offered = client.early_crypto().is_some();
    for _ in 0..4 {
        pass(&mut *client, &mut *server)?;
        pass(&mut *server, &mut *client)?;
    }
    assert!(!client.is_handshaking() && client.peer_identity().is_some());
    Ok((offered, client.early_data_accepted() == Some(true)))
}

fn pass(from: &mut dyn Session, to: &mut dyn Session) -> Result<(), String> {
    loop {
        let mut flight = Vec::new();
        let keys = from.write_handshake(&mut flight);
        if flight.is_empty() && keys.is_none() {
            return Ok(());
        }
        // As it may come over a network.
        for part in flight.chunks(700) {
            to.read_handshake(part).map_err(|error| error.to_string())?;
        }
    }
}

/// Returns a ticket, and the server that gave it.
fn first_visit(identity: &Identity) -> (Arc<Kept>, rustls::ServerConfig) {
    let store = Arc::new(Kept::default());
    let epoch = EpochClock::new(START);
    let config =
        tls::config::server_tls(identity, ALPN_H3, Randomness::System, epoch, None).unwrap();
    let outcome = visit(&client(identity, &store, 0), config.clone().try_into().unwrap());
    assert_eq!(outcome, Ok((false, false)));
    assert!(store.ticket().is_some());
    (store, config)
}

#[test]
fn a_ticket_lets_the_client_of_another_process_send_early_data_once() {
    let identity = identity(1);
    let (store, server) = first_visit(&identity);
    let used = store.ticket().unwrap();
    let again = visit(&client(&identity, &store, 60), server.clone().try_into().unwrap());
    assert_eq!(again, Ok((true, true)));
    let next = store.ticket().unwrap();
    assert_ne!(next, used, "the one that was used is gone, and another has come");
    // A server takes each one once, too.
    let replayed =
        visit(&client(&identity, &Kept::with(used), 60), server.clone().try_into().unwrap());
    assert_eq!(replayed, Ok((true, false)));
    let third = visit(&client(&identity, &Kept::with(next), 120), server.try_into().unwrap());
    assert_eq!(third, Ok((true, true)), "tickets of resumed connections are kept, too");
}

#[test]
fn a_ticket_is_worth_nothing_after_its_time_or_to_who_does_not_trust_the_server() {
    let known = identity(1);
    let (store, _) = first_visit(&known);
    let ticket = store.ticket().unwrap();
    let offers = |trusted: &Identity, after: u64| {
        let store = Kept::with(ticket.clone());
        let client = client(trusted, &store, after);
        let session = client.start_session(1, NAME, &parameters(Side::Server)).unwrap();
        assert_eq!(store.ticket(), None, "it is taken out in any case");
        session.early_crypto().is_some()
    };
    assert!(offers(&known, 10));
    assert!(!offers(&known, 8 * 24 * 3600));
    assert!(!offers(&identity(2), 10));
}

#[derive(Debug)]
struct Impostor(Arc<CertifiedKey>);

impl ResolvesServerCert for Impostor {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

#[test]
fn who_has_the_certificates_and_not_the_key_is_refused_with_and_without_a_ticket() {
    let known = identity(1);
    let (store, _) = first_visit(&known);
    let key = provider::sign::any_supported_type(&identity(2).private_key()).unwrap();
    let shown = CertifiedKey::new(known.certificates.clone(), key);
    let impostor = || {
        let mut config =
            rustls::ServerConfig::builder_with_provider(tls::provider(Randomness::System))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(Impostor(shown.clone().into())));
        config.alpn_protocols = vec![ALPN_H3.to_vec()];
        QuicServerConfig::try_from(config).unwrap()
    };
    for _ in 0..2 {
        let error = visit(&client(&known, &store, 10), impostor()).unwrap_err();
        assert!(error.contains("BadSignature"), "{error}");
        assert_eq!(store.ticket(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a file holds, it is refused or makes a session that a handshake decides on.
    #[test]
    fn hostile_tickets_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
        sealed in any::<bool>(),
    ) {
        static FIRST: std::sync::LazyLock<Vec<u8>> =
            std::sync::LazyLock::new(|| first_visit(&identity(1)).0.ticket().unwrap());
        let mut bytes = FIRST.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !whole {
            bytes.truncate(cut.index(bytes.len()));
        }
        let changed = bytes != *FIRST;
        if sealed && bytes.len() > 32 {
            let end = bytes.len() - 32;
            let hash = digest(&SHA256, &bytes[..end]);
            bytes[end..].copy_from_slice(hash.as_ref());
        } else if changed {
            prop_assert!(saved::SavedTicket::decode(&bytes).is_none());
        }
        let client = client(&identity(1), &Kept::with(bytes), 10);
        let session = client.start_session(1, NAME, &parameters(Side::Server)).unwrap();
        let _ = session.transport_parameters();
    }
}
