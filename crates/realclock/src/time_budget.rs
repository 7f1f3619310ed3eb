//! The time budget of a visit on the real clock: the account of the virtual clock, kept afterwards.
//!
//! The emulator's links say what each packet met, as those of the simulator do. What limited the
//! sender is known as far as it says; the rest is unattributed.

use super::send_limits::{of_changes, of_samples, with_timeouts};
use super::visit_report::VisitReport;
use bentpipe_emu::PacketRecord;
use bentpipe_sim::time_budget::{
    Account, AccountEnd, AckWait, ClosedAccount, Requests, Sharing, Trip,
};
use bentpipe_sim::{Direction, RunSpec, Stack};
use bentpipe_units::{Span, Time};

/// Most packets of each direction of a visit that are kept: 700 MB, for which 80 MB of memory.
pub const MAX_PACKETS: usize = 500_000;
/// Longest time between packets that left the server together with the first one that the client's
/// application saw.
const TOGETHER: Span = Span::from_millis(5);

/// Returns true if visits of `spec` have time budgets: over links in series, where the emulator
/// follows packets from end to end.
pub fn is_possible(spec: &RunSpec) -> bool {
    spec.mesh.is_none() && super::proxies::places(spec).is_empty()
}

/// An event of the account.
enum Event {
    /// A packet towards the data's sender has arrived.
    Back(Trip),
    /// A packet towards the data's sender was lost before it sent data.
    BackLost,
    /// A data packet is sent.
    Sent,
    /// The data packet with this number has arrived, or was lost.
    Left,
}

/// Keeps the account of a visit that is complete. `None` if the emulator has not followed all of
/// its packets.
pub fn account(visit: &VisitReport<'_>, spec: &RunSpec, strip: bool) -> Option<ClosedAccount> {
    let round_trips = visit.flow.stack.handshake_round_trips(visit.visit)?;
    let (data, back) = (&visit.data.log, &visit.reverse.log);
    let start = visit.start();
    let end = start + visit.completion()?;
    if data.is_cut || back.is_cut || !is_possible(spec) {
        return None;
    }
    let mut packets: Vec<&PacketRecord> = data.packets().collect();
    packets.sort_by_key(|packet| packet.entered);
    let requested: Vec<Time> =
        visit.ends.objects.iter().filter_map(|object| object.requested).collect();
    let data_from = data_from(visit, &packets, start, &requested)?;
    let controller = visit.flow.stack.congestion();
    let controller = controller.map_or("", |congestion| congestion.controller.as_str());
    let limits = match &visit.flow.stack {
        Stack::Quic(_) => {
            let first = back.packets().filter(|packet| !packet.is_lost).map(|packet| packet.left);
            first.min().map_or_else(Vec::new, |at| of_changes(visit.limits, at, controller))
        }
        _ => of_samples(&visit.ends.samples, controller),
    };
    let rtt = spec.rtt_without_frames();
    let limits = with_timeouts(limits, data, back, spec.base_rtt, &requested);
    let sharing = Sharing::of(spec);
    let mut account = Account::new(start, rtt, round_trips, limits, sharing);
    if strip {
        account.record_strip();
    }
    account.data_begins(data_from);

    let requests = |now: Time| Requests {
        latest: requested.iter().copied().filter(|at| *at < now).max(),
        is_upload: visit.visit.direction == Direction::Upload,
        all_made: requested.len() == visit.ends.objects.len()
            && requested.iter().all(|at| *at < now),
        // Pieces are written on the virtual clock only.
        written: None,
    };
    let mut trips = vec![Trip::default(); packets.len()];
    for (at, index, event) in events(&packets, back.packets()) {
        if at > end {
            break;
        }
        match event {
            Event::Back(trip) => account.ack_arrived(at, &trip),
            Event::BackLost => account.ack_lost(at, None),
            Event::Sent => {
                trips[index] = trip(packets[index], account.trip(at).ack);
            }
            Event::Left => {
                let packet = packets[index];
                let serialised = packet.service.serialised;
                if packet.is_lost {
                    account.lost(at, serialised, None);
                } else {
                    let trip = &trips[index];
                    account.arrived(at, trip, serialised, packet.bytes, || requests(at));
                }
            }
        }
    }
    let received = visit.ends.objects.iter().map(|object| object.received).sum();
    Some(account.finish(AccountEnd {
        at: end,
        completed: visit.visit.duration.is_none(),
        handshake: visit.handshake().map(|span| start + span),
        received,
        duplicates: duplicates(visit, &packets),
    }))
}

/// Returns what happens to data packets, and to those towards their sender, in the order of time;
/// each with the index of its data packet.
fn events<'a>(
    packets: &[&PacketRecord],
    back: impl Iterator<Item = &'a PacketRecord>,
) -> impl Iterator<Item = (Time, usize, Event)> {
    let mut events: Vec<(Time, u8, usize, Event)> = Vec::with_capacity(3 * packets.len());
    for packet in back {
        if packet.is_lost {
            events.push((packet.left, 0, 0, Event::BackLost));
        } else {
            events.push((packet.left, 0, 0, Event::Back(trip(packet, AckWait::default()))));
        }
    }
    for (index, packet) in packets.iter().enumerate() {
        events.push((packet.entered, 1, index, Event::Sent));
        events.push((packet.left, 2, index, Event::Left));
    }
    events.sort_by_key(|(at, order, index, _)| (*at, *order, *index));
    events.into_iter().map(|(at, _, index, event)| (at, index, event))
}

fn trip(packet: &PacketRecord, ack: AckWait) -> Trip {
    let service = packet.service;
    let mut trip = Trip::start(packet.entered, ack);
    (trip.queued, trip.outage, trip.capacity) = (service.queued, service.outage, service.capacity);
    trip.framed = service.framed;
    trip
}

/// Returns the time at which the sender began to send data.
fn data_from(
    visit: &VisitReport<'_>,
    packets: &[&PacketRecord],
    start: Time,
    requested: &[Time],
) -> Option<Time> {
    let with_payload = || packets.iter().filter(|packet| packet.payload > 0);
    let Some(client) = visit.client_times else {
        // TCP: the first data after the first request.
        let first = requested.iter().min()?;
        return with_payload().map(|packet| packet.entered).find(|at| at >= first);
    };
    // The payload of QUIC is encrypted: what arrived last before the first byte was there, and what
    // was sent together with it.
    let first_byte = start + client.first_byte;
    let arrived = with_payload().filter(|packet| !packet.is_lost && packet.left <= first_byte);
    let mut from = arrived.max_by_key(|packet| packet.left)?.entered;
    for packet in packets.iter().rev().filter(|packet| packet.payload > 0) {
        if packet.entered < from && from.since(packet.entered) <= TOGETHER {
            from = packet.entered;
        }
    }
    Some(from)
}

/// Returns the bytes of packets that a TCP sender sent again although they had arrived. What QUIC
/// sends again is encrypted.
fn duplicates(visit: &VisitReport<'_>, packets: &[&PacketRecord]) -> u64 {
    let Some((_, at_end)) = visit.ends.samples.last() else { return 0 };
    let data = packets.iter().filter(|packet| packet.payload > 0);
    let (mut count, mut bytes, mut lost) = (0, 0, 0);
    for packet in data {
        count += 1;
        bytes += u64::from(packet.bytes);
        lost += u64::from(packet.is_lost);
    }
    at_end.retransmitted.saturating_sub(lost) * (bytes / count.max(1))
}
