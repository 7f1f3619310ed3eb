//! What a server's connections notice of a flood of packets that belong to none of them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use super::amplification::{OWN, World, client_config};
use bentpipe_quic::noq_proto::{self as noq, EndpointConfig};
use bentpipe_quic::tls::Identity;
use bentpipe_quic::{Admission, Clock};
use bentpipe_units::Time;
use bytes::BytesMut;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

const FLOOD: usize = 5000;
/// Most answers that a server keeps.
const KEPT: usize = 1024;

/// Returns the first packet of a client.
fn first_packet() -> Vec<u8> {
    let clock = Clock::new();
    let config = client_config(&Identity::self_signed("server.test", [1; 32]).unwrap(), clock);
    let mut endpoint = noq::Endpoint::new(Arc::new(EndpointConfig::default()), None, true);
    let now = clock.instant(Time::ZERO);
    let server = SocketAddr::from(([192, 0, 2, 2], 443));
    let (_, mut client) = endpoint.connect(now, config, server, "server.test").unwrap();
    let mut packet = Vec::new();
    assert!(client.poll_transmit(now, NonZeroUsize::MIN, &mut packet).is_some());
    packet
}

#[test]
fn a_flood_of_first_packets_keeps_no_connection_from_sending_and_little_memory() {
    let mut world = World::new();
    assert!(world.download(1000).is_some());
    // As if too many handshakes were under way.
    world.server.set_gatekeeper(Box::new(|_, _| Admission::Retry));
    world.ask();
    let packet = first_packet();
    for number in 0..FLOOD {
        let source = SocketAddr::from(([198, 51, 100, (number % 250) as u8], 5000));
        world.server.handle_datagram(world.now, source, None, BytesMut::from(&packet[..]));
    }
    let (mut own, mut others, mut first) = (0, 0, None);
    let mut buffer = Vec::new();
    while let Some(transmit) = world.server.poll_transmit(world.now, &mut buffer) {
        buffer.clear();
        if transmit.destination == SocketAddr::from(OWN) {
            first.get_or_insert(others);
            own += 1;
        } else {
            others += 1;
        }
    }
    assert_eq!(others, KEPT);
    assert!(own > 1 && first.is_some_and(|before| before <= 1), "{own}, the first after {first:?}");
}
