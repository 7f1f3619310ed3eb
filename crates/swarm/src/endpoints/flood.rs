//! The first datagrams of connections that go no further.

use super::kit::{Kit, NAME, SEGMENTS, SkewedClock};
use crate::failure::Failure;
use bentpipe_quic::{Conn, Endpoint, Task};
use bentpipe_units::Time;
use std::net::SocketAddr;
use std::sync::Arc;

/// Returns the first datagram of connection `number` of a flood.
pub fn first_datagram(kit: &Kit, clock: &SkewedClock, number: u64) -> Result<Vec<u8>, Failure> {
    let refused = |error: String| Failure::new("the client connects", error);
    let name = format!("flood/{number}");
    let tls = kit.client_tls(clock.epoch.clone())?.quic(false);
    let tls = Arc::new(tls.map_err(|error| refused(error.to_string()))?);
    let (mut config, attachments) = kit.connection()?.client(tls);
    config.initial_dst_cid_provider(kit.initial_cids(&name));
    let mut endpoint = Endpoint::new(kit.endpoint(&name), kit.clock, None, SEGMENTS);
    let server = SocketAddr::from(([198, 51, 100, 2], 443));
    let app = |_: Conn| Box::pin(async {}) as Task;
    endpoint
        .connect(Time::ZERO, config, server, NAME, attachments, app)
        .map_err(|error| refused(error.to_string()))?;
    let mut buffer = Vec::new();
    let transmit = endpoint.poll_transmit(Time::ZERO, &mut buffer);
    buffer.truncate(transmit.map_or(0, |transmit| transmit.segment_size));
    Ok(buffer)
}
