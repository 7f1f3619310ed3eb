//! Round trips: from packets to what acknowledges them.

use crate::event::{CapturedConnection, Event, Packet};
use bentpipe_units::{Span, Time};
use std::collections::BTreeMap;

/// Returns the round trips of packets of which `is_known` says that their numbers and
/// acknowledgements are known, by the time of the first acknowledgement. Those of no length are
/// left out: the clock of the file is too coarse for them.
pub fn answers(
    trace: &CapturedConnection,
    is_known: impl Fn(&Packet) -> bool,
) -> impl Iterator<Item = (Time, Span)> {
    let mut sent: BTreeMap<(bool, u64), Time> = BTreeMap::new();
    let found = trace.events.iter().filter_map(move |(at, event)| match event {
        Event::Sent(packet) if is_known(packet) => {
            sent.insert((packet.is_application, packet.number), *at);
            None
        }
        Event::Received(packet) if is_known(packet) => {
            // The largest number is the one whose acknowledgement did not wait for others.
            let known = packet.acknowledged.iter().filter(|range| !packet.is_ambiguous(range));
            let largest = known.map(|range| range.1).max()?;
            let sent_at = sent.remove(&(packet.is_application, largest))?;
            Some((*at, at.since(sent_at)))
        }
        _ => None,
    });
    found.filter(|(_, took)| !took.is_zero())
}
