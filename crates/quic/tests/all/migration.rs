//! A server whose client gets another address: migration and NAT rebinding (RFC 9000 §9) over a
//! path of 50 Mbps in virtual time. Or whose client vanishes.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_quic::congestion::ResumeHandle;
use bentpipe_quic::congestion::resume::{Phase, Transition, Trigger};
use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::path_memory::{
    Holder, IpPrefix, Limits, MemoryStore, PathKey, Prefixes, SavedPath,
};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{
    Accept, Attachments, Clock, Conn, ConnectionConfig, DEFAULT_LIFETIME, Endpoint, EpochClock,
    PathMemory, QuicSettings, RawStream, Task,
};
use bentpipe_units::{Bytes as Size, Span, Time};
use bytes::BytesMut;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

const SERVER: &str = "203.0.113.9:443";
/// Bytes per second of the link to the client, and the size of its queue.
const RATE: u64 = 6_250_000;
const QUEUE: u64 = 300_000;

/// A server with a path memory, a client, and the link between them.
struct Net {
    client: Endpoint,
    server: Endpoint,
    wire: Vec<(Time, Option<SocketAddr>, Vec<u8>)>,
    /// The client's address as the server sees it.
    address: SocketAddr,
    one_way: Span,
    /// Time at which the link to the client has sent all that it holds.
    free: Time,
    now: Time,
    memory: PathMemory,
    handle: Arc<Mutex<Option<ResumeHandle>>>,
    received: Arc<Mutex<usize>>,
    /// Whether nothing of the client arrives any more.
    vanished: bool,
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

async fn serve(conn: Conn, bytes: usize) {
    let Ok(mut stream) = RawStream::accept(&conn).await else { return };
    let block = vec![7; 65_536];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(block.len());
        if stream.write_all(&block[..part]).await.is_err() {
            return;
        }
        left -= part;
    }
    let _ = stream.finish();
    conn.ended().await;
}

impl Net {
    /// A client at `from` that downloads `bytes`, with `saved` parameters of the path to it.
    fn new(from: &str, bytes: usize, saved: Option<(u64, Span)>) -> Self {
        let (clock, epoch) = (Clock::new(), EpochClock::new(1_767_225_600));
        let store = MemoryStore::new(Limits::default());
        let memory =
            PathMemory::new(store, Prefixes::default(), "test", DEFAULT_LIFETIME, epoch.clone());
        if let Some((window, rtt)) = saved {
            let now = epoch.epoch();
            let path = SavedPath::new(Size::new(window), rtt, now, DEFAULT_LIFETIME).unwrap();
            memory.store().replace(&key(from), path, now).unwrap();
        }
        let mut settings = QuicSettings {
            stream_window: Size::from_mb(30),
            connection_window: Size::from_mb(30),
            ..QuicSettings::default()
        };
        settings.congestion.resume = "careful".parse().unwrap();
        let config = ConnectionConfig::new(settings, clock).unwrap();
        let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
        let random = Randomness::System;
        let client_tls = Client::new(&identity, tls::ALPN_RAW, random, epoch.clone()).unwrap();
        let server_tls = tls::server(&identity, tls::ALPN_RAW, random, epoch, None).unwrap();
        let server_config = Arc::new(ServerConfig::with_crypto(Arc::new(server_tls)));
        let (client_config, _) = config.clone().client(Arc::new(client_tls.quic(false).unwrap()));
        let handle = Arc::new(Mutex::new(None));
        let (base, paths, leased) = (server_config.clone(), memory.clone(), handle.clone());
        let mut connections = 0;
        let acceptor = Box::new(move |remote: SocketAddr| {
            connections += 1;
            let lease = paths.begin_unconfirmed(remote.ip(), Holder(connections)).unwrap();
            *leased.lock().unwrap() = Some(lease.resume_handle());
            let config = config.clone().with_path_lease(Some(lease));
            let (config, attachments) = config.server(&base);
            let app = Box::new(move |conn| Box::pin(serve(conn, bytes)) as Task);
            Some(Accept { config, attachments, app })
        });
        let endpoint = |server| {
            Endpoint::new(EndpointConfig::default(), clock, server, NonZeroUsize::new(4).unwrap())
        };
        let mut net = Self {
            client: endpoint(None),
            server: endpoint(Some((server_config, acceptor))),
            wire: Vec::new(),
            address: address(from),
            one_way: Span::from_millis(100),
            free: Time::ZERO,
            now: Time::ZERO,
            memory,
            handle,
            received: Arc::default(),
            vanished: false,
        };
        let received = net.received.clone();
        let app = move |conn: Conn| -> Task {
            Box::pin(async move {
                let Ok(mut stream) = RawStream::open(&conn).await else { return };
                stream.write_all(b"all of it").await.unwrap();
                stream.finish().unwrap();
                while let Ok(Some(data)) = stream.read().await {
                    *received.lock().unwrap() += data.len();
                }
                conn.close(0, b"");
            })
        };
        let attachments = Attachments::default();
        net.client
            .connect(net.now, client_config, address(SERVER), "server.test", attachments, app)
            .unwrap();
        net
    }

    fn send(&mut self) {
        let mut buffer = Vec::new();
        while let Some(transmit) = self.client.poll_transmit(self.now, &mut buffer) {
            for segment in buffer.chunks(transmit.segment_size) {
                self.wire.push((self.now + self.one_way, None, segment.to_vec()));
            }
            buffer.clear();
        }
        while let Some(transmit) = self.server.poll_transmit(self.now, &mut buffer) {
            for segment in buffer.chunks(transmit.segment_size) {
                let waiting = self.free.since(self.now).as_secs_f64() * RATE as f64;
                if waiting > QUEUE as f64 {
                    continue;
                }
                let time = Span::from_secs_f64(segment.len() as f64 / RATE as f64);
                self.free = self.free.max(self.now) + time;
                let to = Some(transmit.destination);
                self.wire.push((self.free + self.one_way, to, segment.to_vec()));
            }
            buffer.clear();
        }
    }

    fn run(&mut self, limit: Time) {
        self.send();
        loop {
            let arrival = self.wire.iter().map(|(time, ..)| *time).min();
            let timeout =
                self.client.next_timeout().into_iter().chain(self.server.next_timeout()).min();
            let next = arrival.into_iter().chain(timeout).min().filter(|&next| next <= limit);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            let now = self.now;
            let (due, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.wire).into_iter().partition(|(time, ..)| *time <= now);
            self.wire = rest;
            for (_, to, data) in due {
                let data = BytesMut::from(&data[..]);
                match to {
                    None if self.vanished => {}
                    None => self.server.handle_datagram(now, self.address, None, data),
                    // Datagrams to the old address are lost.
                    Some(to) if to == self.address => {
                        self.client.handle_datagram(now, address(SERVER), None, data);
                    }
                    Some(_) => {}
                }
            }
            self.client.handle_timeout(now);
            self.server.handle_timeout(now);
            self.send();
        }
        self.now = self.now.max(limit);
    }

    /// Runs until `wanted` bytes have arrived.
    fn run_until_received(&mut self, wanted: usize) {
        while *self.received.lock().unwrap() < wanted {
            assert!(self.now < Time::from_secs(60), "{wanted} bytes never arrived");
            self.run(self.now + Span::from_millis(20));
        }
    }

    fn transitions(&self) -> Vec<Transition> {
        self.handle.lock().unwrap().as_ref().unwrap().take_transitions()
    }

    /// Whether a connection has the saved set of the network of `address` to itself.
    fn is_leased(&self, address: &str) -> bool {
        let epoch = EpochClock::new(1_767_225_600).epoch();
        self.memory.store().is_leased(&key(address), epoch).unwrap()
    }

    fn saved(&self, address: &str) -> Option<SavedPath> {
        let epoch = EpochClock::new(1_767_225_600).epoch();
        let entries = self.memory.store().list(epoch).unwrap();
        entries.into_iter().find(|entry| entry.key == key(address)).map(|entry| entry.path)
    }
}

fn key(address: &str) -> PathKey {
    let remote: SocketAddr = address.parse().unwrap();
    PathKey::new(Prefixes::default().of(remote.ip()), "test", 0).unwrap()
}

fn jumps(transitions: &[Transition]) -> usize {
    transitions.iter().filter(|transition| transition.new == Phase::Unvalidated).count()
}

const OLD: &str = "192.0.2.1:40000";
const NEW: &str = "198.51.100.7:50000";
const RTT: Span = Span::from_millis(200);
/// What the path holds without its queue.
const BDP: u64 = 1_250_000;

#[test]
fn a_jump_is_not_repeated_on_the_path_of_another_address() {
    let mut net = Net::new(OLD, 12_000_000, Some((BDP, RTT)));
    net.run_until_received(3_000_000);
    assert_eq!(jumps(&net.transitions()), 1, "the old path is that of the saved set");
    net.address = address(NEW);
    net.run_until_received(12_000_000);
    let after = net.transitions();
    assert_eq!(jumps(&after), 0, "{after:?}");
    assert!(after.iter().any(|transition| transition.trigger == Some(Trigger::PathChanged)));
}

#[test]
fn a_client_that_vanished_does_not_keep_the_saved_set_from_its_network() {
    let mut net = Net::new(OLD, 12_000_000, Some((BDP, RTT)));
    net.run_until_received(3_000_000);
    assert_eq!(jumps(&net.transitions()), 1);
    net.vanished = true;
    net.run(net.now + Span::from_secs(4));
    assert!(net.is_leased(OLD), "it may be an outage");
    net.run(net.now + Span::from_millis(1_200));
    assert_eq!(net.server.open_connections(), 1);
    assert!(!net.is_leased(OLD));
    // What it learns once it is heard again is saved all the same.
    net.vanished = false;
    net.run_until_received(12_000_000);
    net.run(net.now + Span::from_secs(5));
    assert!(net.saved(OLD).is_some());
}

#[test]
fn a_first_packet_with_a_forged_address_does_not_keep_the_saved_set_from_its_clients() {
    let mut net = Net::new(OLD, 4_000_000, Some((BDP, RTT)));
    // From another address of the client's network, whose owner sees only the responses.
    let mut forger = Net::new("192.0.2.99:1000", 1, None);
    forger.send();
    for (_, _, data) in forger.wire {
        net.server.handle_datagram(net.now, address("192.0.2.99:1000"), None, data[..].into());
    }
    net.run_until_received(4_000_000);
    assert_eq!(jumps(&net.transitions()), 1);
}

#[test]
fn a_set_that_met_congestion_is_not_used_after_a_migration_and_stays_deleted() {
    // Ten times what the path holds.
    let mut net = Net::new(OLD, 12_000_000, Some((10 * BDP, RTT)));
    net.run_until_received(3_000_000);
    let before = net.transitions();
    assert!(before.iter().any(|transition| transition.new == Phase::SafeRetreat), "{before:?}");
    net.address = address(NEW);
    net.run_until_received(12_000_000);
    assert_eq!(jumps(&net.transitions()), 0);
    net.run(net.now + Span::from_secs(5));
    assert!(net.saved(OLD).is_none_or(|saved| saved.window < Size::new(3 * BDP)));
}

#[test]
fn what_a_path_carried_is_saved_under_its_own_key() {
    let mut net = Net::new(OLD, 20_000_000, None);
    net.run_until_received(6_000_000);
    net.address = address(NEW);
    net.one_way = Span::from_millis(150);
    net.run_until_received(20_000_000);
    net.run(net.now + Span::from_secs(5));
    let (old, new) = (net.saved(OLD).unwrap(), net.saved(NEW).unwrap());
    let near = |rtt: Span, of: u64| rtt.as_secs_f64() * 1e3 - of as f64;
    assert!((0.0..10.0).contains(&near(old.rtt, 200)), "{old:?}");
    assert!((0.0..10.0).contains(&near(new.rtt, 300)), "{new:?}");
}

#[test]
fn a_short_use_of_a_known_path_does_not_replace_its_saved_set() {
    let mut net = Net::new(OLD, 6_500_000, None);
    let epoch = EpochClock::new(1_767_225_600).epoch();
    let known = SavedPath::new(Size::new(3 * BDP), RTT, epoch, DEFAULT_LIFETIME).unwrap();
    net.memory.store().replace(&key(NEW), known, epoch).unwrap();
    net.run_until_received(6_000_000);
    net.address = address(NEW);
    net.run_until_received(6_500_000);
    net.run(net.now + Span::from_secs(5));
    assert_eq!(net.saved(NEW), Some(known));
}

#[test]
fn another_port_of_the_same_address_keeps_window_and_key() {
    let mut net = Net::new(OLD, 12_000_000, Some((BDP, RTT)));
    net.run_until_received(6_000_000);
    net.transitions();
    net.address = address("192.0.2.1:61000");
    let began = net.now;
    net.run_until_received(12_000_000);
    // 6 MB take 0.96 s. A start from the initial window would take three times that.
    let took = net.now.since(began);
    assert!(took < Span::from_millis(2_200), "{took}");
    assert_eq!(jumps(&net.transitions()), 0);
    net.run(net.now + Span::from_secs(5));
    assert!(net.saved(OLD).unwrap().window > Size::new(BDP / 2));
}

#[test]
fn another_ipv6_port_starts_anew_without_a_jump_under_the_same_key() {
    let old = "[2001:db8:1::5]:40000";
    let mut net = Net::new(old, 12_000_000, Some((BDP, RTT)));
    net.run_until_received(3_000_000);
    assert_eq!(jumps(&net.transitions()), 1);
    net.address = address("[2001:db8:1::5]:40001");
    net.run_until_received(12_000_000);
    assert_eq!(jumps(&net.transitions()), 0);
    net.run(net.now + Span::from_secs(5));
    assert!(net.saved(old).unwrap().window > Size::new(BDP / 2));
    assert_eq!(
        key(old).remote(),
        IpPrefix::new("2001:db8:1::".parse().unwrap(), 56).unwrap(),
        "one site, one key"
    );
}
