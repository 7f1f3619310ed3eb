//! The proxy between a client and a server: what one writes the other reads, and a slow one is felt
//! by the other.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_congestion::{CongestionConfig, FastStart, SlowStartName};
use bentpipe_link::Ecn;
use bentpipe_link::random::{Stream, stream};
use bentpipe_tcp::{
    CloseReason, Endpoint, Flags, Leg, MakeController, Relay, Segment, Settings, Transmit,
};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One way from the client to the proxy, over a satellite, and on from there to the server.
const SATELLITE: Span = Span::from_millis(300);
const LAND: Span = Span::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Client,
    Proxy(Role),
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Client,
    Server,
}

/// Client, proxy and server, and what is on its way between them.
struct World {
    now: Time,
    client: Endpoint,
    relay: Relay,
    server: Endpoint,
    on_way: BTreeMap<(Time, u64), (Place, Transmit)>,
    serial: u64,
    /// Whether the applications take what has arrived.
    client_reads: bool,
    server_reads: bool,
    /// Packets are lost with this probability, anywhere.
    loss: f64,
    random: Stream,
    /// Nothing reaches the server.
    server_is_dark: bool,
    /// When the link to a place is free again, each with 100 Mbps.
    free: BTreeMap<Place, Time>,
    opened: [Option<Time>; 2],
    buffer: u64,
}

fn controller() -> MakeController {
    let factory =
        CongestionConfig { slow_start: SlowStartName::STANDARD, ..CongestionConfig::default() }
            .factory()
            .unwrap();
    Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None))
}

impl World {
    fn new(buffer: u64) -> Self {
        let settings = Arc::new(Settings::default());
        let (now, make) = (Time::from_millis(1), controller());
        Self {
            now,
            client: Endpoint::connect(now, settings.clone(), make.clone(), None),
            relay: Relay::new(
                now,
                [settings.clone(), settings.clone()],
                [make.clone(), make.clone()],
                [None, None],
                Bytes::new(buffer),
            ),
            server: Endpoint::listen(now, settings, make, None),
            on_way: BTreeMap::new(),
            serial: 0,
            client_reads: true,
            server_reads: true,
            loss: 0.0,
            random: stream(1, 0, "relay"),
            server_is_dark: false,
            free: BTreeMap::new(),
            opened: [None; 2],
            buffer,
        }
    }

    fn send(&mut self, to: Place, transmit: Transmit) {
        let dark = self.server_is_dark && to == Place::Server;
        if dark || self.random.chance(self.loss) {
            return;
        }
        let delay =
            if matches!(to, Place::Client | Place::Proxy(Role::Client)) { SATELLITE } else { LAND };
        let free = self.free.entry(to).or_insert(self.now);
        let bytes = Bytes::new(u64::from(transmit.segment.bytes()));
        *free = self.now.max(*free) + Rate::from_mbps(100).time_for(bytes);
        self.serial += 1;
        self.on_way.insert((*free + delay, self.serial), (to, transmit));
    }

    /// Applications take what they take, everything that wants to be sent is.
    fn settle(&mut self) {
        let now = self.now;
        if self.client_reads {
            self.client.consume(now, u64::MAX);
        }
        if self.server_reads {
            self.server.consume(now, u64::MAX);
        }
        while let Some(transmit) = self.client.poll_transmit(now) {
            self.send(Place::Proxy(Role::Client), transmit);
        }
        while let Some(transmit) = self.server.poll_transmit(now) {
            self.send(Place::Proxy(Role::Server), transmit);
        }
        while let Some((leg, transmit)) = self.relay.poll_transmit(now) {
            let to = if leg == Leg::Client { Place::Client } else { Place::Server };
            self.send(to, transmit);
        }
        for (opened, end) in self.opened.iter_mut().zip([&self.client, &self.server]) {
            if end.is_open() {
                opened.get_or_insert(now);
            }
        }
        assert!(
            self.relay.buffered(Leg::Client) <= self.buffer
                && self.relay.buffered(Leg::Server) <= self.buffer
        );
    }

    /// Lets time pass until nothing is left to happen, or `until`.
    fn run(&mut self, until: Time) {
        self.settle();
        loop {
            let arrival = self.on_way.first_key_value().map(|(&(at, _), _)| at);
            let timers =
                [self.client.next_timeout(), self.server.next_timeout(), self.relay.next_timeout()];
            let Some(next) =
                timers.into_iter().flatten().chain(arrival).min().filter(|&next| next <= until)
            else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            let now = self.now;
            if arrival == Some(next) {
                let (_, (to, Transmit { segment, ecn })) = self.on_way.pop_first().unwrap();
                match to {
                    Place::Client => self.client.handle_segment(now, &segment, ecn),
                    Place::Server => self.server.handle_segment(now, &segment, ecn),
                    Place::Proxy(Role::Client) => {
                        self.relay.handle_segment(now, Leg::Client, &segment, ecn)
                    }
                    Place::Proxy(Role::Server) => {
                        self.relay.handle_segment(now, Leg::Server, &segment, ecn)
                    }
                }
            } else {
                self.client.handle_timeout(now);
                self.server.handle_timeout(now);
                self.relay.handle_timeout(now);
            }
            self.settle();
        }
    }

    /// The server writes until `bytes` of it have been taken in all or time is up.
    fn download(&mut self, bytes: u64, until: Time) {
        while self.now < until && self.server.written() < bytes {
            self.server.write(self.now, bytes - self.server.written());
            self.run(self.now + Span::from_millis(10));
        }
    }
}

#[test]
fn the_clients_syn_is_answered_before_the_server_has_been_asked() {
    let mut world = World::new(1_000_000);
    world.run(Time::from_secs(2));
    let [client, server] = world.opened.map(Option::unwrap);
    // One round trip over the satellite; the server hears of it after one way, and half its round
    // trips on land.
    assert!(
        client.since_start() >= Span::from_millis(601)
            && client.since_start() < Span::from_millis(602)
    );
    assert!(
        server.since_start() >= Span::from_millis(331)
            && server.since_start() < Span::from_millis(332)
    );

    let mut world = World::new(1_000_000);
    world.server_is_dark = true;
    world.run(Time::from_secs(2));
    assert!(world.client.is_open() && !world.server.is_open());
}

#[test]
fn every_byte_passes_both_ways_and_so_does_the_end() {
    for (loss, seed) in [(0.0, 1), (0.02, 1), (0.02, 2), (0.1, 3)] {
        let mut world = World::new(1_000_000);
        world.loss = loss;
        world.random = stream(seed, 0, "relay");
        let (up, down) = (3_000_000, 5_000_000);
        world.client.write(world.now, up);
        assert_eq!(world.client.written(), up);
        world.client.finish(world.now);
        world.download(down, Time::from_secs(600));
        world.server.finish(world.now);
        world.run(Time::from_secs(1200));
        assert_eq!((world.server.received(), world.client.received()), (up, down), "loss {loss}");
        assert!(world.server.peer_finished() && world.client.peer_finished());
        let ends = (world.client.end(), world.relay.end(), world.server.end());
        assert_eq!(
            ends,
            (Some(CloseReason::Closed), Some(CloseReason::Closed), Some(CloseReason::Closed)),
            "loss {loss}"
        );
        assert_eq!((world.relay.buffered(Leg::Client), world.relay.buffered(Leg::Server)), (0, 0));
    }
}

#[test]
fn one_side_may_end_while_the_other_goes_on() {
    let mut world = World::new(1_000_000);
    world.client.write(world.now, 1000);
    world.client.finish(world.now);
    world.run(Time::from_secs(3));
    assert!(world.server.peer_finished() && !world.client.peer_finished());
    world.download(2_000_000, Time::from_secs(60));
    world.run(world.now + Span::from_secs(20));
    assert_eq!((world.client.received(), world.client.end()), (2_000_000, None));
}

#[test]
fn a_client_that_does_not_read_stops_the_server_and_the_proxy_holds_no_more_than_its_buffer() {
    let buffer = 400_000;
    let mut world = World::new(buffer);
    world.client_reads = false;
    world.download(100_000_000, Time::from_secs(30));
    let stopped = world.server.written();
    world.download(100_000_000, Time::from_secs(40));
    assert_eq!(world.server.written(), stopped, "the server goes on writing");
    let held = world.relay.buffered(Leg::Client);
    // What the rounding of the window takes off, and less than two segments.
    assert!(held <= buffer && held + 2 * 1448 + 64 > buffer, "{held}");
    assert!(world.relay.max_buffered(Leg::Client) >= held);
    assert_eq!(world.relay.max_buffered(Leg::Server), 0);
    let taken =
        world.client.received() + held + world.server.written() - world.server.acknowledged();
    assert_eq!(taken, stopped, "each byte is in one place");
    // Once it reads everything moves again.
    world.client_reads = true;
    world.download(stopped + 1_000_000, Time::from_secs(80));
    world.run(Time::from_secs(100));
    assert_eq!(world.client.received(), stopped + 1_000_000);
}

#[test]
fn a_slow_satellite_hop_fills_the_buffer_and_land_waits_for_it() {
    // 1 MB for 620 ms of satellite round trip: some 13 Mbps, though each link has 100.
    let mut world = World::new(1_000_000);
    let began = world.now;
    world.download(20_000_000, Time::from_secs(60));
    let rate = 8.0 * world.client.received() as f64 / world.now.since(began).as_secs_f64() / 1e6;
    assert!(rate > 8.0 && rate < 13.4, "{rate} Mbps");
    assert!(world.relay.max_buffered(Leg::Client) > 900_000);
}

#[test]
fn a_reset_is_passed_on_both_ways() {
    let mut world = World::new(1_000_000);
    world.run(Time::from_secs(2));
    world.client.reset(world.now);
    world.run(Time::from_secs(3));
    let ends = (world.server.end(), world.relay.end());
    assert_eq!(ends, (Some(CloseReason::Reset), Some(CloseReason::Reset)));

    let mut world = World::new(1_000_000);
    world.client.write(world.now, 100_000);
    world.run(Time::from_secs(2));
    world.server.reset(world.now);
    world.run(Time::from_secs(3));
    assert_eq!(
        (world.client.end(), world.relay.end()),
        (Some(CloseReason::Reset), Some(CloseReason::Reset))
    );
}

#[test]
fn a_server_that_cannot_be_reached_resets_the_client() {
    let mut world = World::new(1_000_000);
    world.server_is_dark = true;
    world.client.write(world.now, 100_000);
    world.run(Time::from_secs(10));
    assert_eq!(world.client.end(), None);
    assert_eq!(world.relay.buffered(Leg::Server), 100_000);
    world.run(Time::from_secs(600));
    assert_eq!(
        (world.client.end(), world.relay.end()),
        (Some(CloseReason::Reset), Some(CloseReason::TimedOut))
    );
}

#[test]
fn what_comes_from_a_server_that_was_never_asked_is_ignored() {
    let mut world = World::new(1_000_000);
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    let answer = Segment { ack: 1, flags, ..Segment::default() };
    world.relay.handle_segment(Time::from_millis(1), Leg::Server, &answer, Ecn::NotEct);
    assert_eq!(world.relay.poll_transmit(Time::from_millis(1)), None);
    assert_eq!((world.relay.buffered(Leg::Client), world.relay.end()), (0, None));
}
