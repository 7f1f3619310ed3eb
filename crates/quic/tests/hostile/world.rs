//! Client and server on one wire, in virtual time, and what must hold whatever the client does.

use super::frames;
use super::peer::Peer;
use super::server::{CONNECTION_WINDOW, HEADER_MEMORY, IDLE, STREAMS, Server};
use super::steps::{Content, Step};
use bentpipe_quic::noq_proto::{ClientConfig, Dir};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{Clock, ConnectionConfig, EpochClock, QuicSettings};
use bentpipe_units::{Span, Time};
use bytes::{Bytes, BytesMut};
use std::net::SocketAddr;
use std::sync::Arc;

const SERVER: ([u8; 4], u16) = ([192, 0, 2, 2], 443);
const ATTACKER: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const OTHER: ([u8; 4], u16) = ([198, 51, 100, 1], 50_000);
const DELAY: Span = Span::from_millis(10);
/// Time in which an answer of a few kB arrives on a wire that loses nothing.
const SOON: Span = Span::from_secs(5);
/// The same for the attacker, whose timers may have backed off.
const LATER: Span = Span::from_secs(30);
/// Iterations of the event loop in which one step must have run its course.
const MAX_EVENTS: u32 = 50_000;

/// A datagram on the wire.
struct InFlight {
    arrives: Time,
    from: SocketAddr,
    to: SocketAddr,
    data: Vec<u8>,
}

/// What is made once and used by all cases: a certificate, and clients of it.
pub struct Kit {
    clock: Clock,
    identity: Identity,
    client: ClientConfig,
}

impl Kit {
    pub fn new() -> Self {
        Self::with(QuicSettings::default())
    }

    /// Clients that send as much as flow control permits, at once.
    pub fn greedy() -> Self {
        Self::with(QuicSettings {
            initial_window: 10_000,
            pacing: false,
            ..QuicSettings::default()
        })
    }

    fn with(settings: QuicSettings) -> Self {
        let clock = Clock::new();
        let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
        let epoch = EpochClock::new(1_767_225_600);
        let tls = Client::new(&identity, tls::ALPN_H3, Randomness::System, epoch).unwrap();
        let config = ConnectionConfig::new(settings, clock).unwrap();
        let (client, _) = config.client(Arc::new(tls.quic(false).unwrap()));
        Self { clock, identity, client }
    }

    fn peer(&self, address: ([u8; 4], u16), now: Time) -> Peer {
        Peer::new(self.clock, self.client.clone(), SERVER.into(), address.into(), now)
    }
}

/// The wire and both ends.
struct World {
    now: Time,
    server: Server,
    peers: Vec<Peer>,
    wire: Vec<InFlight>,
    /// Datagrams still to be lost: of the clients, of the server.
    losing: (u8, u8),
    /// The last datagrams of the attacker.
    sent: Vec<Vec<u8>>,
}

/// Plays `steps` against a new server, then checks that it is as good as new.
pub fn play(kit: &Kit, steps: &[Step]) {
    let mut world = World::new(kit);
    for step in steps {
        world.take(step);
    }
    world.losing = (0, 0);
    world.others_are_served(kit);
    if !may_lose_its_new_path(steps) {
        world.credit_returns();
    }
    world.nothing_is_left();
}

/// True if the client changes its address and datagrams are lost. noq-proto 1.4 validates a new
/// path for three PTOs; if no response comes by then it never tries again, and may send three
/// bytes for one for ever (RFC 9000, section 8.1). Decision 40 says what that means.
fn may_lose_its_new_path(steps: &[Step]) -> bool {
    let has = |what: fn(&Step) -> bool| steps.iter().any(what);
    has(|step| matches!(step, Step::Rebind)) && has(|step| matches!(step, Step::Lose { .. }))
}

/// Uploads `pieces` of `size` bytes, each in a datagram of its own, of which every second one is
/// lost. Then nothing is lost, and the upload ends. Returns whether the server has responded; if
/// not, it has closed the connection. Others are served in both cases.
pub fn upload_with_gaps(kit: &Kit, pieces: usize, size: usize) -> bool {
    let mut world = World::new(kit);
    let peer = &mut world.peers[0];
    let id = peer.open(Dir::Bi).unwrap();
    peer.write(id, &frames::encode(&Content::Put));
    let declared = u32::try_from(pieces * size).unwrap();
    peer.write(id, &frames::encode(&Content::Data { declared, sent: 0 }));
    world.run(Span::from_millis(100));
    for piece in 0..pieces {
        let peer = &mut world.peers[0];
        peer.write(id, &vec![b'd'; size]);
        let datagrams = peer.transmit(world.now);
        datagrams.into_iter().filter(|_| piece % 2 == 1).for_each(|data| world.inject(data));
    }
    world.peers[0].finish(id);
    world.run(LATER);
    let responded = world.peers[0].read(id) && world.peers[0].received.contains_key(&id);
    assert_ne!(responded, world.peers[0].connection.is_closed());
    world.others_are_served(kit);
    world.nothing_is_left();
    responded
}

impl World {
    /// The attacker has connected.
    fn new(kit: &Kit) -> Self {
        let mut world = Self {
            now: Time::ZERO,
            server: Server::new(kit.clock, &kit.identity),
            peers: vec![kit.peer(ATTACKER, Time::ZERO)],
            wire: Vec::new(),
            losing: (0, 0),
            sent: Vec::new(),
        };
        world.run(Span::from_millis(100));
        world
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Wait(span) => return self.run(*span),
            Step::Lose { to_server: true, datagrams } => self.losing.0 = *datagrams,
            Step::Lose { to_server: false, datagrams } => self.losing.1 = *datagrams,
            Step::Replay { at, flip } => {
                if let Some(mut data) = self.sent.last().cloned() {
                    let at = usize::from(*at) % data.len();
                    data[at] ^= flip;
                    self.inject(data);
                }
            }
            Step::Garbage(data) => self.inject(data.clone()),
            Step::Rebind => {
                let address = &mut self.peers[0].address;
                address.set_port(address.port() + 1);
            }
            Step::Reconnect { code } => {
                let now = self.now;
                self.peers[0].reconnect(now, *code);
            }
            other => self.peers[0].take(other),
        }
        self.run(Span::from_micros(100));
    }

    fn inject(&mut self, data: Vec<u8>) {
        let from = self.peers[0].address;
        self.wire.push(InFlight { arrives: self.now + DELAY, from, to: SERVER.into(), data });
    }

    fn send(&mut self) {
        let arrives = self.now + DELAY;
        for (index, peer) in self.peers.iter_mut().enumerate() {
            for data in peer.transmit(self.now) {
                if index == 0 {
                    self.sent.push(data.clone());
                    if self.sent.len() > 8 {
                        self.sent.remove(0);
                    }
                }
                if index == 0 && self.losing.0 > 0 {
                    self.losing.0 -= 1;
                    continue;
                }
                let (from, to) = (peer.address, SERVER.into());
                self.wire.push(InFlight { arrives, from, to, data });
            }
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = self.server.endpoint.poll_transmit(self.now, &mut buffer) {
            for segment in buffer.chunks(transmit.segment_size) {
                if self.losing.1 > 0 {
                    self.losing.1 -= 1;
                    continue;
                }
                let (from, to) = (SERVER.into(), transmit.destination);
                self.wire.push(InFlight { arrives, from, to, data: segment.to_vec() });
            }
            buffer.clear();
        }
    }

    /// Runs for `span`.
    fn run(&mut self, span: Span) {
        let end = self.now + span;
        self.send();
        for event in 0.. {
            assert!(event < MAX_EVENTS, "still busy after {MAX_EVENTS} events");
            let arrival = self.wire.iter().map(|datagram| datagram.arrives).min();
            let timeouts = self.peers.iter().filter_map(Peer::next_timeout);
            let next = timeouts.chain(arrival).chain(self.server.endpoint.next_timeout()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.deliver();
            for peer in &mut self.peers {
                peer.handle_timeout(self.now);
            }
            self.server.endpoint.handle_timeout(self.now);
            self.send();
            self.check();
        }
        self.now = end;
    }

    fn deliver(&mut self) {
        let now = self.now;
        let (due, rest): (Vec<_>, _) =
            std::mem::take(&mut self.wire).into_iter().partition(|item| item.arrives <= now);
        self.wire = rest;
        for InFlight { from, to, data, .. } in due {
            if to == SERVER.into() {
                let data = BytesMut::from(&data[..]);
                self.server.endpoint.handle_datagram(now, from, None, data);
            } else if let Some(peer) = self.peers.iter_mut().find(|peer| peer.address == to) {
                peer.handle(now, &data);
            }
        }
    }

    /// What holds at any time.
    fn check(&self) {
        let memory = self.server.header_memory.used();
        assert!(memory <= HEADER_MEMORY, "{memory} bytes of incomplete headers");
        // A task for each connection and each stream that a client may have open, as long as the
        // stack keeps a connection that was closed.
        let most = self.server.endpoint.open_connections() as u64 * u64::from(1 + STREAMS);
        let running = self.server.running();
        assert!(running <= most, "{running} tasks, at most {most}");
    }

    /// A client from elsewhere gets what it asks for.
    fn others_are_served(&mut self, kit: &Kit) {
        self.peers.push(kit.peer(OTHER, self.now));
        self.run(SOON);
        self.gets(1, "another client", SOON);
        let now = kit.clock.instant(self.now);
        let other = &mut self.peers[1];
        other.connection.close(now, 0u32.into(), Bytes::new());
        self.run(SOON);
        self.peers.pop();
    }

    fn gets(&mut self, peer: usize, who: &str, within: Span) {
        let id = self.peers[peer].get(5).unwrap_or_else(|| panic!("{who} has no credit"));
        self.run(within);
        let peer = &mut self.peers[peer];
        assert!(peer.read(id), "the response to {who} has not ended after {within}");
        let bytes = peer.received.get(&id).copied().unwrap_or(0);
        assert!(bytes > 5000, "{who} got {bytes} bytes");
    }

    /// A client that ends all that it began may do as much again, unless the server has closed
    /// the connection.
    fn credit_returns(&mut self) {
        let peer = &mut self.peers[0];
        if peer.connection.is_handshaking() || peer.connection.is_closed() {
            return;
        }
        for id in peer.streams.clone() {
            if id.dir() == Dir::Bi {
                peer.reset(id, 0x0c);
                let _ = peer.connection.recv_stream(id).stop(0x10c_u32.into());
            }
        }
        self.run(LATER);
        for id in self.peers[0].streams.clone() {
            if id.dir() == Dir::Bi {
                self.peers[0].read(id);
            }
        }
        self.run(LATER);
        if self.peers[0].connection.is_closed() {
            return;
        }
        self.gets(0, "the attacker, when it behaves", LATER);
        self.puts();
        let open: Vec<_> = (0..STREAMS).map_while(|_| self.peers[0].open(Dir::Bi)).collect();
        // The stack announces credit once more than an eighth has returned.
        let least = (STREAMS - STREAMS / 8) as usize;
        assert!(open.len() >= least, "{} streams can be opened, of {STREAMS}", open.len());
    }

    /// The attacker uploads more than the connection's window, so all of that is free.
    fn puts(&mut self) {
        let peer = &mut self.peers[0];
        let id = peer.open(Dir::Bi).unwrap_or_else(|| panic!("no credit for an upload"));
        peer.write(id, &frames::encode(&Content::Put));
        for _ in 0..2 * CONNECTION_WINDOW / 50_000 {
            peer.write(id, &frames::encode(&Content::Data { declared: 50_000, sent: 50_000 }));
        }
        peer.finish(id);
        self.run(LATER);
        assert!(self.peers[0].read(id), "an upload has not ended after {LATER}");
        assert!(self.peers[0].received.contains_key(&id), "an upload without a response");
    }

    /// Once the client is silent, the server forgets it, and no task is left.
    fn nothing_is_left(&mut self) {
        self.peers.clear();
        // A connection lives on for at least three PTOs (RFC 9000, section 10.1). An RTT sample
        // can be as long as the longest silence; a PTO is at most about three samples.
        self.run(IDLE + (self.now - Time::ZERO) * 9 + SOON);
        assert_eq!(self.server.endpoint.open_connections(), 0, "connections at the end");
        assert_eq!(self.server.running(), 0, "tasks at the end");
        assert_eq!(self.server.header_memory.used(), 0, "header memory at the end");
    }
}
