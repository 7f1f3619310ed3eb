//! What a capture has that is no connection to read.

use super::layers::Kind;
use super::quic::Version;
use super::table::Flow;
use crate::summary::Protocol;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Most kinds of packets that are told apart.
const MAX_KINDS: usize = 64;
/// Most kinds, and most ports, that are named.
const NAMED: usize = 6;
/// Port of HTTP/3.
const HTTPS: u16 = 443;

/// Counts the packets that are neither TCP nor UDP.
#[derive(Debug, Default)]
pub struct Others {
    counts: BTreeMap<Kind, u64>,
    /// Those of further kinds.
    more: u64,
}

impl Others {
    /// Adds a packet.
    pub fn add(&mut self, kind: Kind) {
        if self.counts.len() < MAX_KINDS || self.counts.contains_key(&kind) {
            *self.counts.entry(kind).or_default() += 1;
        } else {
            self.more += 1;
        }
    }

    /// Says what the capture has, with these connections and the number of packets of each, and
    /// others that were left out.
    pub fn describe<'a>(
        &self,
        flows: impl Iterator<Item = (&'a Flow, usize)>,
        left_out: usize,
    ) -> String {
        let mut empty = 0;
        let mut ports: BTreeMap<u16, u64> = BTreeMap::new();
        let mut unread = BTreeMap::new();
        for (flow, packets) in flows {
            match flow.protocol {
                Protocol::Tcp => empty += 1,
                Protocol::Quic | Protocol::Udp => {
                    *ports.entry(port(flow)).or_default() += packets as u64;
                    if let Some(version) = flow.unread {
                        unread.entry(port(flow)).or_insert(version);
                    }
                }
            }
        }
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let mut parts = Vec::new();
        if empty > 0 {
            parts.push(format!("{empty} TCP connection{} without data", plural(empty)));
        }
        parts.extend(most(ports).map(|(port, count)| {
            let hint = match unread.get(&port) {
                Some(version) => format!(" ({version}; {})", Version::READ),
                None if port == HTTPS => " (QUIC begins with its handshake)".to_owned(),
                None => String::new(),
            };
            format!("{count} UDP packet{} to port {port}{hint}", plural(count))
        }));
        parts.extend(most(self.counts.clone()).map(|(kind, count)| kind.words(count)));
        if left_out > 0 {
            parts.push(format!("{left_out} connection{} more", plural(left_out as u64)));
        }
        if self.more > 0 {
            parts.push(format!("{} packet{} of other kinds", self.more, plural(self.more)));
        }
        if parts.is_empty() { "no packets".to_owned() } else { parts.join(", ") }
    }
}

/// Returns the port of the server.
fn port(flow: &Flow) -> u16 {
    let [a, b]: [SocketAddr; 2] = flow.ends;
    if flow.client == a { b.port() } else { a.port() }
}

/// Returns the rows with the highest counts.
fn most<K: Ord>(counts: BTreeMap<K, u64>) -> impl Iterator<Item = (K, u64)> {
    let mut rows: Vec<(K, u64)> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| Reverse(*count));
    rows.into_iter().take(NAMED)
}
