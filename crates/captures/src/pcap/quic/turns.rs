//! Turns of requests and answers in a connection whose packets are not opened.

use super::ack_sizes::NO_DATA;
use super::covered::{Covered, Seen};
use std::collections::BTreeSet;

/// Share of the RTT from which on a silence of the server is one between answers.
const SILENCE: f64 = 0.3;
/// Fewest turns, and the share of the server's silences that are.
const LEAST: usize = 3;
const OF_SILENCES: f64 = 0.6;
/// Packets of a first window (RFC 9002 §7.2): a sender that may send so many, and stops before with
/// a packet that is not full, has no more to send.
const FIRST_WINDOW: usize = 10;
/// Size of full packets on any path (RFC 9000 §14).
const SMALL_MTU: u64 = 1200;
/// Bytes by which a request is longer than the shortest packet beside it, which only acknowledges:
/// the header of a STREAM frame has 3 and more, and that of HTTP/3 in it 2 (RFC 9114 §7.1).
const LONGER: u64 = 5;
/// Share of the RTT before which no answer comes.
const SOONEST: f64 = 0.9;
/// Share of the RTT of the handshake below which turns show that this waited on its way.
const QUICKER: f64 = 0.75;

/// What the server sends without a silence in between: when its first and its last packet with data
/// passed, in nanoseconds, how many those are, and the bytes of the largest and of the last.
#[derive(Debug)]
struct Answer {
    first: u64,
    last: u64,
    packets: usize,
    largest: u64,
    end: u64,
}

impl Answer {
    /// Returns true if the server had no more to send after it.
    fn is_whole(&self) -> bool {
        self.packets < FIRST_WINDOW && self.end < self.largest.max(SMALL_MTU)
    }
}

/// Returns the answers in packets of the server that have data: when each passed, and its bytes.
fn answers(data: impl Iterator<Item = (u64, u64)>, rtt: u64) -> Vec<Answer> {
    let silence = (rtt as f64 * SILENCE) as u64;
    let mut found: Vec<Answer> = Vec::new();
    for (at, bytes) in data {
        match found.last_mut() {
            Some(one) if at.saturating_sub(one.last) < silence => {
                one.last = at;
                one.packets += 1;
                one.largest = one.largest.max(bytes);
                one.end = bytes;
            }
            _ => found.push(Answer { first: at, last: at, packets: 1, largest: bytes, end: bytes }),
        }
    }
    found
}

/// Returns true if so many turns between so many answers are how the connection goes.
fn are_turns(turns: usize, answers: usize) -> bool {
    turns >= LEAST && turns as f64 >= OF_SILENCES * answers.saturating_sub(1) as f64
}

/// Returns the places among `covered` of requests that are as short as acknowledgements, if the
/// connection goes by turns: between two answers, the first of which was all that the server had,
/// the longest packet of the client. `frames` says the bytes of frames in a packet.
pub fn short_asks(
    seen: &[Seen],
    covered: &[Covered],
    frames: impl Fn(&Covered) -> u64,
    rtt: u64,
) -> BTreeSet<usize> {
    let of_end = |end: usize| {
        let all = covered.iter().enumerate();
        let all = all.filter_map(|(place, one)| Some((place, one, seen.get(one.index)?)));
        all.filter(move |(.., (_, sender, _))| *sender == end)
    };
    let data = of_end(1).filter(|(_, one, _)| frames(one) > NO_DATA);
    let answers = answers(data.map(|(.., (at, _, packet))| (*at, packet.bytes)), rtt);
    let client: Vec<(usize, u64, u64)> =
        of_end(0).map(|(place, _, (at, _, packet))| (place, *at, packet.bytes)).collect();
    let soonest = (rtt as f64 * SOONEST) as u64;
    let mut turns = 0;
    let mut found = BTreeSet::new();
    for two in answers.windows(2) {
        let [one, next] = two else { continue };
        let begin = client.partition_point(|(_, at, _)| *at < one.first);
        let within = client.get(begin..).unwrap_or_default();
        let within = within.get(..within.partition_point(|(_, at, _)| *at < next.first));
        let within = within.unwrap_or_default();
        let shortest = within.iter().map(|(.., bytes)| *bytes).min().unwrap_or_default();
        // A capture at the server shows a request a round trip after the answer before it, one at
        // the client a round trip before its own.
        let fits = |at: u64| at >= one.first + soonest || at + soonest <= next.first;
        let after = within.iter().filter(|(_, at, _)| *at >= one.last && fits(*at));
        let longest = after.max_by_key(|(.., bytes)| *bytes);
        let longest = longest.filter(|(.., bytes)| *bytes >= shortest + LONGER);
        if let Some((place, ..)) = longest.filter(|_| one.is_whole()) {
            turns += 1;
            found.insert(*place);
        }
    }
    if are_turns(turns, answers.len()) { found } else { BTreeSet::new() }
}

/// Returns the RTT that requests show in the file of the server, if it is much shorter than the
/// `known` one of the handshake, which waited on its way then: the shortest time from an answer
/// until the next request. `None` if there are few such turns.
pub fn quickest(seen: &[Seen], known: u64) -> Option<u64> {
    let with_data = |end: usize| {
        let data = seen.iter().filter(move |(_, sender, packet)| {
            *sender == end && packet.is_application && !packet.data.is_empty()
        });
        data.map(|(at, _, packet)| (*at, packet.bytes))
    };
    let answers = answers(with_data(1), known);
    let asks: Vec<u64> = with_data(0).map(|(at, _)| at).collect();
    let turns: Vec<u64> = answers
        .windows(2)
        .filter_map(|two| {
            let [one, next] = two else { return None };
            let asked = *asks.get(asks.partition_point(|at| *at <= one.last))?;
            (asked <= next.first).then_some(asked.saturating_sub(one.first))
        })
        .collect();
    let quickest = turns.iter().copied().min()?;
    let is_quicker = (quickest as f64) < QUICKER * known as f64;
    (are_turns(turns.len(), answers.len()) && is_quicker).then_some(quickest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Packet, StreamPart};

    const MS: u64 = 1_000_000;

    /// Five answers of `sizes`, and before each but the first, `wait` ms after the one before, what
    /// the client sends: two packets that acknowledge and one of `asked` bytes.
    fn turns(sizes: &[u64], asked: u64, wait: u64) -> (Vec<Seen>, Vec<Covered>) {
        let mut seen: Vec<Seen> = Vec::new();
        let mut add = |at: u64, sender, bytes: u64| {
            let part = StreamPart { stream: 0, offset: 0, length: bytes };
            let data = if bytes > 60 { vec![part] } else { Vec::new() };
            let packet =
                Packet { is_application: true, bytes, data: data.into(), ..Packet::default() };
            seen.push((at * MS, sender, packet));
        };
        let mut now = 0;
        for turn in 0..5 {
            if turn > 0 {
                now += wait;
                [33, asked, 33].iter().for_each(|bytes| add(now, 0, *bytes));
            }
            for (after, bytes) in (1..).zip(sizes) {
                add(now + after, 1, *bytes);
            }
        }
        let of = |index| Covered { index, overhead: 9, spin: None };
        let covered = (0..seen.len()).map(of).collect();
        (seen, covered)
    }

    fn found(sizes: &[u64], asked: u64) -> usize {
        let (seen, covered) = turns(sizes, asked, 300);
        let frames = |one: &Covered| seen[one.index].2.bytes - 27;
        let asks = short_asks(&seen, &covered, frames, 300 * MS);
        assert!(asks.iter().all(|place| seen[*place].2.bytes == asked));
        asks.len()
    }

    #[test]
    fn the_longest_packet_between_whole_answers_is_a_request() {
        assert_eq!(found(&[1200, 1200, 130], 39), 4);
        assert_eq!(found(&[1200, 1200, 130], 36), 0, "an acknowledgement that names a gap");
        assert_eq!(found(&[1200, 1200, 1200], 39), 0, "the server had more to send");
        assert_eq!(found(&[1200; 12], 39), 0, "a window");
        let limit: Vec<u64> = [[1200; 12].as_slice(), &[130]].concat();
        assert_eq!(found(&limit, 39), 0, "a limit of flow control");
    }

    #[test]
    fn requests_that_come_sooner_than_the_handshake_took_show_that_this_waited() {
        let (seen, _) = turns(&[1200, 1200, 130], 80, 300);
        assert_eq!(quickest(&seen, 900 * MS), Some(299 * MS));
        assert_eq!(quickest(&seen, 310 * MS), None, "as long");
        let (seen, _) = turns(&[1200, 1200, 130], 39, 300);
        assert_eq!(quickest(&seen, 900 * MS), None, "nothing was asked");
    }
}
