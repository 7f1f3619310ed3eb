//! Computed overhead of acknowledgements on the return path, layer by layer, in percent of the
//! forward bytes.
//!
//! One acknowledgement of `bytes` is returned for each `every` packets of `packet` bytes in the
//! forward direction: `100 · bytes / (every · packet)`. This is the estimate of Fairhurst, Custura
//! and Jones (*QUIC & Satellite Return Link*, University of Aberdeen), for an acknowledgement of
//! every second packet and packets of 1500 bytes (TCP) and 1280 bytes (QUIC).
//!
//! Their table has no row for the bytes around QUIC's ACK frame, [`Overhead::quic`]: a short header
//! with its packet number and the authentication tag, together about 1 %.
//!
//! Handshakes, requests, flow control and losses are not included; a simulation includes them.

use bentpipe_quic::{IP_HEADER, UDP_HEADER};
use bentpipe_tcp::{Flags, Segment};

/// Bytes around the frames of a QUIC packet with a short header: 1 byte of flags, a destination
/// connection ID of 8 as in Bentpipe's endpoints, a packet number of 2 (RFC 9000 §17.3.1), and a
/// tag of 16 (RFC 9001 §5.3).
pub const QUIC_AROUND: u32 = 1 + 8 + 2 + 16;
/// The smallest ACK frame (RFC 9000 §19.3) with a largest packet number below 64: type, largest,
/// delay, count and first range take a byte each, one more than the 4 of the table.
pub const SMALLEST_ACK_FRAME: u32 = 5;

/// Overhead by layer, in percent of the forward bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overhead {
    /// IPv4 headers.
    pub ip: f64,
    /// UDP headers.
    pub udp: f64,
    /// QUIC headers and tags.
    pub quic: f64,
    /// ACK frames.
    pub ack: f64,
    /// TCP headers without options.
    pub tcp: f64,
    /// TCP options: timestamps.
    pub tcp_options: f64,
}

impl Overhead {
    /// Returns the sum of all layers.
    pub fn total(&self) -> f64 {
        self.ip + self.udp + self.quic + self.ack + self.tcp + self.tcp_options
    }

    /// Returns the overhead of TCP with timestamps, as in Bentpipe: one pure ACK per `every`
    /// packets of `packet` bytes, both above zero.
    pub fn of_tcp(every: u32, packet: u32) -> Self {
        let ack = Segment { flags: Flags { ack: true, ..Flags::default() }, ..Segment::default() };
        let share = share(every, packet);
        Self {
            ip: share(ack.ip_bytes()),
            tcp: share(ack.tcp_bytes()),
            tcp_options: share(ack.option_bytes()),
            ..Self::default()
        }
    }

    /// Returns the overhead of QUIC: one packet with only an ACK frame of `frame` bytes per `every`
    /// packets of `packet` bytes, both above zero.
    pub fn of_quic(every: u32, packet: u32, frame: u32) -> Self {
        let share = share(every, packet);
        Self {
            ip: share(IP_HEADER),
            udp: share(UDP_HEADER),
            quic: share(QUIC_AROUND),
            ack: share(frame),
            ..Self::default()
        }
    }
}

fn share(every: u32, packet: u32) -> impl Fn(u32) -> f64 {
    let forward = f64::from(every) * f64::from(packet);
    move |bytes| 100.0 * f64::from(bytes) / forward
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a tolerance of a tenth of a percentage point, because the published table
    /// rounds to at most two digits.
    fn near(ours: f64, published: f64) {
        assert!((ours - published).abs() < 0.1, "{ours} beside {published}");
    }

    #[test]
    fn results_match_the_published_table() {
        let (tcp, quic) = (Overhead::of_tcp(2, 1500), Overhead::of_quic(2, 1280, 4));
        near(tcp.ip, 0.66);
        near(tcp.tcp, 0.6);
        near(tcp.tcp + tcp.tcp_options, 1.06);
        near(tcp.total(), 1.72);
        near(quic.ip, 0.78);
        near(quic.udp, 0.31);
        near(quic.ack, 0.2);
        near(quic.total() - quic.quic, 1.29);
    }

    #[test]
    fn quic_headers_and_tags_add_about_one_percent() {
        near(Overhead::of_quic(2, 1280, SMALLEST_ACK_FRAME).quic, 1.05);
    }
}
