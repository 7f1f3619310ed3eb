//! Which end of a connection a capture was made at.
//!
//! The RTT has two parts, one on each side of the capture: at an end, one of them is close to zero.
//! The handshake shows both. A capture without it shows the part beyond each end's data by the time
//! that this takes to be acknowledged and, with TCP timestamps, by the time until they are echoed.

use super::segment::Segment;
use crate::event::Side;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Note on a capture that was not made at an end.
pub const BETWEEN: &str = "the capture was made between the ends: RTTs are those of the part of \
    the path beyond it, seen from the nearer end";
/// Share of the RTT up to which the near end counts as the end that recorded.
const NEAR: f64 = 0.1;
/// Time in ns within which a receiver acknowledges at least some segments: one of two at once
/// (RFC 5681 §4.2).
const PROMPT: u64 = 1_000_000;
/// Most segments that wait for an acknowledgement or an echo.
const MAX_WAITING: usize = 4096;

/// Returns the end that is nearer to the capture, and whether it is near. `segments` are in the
/// order of their times in ns.
pub fn vantage<'a>(
    segments: impl Iterator<Item = (u64, Segment<'a>)>,
    client: SocketAddr,
) -> (Side, bool) {
    let (mut syn, mut answer) = (None, None);
    let mut to_server: Option<u64> = None;
    let mut late = Late::default();
    for (at, one) in segments {
        late.add(at, &one, client);
        match (one.syn, one.ack) {
            (true, None) => syn = Some(at),
            (true, Some(_)) => {
                // Of repeated ones those that follow each other.
                let took = syn.map(|syn| at.saturating_sub(syn));
                to_server = [to_server, took].into_iter().flatten().min();
                answer = Some(at);
            }
            (false, _) if one.from == client => {
                if let (Some(to_server), Some(answer)) = (to_server, answer) {
                    return nearer(to_server, at.saturating_sub(answer));
                }
            }
            _ => {}
        }
    }
    late.vantage().unwrap_or((Side::Client, false))
}

/// Returns the nearer end by the times between the capture and each end, in both directions.
fn nearer(to_server: u64, to_client: u64) -> (Side, bool) {
    let (server, client) = (to_server as f64, to_client as f64);
    let near = server.min(client) <= NEAR * (server + client);
    (if to_server < to_client { Side::Server } else { Side::Client }, near)
}

/// What shows the nearer end of a connection whose handshake is missing: the times from what the
/// client, and the server, sends to the answers of the other end.
#[derive(Debug, Default)]
struct Late {
    data: [Answered; 2],
    timestamps: [Answered; 2],
}

impl Late {
    fn add(&mut self, at: u64, one: &Segment<'_>, client: SocketAddr) {
        let sender = usize::from(one.from != client);
        let end = (one.length > 0).then_some(one.seq.wrapping_add(one.length));
        if let Some(end) = end {
            self.data[sender].sent(at, end);
        }
        if let Some(ack) = one.ack {
            self.data[1 - sender].answered(at, ack);
        }
        if let Some((own, echo)) = one.timestamps {
            self.timestamps[sender].sent(at, own);
            self.timestamps[1 - sender].answered(at, echo);
        }
    }

    /// Returns the nearer end, and whether it is near; `None` if nothing shows it.
    fn vantage(&self) -> Option<(Side, bool)> {
        let beyond = |end: usize| self.data[end].shortest.or(self.timestamps[end].shortest);
        match (beyond(0), beyond(1)) {
            (Some(to_server), Some(to_client)) => Some(nearer(to_server, to_client)),
            // What is acknowledged at once is acknowledged here.
            (Some(to_server), None) => {
                Some((if to_server < PROMPT { Side::Server } else { Side::Client }, true))
            }
            (None, Some(to_client)) => {
                Some((if to_client < PROMPT { Side::Client } else { Side::Server }, true))
            }
            (None, None) => None,
        }
    }
}

/// Finds the shortest time in ns from a segment with a new number, of a circle of 32 bits, to the
/// first one that answers this number or a later one.
#[derive(Debug, Default)]
struct Answered {
    waiting: VecDeque<(u64, u32)>,
    highest: Option<u32>,
    shortest: Option<u64>,
}

impl Answered {
    fn sent(&mut self, at: u64, number: u32) {
        if self.highest.is_none_or(|highest| number.wrapping_sub(highest) as i32 > 0) {
            // What was sent before is not measured again (Karn's rule).
            self.highest = Some(number);
            if self.waiting.len() < MAX_WAITING {
                self.waiting.push_back((at, number));
            }
        }
    }

    fn answered(&mut self, at: u64, answer: u32) {
        let mut latest = None;
        while let Some(&(sent, number)) = self.waiting.front()
            && answer.wrapping_sub(number) as i32 >= 0
        {
            latest = Some(sent);
            self.waiting.pop_front();
        }
        let took = latest.map(|sent| at.saturating_sub(sent));
        self.shortest = [self.shortest, took].into_iter().flatten().min();
    }
}
