//! The proxy between a client and a server: data passes in both directions, and a slow receiver
//! slows the sender.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_congestion::{CongestionConfig, FastStart, SlowStartName};
use bentpipe_link::Ecn;
use bentpipe_link::random::{Stream, stream};
use bentpipe_tcp::{
    CloseReason, Endpoint, Flags, Leg, MakeController, Relay, Segment, TcpSettings, Transmit,
};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One-way delay from the client to the proxy, over a satellite, and from there to the server.
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

/// Client, proxy and server, and the segments in transit between them.
struct World {
    now: Time,
    client: Endpoint,
    relay: Relay,
    server: Endpoint,
    on_way: BTreeMap<(Time, u64), (Place, Transmit)>,
    serial: u64,
    /// Whether the applications read arrived data.
    client_reads: bool,
    server_reads: bool,
    /// Probability that a packet is lost, on any link.
    loss: f64,
    random: Stream,
    /// True if no packet reaches the server.
    server_is_unreachable: bool,
    /// Time at which the link to each place is free again. Each link has 100 Mbps.
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
        let settings = Arc::new(TcpSettings::default());
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
            server_is_unreachable: false,
            free: BTreeMap::new(),
            opened: [None; 2],
            buffer,
        }
    }

    fn send(&mut self, to: Place, transmit: Transmit) {
        let dark = self.server_is_unreachable && to == Place::Server;
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

    /// Lets applications read and all pending segments be sent.
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

    /// Runs until no event is left, or `until`.
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

    /// Runs until `bytes` written by the server have all been read, or `until`.
    fn download(&mut self, bytes: u64, until: Time) {
        while self.now < until && self.server.written() < bytes {
            self.server.write(self.now, bytes - self.server.written());
            self.run(self.now + Span::from_millis(10));
        }
    }
}

#[test]
fn the_clients_syn_is_answered_before_the_server_is_contacted() {
    let mut world = World::new(1_000_000);
    world.run(Time::from_secs(2));
    let [client, server] = world.opened.map(Option::unwrap);
    // One RTT over the satellite. The server gets the SYN after one satellite delay, and adds half
    // its RTT on land.
    assert!(
        client.since_start() >= Span::from_millis(601)
            && client.since_start() < Span::from_millis(602)
    );
    assert!(
        server.since_start() >= Span::from_millis(331)
            && server.since_start() < Span::from_millis(332)
    );

    let mut world = World::new(1_000_000);
    world.server_is_unreachable = true;
    world.run(Time::from_secs(2));
    assert!(world.client.is_open() && !world.server.is_open());
}

#[test]
fn all_bytes_and_the_fin_pass_in_both_directions() {
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
fn one_side_may_finish_while_the_other_continues() {
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
fn a_client_that_does_not_read_stops_the_server_and_the_proxy_stays_within_its_buffer() {
    let buffer = 400_000;
    let mut world = World::new(buffer);
    world.client_reads = false;
    world.download(100_000_000, Time::from_secs(30));
    let stopped = world.server.written();
    world.download(100_000_000, Time::from_secs(40));
    assert_eq!(world.server.written(), stopped, "the server must stop writing");
    let held = world.relay.buffered(Leg::Client);
    // Minus the rounding of the window, and less than two segments.
    assert!(held <= buffer && held + 2 * 1448 + 64 > buffer, "{held}");
    assert!(world.relay.max_buffered(Leg::Client) >= held);
    assert_eq!(world.relay.max_buffered(Leg::Server), 0);
    let taken =
        world.client.received() + held + world.server.written() - world.server.acknowledged();
    assert_eq!(taken, stopped, "each byte must be in exactly one place");
    // Once the client reads, everything moves again.
    world.client_reads = true;
    world.download(stopped + 1_000_000, Time::from_secs(80));
    world.run(Time::from_secs(100));
    assert_eq!(world.client.received(), stopped + 1_000_000);
}

#[test]
fn a_slow_satellite_hop_fills_the_buffer_and_slows_the_land_side() {
    // 1 MB per 620 ms of satellite RTT is about 13 Mbps, although each link has 100.
    let mut world = World::new(1_000_000);
    let began = world.now;
    world.download(20_000_000, Time::from_secs(60));
    let rate = 8.0 * world.client.received() as f64 / world.now.since(began).as_secs_f64() / 1e6;
    assert!(rate > 8.0 && rate < 13.4, "{rate} Mbps");
    assert!(world.relay.max_buffered(Leg::Client) > 900_000);
}

#[test]
fn a_reset_is_forwarded_in_both_directions() {
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
    world.server_is_unreachable = true;
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
fn segments_from_a_server_that_was_never_contacted_are_ignored() {
    let mut world = World::new(1_000_000);
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    let answer = Segment { ack: 1, flags, ..Segment::default() };
    world.relay.handle_segment(Time::from_millis(1), Leg::Server, &answer, Ecn::NotEct);
    assert_eq!(world.relay.poll_transmit(Time::from_millis(1)), None);
    assert_eq!((world.relay.buffered(Leg::Client), world.relay.end()), (0, None));
}
