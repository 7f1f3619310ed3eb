//! Packet captures: pcap and pcapng files of TCP, of which headers suffice, and of QUIC with keys.
//!
//! - `file`: the packets of a file, with their times and link types, and the secrets in it;
//! - `segment`: the TCP segment or UDP datagram in a packet;
//! - `connection`: a TCP connection as a [`CapturedConnection`];
//! - `quic`: a QUIC connection as a [`CapturedConnection`].

mod connection;
mod file;
mod quic;
mod segment;
#[cfg(test)]
mod tests;

use crate::error::CaptureError;
use crate::event::CapturedConnection;
use file::{Record, packets, records};
use quic::KeyLog;
use segment::{Carried, read};

/// Returns true if the bytes begin as a capture does.
pub(crate) fn is_capture(bytes: &[u8]) -> bool {
    file::Format::of(bytes).is_some()
}

/// Returns the connection with the most data as a trace. `keys` is a key log, in addition to those
/// that the file has.
///
/// # Errors
/// There is no connection with data, it has too many packets, or it cannot be decrypted.
pub(crate) fn trace(bytes: &[u8], keys: &[u8]) -> Result<CapturedConnection, CaptureError> {
    let mut tcp = connection::Largest::default();
    let mut udp = quic::Largest::default();
    let mut key_log = KeyLog::default();
    key_log.add(keys);
    records(bytes, |record| match record {
        Record::KeyLog(text) => key_log.add(text),
        Record::Packet(packet) => match read(&packet) {
            Carried::Tcp(segment) => tcp.add(&segment),
            Carried::Udp(datagram) => udp.add(&datagram),
            Carried::Other => {}
        },
    });
    let (tcp, udp) = (tcp.find(), udp.find());
    let of_tcp = tcp.map_or(0, |(_, bytes)| bytes);
    let reason = match udp.filter(|(_, bytes)| *bytes > of_tcp) {
        Some((connection, _)) => match (quic_trace(bytes, connection, &key_log), tcp) {
            (Err(CaptureError::Encrypted(reason)), Some(_)) => Some(reason),
            (result, _) => return result,
        },
        None => None,
    };
    let Some((ends, _)) = tcp else { return Err(CaptureError::NoConnection) };
    let mut trace = connection::trace(bytes, ends)?;
    if let Some(reason) = reason {
        trace.notes.push(format!(
            "a QUIC connection of the capture has more data and cannot be read: {reason}"
        ));
    }
    Ok(trace)
}

/// Returns a QUIC connection as a trace.
fn quic_trace(
    bytes: &[u8],
    chosen: quic::Connection,
    keys: &KeyLog,
) -> Result<CapturedConnection, CaptureError> {
    let mut connections = quic::Connections::default();
    let (datagrams, is_complete) = packets(bytes, |packet| match read(packet) {
        Carried::Udp(datagram) => (connections.of(&datagram) == Some(chosen)).then_some(datagram),
        _ => None,
    })?;
    quic::trace(&datagrams, usize::from(!is_complete), chosen, keys)
}
