//! Path tokens between two endpoints on a wire: what becomes of those that are not as they should
//! be.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_quic::congestion::resume::ResumeHandle;
use bentpipe_quic::noq_proto::{
    EndpointConfig, ServerConfig, TokenMemoryCache, ValidationTokenConfig,
};
use bentpipe_quic::path_memory::token::{
    ClientWindows, KeyRing, Malformed, MemoryPathTokenStore, PathTokenStore, PathTokens, Secret,
    TokenClient, TokenCounts, TokenOutcome, TokenServer, Tokens,
};
use bentpipe_quic::path_memory::{IpPrefix, Prefixes, SavedPath};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{
    Accept, Clock, Conn, ConnectionConfig, Endpoint, EpochClock, Http3, QuicSettings, RawStream,
    Task, take_tokens,
};
use bentpipe_units::{Bytes as Size, Epoch, Span, Time};
use bytes::{Buf, Bytes, BytesMut};
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([198, 51, 100, 2], 443);
const DELAY: Span = Span::from_millis(20);
const BEGIN: u64 = 1_767_225_600;
const NAME: &str = "server.test";
/// What the server answers.
const ANSWER: usize = 300_000;

/// What runs above.
#[derive(Clone, Copy, PartialEq)]
enum App {
    Raw,
    H3,
}

/// A jar that holds one token, whatever it is, and keeps what it is given.
#[derive(Debug, Clone, Default)]
struct OneToken {
    token: Option<Vec<u8>>,
    given: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl PathTokenStore for OneToken {
    fn put(&mut self, _: &str, token: &[u8], _: Epoch) -> Result<(), Malformed> {
        self.given.lock().unwrap().push(token.to_vec());
        Ok(())
    }
    fn take(&mut self, _: &str, _: Epoch) -> Option<Vec<u8>> {
        self.token.take()
    }
    fn forget(&mut self, _: &str) {}
    fn forget_all(&mut self) {}
}

/// What the acceptor notes of each connection.
#[derive(Default)]
struct Accepted {
    notes: ResumeHandle,
    verdict: Option<TokenOutcome>,
}

struct Lab {
    clock: Clock,
    client: Endpoint,
    server: Endpoint,
    tls: Client,
    /// The stack's own tokens, which prove addresses.
    validations: Arc<TokenMemoryCache>,
    epoch: EpochClock,
    issuer: Option<TokenServer>,
    accepted: Arc<Mutex<Vec<Accepted>>>,
    app: App,
    settings: QuicSettings,
    wire: Vec<(Time, bool, Vec<u8>)>,
    now: Time,
    answers: Arc<Mutex<Vec<(usize, Time)>>>,
}

fn ring(byte: u8) -> KeyRing {
    KeyRing::new(Secret::new(&[byte; 32]), KeyRing::PERIOD).unwrap()
}

/// What the tests seal: 2 MB over 40 ms.
fn sealed(tokens: &mut PathTokens, bound: &str, now: Epoch, lifetime: Span) -> Vec<u8> {
    let path = SavedPath::new(Size::from_mb(2), Span::from_millis(40), now, lifetime).unwrap();
    tokens
        .seal(&path, bound.parse::<IpPrefix>().unwrap(), now, Randomness::System.generator())
        .unwrap()
}

fn good() -> Vec<u8> {
    sealed(
        &mut PathTokens::new(ring(1)),
        "192.0.2.0/24",
        Epoch::from_unix_secs(BEGIN),
        Span::from_secs(3600),
    )
}

/// A server that knows of tokens or not, and gives `validation` tokens of the stack's.
fn lab(app: App, knows: bool, validation: u32) -> Lab {
    let epoch = EpochClock::new(BEGIN);
    let alpn = if app == App::H3 { tls::ALPN_H3 } else { tls::ALPN_RAW };
    let identity = Identity::self_signed(NAME, [1; 32]).unwrap();
    let client_tls = Client::new(&identity, alpn, Randomness::System, epoch.clone()).unwrap();
    let server_tls = tls::server(&identity, alpn, Randomness::System, epoch.clone(), None).unwrap();
    let settings = QuicSettings::default();
    let mut config = ServerConfig::with_crypto(Arc::new(server_tls));
    let mut sent = ValidationTokenConfig::default();
    sent.sent(validation);
    config.validation_token_config(sent).time_source(Arc::new(epoch.clone()));
    let config = Arc::new(config);
    let issuer = knows.then(|| {
        let random = Randomness::System.generator();
        TokenServer::new(
            PathTokens::new(ring(1)),
            Prefixes::default(),
            Span::from_secs(3600),
            epoch.clone(),
            random,
        )
    });
    let accepted = Arc::<Mutex<Vec<Accepted>>>::default();
    let clock = Clock::new();
    let accepts = ConnectionConfig::new(settings.clone(), clock).unwrap();
    let (own, issues, noted) = (config.clone(), issuer.clone(), accepted.clone());
    let acceptor = Box::new(move |_: SocketAddr| {
        let notes = ResumeHandle::new();
        let tokens = issues.as_ref().map(|issuer| Tokens::server(issuer, notes.clone()));
        let verdict = tokens.as_ref().and_then(Tokens::outcome).cloned();
        noted.lock().unwrap().push(Accepted { notes, verdict });
        let serve = Box::new(move |conn: Conn| match app {
            App::Raw => Box::pin(raw_server(conn)) as Task,
            App::H3 => Box::pin(h3_server(conn)),
        });
        let (config, attachments) = accepts.clone().with_tokens(tokens).server(&own);
        Some(Accept { config, attachments, app: serve })
    });
    let segments = NonZeroUsize::new(4).unwrap();
    Lab {
        client: Endpoint::new(EndpointConfig::default(), clock, None, segments),
        server: Endpoint::new(EndpointConfig::default(), clock, Some((config, acceptor)), segments),
        tls: client_tls,
        clock,
        validations: Arc::default(),
        epoch,
        issuer,
        accepted,
        app,
        settings,
        wire: Vec::new(),
        now: Time::ZERO,
        answers: Arc::default(),
    }
}

async fn raw_server(conn: Conn) {
    conn.spawn(take_tokens(conn.clone()));
    while let Ok(mut stream) = RawStream::accept(&conn).await {
        while let Ok(Some(_)) = stream.read().await {}
        stream.write_all(&[0; ANSWER]).await.unwrap();
        let _ = stream.finish();
    }
}

async fn raw_client(conn: Conn, answers: Arc<Mutex<Vec<(usize, Time)>>>) {
    conn.spawn(take_tokens(conn.clone()));
    let Ok(mut stream) = RawStream::open(&conn).await else { return };
    stream.write_all(b"?").await.unwrap();
    stream.finish().unwrap();
    let mut length = 0;
    while let Ok(Some(data)) = stream.read().await {
        length += data.len();
    }
    answers.lock().unwrap().push((length, conn.now()));
}

async fn h3_server(conn: Conn) {
    let mut connection =
        h3::server::builder().build::<_, Bytes>(Http3::new(conn, 1_000_000)).await.unwrap();
    while let Ok(Some(resolver)) = connection.accept().await {
        let (_, mut stream) = resolver.resolve_request().await.unwrap();
        stream
            .send_response(http::Response::builder().status(200).body(()).unwrap())
            .await
            .unwrap();
        stream.send_data(Bytes::from_static(&[0; ANSWER])).await.unwrap();
        stream.finish().await.unwrap();
    }
}

async fn h3_client(conn: Conn, answers: Arc<Mutex<Vec<(usize, Time)>>>) {
    let (mut connection, mut requests) = h3::client::builder()
        .build::<_, _, Bytes>(Http3::new(conn.clone(), 1_000_000))
        .await
        .unwrap();
    let task_conn = conn.clone();
    conn.spawn(async move {
        let request = http::Request::get("https://server.test/").body(()).unwrap();
        let mut stream = requests.send_request(request).await.unwrap();
        stream.finish().await.unwrap();
        stream.recv_response().await.unwrap();
        let mut length = 0;
        while let Some(data) = stream.recv_data().await.unwrap() {
            length += data.remaining();
        }
        answers.lock().unwrap().push((length, task_conn.now()));
        // The connection lives as long as someone may ask.
        std::future::pending::<()>().await;
    });
    poll_fn(|cx| connection.poll_close(cx)).await;
}

impl Lab {
    /// Begins a connection; the client brings what is in `jar`, or knows nothing of tokens.
    fn visit(&mut self, jar: Option<OneToken>, early: bool) -> Conn {
        let windows =
            ClientWindows { present: self.settings.connection_window, max: ClientWindows::MAX };
        let tokens = jar
            .map(|jar| Tokens::client(&TokenClient::new(jar, self.epoch.clone()), NAME, windows));
        let (app, answers) = (self.app, self.answers.clone());
        let (mut config, attachments) = ConnectionConfig::new(self.settings.clone(), self.clock)
            .unwrap()
            .with_tokens(tokens)
            .client(Arc::new(self.tls.quic(early).unwrap()));
        config.token_store(self.validations.clone());
        let connected =
            self.client.connect(self.now, config, SERVER.into(), NAME, attachments, move |conn| {
                match app {
                    App::Raw => Box::pin(raw_client(conn, answers)),
                    App::H3 => Box::pin(h3_client(conn, answers)),
                }
            });
        connected.unwrap()
    }

    fn send(&mut self) {
        for (endpoint, to_server) in [(&mut self.client, true), (&mut self.server, false)] {
            let mut buffer = Vec::new();
            while let Some(transmit) = endpoint.poll_transmit(self.now, &mut buffer) {
                for segment in buffer.chunks(transmit.segment_size) {
                    self.wire.push((self.now + DELAY, to_server, segment.to_vec()));
                }
                buffer.clear();
            }
        }
    }

    /// Runs for `span`.
    fn run(&mut self, span: Span) {
        let limit = self.now + span;
        self.send();
        loop {
            let arrival = self.wire.iter().map(|(time, ..)| *time).min();
            let timeout =
                self.client.next_timeout().into_iter().chain(self.server.next_timeout()).min();
            let next = arrival.into_iter().chain(timeout).min().filter(|&next| next <= limit);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            let now = self.now;
            self.epoch.set(now);
            let (due, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.wire).into_iter().partition(|(time, ..)| *time <= now);
            self.wire = rest;
            for (_, to_server, data) in due {
                let data = BytesMut::from(&data[..]);
                if to_server {
                    self.server.handle_datagram(now, CLIENT.into(), None, data);
                } else {
                    self.client.handle_datagram(now, SERVER.into(), None, data);
                }
            }
            self.client.handle_timeout(now);
            self.server.handle_timeout(now);
            self.send();
        }
        self.now = limit;
    }

    fn close(&mut self, conn: &Conn) {
        conn.close(0x100, b"");
        self.client.wake(self.now);
        self.run(Span::from_secs(1));
    }

    /// A connection that brings `token`, to its end: what became of the token.
    fn bring(&mut self, token: Vec<u8>) -> &'static str {
        let before = self.answers.lock().unwrap().len();
        let conn = self.visit(Some(OneToken { token: Some(token), ..OneToken::default() }), false);
        self.run(Span::from_secs(5));
        assert_eq!(self.answers.lock().unwrap()[before..].len(), 1, "the transfer goes on");
        assert_eq!(self.answers.lock().unwrap()[before].0, ANSWER);
        assert_eq!(conn.closed().map(|error| error.to_string()), None);
        self.close(&conn);
        self.accepted.lock().unwrap().last().unwrap().verdict.as_ref().unwrap().name()
    }

    fn counts(&self) -> TokenCounts {
        self.issuer.as_ref().unwrap().counts()
    }
}

#[test]
fn every_refusal_is_counted_and_none_ends_the_transfer() {
    for app in [App::Raw, App::H3] {
        let mut lab = lab(app, true, 0);
        let now = Epoch::from_unix_secs(BEGIN);
        let hour = Span::from_secs(3600);
        let mut forged = good();
        *forged.last_mut().unwrap() ^= 1;
        let other = |byte| PathTokens::new(ring(byte));
        let elsewhere = sealed(&mut other(1), "203.0.113.0/24", now, hour);
        let foreign = sealed(&mut other(2), "192.0.2.0/24", now, hour);
        let brief = sealed(&mut other(1), "192.0.2.0/24", now, Span::from_millis(10));
        let accepted = good();
        for (token, verdict) in [
            (accepted.clone(), "accepted"),
            (accepted, "replayed"),
            (forged, "forged"),
            (brief, "expired"),
            (elsewhere, "wrong_address"),
            (foreign, "unknown_key"),
            (b"no token".to_vec(), "malformed"),
            (Vec::new(), "malformed"),
        ] {
            assert_eq!(lab.bring(token), verdict);
        }
        let once = TokenCounts {
            accepted: 1,
            forged: 1,
            expired: 1,
            wrong_address: 1,
            malformed: 2,
            unknown_key: 1,
            replayed: 1,
        };
        assert_eq!(lab.counts(), once);
    }
}

#[test]
fn an_accepted_token_is_offered_and_given_anew() {
    let mut lab = lab(App::H3, true, 0);
    let jar = OneToken { token: Some(good()), ..OneToken::default() };
    let conn = lab.visit(Some(jar.clone()), false);
    lab.run(Span::from_secs(5));
    let offered = lab.accepted.lock().unwrap()[0].notes.resume_state().offered.unwrap();
    assert_eq!((offered.window, offered.rtt), (Size::from_mb(2), Span::from_millis(40)));
    lab.close(&conn);
    let given = jar.given.lock().unwrap().clone();
    assert_eq!(given.len(), 1);
    assert_ne!(given[0], good());
    assert_eq!(lab.bring(given[0].clone()), "accepted");
}

#[test]
fn a_token_waits_for_the_address_to_be_validated() {
    for (validation, early) in [(0, None), (2, Some("accepted"))] {
        let mut lab = lab(App::Raw, true, validation);
        let first = lab.visit(None, false);
        lab.run(Span::from_secs(5));
        lab.close(&first);
        let second = lab.visit(Some(OneToken { token: Some(good()), ..OneToken::default() }), true);
        assert!(second.has_0rtt());
        lab.run(Span::from_millis(30));
        let verdict = |lab: &Lab| lab.accepted.lock().unwrap()[1].verdict.as_ref().unwrap().name();
        assert_eq!(verdict(&lab), early.unwrap_or("none"), "the first flight has arrived");
        assert_eq!(
            lab.accepted.lock().unwrap()[1].notes.resume_state().offered.is_some(),
            early.is_some()
        );
        lab.run(Span::from_millis(40));
        assert_eq!(verdict(&lab), "accepted", "the handshake is complete");
    }
}

#[test]
fn sides_that_know_nothing_of_tokens_are_not_disturbed() {
    for app in [App::Raw, App::H3] {
        for knows in [true, false] {
            let mut lab = lab(app, knows, 0);
            // Where the server knows, its token is for a client that does not; where the client
            // knows, the other way round.
            let jar = (!knows).then(|| OneToken { token: Some(good()), ..OneToken::default() });
            let conn = lab.visit(jar, false);
            lab.run(Span::from_millis(100));
            if knows {
                let saved = bentpipe_quic::congestion::SavedParameters::new(
                    Size::from_mb(2),
                    Span::from_millis(40),
                );
                lab.accepted.lock().unwrap()[0].notes.offer(saved);
            }
            lab.run(Span::from_secs(5));
            assert_eq!(
                lab.answers.lock().unwrap().iter().map(|(length, _)| *length).collect::<Vec<_>>(),
                [ANSWER]
            );
            assert_eq!(conn.closed().map(|error| error.to_string()), None);
        }
    }
}

#[test]
fn a_client_makes_room_for_what_its_token_says() {
    let time = |token: Option<Vec<u8>>| {
        let mut lab = lab(App::Raw, true, 0);
        lab.settings.connection_window = Size::new(20_000);
        lab.visit(Some(OneToken { token, ..OneToken::default() }), false);
        lab.run(Span::from_secs(10));
        let answers = lab.answers.lock().unwrap().clone();
        assert_eq!(answers.len(), 1);
        answers[0].1.since(Time::ZERO)
    };
    let (small, raised) = (time(None), time(Some(good())));
    // 300 kB in pieces of 20 kB take 15 round trips, slow start takes 5.
    assert!(
        small > Span::from_millis(560) && raised < Span::from_millis(360),
        "{small}, then {raised}"
    );
}

#[test]
fn a_window_never_shrinks_nor_leaves_its_bound() {
    let windows = ClientWindows { present: Size::from_mb(1), max: Size::from_mb(3) };
    let token = |window| {
        let path = SavedPath::new(window, DELAY, Epoch::from_unix_secs(BEGIN), Span::from_secs(60))
            .unwrap();
        let network = "192.0.2.0/24".parse().unwrap();
        let sealed = PathTokens::new(ring(1)).seal(
            &path,
            network,
            Epoch::from_unix_secs(BEGIN),
            Randomness::System.generator(),
        );
        bentpipe_quic::path_memory::token::ReadToken::parse(&sealed.unwrap()).unwrap()
    };
    for (window, after) in [(1, 1_000_000), (1_200_000, 2_400_000), ((1 << 62) - 1, 3_000_000)] {
        assert_eq!(windows.for_token(&token(Size::new(window))), Size::new(after));
    }
}

#[test]
fn a_jar_keeps_the_newest_token_of_each_server() {
    let client = TokenClient::new(MemoryPathTokenStore::default(), EpochClock::new(BEGIN));
    let now = Epoch::from_unix_secs(BEGIN);
    let (one, two) = (good(), good());
    for (server, token) in [("a.test", &one), ("b.test", &one), ("a.test", &two)] {
        client.store().put(server, token, now).unwrap();
    }
    assert_eq!(client.store().take("a.test", now), Some(two));
    assert_eq!(client.store().take("a.test", now), None);
    assert_eq!(client.store().take("b.test", now), Some(one));
}

#[test]
fn a_token_taken_back_does_not_open() {
    let mut server = PathTokens::new(ring(1));
    let now = Epoch::from_unix_secs(BEGIN);
    let [wrong, right] =
        [(); 2].map(|()| sealed(&mut server, "192.0.2.0/24", now, Span::from_secs(60)));
    server.revoke(&wrong, now);
    let remote: IpAddr = CLIENT.0.into();
    assert_eq!(server.open(&wrong, remote, now).unwrap_err().name(), "replayed");
    assert!(server.open(&right, remote, now).is_ok());
}
