//! What limited the sender of a trace, over time.

use super::sender_state::{Flight, SenderState};
use super::sent::{Sent, main_streams};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Packet, Transport};
use bentpipe_units::Time;
use std::collections::HashMap;

/// What keeps a sender from sending more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderLimit {
    /// The window, or pacing that follows from it.
    Window,
    /// Pacing, with room in the window.
    Pacing,
    /// Flow control.
    FlowControl,
    /// It has sent all of its data.
    Application,
}

/// The limit of a sender from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitChange {
    /// Time since the first event of the trace.
    pub at: Time,
    /// What limits it.
    pub limit: SenderLimit,
    /// True if it is in slow start.
    pub is_slow_start: bool,
}

/// Share of the acknowledgements that leave less than half of the room that there has been, from
/// which on an application reads slowly: what is read at once leaves as much as before.
const SHUT: f64 = 0.2;
/// Fewest acknowledgements of which that is told.
const LEAST: usize = 20;

/// Returns true if an application reads more slowly than data comes, as the receive window of TCP
/// shows in a trace of the sender of the data or of its receiver.
pub fn reads_slowly(trace: &CapturedConnection, is_sender: bool) -> bool {
    if trace.transport != Transport::Tcp {
        return false;
    }
    let end = |packet: &Packet| {
        packet.data.iter().map(|part| part.offset.saturating_add(part.length)).max()
    };
    let mut sent: HashMap<u64, u64> = HashMap::new();
    let (mut all, mut shut, mut arrived, mut largest) = (0_usize, 0_usize, 0_u64, 0_u64);
    for (_, event) in &trace.events {
        let announced = match event {
            Event::Sent(packet) if is_sender => {
                sent.extend(end(packet).map(|end| (packet.number, end)));
                None
            }
            Event::Received(packet) if is_sender => {
                let known = packet.acknowledged.iter().filter_map(|range| sent.get(&range.1));
                arrived = known.copied().max().unwrap_or_default().max(arrived);
                packet.max_data
            }
            Event::Received(packet) => {
                arrived = end(packet).unwrap_or_default().max(arrived);
                None
            }
            Event::Sent(packet) => packet.max_data,
            _ => None,
        };
        let Some(room) = announced.map(|limit| limit.saturating_sub(arrived)) else { continue };
        largest = largest.max(room);
        (all, shut) = (all + 1, shut + usize::from(room < largest / 2));
    }
    all >= LEAST && shut as f64 >= SHUT * all as f64
}

/// Returns what limited the sender of a trace after each packet of its largest transfer.
///
/// # Errors
/// The trace has no such transfer.
pub fn sender_limits(trace: &CapturedConnection) -> Result<Vec<LimitChange>, CaptureError> {
    let sent = Sent::find(trace)?;
    let sizes = main_streams(trace.sent());
    let mut state = SenderState::new(
        trace.transport,
        sent.packets.first().map_or(Time::ZERO, |packet| packet.at),
    );
    let mut flight = Flight::default();
    let mut changes: Vec<LimitChange> = Vec::new();
    for (now, event) in &trace.events {
        state.handle(*now, event, &sent, &mut flight);
        let Event::Sent(packet) = event else { continue };
        if !packet.is_application {
            continue;
        }
        if sent.numbers.contains_key(&packet.number) {
            state.sent(*now, packet);
            flight.add(packet.number, packet.bytes);
        } else if packet.is_blocked {
            state.credit_was_used = true;
        } else {
            continue;
        }
        let limit = if state.credit_was_used {
            SenderLimit::FlowControl
        } else if state.window_was_full {
            SenderLimit::Window
        } else if sizes.iter().all(|(stream, size)| state.offsets.get(stream) == Some(size)) {
            SenderLimit::Application
        } else {
            SenderLimit::Pacing
        };
        let change = LimitChange { at: *now, limit, is_slow_start: state.slow_start };
        match changes.last() {
            Some(last) if (last.limit, last.is_slow_start) == (limit, state.slow_start) => {}
            _ => changes.push(change),
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Side, StreamPart};

    #[test]
    fn a_window_that_shuts_as_data_comes_is_that_of_a_slow_reader() {
        // A segment of 1 kB each, and its acknowledgement; the window opens with each, or with
        // every 64th.
        let trace = |every: u64, side: Side| {
            let pair = |index: u64| {
                let part = StreamPart { stream: 0, offset: index * 1000, length: 1000 };
                let data = Packet { number: index, data: vec![part], ..Packet::default() };
                let ack = Packet {
                    acknowledged: vec![(index, index)],
                    max_data: Some(index / every * every * 1000 + 64_000),
                    ..Packet::default()
                };
                let (data, ack) = match side {
                    Side::Server => (Event::Sent(data), Event::Received(ack)),
                    Side::Client => (Event::Received(data), Event::Sent(ack)),
                };
                let at = Time::from_millis(index);
                [(at, data), (at, ack)]
            };
            CapturedConnection {
                events: (0..200).flat_map(pair).collect(),
                ..CapturedConnection::empty(Transport::Tcp, side)
            }
        };
        for (side, is_sender) in [(Side::Server, true), (Side::Client, false)] {
            assert!(reads_slowly(&trace(64, side), is_sender), "{side:?}");
            assert!(!reads_slowly(&trace(1, side), is_sender), "{side:?}");
        }
    }
}
