//! Slots of a link towards the sender of the data: what arrives does so at whole slots, as on a
//! return link whose capacity is assigned on demand.

use super::frames::{BY_OWN, NEAR, follows};
use crate::event::{CapturedConnection, Event};
use bentpipe_units::{Span, Time};
use std::f64::consts::TAU;

/// Shortest and longest slot.
const SHORTEST: f64 = 0.010;
const LONGEST: f64 = 0.060;
/// Most arrivals that are looked at, and fewest that show slots; those within half of the shortest
/// slot are one.
const MOST: usize = 200;
const LEAST: usize = 18;
/// Share of a slot by which the phase at the last arrival may be off between two that are tried.
const STEP: f64 = 0.1;
/// Length of the mean of the arrivals' phases, as points of a circle, from which on they have the
/// same phase. Of 18 arrivals at chance times none of the thousands of slots that are tried has it.
const ALIKE: f64 = 0.93;

/// Returns true if a link towards the end that recorded a trace has slots.
pub fn has_slots(trace: &CapturedConnection, rtt: Span) -> bool {
    let (mut arrivals, mut own): (Vec<Time>, Vec<Time>) = (Vec::new(), Vec::new());
    for (at, event) in &trace.events {
        match event {
            Event::Received(_) => {
                let since = arrivals.last().map(|last| at.since(*last).as_secs_f64());
                if since.is_none_or(|since| since > 0.5 * SHORTEST) {
                    arrivals.push(*at);
                }
            }
            Event::Sent(_) => own.push(*at),
            _ => {}
        }
    }
    arrivals.truncate(MOST);
    let by_own = arrivals.iter().filter(|at| follows(**at, &own, rtt, (NEAR, NEAR))).count() as f64;
    if arrivals.len() < LEAST || by_own > BY_OWN * arrivals.len() as f64 {
        return false;
    }
    let Some(first) = arrivals.first() else { return false };
    let times: Vec<f64> = arrivals.iter().map(|at| at.since(*first).as_secs_f64()).collect();
    let whole = times.last().copied().unwrap_or_default().max(LONGEST);
    let mut slot = SHORTEST;
    while slot < LONGEST {
        if alike(&times, slot) >= ALIKE {
            return true;
        }
        slot += STEP * slot * slot / whole;
    }
    false
}

/// Returns how alike the phases of `times` are in a period: 1 if they are the same.
fn alike(times: &[f64], period: f64) -> f64 {
    let (sin, cos) = times.iter().fold((0.0, 0.0), |(sin, cos): (f64, f64), time| {
        let (own_sin, own_cos) = (TAU * (time / period).fract()).sin_cos();
        (sin + own_sin, cos + own_cos)
    });
    sin.hypot(cos) / times.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Packet, Side, Transport};

    /// A server whose packets, sent at times that no clock gives, are answered when `arrives` says,
    /// in milliseconds.
    fn server(arrives: impl Fn(f64) -> f64) -> CapturedConnection {
        let at = |ms: f64| Time::from_nanos((ms * 1e6) as u64);
        let mut events = Vec::new();
        for index in 0_u32..40 {
            let sent = f64::from(index) * 97.0 + f64::from(index * index % 41);
            events.push((at(sent), Event::Sent(Packet::default())));
            events.push((at(arrives(sent)), Event::Received(Packet::default())));
        }
        events.sort_by_key(|(at, _)| *at);
        CapturedConnection { events, ..CapturedConnection::empty(Transport::Quic, Side::Server) }
    }

    #[test]
    fn arrivals_at_whole_slots_show_them_and_answers_after_a_round_trip_do_not() {
        let rtt = Span::from_millis(300);
        let slots = |sent: f64| ((sent + 290.0) / 26.5).ceil() * 26.5 + 4.0;
        assert!(has_slots(&server(slots), rtt));
        assert!(!has_slots(&server(|sent| sent + 300.0), rtt), "a path");
        let jitter = |sent: f64| sent + 300.0 + (sent * 7.3) % 29.0;
        assert!(!has_slots(&server(jitter), rtt), "jitter");
    }
}
