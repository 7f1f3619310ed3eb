//! The time within which everything completes once faults have ended, derived from the path.
//!
//! A sender that does not stop sends at least one packet an RTT: the smallest window is two
//! datagrams (RFC 9002 §7.2), or one segment after a timeout of TCP (RFC 5681 §3.1). So a transfer
//! of n packets takes at most n times the longest RTT, with full queues; flows that starve others
//! end first, and all flows take at most the sum. A sender that has heard nothing for some time has
//! doubled its timeout (RFC 9002 §6.2.1, RFC 6298 §5.5), and tries again within that time once
//! more: hence the factor two. The bound is far above what good senders need. What it finds are
//! transfers that have stopped.

use crate::draw::{Direction, Draft, Queue};
use bentpipe_sim::{RunSpec, Visit};
use bentpipe_units::Span;

/// Payload of a packet at the smallest MTU of QUIC (RFC 9000 §14), less headers, in bytes.
const PAYLOAD: u64 = 1100;
/// Packets of a handshake, with a chain of certificates, and of the requests and ends of objects.
const HANDSHAKE_PACKETS: u64 = 20;
const OBJECT_PACKETS: u64 = 4;
/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;
/// Links of a route over satellites: up, four to other planes and as many within one, and down.
const ORBIT_LINKS: f64 = 10.0;
/// First timeouts, before there is an RTT: 1 s of TCP (RFC 6298 §2.1) and QUIC (RFC 9002 §6.2.2),
/// of which a few are doubled, and delays of acknowledgements.
const FIRST_TIMEOUTS_S: f64 = 10.0;

/// Returns the time in which every visit of a run of `draft` completes.
pub fn bound(draft: &Draft, spec: &RunSpec) -> Span {
    let rtt_s = longest_rtt_s(draft);
    let visits = spec.flows.iter().flat_map(|flow| &flow.visits);
    let all: f64 = visits.map(|visit| visit_s(visit, rtt_s)).sum();
    Span::from_secs_f64(2.0 * (draft.faults_end_s + all) + FIRST_TIMEOUTS_S)
}

/// Returns the longest RTT with full queues, in seconds.
pub fn longest_rtt_s(draft: &Draft) -> f64 {
    let directions = || draft.hops().flat_map(|hop| [&hop.forward, &hop.reverse]);
    let empty_s: f64 = directions().map(|direction| direction.longest_ms / 1e3).sum();
    let links = if draft.orbit.is_some() { ORBIT_LINKS } else { 1.0 };
    empty_s + links * directions().map(|direction| held_s(direction, empty_s)).sum::<f64>()
}

/// Returns the longest time between the arrival of a packet at a link and its last bit, in seconds.
fn held_s(direction: &Direction, empty_s: f64) -> f64 {
    let queue_bits = match direction.queue {
        Queue::Bdp(multiple) => multiple * empty_s * direction.rate,
        Queue::Packets(packets) => packets as f64 * PACKET_BITS,
        Queue::Millis(millis) => millis / 1e3 * direction.rate,
    };
    direction.access_s + (queue_bits + 2.0 * PACKET_BITS) / direction.assured
}

/// Returns the longest time of a visit, in seconds.
fn visit_s(visit: &Visit, rtt_s: f64) -> f64 {
    if let Some(duration) = visit.duration {
        return duration.as_secs_f64();
    }
    let packets = |bytes: u64| (bytes.div_ceil(PAYLOAD) + OBJECT_PACKETS) as f64;
    let objects = visit.objects.iter();
    let objects_s: f64 = match &visit.player {
        // The largest of each, and the time in which all are played.
        Some(video) => {
            let largest = video.sizes.iter().filter_map(|sizes| sizes.iter().max());
            let media = video.segment * video.sizes.len() as u64;
            largest.map(|bytes| packets(*bytes) * rtt_s).sum::<f64>() + media.as_secs_f64()
        }
        None => objects
            .map(|object| packets(object.bytes.get()) * rtt_s + object.delay.as_secs_f64())
            .sum(),
    };
    // A page has a connection to each of its servers, which take their time.
    let parts = visit.page.iter().flat_map(|page| &page.objects);
    let server_s: f64 = parts.map(|part| part.object.source.server_time.as_secs_f64()).sum();
    let servers = visit.page.as_ref().map_or(1, |page| page.origins.len().max(1));
    (HANDSHAKE_PACKETS * servers as u64) as f64 * rtt_s
        + objects_s
        + server_s
        + visit.start_jitter.as_secs_f64()
}
