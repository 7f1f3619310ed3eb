//! The transfer as its receiver recorded it.

use super::back_link::BackLink;
use super::sent::{main_streams, smallest_rtt};
use super::spending::{FlowLimit, LimitKind};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Packet, Transport};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Room in flow control that counts as none.
const PACKET: u64 = 1500;

/// A packet with data of the transfer.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: Time,
    pub wire: u64,
    pub data: u64,
    /// Stream of its first data, and whether that is the first of the stream.
    pub stream: u64,
    pub begins: bool,
    /// True if it leaves a gap in its stream, or fills one.
    pub at_gap: bool,
    pub fills_gap: bool,
    /// True if all of its data had come before.
    pub repeats: bool,
    /// True if data that had been sent after it came before it.
    pub is_late: bool,
    /// True if data before it is missing that was lost, and not overtaken.
    pub loses: bool,
    /// True if data is missing once it has come.
    pub is_missing: bool,
    /// The limit of flow control that the sender knew before and that left it no room.
    pub limit: Option<FlowLimit>,
}

/// A transfer at its receiver.
#[derive(Debug)]
pub struct Received {
    pub bytes: u64,
    pub arrivals: Vec<Arrival>,
    pub start: Time,
    pub handshake: Time,
    /// Time of the request.
    pub request: Time,
    pub rtt: Span,
    /// A slow link towards the sender, if one shows without keys.
    pub back_link: Option<BackLink>,
}

/// Round trips, and a time besides, after which data that is missing does not come any more.
const MISSING: (u64, Span) = (8, Span::from_secs(1));
/// Most gaps that are kept. Data in others counts as repeated.
const MAX_GAPS: usize = 4096;

/// Share of the RTT from which on a silence may be a turn, fewest turns, and the share of silences
/// that are.
const TURN_SILENCE: f64 = 0.3;
const TURNS: usize = 3;
const OF_SILENCES: f64 = 0.6;
/// Share of the RTT of the handshake below which a turn shows that this waited on its way.
const QUICKER: f64 = 0.75;

/// When a gap in the data was noticed, and by which arrival.
type Noticed = (Time, usize);

/// Data that is missing before the highest that has come: from its first byte, its end and when
/// that was noticed.
#[derive(Debug, Default)]
struct Gaps {
    open: BTreeMap<(u64, u64), (u64, Noticed)>,
    /// When the last one was noticed.
    last: Time,
}

impl Gaps {
    fn open(&mut self, stream: u64, from: u64, to: u64, noticed: Noticed) {
        if self.open.len() < MAX_GAPS {
            self.open.insert((stream, from), (to, noticed));
            self.last = noticed.0;
        }
    }

    /// Returns true if data is missing that may still come: of what the file never has, an end need
    /// not have missed anything.
    fn is_missing(&self, now: Time, rtt: Span) -> bool {
        let (trips, besides) = MISSING;
        !self.open.is_empty() && now.since(self.last) <= rtt * trips + besides
    }

    /// Fills a gap with data. Returns when the gap was opened; `None` if there is none there.
    fn fill(&mut self, stream: u64, offset: u64, length: u64) -> Option<Noticed> {
        let end = offset.saturating_add(length);
        let mut opened = None;
        // Gaps do not overlap: if the last one before `end` is not in the way, none is.
        while let Some((&(of, from), &(to, at))) =
            self.open.range((stream, 0)..(stream, end)).next_back()
            && to > offset
        {
            self.open.remove(&(of, from));
            opened = opened.max(Some(at));
            if from < offset {
                self.open.insert((of, from), (offset, at));
            }
            if to > end {
                self.open.insert((of, end), (to, at));
            }
        }
        opened
    }
}

/// The limits that the receiver has announced, as its sender knows them.
#[derive(Debug, Default)]
struct Limits {
    /// Limits of the connection and of the stream, when they were announced and when known.
    announced: Vec<(Time, [Option<u64>; 2])>,
    next: usize,
    known: [Option<u64>; 2],
}

impl Limits {
    fn announce(&mut self, at: Time, packet: &Packet, highest: &BTreeMap<u64, u64>) {
        let streams = packet.details.max_stream_data.iter();
        let of_stream = streams.filter(|(stream, _)| highest.contains_key(stream));
        self.announced.extend(of_stream.map(|(_, limit)| (at, [None, Some(*limit)])));
        self.announced.extend(packet.max_data.map(|limit| (at, [Some(limit), None])));
    }

    /// Returns the limit that left the sender no room before a packet that arrives now: it learned
    /// of it a round trip before.
    fn used(
        &mut self,
        now: Time,
        rtt: Span,
        highest: &BTreeMap<u64, u64>,
        transport: Transport,
    ) -> Option<FlowLimit> {
        let total = highest.values().fold(0_u64, |sum, end| sum.saturating_add(*end));
        let top = highest.values().max().copied().unwrap_or_default();
        let of_connection = match transport {
            Transport::Tcp => LimitKind::ReceiveWindow,
            Transport::Quic => LimitKind::Connection,
        };
        let kinds = [of_connection, LimitKind::Stream];
        let used =
            self.known.into_iter().zip([total, top]).zip(kinds).find(|((limit, used), _)| {
                limit.is_some_and(|limit| limit.saturating_sub(*used) < PACKET)
            });
        while let Some((sent, limit)) = self.announced.get(self.next)
            && *sent + rtt <= now
        {
            self.known = [self.known[0].max(limit[0]), self.known[1].max(limit[1])];
            self.next += 1;
        }
        let ((limit, _), kind) = used?;
        // What is on its way between two limits a round trip apart is the window.
        let index = usize::from(kind == LimitKind::Stream);
        let ahead = self.announced.get(self.next..).unwrap_or_default().iter();
        let newest = ahead.filter_map(|(_, limits)| limits[index]).max();
        let now_known = self.known[index].max(newest);
        let size = Bytes::new(now_known?.saturating_sub(limit?));
        Some(FlowLimit { kind, size })
    }
}

/// Returns the RTT that requests show without keys, if it is much shorter than the `known` one of
/// the handshake, which waited on its way then: the shortest time from the first packet that this
/// end sent after data had come until other data came, after a silence in which it had asked.
/// `None` if there are few such turns, or data came after silences in which nothing was asked, too.
fn quickest_turn(trace: &CapturedConnection, known: Span) -> Option<Span> {
    let (mut last, mut first_own, mut has_asked) = (None, None, false);
    let (mut silences, mut turns) = (0_usize, Vec::new());
    for (at, event) in &trace.events {
        match event {
            Event::Sent(packet) if packet.is_application => {
                first_own = first_own.or(Some(*at));
                has_asked |= !packet.data.is_empty();
            }
            Event::Received(packet) if packet.is_application && !packet.data.is_empty() => {
                let silence = last.map(|last| at.since(last));
                if silence.is_none_or(|silence| silence >= known.mul_f64(TURN_SILENCE)) {
                    silences += usize::from(silence.is_some());
                    let asked = first_own.filter(|_| has_asked && silence.is_some());
                    turns.extend(asked.map(|own| at.since(own)));
                    (first_own, has_asked) = (None, false);
                }
                last = Some(*at);
            }
            _ => {}
        }
    }
    let quickest = turns.iter().copied().min()?;
    let are_turns = turns.len() >= TURNS && turns.len() as f64 >= OF_SILENCES * silences as f64;
    (are_turns && quickest < known.mul_f64(QUICKER)).then_some(quickest)
}

/// Returns the RTT and, without keys, a slow link towards the sender that made that of the
/// handshake longer.
fn round_trip(trace: &CapturedConnection) -> Result<(Span, Option<BackLink>), CaptureError> {
    let known = smallest_rtt(trace).ok_or(CaptureError::Empty("no packet was acknowledged"))?;
    if !trace.is_encrypted {
        return Ok((known, None));
    }
    let back_link = BackLink::at_receiver(trace);
    let known = back_link.as_ref().map_or(known, |link| known.min(link.round_trip()));
    Ok((quickest_turn(trace, known).unwrap_or(known), back_link))
}

impl Received {
    /// Finds the packets of the transfer.
    pub fn find(trace: &CapturedConnection) -> Result<Self, CaptureError> {
        let sizes = main_streams(trace.received());
        let bytes = sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size));
        let streams: BTreeSet<u64> = sizes.into_keys().collect();
        let (rtt, back_link) = round_trip(trace)?;
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut gaps = Gaps::default();
        let (mut request, mut limits) = (None, Limits::default());
        let mut highest: BTreeMap<u64, u64> = BTreeMap::new();
        let is_tcp = trace.transport == Transport::Tcp;
        for (at, event) in &trace.events {
            match event {
                Event::Sent(packet) if packet.is_application => {
                    if packet.data.iter().any(|part| streams.contains(&part.stream)) {
                        request = request.or(Some(*at));
                    }
                    limits.announce(*at, packet, &highest);
                }
                Event::Received(packet) if packet.is_application => {
                    let limit = limits.used(*at, rtt, &highest, trace.transport);
                    // Packet numbers do not tell: senders leave some out on purpose.
                    let (mut data, mut at_gap, mut fills_gap) = (0_u64, false, false);
                    let (mut stream, mut repeats, mut is_new) = (None, true, false);
                    let mut loses = false;
                    for part in packet.data.iter().filter(|part| streams.contains(&part.stream)) {
                        data = data.saturating_add(part.length);
                        // Of TCP, the handshake of TLS is before the first data.
                        let begin = if is_tcp { part.offset } else { 0 };
                        let end = highest.entry(part.stream).or_insert(begin);
                        stream = stream.or(Some((part.stream, *end == 0 && !is_tcp)));
                        at_gap |= part.offset != *end;
                        if part.offset > *end {
                            gaps.open(part.stream, *end, part.offset, (*at, arrivals.len()));
                            loses = true;
                        } else if part.offset < *end {
                            // What fills a gap sooner was not sent again, but came out of order.
                            let opened = gaps.fill(part.stream, part.offset, part.length);
                            is_new |= opened.is_some();
                            if let Some((opened, index)) = opened {
                                let is_repair = at.since(opened) * 2 >= rtt;
                                fills_gap |= is_repair;
                                let noticed = arrivals.get_mut(index).filter(|_| !is_repair);
                                if let Some(Arrival { loses, .. }) = noticed {
                                    *loses = false;
                                }
                            }
                        }
                        let until = part.offset.saturating_add(part.length);
                        repeats &= until <= *end && !is_new;
                        *end = (*end).max(until);
                    }
                    let Some((stream, begins)) = stream.filter(|_| data > 0) else { continue };
                    arrivals.push(Arrival {
                        at: *at,
                        wire: packet.wire_bytes(),
                        data,
                        stream,
                        begins,
                        at_gap,
                        fills_gap,
                        repeats,
                        is_late: is_new && !fills_gap,
                        loses,
                        is_missing: gaps.is_missing(*at, rtt),
                        limit,
                    });
                }
                _ => {}
            }
        }
        let Some(first) = arrivals.first().map(|arrival: &Arrival| arrival.at) else {
            return Err(CaptureError::Empty("it has no data that was received"));
        };
        // An offset says how much was sent before it, which the file need not have.
        let bytes = arrivals.iter().map(|arrival| arrival.data).sum::<u64>().min(bytes);
        let (start, handshake) = trace.opening(request, first);
        Ok(Self {
            bytes,
            arrivals,
            start,
            handshake,
            request: request.unwrap_or(handshake).clamp(handshake, first),
            rtt,
            back_link,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_fills_the_gap_that_it_is_in_and_once() {
        let mut gaps = Gaps::default();
        let at = (Time::from_millis(5), 0);
        gaps.open(0, 1000, 4000, at);
        assert_eq!(gaps.fill(0, 0, 1000), None, "before the gap");
        assert_eq!(gaps.fill(4, 1000, 1000), None, "another stream");
        assert_eq!(gaps.fill(0, 2000, 1000), Some(at));
        assert_eq!(gaps.fill(0, 2000, 1000), None, "a copy");
        assert_eq!(gaps.fill(0, 500, 4000), Some(at), "the rest of both sides");
        assert!(gaps.open.is_empty());
        gaps.open(0, 6000, 7000, at);
        let rtt = Span::from_millis(50);
        assert!(gaps.is_missing(Time::from_millis(1300), rtt));
        assert!(!gaps.is_missing(Time::from_millis(1500), rtt), "the file does not have it");
    }

    #[test]
    fn turns_show_the_round_trip_if_that_of_the_handshake_waited() {
        use crate::event::{Side, StreamPart};
        let packet = |length| Packet {
            is_application: true,
            data: vec![StreamPart { stream: 0, offset: 0, length }].into(),
            ..Packet::default()
        };
        let at = Time::from_millis;
        // Requests that take 300 ms or more, and data without one.
        let trace = |is_asked: bool| {
            let mut events = vec![(at(0), Event::Sent(packet(90)))];
            let mut now = 0;
            for took in [700, 300, 420, 380] {
                now += took;
                events.push((at(now), Event::Received(packet(1000))));
                now += 2;
                let own = if is_asked { packet(90) } else { Packet::default() };
                events.push((at(now), Event::Sent(Packet { is_application: true, ..own })));
            }
            CapturedConnection {
                events,
                is_encrypted: true,
                ..CapturedConnection::empty(Transport::Quic, Side::Client)
            }
        };
        let known = Span::from_millis(740);
        assert_eq!(quickest_turn(&trace(true), known), Some(Span::from_millis(300)));
        assert_eq!(quickest_turn(&trace(true), Span::from_millis(310)), None, "as known");
        assert_eq!(quickest_turn(&trace(false), known), None, "windows");
    }
}
