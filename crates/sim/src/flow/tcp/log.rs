//! Segments of a TCP connection, for the traces of its ends.

use crate::datagram::Role;
use crate::outcome::QlogFile;
use bentpipe_quic::qlog::{Event, Form, Forms, QlogSink, Side, TcpFlags, TcpPacket, Transport};
use bentpipe_tcp::Segment;
use bentpipe_units::Time;

/// The traces of a connection's two ends.
pub struct TcpLog {
    client: QlogSink,
    server: QlogSink,
    names: [String; 2],
}

impl TcpLog {
    /// Begins the traces of connection `number` of a visit, counted from 0. Their names begin with
    /// `visit`.
    pub fn new(visit: &str, number: usize, forms: Forms) -> Self {
        let connection = match number {
            0 => visit.to_owned(),
            number => format!("{visit}-connection{}", number + 1),
        };
        let names = ["client", "server"].map(|side| format!("{connection}-{side}"));
        let [client, server] = [0, 1].map(|side| QlogSink::new(&names[side], forms));
        client.begin(Side::Client, Transport::Tcp, &connection);
        server.begin(Side::Server, Transport::Tcp, &connection);
        Self { client, server, names }
    }

    /// Returns the trace of one end.
    pub fn sink(&self, side: Role) -> &QlogSink {
        match side {
            Role::Client => &self.client,
            Role::Server => &self.server,
        }
    }

    /// Adds a segment that `side` has sent.
    pub fn sent(&self, now: Time, side: Role, segment: &Segment) {
        with_packet(segment, |packet| self.sink(side).add(now, &Event::TcpPacketSent(packet)));
    }

    /// Adds a segment that has arrived at `side`.
    pub fn received(&self, now: Time, side: Role, segment: &Segment) {
        with_packet(segment, |packet| self.sink(side).add(now, &Event::TcpPacketReceived(packet)));
    }

    /// Returns the traces as files.
    pub fn files(&self) -> [QlogFile; 2] {
        [0, 1].map(|side| {
            let sink = if side == 0 { &self.client } else { &self.server };
            QlogFile {
                name: self.names[side].clone(),
                current: sink.take(Form::Current),
                qvis: sink.take(Form::Qvis),
            }
        })
    }
}

/// Calls `write` with a segment as an event has it.
fn with_packet(segment: &Segment, write: impl FnOnce(TcpPacket<'_>)) {
    let mut blocks = [(0, 0); 3];
    let mut count = 0;
    for (slot, block) in blocks.iter_mut().zip(segment.sack.blocks(segment.ack)) {
        *slot = block;
        count += 1;
    }
    let bentpipe_tcp::Flags { syn, fin, rst, ack, ece, cwr } = segment.flags;
    write(TcpPacket {
        sequence: segment.seq,
        acknowledgment: ack.then_some(segment.ack),
        window: segment.window,
        flags: TcpFlags { syn, fin, rst, ack, ece, cwr },
        sack: &blocks[..count],
        length: u64::from(segment.bytes()),
        payload: u64::from(segment.len),
    });
}
