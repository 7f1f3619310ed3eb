//! What a handshake waited for beyond its round trips.

use super::waits::least;
use crate::event::{CapturedConnection, Event, Packet, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// Most round trips that a handshake needs: of TCP, of TLS 1.2, and another of either.
const MOST_TRIPS: u64 = 4;

/// Returns the time before `end` in which this end waited to send packets of the handshake again:
/// nothing arrived between two of them. Of the time that a round trip takes nothing was lost by
/// that: a probe before the answer can come costs no time.
fn handshake_timeouts(trace: &CapturedConnection, start: Time, end: Time, rtt: Span) -> Span {
    let mut waited = Span::ZERO;
    let mut silent_since = None;
    let mut previous = start;
    let mut has_come = false;
    for (at, event) in trace.events.iter().take_while(|(at, _)| *at <= end) {
        match event {
            Event::Sent(packet) if !packet.is_application => {
                waited += silent_since.map_or(Span::ZERO, |since| at.since(since));
                silent_since = Some(*at);
            }
            Event::Received(packet) => {
                // The other end's first packet once more: it has waited, too.
                let is_first = packet.number == 0 && packet.acknowledged.is_empty();
                let again = is_first && packet.data.is_empty() && !packet.is_application;
                if again && has_come && silent_since.is_some() {
                    waited += at.since(previous);
                }
                has_come |= again;
                silent_since = None;
            }
            _ => {}
        }
        previous = *at;
    }
    let took = end.since(start);
    // What no handshake needs is that of lost packets, too: those that came meanwhile did not help.
    let needed = rtt * MOST_TRIPS;
    if !waited.is_zero() {
        waited = waited.max(took.saturating_sub(needed));
    }
    waited.min(took.saturating_sub(rtt))
}

/// Returns how long the first packet of the handshake that this end sent and its answer waited on
/// their way, if both arrived although it was sent again.
///
/// In QUIC the answer acknowledges it and is the other end's first packet. In TCP it echoes the
/// timestamp of the first copy and not that of a later one, and comes at another time than a round
/// trip after a later one: that would be the answer to this, the first one's having been lost.
pub fn first_wait(trace: &CapturedConnection, rtt: Span) -> Option<Span> {
    let mut sent = trace.events.iter().filter_map(|(at, event)| match event {
        Event::Sent(packet) if !packet.is_application => Some((*at, packet)),
        _ => None,
    });
    let (begin, first) = sent.next()?;
    let again: Vec<_> = sent.collect();
    let mut answers = trace.events.iter().filter_map(|(at, event)| match event {
        Event::Received(packet) if !packet.is_application => Some((*at, packet)),
        _ => None,
    });
    let stamp = |packet: &Packet| packet.timestamps.map(|(own, _)| own);
    let answer = answers.find(|(at, answer)| match trace.transport {
        Transport::Quic => {
            let within = |(from, to): &(u64, u64)| (*from..=*to).contains(&first.number);
            answer.number == 0 && answer.acknowledged.iter().any(within)
        }
        Transport::Tcp => {
            let echo = answer.timestamps.map(|(_, echo)| echo);
            let off = |sent: Time| at.since(sent + rtt).max((sent + rtt).since(*at));
            let is_of_first = echo.is_some()
                && echo == stamp(first)
                && again.iter().all(|(_, copy)| echo != stamp(copy));
            is_of_first && again.iter().all(|(sent, _)| off(*sent) > least(rtt))
        }
    });
    answer.map(|(at, _)| at.since(begin + rtt))
}

/// Returns what the handshake from `start` to `end` waited for beyond its round trips, and for how
/// long. `wait` is that of its first packet, if it is known to have arrived.
pub fn handshake_wait(
    trace: &CapturedConnection,
    (start, end): (Time, Time),
    rtt: Span,
    wait: Option<Span>,
) -> (TimePart, Span) {
    let timeouts = handshake_timeouts(trace, start, end, rtt);
    match wait {
        // Its probes expired meanwhile.
        Some(wait) if !timeouts.is_zero() => {
            let most = end.since(start).saturating_sub(rtt);
            (TimePart::ReturnLink, timeouts.max(wait).min(most))
        }
        Some(_) => (TimePart::ReturnLink, timeouts),
        None => (TimePart::Timeout, timeouts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Side;

    const RTT: Span = Span::from_millis(300);

    fn handshake(transport: Transport, events: Vec<(u64, bool, Packet)>) -> CapturedConnection {
        let event = |(ms, is_own, packet)| {
            let event = if is_own { Event::Sent(packet) } else { Event::Received(packet) };
            (Time::from_millis(ms), event)
        };
        CapturedConnection {
            events: events.into_iter().map(event).collect(),
            ..CapturedConnection::empty(transport, Side::Client)
        }
    }

    #[test]
    fn a_handshake_that_waited_is_told_from_one_that_was_lost() {
        let quic = |number, acknowledged: &[(u64, u64)]| Packet {
            number,
            acknowledged: acknowledged.to_vec().into(),
            ..Packet::default()
        };
        for (number, range, late) in [(0, (0, 1), true), (0, (1, 1), false), (1, (0, 1), false)] {
            let events = vec![
                (0, true, quic(0, &[])),
                (1000, true, quic(1, &[])),
                (1600, false, quic(number, &[range])),
            ];
            let trace = handshake(Transport::Quic, events);
            assert_eq!(first_wait(&trace, RTT).is_some(), late, "{number} {range:?}");
        }
        let tcp = |own, echo| Packet { timestamps: Some((own, echo)), ..Packet::default() };
        // The first arrived; a later one did; the answer to the first was lost.
        for (echo, at, late) in [(7, 1600, true), (9, 1300, false), (7, 1302, false)] {
            let events =
                vec![(0, true, tcp(7, 0)), (1000, true, tcp(9, 0)), (at, false, tcp(1, echo))];
            let trace = handshake(Transport::Tcp, events);
            assert_eq!(first_wait(&trace, RTT).is_some(), late, "{echo} {at}");
        }
    }

    #[test]
    fn all_that_a_handshake_waited_on_its_way_is_that_wait_and_no_round_trip() {
        // Two probes, and the answer to the first packet long after the second one.
        let packet = |number| Packet { number, ..Packet::default() };
        let answer = Packet { acknowledged: vec![(0, 0)].into(), ..packet(0) };
        let events = vec![
            (0, true, packet(0)),
            (200, true, packet(1)),
            (600, true, packet(2)),
            (1300, false, answer),
        ];
        let trace = handshake(Transport::Quic, events);
        let whole = (Time::ZERO, Time::from_millis(1350));
        let wait = first_wait(&trace, RTT);
        let late = Span::from_millis(1300) - RTT;
        assert_eq!(wait, Some(late));
        assert_eq!(handshake_wait(&trace, whole, RTT, wait), (TimePart::ReturnLink, late));
        let lost = handshake_wait(&trace, whole, RTT, None);
        assert_eq!(lost, (TimePart::Timeout, Span::from_millis(600)));
    }

    #[test]
    fn what_no_handshake_needs_is_that_of_lost_packets() {
        let quic = |number| Packet { number, ..Packet::default() };
        // A probe after a second; then packets of the other end come, until the end after 5 s.
        let events = vec![
            (0, true, quic(0)),
            (1000, true, quic(1)),
            (1300, false, quic(3)),
            (3000, false, quic(4)),
            (5000, true, quic(2)),
        ];
        let timeouts = |end: u64, events: &[(u64, bool, Packet)]| {
            let trace = handshake(Transport::Quic, events.to_vec());
            handshake_timeouts(&trace, Time::ZERO, Time::from_millis(end), RTT).as_secs_f64()
        };
        assert!((timeouts(5000, &events) - 3.8).abs() < 1e-9, "all but four round trips");
        assert!((timeouts(1300, &events) - 1.0).abs() < 1e-9, "the probe");
        let without = [events[0].clone(), events[2].clone()];
        assert!(timeouts(5000, &without) < 1e-9, "nothing was sent again");
    }
}
