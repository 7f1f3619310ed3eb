//! What packets that cannot be opened say by their sizes, times and directions.

use super::spin::Spin;
use super::vantage::HalfTrips;
use crate::event::{Packet, Side, StreamPart};

/// Bytes of frames up to which a packet carries no data: acknowledgements and flow control.
const NO_DATA: u64 = 28;
/// Size up to which the packets of an end are acknowledgements if more than half of its packets
/// have that size: some senders pad them.
const PADDED: u64 = 100;
/// Packets of an end from which on this is said.
const LEAST_PACKETS: usize = 20;
/// Bytes of a packet number, of a tag (RFC 9001 §5.3), and of the header of a STREAM frame.
const NUMBER: u64 = 2;
const TAG: u64 = 16;
const STREAM_HEADER: u64 = 7;
/// Packets up to this size do not look for the path's MTU (RFC 9000 §14.1 and RFC 8899).
const NO_PROBE: u64 = 1252;

/// A packet that passed the capture: when, in nanoseconds, the index of its sender, the packet.
pub type Seen = (u64, usize, Packet);

/// A packet of the application that is not opened.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// Its place among all packets.
    pub index: usize,
    /// Bytes of its header before the packet number.
    pub overhead: usize,
    /// The spin bit, if it was kept and the header is short.
    pub spin: Option<bool>,
}

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
            "losses cannot be seen without keys: data that was sent again counts as new data"
                .to_owned(),
        ]
    }
}

/// Fills in what `covered` packets carry and acknowledge, and adds the RTTs of the spin bit.
pub fn estimate(seen: &mut [Seen], covered: &[Covered], trips: &mut HalfTrips) -> Estimated {
    add_data(seen, covered);
    let [to_client, to_server] = [0, 1].map(|end| trips.smallest(end).unwrap_or_default());
    let mut spin = Spin::new(to_client.saturating_add(to_server));
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
    let rtt = trips.smallest(1 - near);
    if let Some(rtt) = rtt {
        acknowledge(seen, covered, near, rtt);
    }
    Estimated { spins: answers.len(), has_rtt: rtt.is_some() }
}

/// Returns the size of an end's padded acknowledgements, if it pads them.
fn padded_size(seen: &[Seen], covered: &[Covered], end: usize) -> Option<u64> {
    let packets = covered.iter().filter_map(|one| seen.get(one.index));
    let mut sizes: Vec<u64> =
        packets.filter(|(_, sender, _)| *sender == end).map(|(.., packet)| packet.bytes).collect();
    sizes.sort_unstable();
    // What more than half of them are is in the middle.
    let size = *sizes.get(sizes.len() / 2)?;
    let same = sizes.partition_point(|one| *one <= size) - sizes.partition_point(|one| *one < size);
    let is_usual = size <= PADDED && sizes.len() >= LEAST_PACKETS && same * 2 > sizes.len();
    is_usual.then_some(size)
}

/// Gives each packet with more frames than acknowledgements need the next part of its direction's
/// stream.
fn add_data(seen: &mut [Seen], covered: &[Covered]) {
    let mut offsets = [0_u64; 2];
    let mut largest = [0_u64; 2];
    let mut has_asked = false;
    let padded = [0, 1].map(|end| padded_size(seen, covered, end));
    for (place, one) in covered.iter().enumerate() {
        let Some((_, sender, packet)) = seen.get(one.index) else { continue };
        let (sender, bytes) = (*sender, packet.bytes);
        let frames = bytes.saturating_sub(one.overhead as u64 + NUMBER + TAG);
        // A larger packet than all before, without a second one of its size, looks for the MTU.
        let is_record = bytes > largest[sender].max(NO_PROBE);
        let next = covered[place + 1..].iter().filter_map(|next| seen.get(next.index));
        let is_alone = || {
            next.clone()
                .find(|(_, of, _)| *of == sender)
                .is_none_or(|(.., next)| next.bytes != bytes)
        };
        let is_probe = is_record && is_alone();
        largest[sender] = largest[sender].max(bytes);
        if frames <= NO_DATA || is_probe || padded[sender] == Some(bytes) {
            continue;
        }
        // What a server sends before any request are tickets of TLS and settings.
        has_asked |= sender == 0;
        if !has_asked {
            continue;
        }
        let length = frames - STREAM_HEADER;
        if let Some((.., packet)) = seen.get_mut(one.index) {
            packet.data.push(StreamPart { stream: 0, offset: offsets[sender], length });
            offsets[sender] += length;
        }
    }
}

/// Lets packets of the far end acknowledge data of the `near` one: each all that was sent an RTT
/// before, `rtt` nanoseconds. This shows no queue; what was tried to infer one says no rate, either
/// (decision 78).
fn acknowledge(seen: &mut [Seen], covered: &[Covered], near: usize, rtt: u64) {
    let mut data: Vec<(u64, u64)> = Vec::new();
    let mut done = 0;
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
            done = to;
        }
    }
}
