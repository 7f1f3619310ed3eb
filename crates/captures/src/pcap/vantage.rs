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

/// Returns the end that is nearer to the capture, and whether it is near.
pub fn vantage(segments: &[(u64, Box<Segment<'_>>)], client: SocketAddr) -> (Side, bool) {
    let (mut syn, mut answer) = (None, None);
    let mut to_server: Option<u64> = None;
    for (at, one) in segments {
        match (one.syn, one.ack) {
            (true, None) => syn = Some(*at),
            (true, Some(_)) => {
                // Of repeated ones those that follow each other.
                let took = syn.map(|syn| at.saturating_sub(syn));
                to_server = [to_server, took].into_iter().flatten().min();
                answer = Some(*at);
            }
            (false, _) if one.from == client => {
                if let (Some(to_server), Some(answer)) = (to_server, answer) {
                    return nearer(to_server, at.saturating_sub(answer));
                }
            }
            _ => {}
        }
    }
    late(segments, client).unwrap_or((Side::Client, false))
}

/// Returns the nearer end by the times between the capture and each end, in both directions.
fn nearer(to_server: u64, to_client: u64) -> (Side, bool) {
    let (server, client) = (to_server as f64, to_client as f64);
    let near = server.min(client) <= NEAR * (server + client);
    (if to_server < to_client { Side::Server } else { Side::Client }, near)
}

/// Returns the nearer end of a connection whose handshake is missing; `None` if nothing shows it.
fn late(segments: &[(u64, Box<Segment<'_>>)], client: SocketAddr) -> Option<(Side, bool)> {
    // The time from what one end sends to the answer of the other.
    let beyond = |by_client: bool| {
        let is_own = |one: &Segment<'_>| (one.from == client) == by_client;
        let data = |one: &Segment<'_>| {
            (is_own(one) && one.length > 0).then_some(one.seq.wrapping_add(one.length))
        };
        let acknowledgement = |one: &Segment<'_>| one.ack.filter(|_| !is_own(one));
        let timestamp = |one: &Segment<'_>| one.timestamps.filter(|_| is_own(one)).map(|two| two.0);
        let echo = |one: &Segment<'_>| one.timestamps.filter(|_| !is_own(one)).map(|two| two.1);
        answered(segments, data, acknowledgement).or_else(|| answered(segments, timestamp, echo))
    };
    match (beyond(true), beyond(false)) {
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

/// Returns the shortest time in ns from a segment with a new number, of a circle of 32 bits, to the
/// first one that answers this number or a later one.
fn answered(
    segments: &[(u64, Box<Segment<'_>>)],
    number: impl Fn(&Segment<'_>) -> Option<u32>,
    answer: impl Fn(&Segment<'_>) -> Option<u32>,
) -> Option<u64> {
    let mut waiting: VecDeque<(u64, u32)> = VecDeque::new();
    let mut highest: Option<u32> = None;
    let mut shortest: Option<u64> = None;
    for (at, one) in segments {
        if let Some(number) = number(one)
            && highest.is_none_or(|highest| number.wrapping_sub(highest) as i32 > 0)
        {
            // What was sent before is not measured again (Karn's rule).
            highest = Some(number);
            if waiting.len() < MAX_WAITING {
                waiting.push_back((*at, number));
            }
        }
        if let Some(answer) = answer(one) {
            let mut latest = None;
            while let Some(&(sent, number)) = waiting.front()
                && answer.wrapping_sub(number) as i32 >= 0
            {
                latest = Some(sent);
                waiting.pop_front();
            }
            let took = latest.map(|sent| at.saturating_sub(sent));
            shortest = [shortest, took].into_iter().flatten().min();
        }
    }
    shortest
}
