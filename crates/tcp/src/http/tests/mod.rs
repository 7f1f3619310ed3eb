//! Whole exchanges over a loopback that delivers written bytes after a delay, in pieces of any
//! size.

mod bytes;
mod flow_control;
mod pages;

use super::*;
use bentpipe_units::{Bytes, Span};
use std::collections::BTreeMap;

/// One-way delay.
const DELAY: Span = Span::from_millis(300);
/// Windows that never limit.
const WIDE: Bytes = Bytes::new((1 << 31) - 1);

/// A future event of the loopback.
#[derive(Debug, Clone, Copy)]
enum Event {
    Open(usize, Role),
    /// Bytes delivered to the reader at that side.
    Arrive(usize, Role, u64),
}

/// Two hosts, a link without limits, and a record of the exchange.
struct Loopback {
    exchange: Exchange,
    /// Bytes delivered at a time, when writing and reading.
    piece: u64,
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    sequence: u64,
    opened: usize,
    /// Bytes that arrived, by connection and reader.
    arrived: Vec<[u64; 2]>,
    /// Bytes written by each side.
    written: [u64; 2],
    /// Bytes that one side wrote at the same time.
    bursts: Vec<(Time, Role, u64)>,
    noted: Vec<(Time, ExchangeEvent)>,
    blocked: Vec<Time>,
}

impl Loopback {
    fn new(exchange: Exchange, piece: u64) -> Self {
        Self {
            exchange,
            piece,
            now: Time::ZERO,
            events: BTreeMap::new(),
            sequence: 0,
            opened: 0,
            arrived: Vec::new(),
            written: [0; 2],
            bursts: Vec::new(),
            noted: Vec::new(),
            blocked: Vec::new(),
        }
    }

    fn after(&mut self, delay: Span, event: Event) {
        self.sequence += 1;
        self.events.insert((self.now + delay, self.sequence), event);
    }

    /// Runs until no event is left.
    fn run(mut self) -> Self {
        loop {
            self.settle();
            let event = self.events.first_key_value().map(|((due, _), _)| *due);
            let timers = [self.exchange.next_timeout(), self.exchange.next_answer()];
            let Some(next) = event.into_iter().chain(timers.into_iter().flatten()).min() else {
                return self;
            };
            assert!(next >= self.now, "{next} {}", self.now);
            self.now = next;
            while let Some(entry) = self.events.first_entry()
                && entry.key().0 == next
            {
                let event = entry.remove();
                self.happens(event);
            }
            if self.exchange.next_timeout().is_some_and(|due| due <= next) {
                self.exchange.handle_timeout(next);
            }
            self.exchange.release_answers(next);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Open(connection, side) => self.exchange.on_open(self.now, connection, side),
            Event::Arrive(connection, side, bytes) => {
                let total = self.arrived[connection][side.place()] + bytes;
                while self.arrived[connection][side.place()] < total {
                    let arrived = &mut self.arrived[connection][side.place()];
                    *arrived = total.min(*arrived + self.piece);
                    self.exchange.on_received(self.now, connection, side, *arrived);
                }
            }
        }
    }

    /// Lets both sides write everything they have, and records the events.
    fn settle(&mut self) {
        while let Some(connection) = self.exchange.poll_open(self.now) {
            assert_eq!(connection, self.opened, "connections are numbered in order");
            self.opened += 1;
            self.arrived.push([0; 2]);
            self.after(DELAY * 2, Event::Open(connection, Role::Client));
            self.after(DELAY * 3, Event::Open(connection, Role::Server));
        }
        for connection in 0..self.opened {
            for side in [Role::Client, Role::Server] {
                let mut burst = 0;
                loop {
                    let bytes = self.exchange.to_write(self.now, connection, side, self.piece);
                    assert!(bytes <= self.piece);
                    if bytes == 0 {
                        break;
                    }
                    burst += bytes;
                }
                if burst > 0 {
                    self.written[side.place()] += burst;
                    self.bursts.push((self.now, side, burst));
                    self.after(DELAY, Event::Arrive(connection, side.other(), burst));
                }
                if self.exchange.is_blocked(connection, side) {
                    self.blocked.push(self.now);
                }
            }
        }
        while let Some(event) = self.exchange.poll_event() {
            self.noted.push((self.now, event));
        }
    }

    /// Returns the time of an event.
    fn when(&self, wanted: ExchangeEvent) -> Time {
        let mut found = self.noted.iter().filter(|(_, event)| *event == wanted);
        let (time, _) = found.next().unwrap_or_else(|| panic!("no {wanted:?} in {:?}", self.noted));
        assert!(found.next().is_none(), "{wanted:?} more than once");
        *time
    }

    /// Returns the number or size of the events by time, regardless of the order at one time.
    fn summary(&self) -> BTreeMap<(Time, char, usize), u64> {
        let mut summary = BTreeMap::new();
        for (time, event) in &self.noted {
            let (kind, object, count) = match *event {
                ExchangeEvent::Ready => ('r', 0, 1),
                ExchangeEvent::Started(object) => ('s', object, 1),
                ExchangeEvent::Received(object, bytes) => ('b', object, bytes),
                ExchangeEvent::Ended(object) => ('e', object, 1),
            };
            *summary.entry((*time, kind, object)).or_default() += count;
        }
        summary
    }

    /// Returns the recorded bytes received of an object.
    fn received(&self, object: usize) -> u64 {
        let of_object = self.noted.iter().map(|(_, event)| match event {
            ExchangeEvent::Received(other, bytes) if *other == object => *bytes,
            _ => 0,
        });
        of_object.sum()
    }
}

fn settings(version: Version) -> HttpSettings {
    let (stream_window, connection_window) = (WIDE, WIDE);
    let (connections, priorities) = (6, false);
    HttpSettings { version, connections, stream_window, connection_window, priorities }
}

fn object(bytes: u64) -> Object {
    let source = Source::default();
    Object { bytes: Bytes::new(bytes), after: Vec::new(), delay: Span::ZERO, source }
}

fn play(settings: HttpSettings, opening: Opening, upload: bool, objects: Vec<Object>) -> Loopback {
    Loopback::new(Exchange::new(&settings, opening, upload, objects), 1 << 40).run()
}

/// Returns `halves` one-way delays as a time.
fn halves(halves: u64) -> Time {
    Time::ZERO + DELAY * halves
}

const VERSIONS: [Version; 3] = [Version::H1, Version::H2, Version::Raw];
const OPENINGS: [Opening; 3] = [Opening::Full, Opening::Resumed, Opening::EarlyData];

#[test]
fn each_opening_takes_its_rtts() {
    // TCP is open at the client after one RTT, TLS after another, and content arrives an RTT after
    // the request.
    for (version, opening, ready, ended) in [
        (Version::H1, Opening::Full, 4, 6),
        (Version::H1, Opening::Resumed, 4, 6),
        (Version::H1, Opening::EarlyData, 4, 4),
        (Version::H2, Opening::Full, 4, 6),
        (Version::H2, Opening::Resumed, 4, 6),
        (Version::H2, Opening::EarlyData, 4, 4),
        (Version::Raw, Opening::Full, 2, 4),
    ] {
        let played = play(settings(version), opening, false, vec![object(10_000)]);
        assert_eq!(played.when(ExchangeEvent::Ready), halves(ready), "{version:?} {opening:?}");
        assert_eq!(played.when(ExchangeEvent::Ended(0)), halves(ended), "{version:?} {opening:?}");
        assert_eq!(
            played.when(ExchangeEvent::Started(0)),
            halves(ended - 2),
            "{version:?} {opening:?}"
        );
    }
}

#[test]
fn uploads_end_with_the_response() {
    for version in VERSIONS {
        // A small upload fits the early data completely.
        for (opening, ended) in [(Opening::Full, 6), (Opening::EarlyData, 4)] {
            let played = play(settings(version), opening, true, vec![object(10_000)]);
            let ended = if version == Version::Raw { 4 } else { ended };
            assert_eq!(
                played.when(ExchangeEvent::Ended(0)),
                halves(ended),
                "{version:?} {opening:?}"
            );
            assert_eq!(
                played.when(ExchangeEvent::Received(0, 10_000)),
                halves(ended - 1),
                "{version:?} {opening:?}"
            );
        }
    }
}

#[test]
fn data_beyond_the_early_data_limit_waits_for_the_handshake() {
    for version in [Version::H1, Version::H2] {
        let played = play(settings(version), Opening::EarlyData, true, vec![object(50_000)]);
        assert_eq!(played.when(ExchangeEvent::Ended(0)), halves(6), "{version:?}");
        let (_, _, first) = played.bursts[0];
        // ClientHello and at most 16,384 bytes in up to four records.
        assert!(first <= 547 + 12 + 16_384 + 4 * 22 && first > 16_384, "{version:?} {first}");
    }
}

#[test]
fn empty_objects_end_too() {
    for version in VERSIONS {
        for upload in [false, true] {
            let played = play(settings(version), Opening::Full, upload, vec![object(0), object(0)]);
            played.when(ExchangeEvent::Ended(0));
            played.when(ExchangeEvent::Ended(1));
        }
    }
}

#[test]
fn an_empty_list_opens_a_connection_and_is_ready() {
    for version in VERSIONS {
        let played = play(settings(version), Opening::Full, false, Vec::new());
        assert_eq!((played.opened, played.noted.len()), (1, 1));
        played.when(ExchangeEvent::Ready);
    }
}

#[test]
fn calls_with_unknown_numbers_have_no_effect() {
    let mut exchange = Exchange::new(&settings(Version::H2), Opening::Full, false, vec![object(1)]);
    exchange.on_open(Time::ZERO, 7, Role::Client);
    exchange.on_received(Time::ZERO, 7, Role::Client, 100);
    exchange.on_received(Time::ZERO, 0, Role::Client, u64::MAX);
    assert_eq!(exchange.to_write(Time::ZERO, 7, Role::Server, 100), 0);
    assert_eq!(exchange.to_write(Time::ZERO, 0, Role::Client, 100), 0, "TCP must not be open");
    assert!(!exchange.is_blocked(7, Role::Server));
    assert_eq!(exchange.poll_event(), None);
}

#[test]
fn queued_content_follows_the_free_space_rather_than_the_object() {
    for version in VERSIONS {
        let exchange =
            Exchange::new(&settings(version), Opening::EarlyData, false, vec![object(1 << 40)]);
        let mut loopback = Loopback::new(exchange, 100_000);
        loopback.settle();
        for (half, side) in [(2, Role::Client), (3, Role::Server)] {
            loopback.now = halves(half);
            loopback.exchange.on_open(loopback.now, 0, side);
        }
        let mut request = 0;
        loop {
            let bytes = loopback.exchange.to_write(loopback.now, 0, Role::Client, 100_000);
            if bytes == 0 {
                break;
            }
            request += bytes;
        }
        loopback.exchange.on_received(loopback.now, 0, Role::Server, request);
        let mut sent = 0;
        for _ in 0..100 {
            assert_eq!(loopback.exchange.to_write(loopback.now, 0, Role::Server, 100_000), 100_000);
            sent += 100_000;
            // Ten records fit the free space, plus a few others.
            assert!(
                loopback.exchange.messages_underway() <= 20,
                "{}",
                loopback.exchange.messages_underway()
            );
            loopback.exchange.on_received(loopback.now, 0, Role::Client, sent);
        }
        assert!(loopback.exchange.poll_event().is_some());
    }
}

/// Any call that a caller can make, in any order.
#[derive(Debug, Clone, Copy)]
enum Call {
    Poll,
    Open(usize, bool),
    Receive(usize, bool, u64),
    Write(usize, bool, u64),
    Timeout,
}

fn calls() -> impl proptest::strategy::Strategy<Value = Vec<Call>> {
    use proptest::prelude::*;
    let bytes = || prop_oneof![0_u64..3000, Just(u64::MAX), Just(1 << 20)];
    let call = prop_oneof![
        Just(Call::Poll),
        (0_usize..4, any::<bool>()).prop_map(|(connection, client)| Call::Open(connection, client)),
        (0_usize..4, any::<bool>(), bytes())
            .prop_map(|(connection, client, bytes)| Call::Receive(connection, client, bytes)),
        // The free space is always bounded.
        (0_usize..4, any::<bool>(), 0_u64..100_000)
            .prop_map(|(connection, client, room)| Call::Write(connection, client, room)),
        Just(Call::Timeout),
    ];
    proptest::collection::vec(call, 0..200)
}

proptest::proptest! {
    #[test]
    fn calls_in_any_order_neither_panic_nor_create_content(
        version in proptest::sample::select(&VERSIONS[..]),
        opening in proptest::sample::select(&OPENINGS[..]),
        upload in proptest::bool::ANY,
        window in 0_u64..100_000,
        objects in proptest::collection::vec(
            (0_u64..100_000, proptest::collection::vec(0_usize..6, 0..3)),
            0..6,
        ),
        calls in calls(),
    ) {
        let stream_window = Bytes::new(window);
        let settings = HttpSettings { connections: 3, stream_window, ..settings(version) };
        let list: Vec<Object> =
            objects
                .iter()
                .map(|(bytes, after)| Object { after: after.clone(), ..object(*bytes) })
                .collect();
        let mut exchange = Exchange::new(&settings, opening, upload, list);
        let side = |client| if client { Role::Client } else { Role::Server };
        for (step, call) in calls.into_iter().enumerate() {
            let now = Time::from_millis(step as u64);
            match call {
                Call::Poll => {
                    assert!(exchange.poll_open(now).is_none_or(|connection| connection < 3))
                }
                Call::Open(connection, client) => exchange.on_open(now, connection, side(client)),
                Call::Receive(connection, client, bytes) => {
                    exchange.on_received(now, connection, side(client), bytes)
                }
                Call::Write(connection, client, room) => {
                    let before = exchange.is_blocked(connection, side(client));
                    let bytes = exchange.to_write(now, connection, side(client), room);
                    assert!(bytes <= room);
                    // A blocked side can only write frames that windows do not cover.
                    assert!(!before || bytes < 20_000, "{bytes}");
                }
                Call::Timeout => exchange.handle_timeout(now),
            }
        }
        let mut got = vec![0; objects.len()];
        while let Some(event) = exchange.poll_event() {
            match event {
                ExchangeEvent::Received(object, bytes) => got[object] += bytes,
                ExchangeEvent::Ended(object) => assert_eq!(got[object], objects[object].0),
                ExchangeEvent::Ready | ExchangeEvent::Started(_) => {}
            }
        }
        assert!(got.iter().zip(&objects).all(|(got, (bytes, _))| got <= bytes));
    }

    #[test]
    fn results_do_not_depend_on_the_size_of_pieces(
        piece in 1_u64..5_000,
        version in proptest::sample::select(&VERSIONS[..]),
        opening in proptest::sample::select(&OPENINGS[..]),
        upload in proptest::bool::ANY,
        sizes in proptest::collection::vec(0_u64..40_000, 1..9),
        window in 1_u64..50_000,
    ) {
        let narrow = HttpSettings { stream_window: Bytes::new(window), ..settings(version) };
        let objects: Vec<Object> = sizes
            .iter()
            .enumerate()
            .map(|(index, bytes)| Object {
                after: (index > 2).then(|| index - 2).into_iter().collect(),
                ..object(*bytes)
            })
            .collect();
        let whole = play(narrow, opening, upload, objects.clone());
        let pieces = Loopback::new(Exchange::new(&narrow, opening, upload, objects), piece).run();
        proptest::prop_assert_eq!(whole.summary(), pieces.summary());
        proptest::prop_assert_eq!(whole.written, pieces.written);
        for (index, bytes) in sizes.iter().enumerate() {
            proptest::prop_assert_eq!(pieces.received(index), *bytes);
            pieces.when(ExchangeEvent::Ended(index));
        }
    }
}
