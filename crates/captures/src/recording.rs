//! A file with connections: qlog, a NetLog or a capture.

use crate::decompress::decompressed;
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Packet, Side};
use crate::file_kind;
use crate::logs;
use crate::pcap::{Capture, is_capture};
use crate::source::{MAX_KEYS, MAX_SIZE, content};
use crate::summary::{ConnectionSummary, Protocol, Traffic};
use bentpipe_units::Time;
use std::path::Path;
use std::sync::Arc;

/// Most connections of QUIC that are tried for the one with the most data.
const TRIES: usize = 8;

/// A file with its connections.
#[derive(Debug)]
pub struct Recording {
    content: Content,
}

#[derive(Debug)]
enum Content {
    Capture { bytes: Vec<u8>, capture: Capture },
    Qlog { connections: Vec<Arc<CapturedConnection>>, summaries: Vec<ConnectionSummary> },
}

impl Recording {
    /// Reads a qlog file (a JSON text sequence, JSON lines or a document), a NetLog of Chromium, or
    /// a pcap or pcapng capture, each as it is or compressed with gzip or Zstandard; the path `-`
    /// is standard input. A connection of QUIC in a capture
    /// needs its keys: in the capture, or in the file `keys`, in the form of `SSLKEYLOGFILE`.
    ///
    /// # Errors
    /// A file cannot be read, is neither a regular file nor a pipe, or is too large; the file is
    /// neither qlog nor a capture; `keys` is given for a qlog file.
    pub fn open(path: &Path, keys: Option<&Path>) -> Result<Self, CaptureError> {
        Self::with_keys(decompressed(content(path, MAX_SIZE)?, MAX_SIZE)?, keys)
    }

    /// Reads the content of a file, with the key log at a path.
    pub(crate) fn with_keys(bytes: Vec<u8>, keys: Option<&Path>) -> Result<Self, CaptureError> {
        let keys = match keys {
            Some(_) if !is_capture(&bytes) => return Err(CaptureError::NotCapture),
            Some(keys) => content(keys, MAX_KEYS)?,
            None => Vec::new(),
        };
        Self::of(bytes, &keys)
    }

    /// Reads the content of a qlog file or of a capture, compressed or not, with the content of a
    /// key log.
    ///
    /// # Errors
    /// It is neither, or a capture without a connection.
    pub fn parse(bytes: Vec<u8>, keys: &[u8]) -> Result<Self, CaptureError> {
        Self::of(decompressed(bytes, MAX_SIZE)?, keys)
    }

    fn of(bytes: Vec<u8>, keys: &[u8]) -> Result<Self, CaptureError> {
        let content = if is_capture(&bytes) {
            let capture = Capture::new(&bytes, keys);
            if capture.summaries().is_empty() {
                return Err(CaptureError::NoConnection { found: capture.describe() });
            }
            Content::Capture { bytes, capture }
        } else {
            let mut logged = logs::connections(&bytes).map_err(|error| match error {
                CaptureError::NotQlog(reason) => {
                    let kind = file_kind::describe(&bytes).map(|kind| format!("it is {kind}"));
                    CaptureError::NotQlog(kind.unwrap_or(reason))
                }
                other => other,
            })?;
            logged.sort_by_key(|(_, one)| std::cmp::Reverse(one.stream_bytes()));
            let summaries = logged.iter().enumerate().map(summary_of_qlog).collect();
            let connections =
                logged.into_iter().map(|(_, connection)| Arc::new(connection)).collect();
            Content::Qlog { connections, summaries }
        };
        Ok(Self { content })
    }

    /// Returns the connections of the file: those with the most data first.
    pub fn connections(&self) -> &[ConnectionSummary] {
        match &self.content {
            Content::Capture { capture, .. } => capture.summaries(),
            Content::Qlog { summaries, .. } => summaries,
        }
    }

    /// Returns the number of connections that [`Self::connections`] does not list: a capture keeps
    /// the 65,536 with the most data.
    pub fn left_out(&self) -> usize {
        match &self.content {
            Content::Capture { capture, .. } => capture.left_out(),
            Content::Qlog { .. } => 0,
        }
    }

    /// Reads the connection at `index` of [`Self::connections`].
    ///
    /// # Errors
    /// There is none, or it cannot be read: it has no data, too many packets, or it is UDP without
    /// the handshake of a QUIC connection.
    pub fn read(&self, index: usize) -> Result<Arc<CapturedConnection>, CaptureError> {
        match &self.content {
            Content::Capture { bytes, capture } => capture.read(bytes, index).map(Arc::new),
            Content::Qlog { connections, .. } => connections
                .get(index)
                .cloned()
                .ok_or(CaptureError::NoSuchConnection { number: index + 1, of: connections.len() }),
        }
    }

    /// Returns a copy of a capture as pcapng, with comments on packets of the connection at `index`
    /// of [`Self::connections`]: each on the first with its time, since the first packet of the
    /// connection, or a later one. `None` if the file is no capture.
    pub fn annotated(&self, index: usize, comments: &[(Time, String)]) -> Option<Vec<u8>> {
        match &self.content {
            Content::Capture { bytes, capture } => Some(capture.annotated(bytes, index, comments)),
            Content::Qlog { .. } => None,
        }
    }

    /// Reads the connection with the most data of those that can be read. Returns its index, too.
    ///
    /// # Errors
    /// None of them can be read, for the reason that the one with the most data has.
    pub fn largest(&self) -> Result<(usize, Arc<CapturedConnection>), CaptureError> {
        let Content::Capture { bytes, capture } = &self.content else {
            return Ok((0, self.read(0)?));
        };
        let mut refused: Option<(Protocol, CaptureError)> = None;
        let mut tries = 0;
        for one in self.connections() {
            let is_tried = match one.protocol {
                Protocol::Tcp => true,
                Protocol::Quic => tries < TRIES,
                Protocol::Udp => false,
            };
            if one.bytes() == 0 || !is_tried {
                continue;
            }
            match capture.read(bytes, one.number - 1) {
                Ok(mut connection) => {
                    connection.notes.extend(refused.map(|(protocol, error)| {
                        format!("a {protocol} connection with more data cannot be read: {error}")
                    }));
                    return Ok((one.number - 1, Arc::new(connection)));
                }
                Err(error) => {
                    tries += usize::from(one.protocol == Protocol::Quic);
                    refused.get_or_insert((one.protocol, error));
                }
            }
        }
        let none = || CaptureError::NoConnection { found: capture.describe() };
        Err(refused.map_or_else(none, |(_, error)| error))
    }
}

impl Recording {
    /// Returns the connection of [`Self::largest`] alone.
    fn into_largest(self) -> Result<CapturedConnection, CaptureError> {
        let (_, connection) = self.largest()?;
        drop(self);
        Ok(Arc::unwrap_or_clone(connection))
    }
}

impl CapturedConnection {
    /// Reads the connection with the most data of a capture, or of a qlog file: see
    /// [`Recording::open`].
    ///
    /// # Errors
    /// The file cannot be read, or none of its connections.
    pub fn read(path: &Path, keys: Option<&Path>) -> Result<Self, CaptureError> {
        Recording::open(path, keys)?.into_largest()
    }

    /// Reads the connection with the most data of a capture's content, or of a qlog
    /// file's, with the content of a key log.
    ///
    /// # Errors
    /// It is neither, or none of its connections can be read.
    pub fn parse(bytes: &[u8], keys: &[u8]) -> Result<Self, CaptureError> {
        Recording::parse(bytes.to_vec(), keys)?.into_largest()
    }
}

/// Summarises a connection of a qlog file.
fn summary_of_qlog(
    (index, (start, connection)): (usize, &(Time, CapturedConnection)),
) -> ConnectionSummary {
    let mut directions = [Traffic::default(); 2];
    let is_server = connection.side == Side::Server;
    let mut add = |by_client: bool, packet: &Packet| {
        let traffic = &mut directions[usize::from(!by_client)];
        traffic.packets += 1;
        traffic.bytes = traffic.bytes.saturating_add(packet.bytes);
    };
    for (_, event) in &connection.events {
        match event {
            Event::Sent(packet) => add(!is_server, packet),
            Event::Received(packet) => add(is_server, packet),
            _ => {}
        }
    }
    let [to_server, to_client] = directions;
    ConnectionSummary {
        number: index + 1,
        protocol: Protocol::Quic,
        title: connection.title.clone(),
        client: String::new(),
        server: String::new(),
        start: *start,
        to_server,
        to_client,
        problem: None,
    }
}
