//! The account of a transfer from its receiver's trace.

use super::fluid_link::FullLink;
use super::path::{PathEstimate, highest_rate};
use super::sent::{handshake_timeouts, main_streams};
use super::transfer::{CapturedTransfer, Carried, divide_busy};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event};
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Room in flow control that counts as none.
const PACKET: u64 = 1500;

/// A packet with data of the transfer.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Time,
    wire: u64,
    data: u64,
    /// True if it leaves a gap in its stream, or fills one.
    at_gap: bool,
    fills_gap: bool,
    /// Bytes that the sender could still send by the limits that it knew before.
    room: Option<u64>,
}

/// A transfer at its receiver.
#[derive(Debug)]
pub struct Received {
    bytes: u64,
    arrivals: Vec<Arrival>,
    start: Time,
    handshake: Time,
    /// Time of the request.
    request: Time,
    rtt: Span,
}

impl Received {
    /// Finds the packets of the transfer.
    pub fn find(trace: &CapturedConnection) -> Result<Self, CaptureError> {
        let sizes = main_streams(trace.received());
        let bytes = sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size));
        let streams: BTreeSet<u64> = sizes.into_keys().collect();
        let rtt = smallest_rtt(trace).ok_or(CaptureError::Empty("no packet was acknowledged"))?;
        let mut arrivals = Vec::new();
        let mut gap_at = Time::ZERO;
        let mut request = None;
        // Limits of the connection and of the stream, when they were announced and when known.
        let mut limits: Vec<(Time, [Option<u64>; 2])> = Vec::new();
        let mut known: [Option<u64>; 2] = [None, None];
        let mut next_limit = 0;
        let mut highest: BTreeMap<u64, u64> = BTreeMap::new();
        for (at, event) in &trace.events {
            match event {
                Event::Sent(packet) if packet.is_application => {
                    if packet.data.iter().any(|part| streams.contains(&part.stream)) {
                        request = request.or(Some(*at));
                    }
                    let streams = packet.max_stream_data.iter();
                    let of_stream = streams.filter(|(stream, _)| highest.contains_key(stream));
                    limits.extend(of_stream.map(|(_, limit)| (*at, [None, Some(*limit)])));
                    limits.extend(packet.max_data.map(|limit| (*at, [Some(limit), None])));
                }
                Event::Received(packet) if packet.is_application => {
                    // What the sender could still send before it learned of a new limit.
                    let total = highest.values().fold(0_u64, |sum, end| sum.saturating_add(*end));
                    let top = highest.values().max().copied().unwrap_or_default();
                    let rooms = [(known[0], total), (known[1], top)].into_iter();
                    let rooms = rooms.map(|(limit, used)| Some(limit?.saturating_sub(used)));
                    let room = rooms.flatten().min();
                    // The sender learned of a limit a round trip before this packet came.
                    while let Some((sent, limit)) = limits.get(next_limit)
                        && *sent + rtt <= *at
                    {
                        known = [known[0].max(limit[0]), known[1].max(limit[1])];
                        next_limit += 1;
                    }
                    // Packet numbers do not tell: senders leave some out on purpose.
                    let (mut data, mut at_gap, mut fills_gap) = (0_u64, false, false);
                    for part in packet.data.iter().filter(|part| streams.contains(&part.stream)) {
                        data = data.saturating_add(part.length);
                        let end = highest.entry(part.stream).or_default();
                        at_gap |= part.offset != *end;
                        if part.offset > *end {
                            gap_at = *at;
                        }
                        // What fills a gap sooner was not sent again, but arrived out of order.
                        fills_gap |= part.offset < *end && at.since(gap_at) * 2 >= rtt;
                        *end = (*end).max(part.offset.saturating_add(part.length));
                    }
                    if data == 0 {
                        continue;
                    }
                    let wire = packet.wire_bytes();
                    arrivals.push(Arrival { at: *at, wire, data, at_gap, fills_gap, room });
                }
                _ => {}
            }
        }
        let Some(first) = arrivals.first().map(|arrival: &Arrival| arrival.at) else {
            return Err(CaptureError::Empty("it has no data that was received"));
        };
        // An offset says how much was sent before it, which the file need not have.
        let bytes = arrivals.iter().map(|arrival| arrival.data).sum::<u64>().min(bytes);
        let handshake = trace.first_application().unwrap_or(first).min(first);
        Ok(Self {
            bytes,
            arrivals,
            start: trace.events.first().map_or(Time::ZERO, |(at, _)| *at),
            handshake,
            request: request.unwrap_or(handshake).clamp(handshake, first),
            rtt,
        })
    }
}

/// Returns the smallest time from sending a packet to the first acknowledgement of it.
fn smallest_rtt(trace: &CapturedConnection) -> Option<Span> {
    let mut sent: BTreeMap<(bool, u64), Time> = BTreeMap::new();
    let mut smallest: Option<Span> = None;
    for (at, event) in &trace.events {
        match event {
            Event::Sent(packet) => {
                sent.insert((packet.is_application, packet.number), *at);
            }
            Event::Received(packet) => {
                let kind = packet.is_application;
                // The largest number is the one whose acknowledgement did not wait for others.
                let largest = packet.acknowledged.iter().map(|range| range.1).max();
                let sent_at = largest.and_then(|number| sent.get(&(kind, number)));
                let rtt = sent_at.map(|sent_at| at.since(*sent_at));
                smallest = [smallest, rtt].into_iter().flatten().min();
            }
            _ => {}
        }
    }
    smallest
}

/// Divides the time of a transfer.
pub fn received_account(
    trace: &CapturedConnection,
    received: &Received,
    rate: Option<Rate>,
) -> Result<CapturedTransfer, CaptureError> {
    let Received { arrivals, start, handshake, request, rtt, .. } = received;
    let passed: Vec<_> = arrivals.iter().map(|one| (None, one.at, one.wire)).collect();
    let (seen, _) =
        highest_rate(&passed).ok_or(CaptureError::Empty("it has too few packets of data"))?;
    let rate = rate.unwrap_or(seen);
    let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) else {
        return Err(CaptureError::Empty("it has no data that was received"));
    };
    let answer = first.at.since(*request);
    let timeouts = handshake_timeouts(trace, *start, *handshake);
    let mut budget = TimeBudget::from_iter([
        (TimePart::Handshake, handshake.since(*start).saturating_sub(timeouts)),
        (TimePart::Timeout, timeouts),
        (TimePart::Request, request.since(*handshake) + answer.min(*rtt)),
        (TimePart::Application, answer.saturating_sub(*rtt)),
    ])
    .seconds();
    let mut carried = Carried::default();
    let mut busy = Span::ZERO;
    let mut unaccounted = Span::ZERO;
    let (mut previous, mut slow_start) = (first.at, true);
    let mut full = FullLink::new(*rtt);
    let (mut data, mut repairs) = (0_u64, 0_u64);
    for arrival in arrivals {
        unaccounted += rate.time_for(Bytes::new(arrival.wire));
        let gap = arrival.at.since(previous);
        let on_link = gap.min(unaccounted);
        unaccounted -= on_link;
        busy += on_link;
        let idle = gap.saturating_sub(on_link);
        slow_start &= !arrival.at_gap;
        repairs += u64::from(arrival.fills_gap);
        if !idle.is_zero() {
            let part = match (arrival.room.is_some_and(|room| room < PACKET), slow_start) {
                (true, _) => TimePart::FlowControl,
                (false, true) => TimePart::SlowStart,
                (false, false) => TimePart::Unattributed,
            };
            budget.add(part, idle.as_secs_f64());
            full.idle(arrival.at, idle);
        }
        slow_start &= !full.is_full(first.at, arrival.at);
        previous = arrival.at;
        carried.total += arrival.wire;
        data += arrival.data;
    }
    carried.data = received.bytes.min(data);
    carried.repeated = data.saturating_sub(received.bytes);
    divide_busy(&mut budget, busy.as_secs_f64(), &carried);
    let mut notes = Vec::new();
    if budget.get(TimePart::Unattributed) > 0.0 {
        notes.push(
            "a receiver's file does not say what held the sender back after its start; the \
             sender's file does"
                .to_owned(),
        );
    }
    Ok(CapturedTransfer {
        bytes: Bytes::new(received.bytes),
        is_sender: false,
        is_upload: false,
        completion: last.at.since(*start),
        budget,
        path: PathEstimate {
            rtt: *rtt,
            rate,
            is_filled: true,
            queue: Span::ZERO,
            is_full: false,
            loss: repairs as f64 / arrivals.len().max(1) as f64,
        },
        notes,
    })
}
