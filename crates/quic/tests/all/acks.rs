//! A receiver that holds its acknowledgements back, between two endpoints on a wire that repeats
//! and reorders.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bentpipe_quic::noq_proto::{EndpointConfig, ServerConfig};
use bentpipe_quic::tls::{self, Client, Identity, Randomness};
use bentpipe_quic::{
    Accept, AckBy, Clock, Conn, ConnectionConfig, Endpoint, EpochClock, QuicSettings, RawStream,
    Task,
};
use bentpipe_units::{Bytes, Span, Time};
use bytes::BytesMut;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 2], 443);
const DELAY: Span = Span::from_millis(300);
const ANSWER: usize = 1_000_000;

/// What happened on the wire.
struct ObservedPackets {
    /// Datagrams that the receiver sent.
    from_receiver: Vec<Time>,
    /// Datagrams that the sender sent.
    from_sender: Vec<Time>,
    received: usize,
    end: Time,
}

/// How late the datagram of that number is, and how often it comes.
type Wire = fn(usize) -> (Span, usize);

/// A client that acknowledges by `rule` and asks for a megabyte, its server, and what has arrived.
fn endpoints(rule: &str) -> (Endpoint, Endpoint, Arc<Mutex<usize>>) {
    let epoch = EpochClock::new(1_767_225_600);
    let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
    let client_tls =
        Client::new(&identity, tls::ALPN_RAW, Randomness::System, epoch.clone()).unwrap();
    let server_tls =
        tls::server(&identity, tls::ALPN_RAW, Randomness::System, epoch, None).unwrap();
    let window = Bytes::from_mb(4);
    let settings = QuicSettings {
        stream_window: window,
        connection_window: window,
        send_buffer: window,
        ..QuicSettings::default()
    };
    let settings = QuicSettings { ack: rule.parse().unwrap(), ack_by: AckBy::Receiver, ..settings };
    let clock = Clock::new();
    let config = ConnectionConfig::new(settings, clock).unwrap();
    let (client_config, attachments) =
        config.clone().with_acknowledger().client(Arc::new(client_tls.quic(false).unwrap()));
    let server_config = Arc::new(ServerConfig::with_crypto(Arc::new(server_tls)));
    let base = server_config.clone();
    let acceptor = Box::new(move |_: SocketAddr| {
        let app = Box::new(|conn: Conn| {
            Box::pin(async move {
                let Ok(mut stream) = RawStream::accept(&conn).await else { return };
                while let Ok(Some(_)) = stream.read().await {}
                stream.write_all(&vec![7; ANSWER]).await.unwrap();
                let _ = stream.finish();
                std::future::pending::<()>().await;
            }) as Task
        });
        let (config, attachments) = config.clone().server(&base);
        Some(Accept { config, attachments, app })
    });
    let segments = NonZeroUsize::new(4).unwrap();
    let mut client = Endpoint::new(EndpointConfig::default(), clock, None, segments);
    let server =
        Endpoint::new(EndpointConfig::default(), clock, Some((server_config, acceptor)), segments);
    let received = Arc::new(Mutex::new(0));
    let count = received.clone();
    client
        .connect(
            Time::ZERO,
            client_config,
            SERVER.into(),
            "server.test",
            attachments,
            move |conn| {
                Box::pin(async move {
                    let Ok(mut stream) = RawStream::open(&conn).await else { return };
                    stream.write_all(b"please").await.unwrap();
                    stream.finish().unwrap();
                    while let Ok(Some(data)) = stream.read().await {
                        *count.lock().unwrap() += data.len();
                    }
                    std::future::pending::<()>().await;
                })
            },
        )
        .unwrap();
    (client, server, received)
}

/// A client that acknowledges by `rule` asks for a megabyte over `wire`.
fn download(rule: &str, wire: Wire) -> ObservedPackets {
    let (mut client, mut server, received) = endpoints(rule);
    let mut flying: Vec<(Time, bool, Vec<u8>)> = Vec::new();
    let (mut now, mut sent) = (Time::ZERO, 0);
    let mut seen = ObservedPackets {
        from_receiver: Vec::new(),
        from_sender: Vec::new(),
        received: 0,
        end: Time::ZERO,
    };
    loop {
        for (endpoint, to_server) in [(&mut client, true), (&mut server, false)] {
            let mut buffer = Vec::new();
            while let Some(transmit) = endpoint.poll_transmit(now, &mut buffer) {
                for segment in buffer.chunks(transmit.segment_size) {
                    (if to_server { &mut seen.from_receiver } else { &mut seen.from_sender })
                        .push(now);
                    let (late, copies) = if to_server { (Span::ZERO, 1) } else { wire(sent) };
                    sent += usize::from(!to_server);
                    (0..copies).for_each(|_| {
                        flying.push((now + DELAY + late, to_server, segment.to_vec()))
                    });
                }
                buffer.clear();
            }
        }
        if seen.end == Time::ZERO && *received.lock().unwrap() == ANSWER {
            seen.end = now;
        }
        let arrival = flying.iter().map(|(time, ..)| *time).min();
        let timeout = client.next_timeout().into_iter().chain(server.next_timeout()).min();
        let next = arrival.into_iter().chain(timeout).min();
        let Some(next) = next.filter(|&next| next <= Time::from_secs(20)) else { break };
        now = now.max(next);
        let (due, rest) =
            std::mem::take(&mut flying).into_iter().partition(|(time, ..)| *time <= now);
        flying = rest;
        let due: Vec<(Time, bool, Vec<u8>)> = due;
        for (_, to_server, data) in due {
            let data = BytesMut::from(&data[..]);
            if to_server {
                server.handle_datagram(now, CLIENT.into(), None, data);
            } else {
                client.handle_datagram(now, SERVER.into(), None, data);
            }
        }
        client.handle_timeout(now);
        server.handle_timeout(now);
    }
    seen.received = *received.lock().unwrap();
    seen
}

fn plain(_: usize) -> (Span, usize) {
    (Span::ZERO, 1)
}

#[test]
fn held_acknowledgements_leave_once_the_sender_is_silent() {
    for rule in ["1:64", "rtt/4", "auto"] {
        let seen = download(rule, plain);
        assert_eq!(seen.received, ANSWER, "{rule}");
        // The last data was answered in time: the sender did not probe.
        let last = seen.from_sender.last().unwrap();
        assert!(
            *last <= seen.end + DELAY * 2 + Span::from_millis(60),
            "{rule}: {last}, complete at {}",
            seen.end
        );
        let answered = seen
            .from_receiver
            .iter()
            .any(|&time| time >= seen.end && time <= seen.end + Span::from_millis(51));
        assert!(answered, "{rule}");
    }
}

#[test]
fn fewer_acknowledgements_leave_and_the_download_is_no_slower() {
    let stack = download("stack", plain);
    for (rule, part) in [("1:10", 2), ("rtt/8", 3), ("auto", 1)] {
        let seen = download(rule, plain);
        assert!(
            seen.from_receiver.len() * part <= stack.from_receiver.len() + 8,
            "{rule}: {}",
            seen.from_receiver.len()
        );
        let limit = stack.end.since_start().mul_f64(1.2);
        assert!(seen.end.since_start() <= limit, "{rule}: {} and {}", seen.end, stack.end);
    }
}

#[test]
fn repeated_and_reordered_packets_are_acknowledged() {
    let wire: Wire = |number| {
        (
            if number % 11 == 0 { Span::from_millis(3) } else { Span::ZERO },
            1 + usize::from(number % 7 == 0),
        )
    };
    for rule in ["1:64", "rtt/4", "auto"] {
        let seen = download(rule, wire);
        assert_eq!(seen.received, ANSWER, "{rule}");
        assert!(seen.end < Time::from_secs(12), "{rule}: {}", seen.end);
    }
}
