//! Packet captures: pcap and pcapng files of TCP, of which headers suffice, and of QUIC.
//!
//! - `file`, `pcapng` and `record`: the packets of a file, with their times and link types, and its
//!   secrets;
//! - `layers`: link layers and tunnels;
//! - `segment`: the TCP segment or UDP datagram in a packet;
//! - `ends`: the addresses of a connection;
//! - `table`: the connections that packets belong to;
//! - `fingerprint` and `copies`: packets that were captured more than once;
//! - `contents`: what else a capture has;
//! - `capture`: a file with its connections;
//! - `vantage`: where the capture was made;
//! - `direction`: what an end of a TCP connection sent;
//! - `opening`: when the application of a TCP connection begins;
//! - `connection`: a TCP connection as a [`CapturedConnection`](crate::CapturedConnection);
//! - `annotate`: a copy of a file with comments on its packets;
//! - `quic`: a QUIC connection as a [`CapturedConnection`](crate::CapturedConnection).

mod annotate;
mod capture;
mod connection;
mod contents;
mod copies;
mod direction;
mod ends;
mod file;
mod fingerprint;
mod layers;
mod opening;
mod pcapng;
mod quic;
mod record;
mod segment;
mod table;
#[cfg(test)]
mod tests;
mod vantage;

pub(crate) use capture::{Capture, is_capture};
