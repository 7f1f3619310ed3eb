//! The end of streams, between two endpoints on a wire without delay.

use super::handle::Conn;
use super::task::Task;
use crate::clock::{Clock, EpochClock};
use crate::config::{ConnectionConfig, QuicSettings};
use crate::endpoint::{Accept, Endpoint};
use crate::stream::RawStream;
use crate::tls::{self, Client, Identity, Randomness};
use bentpipe_units::Time;
use bytes::BytesMut;
use noq_proto::{EndpointConfig, ServerConfig};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

const CLIENT: ([u8; 4], u16) = ([192, 0, 2, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 2], 443);

/// Runs two applications on a connection for a second. Returns the client's side of it.
fn run(client_app: fn(Conn) -> Task, server_app: fn(Conn) -> Task) -> Conn {
    let (clock, epoch) = (Clock::new(), EpochClock::new(1_767_225_600));
    let identity = Identity::self_signed("server.test", [1; 32]).unwrap();
    let client_tls =
        Client::new(&identity, tls::ALPN_RAW, Randomness::System, epoch.clone()).unwrap();
    let server_tls =
        tls::server(&identity, tls::ALPN_RAW, Randomness::System, epoch, None).unwrap();
    let config = ConnectionConfig::new(QuicSettings::default(), clock).unwrap();
    let (client_config, attachments) =
        config.clone().client(Arc::new(client_tls.quic(false).unwrap()));
    let base = Arc::new(ServerConfig::with_crypto(Arc::new(server_tls)));
    let accepted = base.clone();
    let acceptor = Box::new(move |_: SocketAddr| {
        let (config, attachments) = config.clone().server(&accepted);
        Some(Accept { config, attachments, app: Box::new(server_app) })
    });
    let segments = NonZeroUsize::MIN;
    let mut client = Endpoint::new(EndpointConfig::default(), clock, None, segments);
    let mut server =
        Endpoint::new(EndpointConfig::default(), clock, Some((base, acceptor)), segments);
    let conn = client
        .connect(Time::ZERO, client_config, SERVER.into(), "server.test", attachments, client_app)
        .unwrap();
    for millisecond in 0..1000 {
        let now = Time::from_millis(millisecond);
        let mut buffer = Vec::new();
        loop {
            let mut idle = true;
            while client.poll_transmit(now, &mut buffer).is_some() {
                server.handle_datagram(now, CLIENT.into(), None, BytesMut::from(&buffer[..]));
                buffer.clear();
                idle = false;
            }
            while server.poll_transmit(now, &mut buffer).is_some() {
                client.handle_datagram(now, SERVER.into(), None, BytesMut::from(&buffer[..]));
                buffer.clear();
                idle = false;
            }
            if idle {
                break;
            }
        }
        client.handle_timeout(now);
        server.handle_timeout(now);
    }
    conn
}

#[test]
fn a_stop_for_a_finished_and_dropped_stream_leaves_nothing_behind() {
    let conn = run(
        |conn| {
            Box::pin(async move {
                conn.handshaken().await.unwrap();
                let mut stream = RawStream::open(&conn).await.unwrap();
                stream.write_all(&[0; 100_000]).await.unwrap();
                stream.finish().unwrap();
                drop(stream);
                // It lives on: nothing is freed by its end.
                conn.ended().await;
            })
        },
        |conn| {
            Box::pin(async move {
                let mut stream = RawStream::accept(&conn).await.unwrap();
                stream.stop(7);
                conn.ended().await;
            })
        },
    );
    let state = conn.lock();
    assert_eq!(state.writers.len(), 0);
}

#[test]
fn a_stop_before_the_stream_is_accepted_reaches_its_writer() {
    let conn = run(
        |conn| {
            Box::pin(async move {
                let mut stream = RawStream::open(&conn).await.unwrap();
                stream.write_all(b"?").await.unwrap();
                stream.stop(7);
                conn.ended().await;
            })
        },
        |conn| {
            Box::pin(async move {
                conn.handshaken().await.unwrap();
                let mut stream = RawStream::accept(&conn).await.unwrap();
                let error = stream.write_all(b"!").await.unwrap_err();
                conn.close(1, error.as_bytes());
            })
        },
    );
    let reason = conn.closed().unwrap().to_string();
    assert!(reason.contains("with code 7"), "{reason}");
}
