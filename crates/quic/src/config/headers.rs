//! Sizes of headers and datagrams.

/// Size of the IPv4 and UDP headers of a QUIC datagram, in bytes (RFC 791, RFC 768).
pub const IP_UDP_HEADER: u32 = IP_HEADER + UDP_HEADER;
/// Size of an IPv4 header without options, in bytes.
pub const IP_HEADER: u32 = 20;
/// Size of a UDP header, in bytes.
pub const UDP_HEADER: u32 = 8;
/// Smallest UDP payload that a QUIC path must carry, in bytes (RFC 9000 §14).
pub const MIN_UDP_PAYLOAD: u16 = 1200;
