//! Losses of connections whose packets are not opened: acknowledgements that name gaps.

use crate::event::{CapturedConnection, Event};
use bentpipe_units::{Span, Time};

/// The acknowledgements of the end that receives the data.
#[derive(Debug, Default)]
pub struct NamedGaps {
    /// Times of those that name gaps.
    times: Vec<Time>,
    /// True if their sizes say whether they do.
    are_told: bool,
}

impl NamedGaps {
    /// Finds the acknowledgements that this end, which sends the data if it `is_sender`, received
    /// or sent.
    pub fn find(trace: &CapturedConnection, is_sender: bool) -> Self {
        let mut found = Self::default();
        for (at, event) in &trace.events {
            let names = match event {
                Event::Received(packet) if is_sender => packet.details.names_gaps,
                Event::Sent(packet) if !is_sender => packet.details.names_gaps,
                _ => None,
            };
            found.are_told |= names.is_some();
            if names == Some(true) {
                found.times.push(*at);
            }
        }
        found
    }

    /// Returns true if they would show losses.
    pub fn are_told(&self) -> bool {
        self.are_told
    }

    /// Returns true if one shows a loss.
    pub fn are_some(&self) -> bool {
        !self.times.is_empty()
    }

    /// Returns true if none shows a loss up to a time, and one would.
    pub fn are_none_until(&self, at: Time) -> bool {
        self.are_told && self.times.first().is_none_or(|first| *first > at)
    }

    /// Returns true if one up to a time shows a loss.
    pub fn are_some_until(&self, at: Time) -> bool {
        self.times.first().is_some_and(|first| *first <= at)
    }

    /// Returns true if the time from a round trip before `from` until `to` has one.
    pub fn are_at(&self, from: Time, to: Time, rtt: Span) -> bool {
        let begin = from.saturating_sub(rtt);
        let index = self.times.partition_point(|at| *at < begin);
        self.times.get(index).is_some_and(|at| *at <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::account;
    use crate::event::{Packet, PacketDetails, Side, StreamPart, Transport};
    use bentpipe_timeseries::TimePart;

    /// A client 50 ms away without keys: data each 10 ms, a silence from 250 to 650 ms, and data
    /// again. Its acknowledgements, 2 ms later, say whether they name gaps: from a time on, if any.
    fn silence(named_from: Option<u64>) -> CapturedConnection {
        let packet = |number, data: &[StreamPart]| Packet {
            is_application: true,
            bytes: 1040,
            number,
            data: data.to_vec().into(),
            ..Packet::default()
        };
        let at = Time::from_millis;
        let part = |offset| StreamPart { stream: 0, offset, length: 1000 };
        let answered = vec![(0, 0)];
        let mut events = vec![
            (at(0), Event::Sent(Packet::default())),
            (
                at(50),
                Event::Received(Packet { acknowledged: answered.into(), ..Packet::default() }),
            ),
            (at(50), Event::Sent(packet(1, &[part(0)]))),
        ];
        for index in 0..40 {
            let ms = 100 + index * 10 + if index > 15 { 400 } else { 0 };
            events.push((at(ms), Event::Received(packet(index, &[part(index * 1000)]))));
            let names_gaps = Some(named_from.is_some_and(|from| ms >= from));
            let details = PacketDetails { names_gaps, ..PacketDetails::default() }.into();
            let own = Packet { details, ..packet(index + 2, &[]) };
            events.push((at(ms + 2), Event::Sent(own)));
        }
        CapturedConnection {
            events,
            is_encrypted: true,
            ..CapturedConnection::empty(Transport::Quic, Side::Client)
        }
    }

    #[test]
    fn gaps_are_known_from_when_they_are_named() {
        let gaps = NamedGaps::find(&silence(Some(200)), false);
        let at = Time::from_millis;
        assert!(gaps.are_none_until(at(201)) && !gaps.are_none_until(at(202)));
        assert!(gaps.are_some_until(at(202)) && !gaps.are_some_until(at(201)));
        let rtt = Span::from_millis(50);
        assert!(gaps.are_at(at(260), at(650), rtt) && !gaps.are_at(at(100), at(150), rtt));
        // Without sizes that say so, nothing is known.
        let unknown = NamedGaps::find(&silence(Some(200)), true);
        assert!(!unknown.are_none_until(at(900)) && !unknown.are_some_until(at(900)));
    }

    #[test]
    fn a_silence_after_losses_is_a_timeout_and_another_a_pause() {
        // Those after it are named by what answers the packet that ends it.
        let named = [Some(200), Some(650)].map(|from| (from, TimePart::Timeout));
        for (from, part) in named.into_iter().chain([(None, TimePart::Application)]) {
            let recorded = account(&silence(from), None).expect("a transfer");
            let time = recorded.budget.get(part);
            assert!((0.35..=0.45).contains(&time), "{from:?}: {time}");
        }
    }
}
