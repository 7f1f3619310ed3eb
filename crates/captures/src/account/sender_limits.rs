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

/// Returns what limited the sender of a trace after each packet of its largest transfer.
///
/// # Errors
/// The trace has no such transfer.
pub fn sender_limits(trace: &CapturedConnection) -> Result<Vec<LimitChange>, CaptureError> {
    let sent = Sent::find(trace)?;
    let sizes = main_streams(trace.sent());
    let mut state = SenderState::new(
        trace.transport,
        trace.is_encrypted,
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
