//! How many bytes a server sends to addresses that are not validated, for those that come from
//! there (RFC 9000 §8): never more than three times as many, whatever a client does.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_quic::noq_proto::{
    self as noq, ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EndpointConfig,
    FourTuple, ServerConfig, StreamId,
};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{
    Accept, Clock, Conn, ConnectionConfig, Endpoint, EpochClock, QuicSettings, RawStream, Task,
};
use bentpipe_units::{Span, Time};
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

const SERVER: ([u8; 4], u16) = ([192, 0, 2, 2], 443);
pub const OWN: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const VICTIMS: [([u8; 4], u16); 2] = [([198, 51, 100, 1], 5000), ([198, 51, 100, 2], 5000)];
const STEP: Span = Span::from_millis(1);

/// A server, and a client that is only the stack and sends from whatever address it likes.
pub struct World {
    clock: Clock,
    pub now: Time,
    pub server: Endpoint,
    endpoint: noq::Endpoint,
    handle: ConnectionHandle,
    client: Connection,
    /// The source of the client's datagrams.
    source: SocketAddr,
    /// Bytes of UDP payload from and to each address.
    counts: BTreeMap<SocketAddr, (usize, usize)>,
    /// Whether datagrams reach the client.
    hears: bool,
}

async fn answer(conn: Conn) {
    while let Ok(mut stream) = RawStream::accept(&conn).await {
        while let Ok(Some(_)) = stream.read().await {}
        if stream.write_all(&[7; 300_000]).await.is_err() {
            return;
        }
        let _ = stream.finish();
    }
}

pub fn client_config(identity: &Identity, clock: Clock) -> ClientConfig {
    let epoch = EpochClock::new(1_767_225_600);
    let tls = Client::new(identity, tls::ALPN_RAW, Randomness::System, epoch).unwrap();
    // Datagrams as small as clients may send them.
    let settings = QuicSettings { initial_mtu: 1200, max_mtu: 1200, ..QuicSettings::default() };
    let config = ConnectionConfig::new(settings, clock).unwrap();
    config.client(Arc::new(tls.quic(false).unwrap())).0
}

impl World {
    pub fn new() -> Self {
        let (clock, epoch) = (Clock::new(), EpochClock::new(1_767_225_600));
        let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
        let tls = tls::server(&identity, tls::ALPN_RAW, Randomness::System, epoch, None).unwrap();
        let base = Arc::new(ServerConfig::with_crypto(Arc::new(tls)));
        let config = ConnectionConfig::new(QuicSettings::default(), clock).unwrap();
        let accepts = base.clone();
        let acceptor = Box::new(move |_: SocketAddr| {
            let (config, attachments) = config.clone().server(&accepts);
            let app = Box::new(|conn: Conn| Box::pin(answer(conn)) as Task);
            Some(Accept { config, attachments, app })
        });
        let segments = NonZeroUsize::new(4).unwrap();
        let server =
            Endpoint::new(EndpointConfig::default(), clock, Some((base, acceptor)), segments);
        let mut endpoint = noq::Endpoint::new(Arc::new(EndpointConfig::default()), None, true);
        let config = client_config(&identity, clock);
        let (handle, client) = endpoint
            .connect(clock.instant(Time::ZERO), config, SERVER.into(), "server.test")
            .unwrap();
        let (now, source) = (Time::ZERO, OWN.into());
        let counts = BTreeMap::new();
        Self { clock, now, server, endpoint, handle, client, source, counts, hears: true }
    }

    /// Sends a datagram to the server.
    fn send(&mut self, data: &[u8]) {
        self.counts.entry(self.source).or_default().0 += data.len();
        let data = BytesMut::from(data);
        self.server.handle_datagram(self.now, self.source, None, data);
    }

    /// Lets both ends send what they have, at once, and a millisecond pass.
    fn step(&mut self) {
        let mut buffer = Vec::new();
        while let Some(transmit) =
            self.client.poll_transmit(self.clock.instant(self.now), NonZeroUsize::MIN, &mut buffer)
        {
            let data = buffer[..transmit.size].to_vec();
            buffer.clear();
            self.send(&data);
        }
        while let Some(transmit) = self.server.poll_transmit(self.now, &mut buffer) {
            let to = transmit.destination;
            self.counts.entry(to).or_default().1 += buffer.len();
            // What goes to a forged address is lost to the client.
            if self.hears && to.ip() == SocketAddr::from(OWN).ip() {
                buffer.chunks(transmit.segment_size).for_each(|data| self.hear(data));
            }
            buffer.clear();
        }
        self.now += STEP;
        self.client.handle_timeout(self.clock.instant(self.now));
        self.server.handle_timeout(self.now);
        self.exchange();
    }

    fn hear(&mut self, data: &[u8]) {
        let (now, path) = (self.clock.instant(self.now), FourTuple::new(SERVER.into(), None));
        let event = self.endpoint.handle(now, path, None, BytesMut::from(data), &mut Vec::new());
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.client.handle_event(event);
        }
        self.exchange();
    }

    fn exchange(&mut self) {
        while self.client.poll().is_some() {}
        while let Some(event) = self.client.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.client.handle_event(event);
            }
        }
    }

    fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    /// Asks for 300 kB, which reaches the server.
    pub fn ask(&mut self) -> StreamId {
        let id = self.client.streams().open(Dir::Bi).unwrap();
        self.client.send_stream(id).finish().unwrap();
        let (mut buffer, now) = (Vec::new(), self.clock.instant(self.now));
        while self.client.poll_transmit(now, NonZeroUsize::MIN, &mut buffer).is_some() {
            self.send(&std::mem::take(&mut buffer));
        }
        id
    }

    /// Asks for 300 kB and returns the steps until they are there, at most `most`.
    pub fn download(&mut self, most: usize) -> Option<usize> {
        while self.client.is_handshaking() {
            self.step();
        }
        let id = self.ask();
        let mut left = 300_000;
        for step in 0..most {
            self.step();
            let mut stream = self.client.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                left -= chunk.bytes.len();
            }
            let _ = chunks.finalize();
            if left == 0 {
                return Some(step);
            }
        }
        None
    }

    /// Panics if one of `addresses` got more than three times what came from it.
    fn check(&self, addresses: &[([u8; 4], u16)]) {
        for &address in addresses {
            let (received, sent) = self.counts[&SocketAddr::from(address)];
            assert!(sent <= 3 * received, "{address:?}: {sent} bytes for {received}");
        }
    }
}

#[test]
fn a_client_hello_without_an_answer_gets_three_times_its_bytes() {
    let mut world = World::new();
    world.hears = false;
    let mut buffer = Vec::new();
    let now = world.clock.instant(world.now);
    let sent = world.client.poll_transmit(now, NonZeroUsize::MIN, &mut buffer);
    assert!(sent.is_some());
    world.send(&buffer);
    // The server sends its flight again and again.
    for _ in 0..20_000 {
        while let Some(transmit) = world.server.poll_transmit(world.now, &mut buffer) {
            world.counts.entry(transmit.destination).or_default().1 += buffer.len();
            buffer.clear();
        }
        buffer.clear();
        world.now += STEP;
        world.server.handle_timeout(world.now);
    }
    world.check(&[OWN]);
    assert!(world.counts[&OWN.into()].1 > 1200, "the server answers");
}

#[test]
fn packets_from_forged_addresses_are_answered_with_three_times_their_bytes() {
    let mut world = World::new();
    assert!(world.download(1000).is_some());
    for packet in 0..1000 {
        world.source = VICTIMS[packet % 2].into();
        world.client.ping();
        world.steps(2);
    }
    world.check(&VICTIMS);
    // The client itself is served on.
    world.source = OWN.into();
    assert!(world.download(5000).is_some());
}

#[test]
fn a_download_is_not_diverted_to_a_forged_address() {
    let mut world = World::new();
    assert!(world.download(1000).is_some());
    world.source = VICTIMS[0].into();
    assert_eq!(world.download(5000), None);
    world.check(&VICTIMS[..1]);
    world.source = OWN.into();
    assert!(world.download(5000).is_some());
}

#[test]
fn a_client_at_a_new_address_is_served_after_one_small_packet() {
    let mut world = World::new();
    assert!(world.download(1000).is_some());
    for port in 1..5 {
        world.source.set_port(OWN.1 + port);
        world.client.ping();
        let before = world.counts.get(&world.source).copied().unwrap_or_default();
        assert_eq!(before, (0, 0));
        world.steps(5);
        assert!(world.download(1000).is_some(), "port {port}");
    }
}
