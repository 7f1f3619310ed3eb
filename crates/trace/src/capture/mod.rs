//! Packet captures of TCP connections: pcap and pcapng files, of which headers suffice.
//!
//! - `file`: the packets of a file, with their times and link types;
//! - `segment`: the TCP segment in a packet;
//! - `connection`: the connection with the most data, as a [`Trace`](crate::Trace).

mod connection;
mod file;
mod segment;
#[cfg(test)]
mod tests;

pub(crate) use connection::trace;

/// Returns true if the bytes begin as a capture does.
pub(crate) fn is_capture(bytes: &[u8]) -> bool {
    file::Format::of(bytes).is_some()
}
