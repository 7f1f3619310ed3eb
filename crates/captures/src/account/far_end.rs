//! What the file of the receiver adds to that of the sender: which packets arrived, when, and what
//! each waited on its way.

use super::received::Received;
use super::sent::Sent;
use super::waits::least;
use crate::both::{Crossing, Crossings};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Side};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};
use std::collections::HashMap;

/// Share of the data of one file that has to be in the other, if they have the same connection.
const SHARED: f64 = 0.5;

/// What passed in one direction, as both ends recorded it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OneWay {
    /// Packets that were sent: segments of TCP as the sender's file has them.
    pub packets: usize,
    /// Those of them that did not arrive.
    pub lost: usize,
    /// For how much longer than the shortest of this direction one took, at most.
    pub longest_wait: Span,
}

/// What two files of one transfer show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BothEnds {
    /// Packets with data, towards their receiver.
    pub to_receiver: OneWay,
    /// All packets towards the sender of the data.
    pub to_sender: OneWay,
    /// By how many millionths the receiver's clock runs faster than the sender's.
    pub drift_ppm: f64,
}

/// What the receiver's file says of the sender's packets. Times are of the sender's clock.
#[derive(Debug)]
pub struct FarEnd {
    pub both: BothEnds,
    /// For each packet of the transfer, when it arrived and how long it waited on its way.
    pub forward: Vec<Option<(Time, Span)>>,
    /// Arrivals at the sender, and how long each waited on its way.
    back: Vec<(Time, Span)>,
    /// Share of the data that came out of order.
    pub reordered: f64,
    /// Time before the first event of the sender's file, beyond the way of the client's first
    /// packet, and what it was spent on.
    pub lead: Option<(TimePart, Span)>,
    /// True if packets of the handshake were lost.
    pub lost_handshake: bool,
}

impl FarEnd {
    /// Joins both files. Returns the sender's trace, which begins with the client's first packet,
    /// the transfer with what the receiver knows of its packets, and the rest of that.
    pub fn join(
        sender: &CapturedConnection,
        receiver: &CapturedConnection,
    ) -> Result<(CapturedConnection, Sent, Self), CaptureError> {
        let mut crossings = find(sender, receiver)?;
        let mut trace = sender.clone();
        let lead = lead(sender, receiver, &crossings);
        if let Some((_, lead)) = lead {
            trace.events.iter_mut().for_each(|(at, _)| *at += lead);
            crossings = find(&trace, receiver)?;
        }
        let mut sent = Sent::find(&trace)?;
        let mut forward = vec![None; sent.packets.len()];
        let mut to_receiver = OneWay::default();
        for one in crossings.there.iter().filter(|one| one.has_data) {
            let Some(&index) = sent.numbers.get(&one.number) else { continue };
            to_receiver.add(one);
            if let (Some((at, wait)), Some(place)) = (one.arrived, forward.get_mut(index)) {
                let near = crossings.near_nanos(at).max(0).unsigned_abs();
                *place = Some((Time::from_nanos(near), wait));
            }
        }
        let mut to_sender = OneWay::default();
        crossings.back.iter().for_each(|one| to_sender.add(one));
        let back = crossings.back.iter().filter_map(|one| one.arrived);
        let mut back: Vec<(Time, Span)> = back.collect();
        back.sort_unstable();
        sent.rtt = crossings.rtt;
        if trace.is_encrypted {
            sent.acknowledge(&crossings);
            trace.events.extend(sent.losses());
            trace.events.sort_by_key(|(at, _)| *at);
        } else {
            sent.apply(&crossings);
        }
        if let Some(last) = forward.iter().flatten().map(|(at, _)| *at).max() {
            // As if both directions took half of the RTT.
            sent.end = last + crossings.rtt.mul_f64(0.5);
        }
        let received = Received::find(receiver)?;
        let late = received.arrivals.iter().filter(|one| one.is_late).count();
        let reordered = late as f64 / received.arrivals.len().max(1) as f64;
        let both = BothEnds { to_receiver, to_sender, drift_ppm: crossings.drift_ppm() };
        let lost_handshake = loses_handshake(sender, receiver) || loses_handshake(receiver, sender);
        Ok((trace, sent, Self { both, forward, back, reordered, lead, lost_handshake }))
    }

    /// Returns how long what arrived at the sender at `at` had waited on its way.
    pub fn of_arrival(&self, at: Time) -> Span {
        let index = self.back.partition_point(|(time, _)| *time < at);
        self.back.get(index).filter(|(time, _)| *time == at).map_or(Span::ZERO, |(_, wait)| *wait)
    }

    /// Returns how long the packet at `index` waited on its way, if it is known to have arrived.
    pub fn of_packet(&self, index: usize) -> Option<Span> {
        self.forward.get(index).copied().flatten().map(|(_, wait)| wait)
    }
}

/// Returns what passed between the ends.
fn find(
    sender: &CapturedConnection,
    receiver: &CapturedConnection,
) -> Result<Crossings, CaptureError> {
    let is_shared = |found: &Crossings| {
        let data = || found.there.iter().filter(|one| one.has_data);
        let arrived = data().filter(|one| one.arrived.is_some()).count();
        arrived as f64 >= SHARED * data().count() as f64
    };
    let found = Crossings::find(sender, receiver).filter(is_shared);
    found.ok_or(CaptureError::Empty("the two files do not have the packets of one transfer"))
}

/// Returns true if fewer packets of the handshake arrived at one end than the other sent.
fn loses_handshake(from: &CapturedConnection, to: &CapturedConnection) -> bool {
    let is_sent = |event: &Event| matches!(event, Event::Sent(one) if !one.is_application);
    let is_received = |event: &Event| matches!(event, Event::Received(one) if !one.is_application);
    let count = |trace: &CapturedConnection, is_counted: fn(&Event) -> bool| {
        trace.events.iter().filter(|(_, event)| is_counted(event)).count()
    };
    count(from, is_sent) > count(to, is_received)
}

/// Returns what passed between the client's first packet and the first event of the server's file,
/// beyond the way of a packet.
fn lead(
    sender: &CapturedConnection,
    receiver: &CapturedConnection,
    crossings: &Crossings,
) -> Option<(TimePart, Span)> {
    if sender.side != Side::Server {
        return None;
    }
    let first = sender.events.first().map_or(Time::ZERO, |(at, _)| *at);
    let first = i64::try_from(first.since_start().as_nanos()).unwrap_or(i64::MAX);
    // What the client had sent by then.
    let tries: Vec<i64> = receiver
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Sent(_)))
        .map(|(at, _)| crossings.near_nanos(*at))
        .take_while(|near| *near < first)
        .collect();
    let on_its_way = |sent: &i64| {
        let took = Span::from_nanos(first.saturating_sub(*sent).max(0).unsigned_abs());
        took.saturating_sub(crossings.rtt.mul_f64(0.5))
    };
    let lead = on_its_way(tries.first()?);
    // If the last came without a wait, those before it were lost.
    let is_lost = tries.len() > 1 && on_its_way(tries.last()?) < least(crossings.rtt);
    let part = if is_lost { TimePart::Timeout } else { TimePart::ReturnLink };
    (lead >= least(crossings.rtt)).then_some((part, lead))
}

impl OneWay {
    fn add(&mut self, one: &Crossing) {
        self.packets += 1;
        match one.arrived {
            Some((_, wait)) => self.longest_wait = self.longest_wait.max(wait),
            None => self.lost += 1,
        }
    }
}

impl Sent {
    /// Takes what the receiver knows of packets that are not opened: what arrived is acknowledged
    /// by the first packet that the receiver sent after it, and everything else was lost.
    fn acknowledge(&mut self, crossings: &Crossings) {
        let back = crossings.back.iter();
        let back = back.filter_map(|one| one.arrived.map(|(arrived, _)| (one.sent, arrived)));
        let mut back: Vec<(Time, Time)> = back.collect();
        back.sort_unstable();
        for one in &crossings.there {
            let index = self.numbers.get(&one.number).copied();
            let Some(packet) = index.and_then(|index| self.packets.get_mut(index)) else {
                continue;
            };
            let answer = one.arrived.and_then(|(arrived, _)| {
                let index = back.partition_point(|(sent, _)| *sent < arrived);
                back.get(index).map(|(sent, at)| (*at, sent.since(arrived)))
            });
            packet.declared_lost = one.arrived.is_none();
            packet.is_ambiguous = false;
            packet.acknowledged = answer.map(|(at, _)| at);
            packet.held_back = answer.map_or(Span::ZERO, |(_, held)| held);
        }
    }

    /// Returns when the loss of each lost packet can have been noticed: a round trip later.
    fn losses(&self) -> impl Iterator<Item = (Time, Event)> {
        let numbers = self.numbers.iter();
        let packets =
            numbers.filter_map(|(number, index)| Some((*number, self.packets.get(*index)?)));
        let lost = packets.filter(|(_, packet)| packet.is_lost());
        lost.map(|(number, packet)| (packet.at + self.rtt, Event::Lost(number)))
    }

    /// Takes what the receiver knows: which packets were lost, and for how long it held back each
    /// acknowledgement.
    fn apply(&mut self, crossings: &Crossings) {
        // When what arrived at the sender had left, by the clock of the other end.
        let left: HashMap<Time, Time> = crossings
            .back
            .iter()
            .filter_map(|one| one.arrived.map(|(arrived, _)| (arrived, one.sent)))
            .collect();
        for one in &crossings.there {
            let index = self.numbers.get(&one.number).copied();
            let Some(packet) = index.and_then(|index| self.packets.get_mut(index)) else {
                continue;
            };
            let Some((arrived, _)) = one.arrived else {
                // A file may miss what an acknowledgement of this very packet says.
                if packet.acknowledged.is_none() || packet.is_ambiguous {
                    (packet.declared_lost, packet.acknowledged) = (true, None);
                }
                continue;
            };
            packet.declared_lost = false;
            let answered = packet.acknowledged.and_then(|at| left.get(&at));
            if let Some(answered) = answered.filter(|answered| **answered >= arrived) {
                packet.held_back = answered.since(arrived);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::account_of_both;
    use crate::event::{Packet, PacketDetails, StreamPart, Transport};

    /// A packet that is not opened, with a mark of its own, and data at an offset.
    fn covered(number: u64, mark: u64, offset: Option<u64>) -> Packet {
        let part = |offset| StreamPart { stream: 0, offset, length: 1000 };
        Packet {
            is_application: true,
            number,
            bytes: 1040,
            details: PacketDetails { mark: Some(mark), ..PacketDetails::default() }.into(),
            data: offset.map(part).into_iter().collect(),
            ..Packet::default()
        }
    }

    #[test]
    fn packets_that_are_not_opened_are_known_at_both_ends_by_their_bytes() {
        let at = Time::from_millis;
        let mut server = vec![(at(0), Event::Received(covered(0, 1, Some(0))))];
        let mut client = vec![(at(0), Event::Sent(covered(0, 1, Some(0))))];
        // A packet of data each 10 ms, of which two are lost. The client, 50 ms away and with a
        // clock that is as much ahead, holds back each acknowledgement for 20 ms.
        for index in 0..40_u64 {
            let acknowledged = if index == 0 { vec![(0, 0)] } else { Vec::new() };
            let data = covered(index, 100 + index, Some(index * 1000));
            let data = Packet { acknowledged: acknowledged.into(), ..data };
            server.push((at(index * 10), Event::Sent(data.clone())));
            if index == 7 || index == 21 {
                continue;
            }
            client.push((at(index * 10 + 100), Event::Received(data)));
            // What a file of one end is taken to acknowledge.
            let acknowledged = vec![(index, index)];
            let answer = Packet {
                acknowledged: acknowledged.into(),
                ..covered(index + 1, 500 + index, None)
            };
            client.push((at(index * 10 + 120), Event::Sent(answer.clone())));
            server.push((at(index * 10 + 120), Event::Received(answer)));
        }
        let trace = |side, mut events: Vec<(Time, Event)>| {
            events.sort_by_key(|(at, _)| *at);
            CapturedConnection {
                events,
                ids: vec!["one".to_owned()],
                is_encrypted: true,
                ..CapturedConnection::empty(Transport::Quic, side)
            }
        };
        let (server, client) = (trace(Side::Server, server), trace(Side::Client, client));
        let recorded = account_of_both(&client, &server, None).expect("one connection");
        let both = recorded.both.expect("both ends");
        assert_eq!((both.to_receiver.packets, both.to_receiver.lost), (40, 2));
        assert_eq!((recorded.evidence.lost, recorded.evidence.loss_episodes), (2, 2));
        assert!((recorded.path.rtt.as_millis_f64() - 100.0).abs() < 1.0, "{:?}", recorded.path);
        let opened = CapturedConnection { is_encrypted: false, ..client };
        assert!(account_of_both(&opened, &server, None).is_err(), "the keys of one end only");
    }
}
