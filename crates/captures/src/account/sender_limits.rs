//! What limited the sender of a trace, over time.

use super::sender_state::{Flight, SenderState};
use super::sent::{Sent, main_streams};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event};
use bentpipe_units::Time;

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

/// Share of the acknowledgements that leave the end of a receive window where it was, from which on
/// its application reads slowly: what is read at once opens the window with each.
const SHUT: f64 = 0.3;
/// Fewest acknowledgements of which that is told.
const LEAST: usize = 20;

/// Returns true if an application reads more slowly than data comes, as the receive window of TCP
/// shows in a trace of the sender of the data or of its receiver.
pub fn reads_slowly(trace: &CapturedConnection, is_sender: bool) -> bool {
    let announced = trace.events.iter().filter_map(|(_, event)| match event {
        Event::Received(packet) if is_sender => packet.max_data,
        Event::Sent(packet) if !is_sender => packet.max_data,
        _ => None,
    });
    let (mut all, mut shut, mut previous) = (0_usize, 0_usize, 0);
    for limit in announced {
        (all, shut) = (all + 1, shut + usize::from(limit <= previous));
        previous = limit;
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
    use crate::event::{Packet, Side, Transport};

    #[test]
    fn a_window_that_shuts_as_data_comes_is_that_of_a_slow_reader() {
        // Acknowledgements of 1 kB each; the window opens with each, or with every fourth.
        let trace = |every: u64| {
            let events = (0..100).map(|index| {
                let max_data = Some(index / every * every * 1000 + 64_000);
                (
                    Time::from_millis(index),
                    Event::Received(Packet { max_data, ..Packet::default() }),
                )
            });
            CapturedConnection {
                events: events.collect(),
                ..CapturedConnection::empty(Transport::Tcp, Side::Server)
            }
        };
        assert!(reads_slowly(&trace(4), true));
        assert!(!reads_slowly(&trace(1), true));
        assert!(!reads_slowly(&trace(4), false), "nothing that this end announced");
    }
}
