//! A capture with its connections.

use super::annotate::{Comments, annotated};
use super::connection;
use super::contents::Others;
use super::copies::copies;
use super::file::{Format, records};
use super::quic::{self, KeyLog, Version};
use super::record::{CapturedPacket, Record};
use super::segment::{Carried, Datagram, read};
use super::table::{Entry, Flow, Table, traffic};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, MAX_SPAN};
use crate::summary::{ConnectionSummary, Protocol};
use bentpipe_units::{Span, Time};
use std::ops::Range;

/// Most packets of a connection that are explained, its first ones: about 600 MB without receive
/// offload, and 300 MB of memory.
const MAX_PACKETS: usize = 1_000_000;

/// Most packets of one time among which that of a comment is looked for.
const MOST: usize = 64;

/// Returns true if the bytes begin as a capture does.
pub(crate) fn is_capture(bytes: &[u8]) -> bool {
    Format::of(bytes).is_some()
}

/// The connections of a capture. The bytes of its packets stay in the file.
#[derive(Debug)]
pub(crate) struct Capture {
    /// Packets by connection and time.
    entries: Vec<Entry>,
    /// Connections by their data, with their packets.
    flows: Vec<(Flow, Range<usize>)>,
    summaries: Vec<ConnectionSummary>,
    keys: KeyLog,
    /// True if the file was read to its end.
    is_complete: bool,
    left_out: usize,
    others: Others,
    /// Most packets of a connection that are read.
    most: usize,
}

impl Capture {
    /// Reads the capture `bytes`, with the content of a key log.
    pub fn new(bytes: &[u8], keys: &[u8]) -> Self {
        Self::with_most(bytes, keys, MAX_PACKETS)
    }

    /// Reads the capture `bytes`, with this many packets of each connection at `most`.
    fn with_most(bytes: &[u8], keys: &[u8], most: usize) -> Self {
        let mut table = Table::default();
        let mut others = Others::default();
        let mut key_log = KeyLog::default();
        key_log.add(keys);
        let is_complete = records(bytes, |record| match record {
            Record::KeyLog(text) => key_log.add(text),
            Record::Packet(packet) => match read(&packet) {
                Carried::Tcp(segment) => table.add_segment(&packet, &segment),
                Carried::Udp(datagram) => table.add_datagram(&packet, &datagram),
                Carried::Other(kind) => others.add(kind),
            },
        });
        table.shrink();
        let Table { mut flows, mut entries, left_out, .. } = table;
        entries.sort_unstable_by_key(|entry| (entry.flow, entry.at, entry.start));
        leave_out_copies(&mut entries, &mut flows, most);
        let mut capture = Self {
            flows: Vec::new(),
            summaries: Vec::new(),
            keys: key_log,
            is_complete,
            left_out,
            others,
            most,
            entries,
        };
        capture.list(flows);
        capture
    }

    /// Lists the connections, those with most data first.
    fn list(&mut self, flows: Vec<Flow>) {
        let start = self.entries.iter().map(|entry| entry.at).min().unwrap_or_default();
        let mut rows = Vec::new();
        let mut from = 0;
        for (index, flow) in flows.into_iter().enumerate() {
            let to = self.entries.partition_point(|entry| entry.flow as usize <= index);
            rows.push((self.summary(&flow, from..to, start), flow, from..to));
            from = to;
        }
        rows.sort_by_key(|(summary, ..)| (std::cmp::Reverse(summary.bytes()), summary.start));
        for (mut summary, flow, range) in rows {
            summary.number = self.summaries.len() + 1;
            self.summaries.push(summary);
            self.flows.push((flow, range));
        }
    }

    fn summary(&self, flow: &Flow, range: Range<usize>, start: u64) -> ConnectionSummary {
        let entries = &self.entries[range];
        let [to_server, to_client] = traffic(entries);
        let server = if flow.client == flow.ends[0] { flow.ends[1] } else { flow.ends[0] };
        let first = entries.first().map_or(start, |entry| entry.at);
        let data = to_server.bytes + to_client.bytes;
        let problem = match flow.protocol {
            _ if !flow.has_times => Some("the file has no times for its packets".to_owned()),
            Protocol::Tcp if data == 0 => Some("it has no data".to_owned()),
            Protocol::Tcp | Protocol::Quic => None,
            Protocol::Udp => Some(match flow.unread {
                Some(version) => format!("it is {version}; {}", Version::READ),
                None => "it has no handshake of QUIC".to_owned(),
            }),
        };
        ConnectionSummary {
            number: 0,
            protocol: flow.protocol,
            title: String::new(),
            client: flow.client.to_string(),
            server: server.to_string(),
            start: Time::ZERO + Span::from_nanos(first.saturating_sub(start)).min(MAX_SPAN),
            to_server,
            to_client,
            problem,
        }
    }

    /// Returns the connections, those with most data first.
    pub fn summaries(&self) -> &[ConnectionSummary] {
        &self.summaries
    }

    /// Says what the capture has.
    pub fn describe(&self) -> String {
        let flows = self.flows.iter().map(|(flow, range)| (flow, range.len()));
        self.others.describe(flows, self.left_out)
    }

    /// Returns the number of connections that are not listed.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Reads the connection at `index` of the list; `bytes` are those of the file.
    ///
    /// # Errors
    /// There is no such connection, or it cannot be read.
    pub fn read(&self, bytes: &[u8], index: usize) -> Result<CapturedConnection, CaptureError> {
        let Some((flow, range)) = self.flows.get(index) else {
            return Err(CaptureError::NoSuchConnection { number: index + 1, of: self.flows.len() });
        };
        let all = &self.entries[range.clone()];
        if !flow.has_times {
            return Err(CaptureError::Empty("the file has no times for the packets"));
        }
        // Copies were looked for among the first ones alone.
        let entries = all.get(..self.most.saturating_sub(flow.copies)).unwrap_or(all);
        let mut connection = self.convert(bytes, flow, entries)?;
        if entries.len() < all.len() {
            connection.notes.push(format!(
                "the connection has {} packets: its first {} are explained, and what followed them \
                 is not",
                all.len(),
                entries.len()
            ));
        }
        match flow.copies {
            0 => {}
            1 => connection.notes.push("a copy of a packet was left out".to_owned()),
            count => connection.notes.push(format!(
                "{count} copies of packets were left out: packets were captured more than once, \
                 at a mirror port or on several interfaces"
            )),
        }
        Ok(connection)
    }

    /// Returns the file `bytes` as pcapng with comments on packets of the connection at `index`:
    /// each on the first that has its time, in that connection, or a later one.
    pub fn annotated(&self, bytes: &[u8], index: usize, comments: &[(Time, String)]) -> Vec<u8> {
        let range = self.flows.get(index).map_or(0..0, |(_, range)| range.clone());
        let entries = &self.entries[range];
        let start = entries.first().map_or(0, |entry| entry.at);
        let mut of_packets = Comments::new();
        for (at, text) in comments {
            let at = start.saturating_add(at.since_start().as_nanos());
            let place = entries.partition_point(|entry| entry.at < at);
            // What is said twice of one time is said of two packets.
            let has = |entry: &&Entry| {
                let comment = of_packets.get(&(entry.start as usize));
                comment.is_some_and(|comment| comment.ends_with(text))
            };
            let mut same = entries[place..].iter().take_while(|entry| entry.at == at).take(MOST);
            let entry = same.find(|entry| !has(entry)).or(entries.get(place)).or(entries.last());
            let Some(entry) = entry else { continue };
            let comment = of_packets.entry(entry.start as usize).or_default();
            if !comment.is_empty() {
                comment.push('\n');
            }
            comment.push_str(text);
        }
        annotated(bytes, &of_packets)
    }

    /// Returns a connection of these packets.
    fn convert(
        &self,
        bytes: &[u8],
        flow: &Flow,
        entries: &[Entry],
    ) -> Result<CapturedConnection, CaptureError> {
        let unreadable = usize::from(!self.is_complete);
        let content = |entry: &Entry| {
            let start = entry.start as usize;
            let packet = CapturedPacket {
                at: Some(entry.at),
                link_type: entry.link_type,
                wire: entry.wire,
                data: bytes.get(start..start + entry.kept as usize)?,
                start,
            };
            Some((entry.at, read(&packet)))
        };
        match flow.protocol {
            Protocol::Tcp => {
                let segment = |entry: &Entry| match content(entry)? {
                    (at, Carried::Tcp(segment)) => Some((at, segment)),
                    _ => None,
                };
                let segments = || entries.iter().filter_map(segment);
                Ok(connection::trace(segments, flow.client, unreadable))
            }
            Protocol::Quic => {
                let datagram = |entry: &Entry| match content(entry)? {
                    (at, Carried::Udp(datagram)) => Some((at, datagram)),
                    _ => None,
                };
                let datagrams: Vec<(u64, Datagram<'_>)> =
                    entries.iter().filter_map(datagram).collect();
                match flow.quic {
                    Some(connection) => {
                        Ok(quic::trace(&datagrams, unreadable, connection, &self.keys))
                    }
                    None => Err(CaptureError::NoConnection { found: self.describe() }),
                }
            }
            Protocol::Udp => Err(CaptureError::NoHandshake),
        }
    }
}

/// Leaves out the copies of packets that were captured more than once, among the first `most` of
/// each connection: what follows is not read. `entries` are in the order of connections and times,
/// and stay in it.
fn leave_out_copies(entries: &mut Vec<Entry>, flows: &mut [Flow], most: usize) {
    let (mut kept, mut next) = (0, 0);
    while let Some(first) = entries.get(next).map(|entry| entry.flow) {
        let all = entries.get(next..).unwrap_or_default();
        let count = all.partition_point(|entry| entry.flow == first);
        let flow = flows.get_mut(first as usize).filter(|flow| flow.has_times);
        // Nothing is looked for in a connection that is not read.
        let tried = if flow.is_some() { count.min(most) } else { 0 };
        let marks = copies(all.get(..tried).unwrap_or_default());
        if let Some(flow) = flow {
            flow.copies = marks.iter().filter(|is_copy| **is_copy).count();
        }
        for index in 0..count {
            if marks.get(index).is_none_or(|is_copy| !is_copy) {
                entries.swap(kept, next + index);
                kept += 1;
            }
        }
        next += count;
    }
    entries.truncate(kept);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::account;
    use crate::pcap::tests::samples::{SEGMENT, download, pcap};

    #[test]
    fn of_a_connection_with_too_many_packets_the_first_ones_are_explained() {
        let bytes = pcap(&download(400));
        let read = |most| Capture::with_most(&bytes, &[], most).read(&bytes, 0).unwrap();
        let whole = account(&read(1_000_000), None).unwrap();
        let first = read(300);
        let begin = account(&first, None).unwrap();
        assert!(first.notes.iter().any(|note| note.contains("its first 300 are explained")));
        assert!(begin.bytes < whole.bytes && begin.bytes.get() > 100 * u64::from(SEGMENT));
        assert!(begin.completion < whole.completion);
    }
}
