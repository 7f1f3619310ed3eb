//! Whether an application reads more slowly than data comes: what it has not read yet then fills
//! the window, and a larger window would only fill up, too.

use super::spending::{Interval, LimitKind, Reading, Spending};
use crate::event::{CapturedConnection, Event, Packet, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// Share of the window that unread data takes up, on average while flow control leaves no room,
/// from which on the application is what the sender waits for. Of W bytes that are read at a rate
/// of R over a round trip of T, it is 1 - R T / W. An application that reads at once leaves a
/// window of TCP open and, of one of QUIC, up to half before a new limit is announced.
const UNREAD: f64 = 0.5;

/// What is known of the windows at a time: the unread share of the one that changed last, and the
/// data that has arrived.
#[derive(Debug, Clone, Copy)]
struct State {
    at: Time,
    unread: f64,
    arrived: u64,
}

/// Follows the windows of one kind.
#[derive(Debug)]
struct Windows {
    is_of_stream: bool,
    /// For each packet of the sender, the streams of its data and where that ends.
    sent: BTreeMap<u64, Vec<(u64, u64)>>,
    /// Where the data ends that has arrived, by stream, and the sum of that.
    ends: BTreeMap<u64, u64>,
    arrived: u64,
    /// The limits that were announced, by stream; that of the connection as of stream 0.
    limits: BTreeMap<u64, u64>,
    largest: u64,
    states: Vec<State>,
}

/// Finds the first receive window, and tells a window that is full of what its application has not
/// read from one that is small, once all of a transfer's time is spent.
pub(super) fn find_windows(
    spending: &mut Spending,
    trace: &CapturedConnection,
    is_sender: bool,
    rtt: Span,
) {
    let evidence = &mut spending.evidence;
    evidence.first_window = first_window(trace, is_sender);
    evidence.reading = evidence.limit.and_then(|(limit, _)| {
        slow_reading(trace, is_sender, rtt, limit.kind, &spending.intervals)
    });
}

/// Returns how the application reads at the receiver of the data, if that is slower than the data
/// comes. `kind` is the limit that held the sender up, in the `intervals` of flow control.
fn slow_reading(
    trace: &CapturedConnection,
    is_sender: bool,
    rtt: Span,
    kind: LimitKind,
    intervals: &[Interval],
) -> Option<Reading> {
    if kind == LimitKind::Sender {
        return None;
    }
    let states = Windows::follow(trace, is_sender, kind == LimitKind::Stream);
    // What a receiver announces brings data a round trip later.
    let shift = if is_sender { Span::ZERO } else { rtt };
    let waits = intervals.iter().filter(|one| one.part == TimePart::FlowControl);
    let waits: Vec<(Time, Time)> =
        waits.map(|one| (one.from.saturating_sub(shift), one.to.saturating_sub(shift))).collect();
    let (mut weighted, mut time) = (0.0, 0.0);
    for &(from, to) in &waits {
        let first = states.partition_point(|state| state.at <= from).saturating_sub(1);
        let within = states.get(first..).unwrap_or_default();
        for (index, state) in within.iter().take_while(|state| state.at < to).enumerate() {
            let until = within.get(index + 1).map_or(to, |next| next.at.min(to));
            let took = until.since(state.at.max(from)).as_secs_f64();
            weighted += state.unread * took;
            time += took;
        }
    }
    let (begin, end) = (waits.first()?.0, waits.last()?.1);
    let arrived = |at: Time| {
        let index = states.partition_point(|state| state.at <= at);
        index.checked_sub(1).and_then(|last| states.get(last)).map_or(0, |state| state.arrived)
    };
    let bytes = Bytes::new(arrived(end).saturating_sub(arrived(begin)));
    let unread = if time > 0.0 { weighted / time } else { 0.0 };
    (unread >= UNREAD && end > begin)
        .then(|| Reading { unread, rate: Rate::over(bytes, end.since(begin)) })
}

/// Returns the first receive window of TCP that the receiver of the data announced after the
/// handshake: before any data had come.
fn first_window(trace: &CapturedConnection, is_sender: bool) -> Option<Bytes> {
    if trace.transport != Transport::Tcp {
        return None;
    }
    let announced = trace.events.iter().find_map(|(_, event)| match event {
        Event::Received(packet) if is_sender => packet.max_data,
        Event::Sent(packet) if !is_sender => packet.max_data,
        _ => None,
    });
    announced.map(Bytes::new)
}

impl Windows {
    /// Returns what is known of the windows over time: in the trace of the sender of the data, by
    /// what arrives there.
    fn follow(trace: &CapturedConnection, is_sender: bool, is_of_stream: bool) -> Vec<State> {
        let mut windows = Self {
            is_of_stream,
            sent: BTreeMap::new(),
            ends: BTreeMap::new(),
            arrived: 0,
            limits: BTreeMap::new(),
            largest: 0,
            states: Vec::new(),
        };
        for (at, event) in &trace.events {
            match event {
                Event::PeerLimits { connection, .. } if is_sender && !is_of_stream => {
                    windows.limits.insert(0, *connection);
                }
                Event::Sent(packet) if packet.is_application && is_sender => {
                    windows.sent.insert(packet.number, ends(packet).collect());
                }
                Event::Received(packet) if packet.is_application && is_sender => {
                    windows.acknowledged(packet);
                    windows.announced(*at, packet);
                }
                Event::Received(packet) if packet.is_application => {
                    ends(packet).for_each(|(stream, end)| windows.arrived(stream, end));
                    windows.note(*at, ends(packet).next().map(|(stream, _)| stream));
                }
                Event::Sent(packet) if packet.is_application => windows.announced(*at, packet),
                _ => {}
            }
        }
        windows.states
    }

    /// Takes what `packet` acknowledges to have arrived.
    fn acknowledged(&mut self, packet: &Packet) {
        for &(first, last) in &packet.acknowledged {
            let found = self.sent.extract_if(first..=last, |_, _| true);
            let ends: Vec<(u64, u64)> = found.flat_map(|(_, ends)| ends).collect();
            ends.into_iter().for_each(|(stream, end)| self.arrived(stream, end));
        }
    }

    fn arrived(&mut self, stream: u64, end: u64) {
        let known = self.ends.entry(stream).or_default();
        self.arrived = self.arrived.saturating_add(end.saturating_sub(*known));
        *known = (*known).max(end);
    }

    /// Takes the limits that the receiver announces with `packet`.
    fn announced(&mut self, at: Time, packet: &Packet) {
        if !self.is_of_stream {
            if let Some(limit) = packet.max_data {
                let known = self.limits.entry(0).or_default();
                *known = (*known).max(limit);
            }
            return self.note(at, Some(0));
        }
        for &(stream, limit) in &packet.details.max_stream_data {
            let known = self.limits.entry(stream).or_default();
            *known = (*known).max(limit);
        }
        let stream = packet.details.max_stream_data.last().map(|(stream, _)| *stream);
        self.note(at, stream.or_else(|| self.limits.keys().next_back().copied()));
    }

    /// Notes what is known now, by the window of `stream`.
    fn note(&mut self, at: Time, stream: Option<u64>) {
        let stream = if self.is_of_stream { stream } else { Some(0) };
        let Some((stream, limit)) = stream.and_then(|one| Some((one, *self.limits.get(&one)?)))
        else {
            return;
        };
        let of_stream = || self.ends.get(&stream).copied().unwrap_or_default();
        let arrived = if self.is_of_stream { of_stream() } else { self.arrived };
        let room = limit.saturating_sub(arrived);
        self.largest = self.largest.max(room);
        let unread = 1.0 - room as f64 / self.largest.max(1) as f64;
        self.states.push(State { at, unread, arrived: self.arrived });
    }
}

/// Returns the streams of the data of `packet`, and where it ends.
fn ends(packet: &Packet) -> impl Iterator<Item = (u64, u64)> {
    packet.data.iter().map(|part| (part.stream, part.offset.saturating_add(part.length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::account;
    use crate::event::{PacketDetails, Side, StreamPart};

    const WINDOW: u64 = 64_000;
    const RTT: u64 = 50;

    /// A transfer over a window of [`WINDOW`], of which each announcement opens what was read by
    /// then: all that came, or what a slow reader reads each 100 ms.
    fn trace(transport: Transport, side: Side, read_slowly: bool) -> CapturedConnection {
        let at = Time::from_millis;
        let mut events = Vec::new();
        // The times of each packet at the server and at the client.
        let mut add = |server: u64, client: u64, is_data: bool, packet: Packet| {
            let (own, time) = match side {
                Side::Server => (is_data, server),
                Side::Client => (!is_data, client),
            };
            let event = if own { Event::Sent(packet) } else { Event::Received(packet) };
            events.push((at(time), event));
        };
        let packet = Packet::numbered;
        let announce = |packet: Packet, limit: u64| match transport {
            Transport::Tcp => Packet { max_data: Some(limit), ..packet },
            Transport::Quic => {
                let max_stream_data = vec![(0, limit)];
                let details = PacketDetails { max_stream_data, ..PacketDetails::default() }.into();
                Packet { details, ..packet }
            }
        };
        let request = StreamPart { stream: 0, offset: 0, length: 100 };
        let asked = Packet { data: vec![request].into(), ..packet(0) };
        add(RTT / 2, 0, false, announce(asked, WINDOW));
        let (mut sent, mut limit, mut now, mut number) = (0, WINDOW, RTT / 2, 1);
        while sent < 600_000 {
            let first = sent / 1000;
            while sent + 1000 <= limit {
                let part = StreamPart { stream: 0, offset: sent, length: 1000 };
                let acknowledged = if sent == 0 { vec![(0, 0)] } else { Vec::new() };
                let data = Packet {
                    acknowledged: acknowledged.into(),
                    data: vec![part].into(),
                    ..packet(sent / 1000)
                };
                add(now, now + RTT / 2, true, data);
                sent += 1000;
            }
            let come = now + RTT / 2;
            let acknowledged = vec![(first, sent / 1000 - 1)];
            let ack = Packet { acknowledged: acknowledged.into(), ..packet(number) };
            if read_slowly {
                add(come + RTT / 2, come, false, announce(ack, limit));
                limit += 10_000;
                number += 1;
                now += 100;
                add(now, now - RTT / 2, false, announce(packet(number), limit));
            } else {
                limit = sent + WINDOW;
                now = come + RTT / 2;
                add(now, come, false, announce(ack, limit));
            }
            number += 1;
        }
        events.sort_by_key(|(at, _)| *at);
        CapturedConnection { events, ..CapturedConnection::empty(transport, side) }
    }

    #[test]
    fn a_window_that_unread_data_fills_is_that_of_a_slow_reader_at_either_end() {
        for transport in [Transport::Tcp, Transport::Quic] {
            for side in [Side::Server, Side::Client] {
                let evidence = |read_slowly| {
                    let trace = trace(transport, side, read_slowly);
                    account(&trace, None).expect("a transfer").evidence
                };
                let slow = evidence(true);
                let kind = slow.limit.map(|(limit, _)| limit.kind);
                let of = match transport {
                    Transport::Tcp => LimitKind::ReceiveWindow,
                    Transport::Quic => LimitKind::Stream,
                };
                assert_eq!(kind, Some(of), "{transport:?} {side:?}");
                let reading = slow.reading.expect("a slow reader");
                // 10 kB each 100 ms, which is on its way for half of that.
                let mbps = reading.rate.as_mbps_f64();
                assert!((0.7..=0.9).contains(&mbps), "{transport:?} {side:?} {reading:?}");
                assert!(reading.unread > 0.8, "{transport:?} {side:?} {reading:?}");
                // A window that is small is read at once.
                let small = evidence(false);
                assert!(small.limit.is_some(), "{transport:?} {side:?}");
                assert_eq!(small.reading, None, "{transport:?} {side:?}");
            }
        }
    }
}
