//! What packets that cannot be opened say by their sizes, times and directions.

use super::ack_sizes::{NO_DATA, RecentSizes, note_gaps, padded_size};
use super::covered::{Covered, Seen};
use super::spin::Spin;
use super::turns::{quickest, short_asks};
use super::vantage::HalfTrips;
use crate::event::{Side, StreamPart};
use bentpipe_units::Span;

/// Bytes of a packet number, of a tag (RFC 9001 §5.3), and of the header of a STREAM frame.
const NUMBER: u64 = 2;
const TAG: u64 = 16;
const STREAM_HEADER: u64 = 7;
/// Packets of data for each packet of the other end from which on it holds acknowledgements back,
/// and those of which one acknowledgement shows it: by default each second packet is acknowledged
/// (RFC 9000 §13.2.2), and by some each tenth.
const HELD_RATIO: usize = 6;
const HELD: usize = 8;
/// Packets up to this size do not look for the path's MTU (RFC 9000 §14.1 and RFC 8899).
const NO_PROBE: u64 = 1252;

/// What the estimate rests on.
#[derive(Debug, Clone, Copy)]
pub struct Estimated {
    /// Changes of the spin bit that gave an RTT.
    spins: usize,
    /// True if the RTT to the far end is known.
    has_rtt: bool,
}

impl Estimated {
    /// Returns what is said of it. `problem` says why the packets were not opened.
    pub fn notes(&self, problem: &str) -> Vec<String> {
        let rtt = match (self.has_rtt, self.spins) {
            (false, _) => "the RTT is not known".to_owned(),
            (true, 0) => "the RTT is that of the handshake (the spin bit does not spin)".to_owned(),
            (true, spins) => {
                format!("the RTT is that of the handshake and of {spins} changes of the spin bit")
            }
        };
        vec![
            format!(
                "the packets are encrypted, and their keys are missing: {problem}. Sizes, times \
                 and directions are measured; {rtt}. Data and requests follow from the sizes: a \
                 packet with more than {NO_DATA} bytes of frames counts as data of one stream in \
                 each direction, less {STREAM_HEADER} bytes of header. Data counts as \
                 acknowledged an RTT after it was sent: a capture at its sender shows no queue, \
                 and a rate only of sending"
            ),
            "which packets were lost cannot be seen without keys: data that was sent again counts \
             as new data"
                .to_owned(),
        ]
    }
}

/// Fills in what `covered` packets carry and acknowledge, and adds the RTTs of the spin bit.
pub fn estimate(seen: &mut [Seen], covered: &[Covered], trips: &mut HalfTrips) -> Estimated {
    let [to_client, to_server] = [0, 1].map(|end| trips.smallest(end).unwrap_or_default());
    let rtt = to_client.saturating_add(to_server);
    add_data(seen, covered, rtt);
    let mut spin = Spin::new(rtt);
    for one in covered {
        if let (Some(value), Some((at, sender, _))) = (one.spin, seen.get(one.index)) {
            spin.add(*at, *sender, value);
        }
    }
    let answers = spin.answers();
    for end in [0, 1] {
        let of_end = answers.iter().filter(|(_, second)| second.sender == end);
        let mut times: Vec<u64> = of_end.map(|(first, second)| second.at - first.at).collect();
        times.sort_unstable();
        // Not the smallest: some answers are chance.
        if let Some(time) = times.get(times.len() / 4) {
            trips.sample(end, *time);
        }
    }
    let near = usize::from(trips.vantage().0 == Side::Server);
    let mut rtt = trips.smallest(1 - near);
    if let Some(rtt) = &mut rtt {
        let turn = if near == 1 { quickest(seen, *rtt) } else { None };
        *rtt = turn.unwrap_or(*rtt);
        acknowledge(seen, covered, near, *rtt);
    }
    Estimated { spins: answers.len(), has_rtt: rtt.is_some() }
}

/// Gives each packet with more frames than acknowledgements need, and requests that are as short,
/// the next part of its direction's stream. The RTT is about `rtt` nanoseconds.
fn add_data(seen: &mut [Seen], covered: &[Covered], rtt: u64) {
    let mut offsets = [0_u64; 2];
    let mut largest = [0_u64; 2];
    let mut has_asked = false;
    let padded = [0, 1].map(|end| padded_size(seen, covered, end));
    let mut recent = [RecentSizes::default(), RecentSizes::default()];
    let frames_of =
        |bytes: u64, one: &Covered| bytes.saturating_sub(one.overhead as u64 + NUMBER + TAG);
    let frames =
        |one: &Covered| seen.get(one.index).map_or(0, |(.., packet)| frames_of(packet.bytes, one));
    let asks = short_asks(seen, covered, frames, rtt);
    for (place, one) in covered.iter().enumerate() {
        let Some((_, sender, packet)) = seen.get(one.index) else { continue };
        let (sender, bytes) = (*sender, packet.bytes);
        let frames = frames_of(bytes, one);
        // A larger packet than all before, without a second one of its size, looks for the MTU.
        let is_record = bytes > largest[sender].max(NO_PROBE);
        let next = || {
            let after = covered[place + 1..].iter();
            let mut after = after.filter_map(|next| Some((next, seen.get(next.index)?)));
            let next = after.find(|(_, (_, of, _))| *of == sender);
            next.map(|(next, (.., packet))| (next, packet.bytes))
        };
        let is_probe = is_record && next().is_none_or(|(_, next)| next != bytes);
        largest[sender] = largest[sender].max(bytes);
        let following = || next().map(|(next, bytes)| frames_of(bytes, next));
        let is_ask = asks.contains(&place);
        let is_empty = padded[sender] == Some(bytes)
            || !is_probe && recent[sender].is_acknowledgement(frames, following);
        if !is_ask && (is_probe || is_empty) {
            continue;
        }
        // What a server sends before any request are tickets of TLS and settings.
        has_asked |= sender == 0;
        if !has_asked {
            continue;
        }
        let length = frames.saturating_sub(STREAM_HEADER).max(1);
        if let Some((.., packet)) = seen.get_mut(one.index) {
            packet.data.push(StreamPart { stream: 0, offset: offsets[sender], length });
            offsets[sender] += length;
        }
    }
    [0, 1].into_iter().for_each(|end| note_gaps(seen, covered, end));
}

/// Lets packets of the far end acknowledge data of the `near` one: each all that was sent an RTT
/// before, `rtt` nanoseconds. This shows no queue; what was tried to infer one says no rate, either
/// (decision 78). If the far end sends hardly any packets, one that is late was held back.
fn acknowledge(seen: &mut [Seen], covered: &[Covered], near: usize, rtt: u64) {
    let mut data: Vec<(u64, u64)> = Vec::new();
    let mut done = 0;
    let of = |is_near: bool| {
        let packets = covered.iter().filter_map(|one| seen.get(one.index));
        packets.filter(|(_, sender, _)| (*sender == near) == is_near).count()
    };
    let holds_back = of(true) >= HELD_RATIO * of(false);
    for one in covered {
        let Some((at, sender, packet)) = seen.get_mut(one.index) else { continue };
        if *sender == near {
            if !packet.data.is_empty() {
                data.push((*at, packet.number));
            }
            continue;
        }
        let arrived = data[done..].iter().take_while(|(sent, _)| sent.saturating_add(rtt) <= *at);
        let to = done + arrived.count();
        if to > done {
            packet.acknowledged.push((data[done].1, data[to - 1].1));
            if holds_back && to - done >= HELD {
                let late = at.saturating_sub(data[to - 1].0.saturating_add(rtt));
                packet.details.ack_delay = Some(Span::from_nanos(late));
            }
            done = to;
        }
    }
}
