//! QUIC packets, written before it is known when they leave.

use crate::form::{Form, Forms, Texts};
use crate::frame::Frame;
use crate::json::{Object, uint};

/// Type of a QUIC packet (PacketType in quic-events).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketType {
    /// Initial.
    Initial,
    /// Handshake.
    Handshake,
    /// 0-RTT.
    ZeroRtt,
    /// 1-RTT.
    OneRtt,
}

impl PacketType {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Handshake => "handshake",
            Self::ZeroRtt => "0RTT",
            Self::OneRtt => "1RTT",
        }
    }
}

/// A QUIC packet, without its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Type.
    pub kind: PacketType,
    /// Packet number, in full.
    pub number: u64,
    /// Source and destination connection ID of a long header.
    pub connection_ids: Option<[&'a [u8]; 2]>,
    /// Bytes, header and authentication tag included.
    pub length: u64,
}

/// The text of some packets, in each form that is written.
#[derive(Debug, Clone, Default)]
pub struct PacketTexts {
    texts: Texts,
    /// End of each packet's text in each form.
    ends: Vec<[usize; 2]>,
}

/// The text of one packet.
#[derive(Debug, Clone, Copy)]
pub struct PacketText<'a> {
    current: &'a [u8],
    qvis: &'a [u8],
}

impl<'a> PacketText<'a> {
    pub(crate) fn of(self, form: Form) -> &'a [u8] {
        match form {
            Form::Current => self.current,
            Form::Qvis => self.qvis,
        }
    }
}

impl PacketTexts {
    /// Packets of traces that are written in `forms`.
    pub fn new(forms: Forms) -> Self {
        Self { texts: Texts::new(forms), ends: Vec::new() }
    }

    /// Begins the text of a packet. [`PacketWriter::end`] completes it.
    pub fn begin(&mut self, packet: &Packet<'_>) -> PacketWriter<'_> {
        self.texts.each(|_, text| {
            if packet.kind == PacketType::OneRtt && packet.connection_ids.is_none() {
                // Almost all packets: pieces of known length are copied faster.
                text.extend_from_slice(b"{\"header\":{\"packet_type\":\"1RTT\",");
                text.extend_from_slice(b"\"packet_number\":");
                uint(text, packet.number);
                text.extend_from_slice(b"},\"raw\":{\"length\":");
                uint(text, packet.length);
                text.extend_from_slice(b"},\"frames\":[");
                return;
            }
            let mut data = Object::begin(text);
            data.object("header", |header| {
                header.name("packet_type", packet.kind.name());
                header.uint("packet_number", packet.number);
                if let Some([source, destination]) = packet.connection_ids {
                    header.hex("scid", source);
                    header.hex("dcid", destination);
                }
            });
            data.object("raw", |raw| raw.uint("length", packet.length));
            data.key("frames").push(b'[');
        });
        PacketWriter { packets: self, first: true }
    }

    /// Returns the number of packets.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.ends.clear();
    }

    /// Returns the text of packet `index`, counted from 0.
    pub fn get(&self, index: usize) -> Option<PacketText<'_>> {
        let end = self.ends.get(index)?;
        let begin = index.checked_sub(1).map_or([0, 0], |before| self.ends[before]);
        let Texts { current, qvis } = &self.texts;
        Some(PacketText {
            current: current.as_deref().map_or(&[], |text| &text[begin[0]..end[0]]),
            qvis: qvis.as_deref().map_or(&[], |text| &text[begin[1]..end[1]]),
        })
    }
}

/// Writes the frames of one packet.
#[derive(Debug)]
pub struct PacketWriter<'a> {
    packets: &'a mut PacketTexts,
    first: bool,
}

impl PacketWriter<'_> {
    /// Adds a frame.
    pub fn frame(&mut self, frame: &Frame<'_>) {
        let first = std::mem::replace(&mut self.first, false);
        self.packets.texts.each(|form, text| {
            if !first {
                text.push(b',');
            }
            frame.write(form, text);
        });
    }

    /// Completes the packet.
    pub fn end(self) {
        self.packets.texts.each(|_, text| text.extend_from_slice(b"]}"));
        let Texts { current, qvis } = &self.packets.texts;
        let length = |text: &Option<Vec<u8>>| text.as_ref().map_or(0, Vec::len);
        self.packets.ends.push([length(current), length(qvis)]);
    }
}

/// Writes the header of a packet that was declared lost.
pub(crate) fn lost(object: &mut Object<'_>, kind: PacketType, number: u64) {
    object.object("header", |header| {
        header.name("packet_type", kind.name());
        uint(header.key("packet_number"), number);
    });
}
