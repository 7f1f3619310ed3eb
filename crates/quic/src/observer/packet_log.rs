//! Packets and transport parameters of one end of a connection, for its trace.

use super::detail::each_frame;
use super::packet_info::Space;
use super::parameters;
use crate::varint::Reader;
use bentpipe_qlog::{
    Event, Initiator, Packet, PacketTexts, PacketType, Parameters, QlogSink, Side, Transport,
};
use noq_proto::transport_parameters::TransportParameters;

/// Writes a connection's packets and parameters to its trace.
pub(super) struct PacketLog {
    sink: QlogSink,
    /// Packets that were protected but may not have left.
    sent: PacketTexts,
    received: PacketTexts,
    /// Exponents of the delays in ACK frames that this side sends, and that it receives.
    exponents: [u32; 2],
    /// Type of the packet that was protected last.
    pub last_sent: PacketType,
    /// True if the peer's parameters are in the trace.
    complete: bool,
    /// Kept for its memory.
    ranges: Vec<(u64, u64)>,
}

impl PacketLog {
    pub fn new(sink: QlogSink) -> Self {
        Self {
            sent: sink.packets(),
            received: sink.packets(),
            sink,
            exponents: [parameters::DEFAULT_EXPONENT as u32; 2],
            last_sent: PacketType::Initial,
            complete: false,
            ranges: Vec::new(),
        }
    }

    /// Takes a packet that is about to be protected.
    pub fn on_sent(&mut self, space: Space, number: u64, header: &[u8], tag: usize, data: &[u8]) {
        let packet = packet(space, number, header, tag, data);
        self.last_sent = packet.kind;
        text(&mut self.sent, &packet, data, self.exponents[0], &mut self.ranges);
    }

    /// Writes a packet whose protection was removed.
    pub fn on_received(
        &mut self,
        space: Space,
        number: u64,
        header: &[u8],
        tag: usize,
        data: &[u8],
    ) {
        let packet = packet(space, number, header, tag, data);
        self.received.clear();
        text(&mut self.received, &packet, data, self.exponents[1], &mut self.ranges);
        if let Some(text) = self.received.get(0) {
            self.sink.packet_received(text);
        }
    }

    /// Moves the packets protected since the last call to `into`, which is cleared.
    pub fn take_sent(&mut self, into: &mut PacketTexts) {
        into.clear();
        std::mem::swap(&mut self.sent, into);
    }

    /// Writes the first record: the connection is known by the first destination connection ID of
    /// the client (RFC 9000 §7.2).
    pub fn begin(&self, side: Side, connection_id: &[u8]) {
        let digits = connection_id.iter().map(|byte| format!("{byte:02x}"));
        self.sink.begin(side, Transport::Quic, &digits.collect::<String>());
    }

    /// Writes the parameters of this side. Those of a server name the connection.
    pub fn on_local_parameters(&mut self, parameters: &TransportParameters) {
        let parameters = parameters::read(parameters);
        if let Some(id) = &parameters.original_destination_connection_id {
            self.begin(Side::Server, id);
        }
        self.exponents[0] = parameters::ack_delay_exponent(&parameters);
        self.sink.add_now(&Event::ParametersSet(Initiator::Local, &parameters));
    }

    /// Writes the parameters of the peer once. `restored`: those of an earlier connection, which
    /// 0-RTT uses.
    pub fn on_remote_parameters(&mut self, parameters: &TransportParameters, restored: bool) {
        if std::mem::replace(&mut self.complete, !restored) {
            return;
        }
        let parameters: Parameters = parameters::read(parameters);
        if restored {
            self.sink.add_now(&Event::ParametersRestored(&parameters));
        } else {
            self.exponents[1] = parameters::ack_delay_exponent(&parameters);
            self.sink.add_now(&Event::ParametersSet(Initiator::Remote, &parameters));
        }
    }
}

fn packet<'a>(space: Space, number: u64, header: &'a [u8], tag: usize, data: &[u8]) -> Packet<'a> {
    let is_long = header.first().is_some_and(|first| first & 0x80 != 0);
    let kind = match space {
        Space::Initial => PacketType::Initial,
        Space::Handshake => PacketType::Handshake,
        Space::Data if is_long => PacketType::ZeroRtt,
        Space::Data => PacketType::OneRtt,
    };
    let connection_ids = if is_long { connection_ids(header) } else { None };
    Packet { kind, number, connection_ids, length: (header.len() + tag + data.len()) as u64 }
}

/// Returns source and destination connection ID of a long header (RFC 9000 §17.2).
fn connection_ids(header: &[u8]) -> Option<[&[u8]; 2]> {
    let mut rest = Reader(header);
    rest.skip(5)?;
    let mut id = || {
        let length = *rest.bytes(1)?.first()?;
        rest.bytes(u64::from(length))
    };
    let destination = id()?;
    Some([id()?, destination])
}

fn text(
    texts: &mut PacketTexts,
    packet: &Packet<'_>,
    data: &[u8],
    exponent: u32,
    ranges: &mut Vec<(u64, u64)>,
) {
    let mut writer = texts.begin(packet);
    each_frame(data, exponent, ranges, |frame| writer.frame(frame));
    writer.end();
}
