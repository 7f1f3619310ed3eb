//! When data can arrive at the earliest.

use super::ContactError;
use super::plan::{Contact, ContactPlan};
use bentpipe_units::{Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most packets that [`Route::last_arrival`] follows.
const MAX_PACKETS: u64 = 10_000_000;

impl ContactPlan {
    /// Returns when a packet of `bytes`, which `from` has at `at`, can arrive at `to` at the
    /// earliest, and the nodes that it passes, both ends included. It waits where it must.
    ///
    /// Dijkstra's algorithm over nodes: to have a packet earlier is never worse, since a node may
    /// keep it.
    ///
    /// # Errors
    /// A node has another name, or no contact brings the packet there.
    pub fn earliest_arrival(
        &self,
        from: &str,
        to: &str,
        at: Time,
        bytes: Bytes,
    ) -> Result<(Time, Vec<String>), ContactError> {
        let (first, last) = (self.node(from)?, self.node(to)?);
        let mut best: Vec<Option<(Time, usize)>> = vec![None; self.nodes().len()];
        best[first] = Some((at, first));
        let mut next = BinaryHeap::from([Reverse((at, first))]);
        while let Some(Reverse((now, node))) = next.pop() {
            if node == last {
                return Ok((now, self.way_back(&best, first, last)));
            }
            if best[node].is_some_and(|(known, _)| known < now) {
                continue;
            }
            for (to, contacts) in self.leaving(node) {
                let Some(arrival) = first_arrival(contacts, now, bytes) else { continue };
                if best[to].is_none_or(|(known, _)| arrival < known) {
                    best[to] = Some((arrival, node));
                    next.push(Reverse((arrival, to)));
                }
            }
        }
        Err(unreachable(from, to, at))
    }

    fn way_back(&self, best: &[Option<(Time, usize)>], first: usize, last: usize) -> Vec<String> {
        let mut nodes = vec![last];
        while let Some((_, before)) = best[nodes[nodes.len() - 1]]
            && nodes[nodes.len() - 1] != first
        {
            nodes.push(before);
        }
        nodes.iter().rev().map(|&node| self.nodes()[node].clone()).collect()
    }
}

fn unreachable(from: &str, to: &str, at: Time) -> ContactError {
    let after_s = at.since_start().as_nanos() / 1_000_000_000;
    ContactError::Unreachable { from: from.to_owned(), to: to.to_owned(), after_s }
}

/// Returns the earliest arrival over one link. Delays differ from contact to contact, so a later
/// contact may be the better one.
fn first_arrival(contacts: &[Contact], at: Time, bytes: Bytes) -> Option<Time> {
    let begin = contacts.partition_point(|contact| contact.end <= at);
    let mut best: Option<Time> = None;
    for contact in &contacts[begin..] {
        if best.is_some_and(|best| best <= contact.start) {
            break;
        }
        let arrival = contact.send(at, bytes).map(|(_, arrival)| arrival);
        best = best.into_iter().chain(arrival).min();
    }
    best
}

/// Least headers of a packet: IPv4 20 and TCP 20. QUIC has at least 48 (UDP 8, short header 2, tag
/// 16, STREAM frame 2).
const HEADERS: u64 = 40;
/// Least IP packet of either end in a handshake of QUIC: 1200 bytes of UDP (RFC 9000 §14.1).
const HANDSHAKE: Bytes = Bytes::new(1228);

/// Returns the bytes of `payload` with the headers that any transport needs in packets of `packet`
/// bytes.
pub fn wire_bytes(payload: Bytes, packet: Bytes) -> Bytes {
    let packets = payload.get().div_ceil(packet.get().saturating_sub(HEADERS).max(1)).max(1);
    Bytes::new(payload.get().saturating_add(packets.saturating_mul(HEADERS)))
}

/// A route through a plan: nodes in order, and the contacts between them.
#[derive(Debug, Clone)]
pub struct Route<'a> {
    nodes: Vec<String>,
    hops: Vec<&'a [Contact]>,
}

/// The times of a request and its answer over a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The client knows that the handshake is complete, and sends its request.
    pub connected: Time,
    /// The request has arrived.
    pub requested: Time,
    /// The first packet of the answer has arrived.
    pub first: Time,
    /// Its last packet has arrived.
    pub last: Time,
}

impl<'a> Route<'a> {
    /// Returns the route over `nodes`.
    ///
    /// # Errors
    /// A node has another name, there is one node alone, or a link has no contacts.
    pub fn new(plan: &'a ContactPlan, nodes: &[String]) -> Result<Self, ContactError> {
        if nodes.len() < 2 {
            let problem = "a route of one node carries nothing; allowed: at least two nodes";
            return Err(ContactError::File(problem.to_owned()));
        }
        let mut hops = Vec::new();
        for pair in nodes.windows(2) {
            let contacts = plan.link(&pair[0], &pair[1])?;
            if contacts.is_empty() {
                let (from, to) = (&pair[0], &pair[1]);
                let problem = format!(
                    "the plan has no contact from `{from}` to `{to}`; allowed: a route over links \
                        that it has"
                );
                return Err(ContactError::File(problem));
            }
            hops.push(contacts);
        }
        Ok(Self { nodes: nodes.to_vec(), hops })
    }

    /// Returns the names of its nodes.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Returns the contacts of each hop.
    pub fn hops(&self) -> &[&'a [Contact]] {
        &self.hops
    }

    /// Returns when the first and the last of `bytes` in packets of at most `packet` have arrived,
    /// if all are there to send at `at`.
    ///
    /// # Errors
    /// The plan ends before, or there are more than ten million packets.
    pub fn last_arrival(
        &self,
        at: Time,
        bytes: Bytes,
        packet: Bytes,
    ) -> Result<(Time, Time), ContactError> {
        let packet = packet.get().max(1);
        let count = bytes.get().div_ceil(packet).max(1);
        if count > MAX_PACKETS {
            let problem = format!("{count} packets are too many to follow; allowed: {MAX_PACKETS}");
            return Err(ContactError::File(problem));
        }
        let mut hops: Vec<Transmitter<'_>> =
            self.hops.iter().map(|contacts| Transmitter::new(contacts)).collect();
        let (mut first, mut last) = (None, at);
        for index in 0..count {
            let size = Bytes::new((bytes.get() - index * packet).clamp(1, packet));
            let mut arrival = at;
            for hop in &mut hops {
                arrival = hop.forward(arrival, size).ok_or_else(|| {
                    unreachable(&self.nodes[0], &self.nodes[self.nodes.len() - 1], at)
                })?;
            }
            first = first.or(Some(arrival));
            last = last.max(arrival);
        }
        Ok((first.unwrap_or(last), last))
    }

    /// Returns the times of a request of `request` bytes over this route and an answer of `answer`
    /// bytes over `back`, headers included ([`wire_bytes`]). Without `early_data`, a handshake of
    /// one round trip goes before: the smallest packet of each end that QUIC allows.
    ///
    /// # Errors
    /// The plan ends before.
    pub fn exchange(
        &self,
        back: &Route<'_>,
        at: Time,
        (request, answer): (Bytes, Bytes),
        packet: Bytes,
        early_data: bool,
    ) -> Result<Exchange, ContactError> {
        let connected = if early_data {
            at
        } else {
            let least = HANDSHAKE.min(packet);
            let (_, asked) = self.last_arrival(at, least, packet)?;
            back.last_arrival(asked, least, packet)?.1
        };
        let (_, requested) = self.last_arrival(connected, request, packet)?;
        let (first, last) = back.last_arrival(requested, answer, packet)?;
        Ok(Exchange { connected, requested, first, last })
    }
}

/// A transmitter that sends packets in the order of their arrival.
#[derive(Debug)]
struct Transmitter<'a> {
    contacts: &'a [Contact],
    /// The contact in use.
    index: usize,
    free_at: Time,
}

impl<'a> Transmitter<'a> {
    fn new(contacts: &'a [Contact]) -> Self {
        Self { contacts, index: 0, free_at: Time::ZERO }
    }

    /// Returns when a packet that has come at `at` arrives at the next node.
    fn forward(&mut self, at: Time, bytes: Bytes) -> Option<Time> {
        let at = at.max(self.free_at);
        while let Some(contact) = self.contacts.get(self.index) {
            if let Some((left, arrival)) = contact.send(at, bytes) {
                self.free_at = left;
                return Some(arrival);
            }
            self.index += 1;
        }
        None
    }
}

impl Route<'_> {
    /// Returns the longest gap between two contacts of a hop.
    pub fn longest_gap(&self) -> Span {
        let gaps = self.hops.iter().flat_map(|contacts| contacts.windows(2));
        gaps.map(|pair| pair[1].start.since(pair[0].end)).max().unwrap_or_default()
    }
}
