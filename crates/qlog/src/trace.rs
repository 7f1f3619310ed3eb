//! The records of one trace, in memory.

use crate::event::Event;
use crate::form::{Form, Forms, Texts};
use crate::head::{Head, RECORD_SEPARATOR};
use crate::json::millis;
use crate::packet::PacketText;
use crate::write;
use bentpipe_units::Time;

/// The records of one trace.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    records: Texts,
    /// True once the connection is known.
    begun: bool,
    /// Time from which events count.
    begin: Time,
    /// Most bytes that may wait to be taken, if bounded.
    max: Option<usize>,
    /// True if the trace is truncated: further records are dropped.
    cut: bool,
}

impl Trace {
    pub fn new(forms: Forms, begin: Time, max: Option<usize>) -> Self {
        Self { records: Texts::new(forms), begin, max, ..Self::default() }
    }

    /// Writes the first record, unless it is written, before the few that have come.
    pub fn begin(&mut self, head: &Head<'_>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.records.each(|form, text| {
                let records = std::mem::take(text);
                head.write(form, text);
                text.extend_from_slice(&records);
            });
        }
    }

    /// Takes the records so far, once the trace has begun.
    pub fn take(&mut self, form: Form) -> Vec<u8> {
        if !self.begun {
            return Vec::new();
        }
        self.records.get_mut(form).map(std::mem::take).unwrap_or_default()
    }

    pub fn is_cut(&self) -> bool {
        self.cut
    }

    pub fn set_cut(&mut self) {
        self.cut = true;
    }

    /// Adds an event.
    pub fn add(&mut self, at: Time, event: &Event<'_>) {
        if self.cut {
            return;
        }
        let since = at.since(self.begin);
        self.records.each(|form, text| {
            let Some(name) = write::name(event, form) else { return };
            open(text, name, |text| millis(text, since));
            write::data(event, form, text);
            text.extend_from_slice(b"}\n");
        });
        self.limit();
    }

    /// Adds a packet that was sent, or received.
    pub fn packet(&mut self, at: Time, sent: bool, packet: PacketText<'_>) {
        if self.cut {
            return;
        }
        let since = at.since(self.begin);
        self.records.each(|form, text| {
            // The longest pieces around the data, so that the record grows at most once.
            text.reserve(packet.of(form).len() + 80);
            text.extend_from_slice(b"\x1e{\"time\":");
            millis(text, since);
            text.extend_from_slice(b",\"name\":\"");
            match (form, sent) {
                (Form::Current, true) => text.extend_from_slice(b"quic:packet_sent"),
                (Form::Current, false) => text.extend_from_slice(b"quic:packet_received"),
                (Form::Qvis, true) => text.extend_from_slice(b"transport:packet_sent"),
                (Form::Qvis, false) => text.extend_from_slice(b"transport:packet_received"),
            }
            text.extend_from_slice(b"\",\"data\":");
            text.extend_from_slice(packet.of(form));
            text.extend_from_slice(b"}\n");
        });
        self.limit();
    }

    /// Returns the record of an event, which is not added.
    pub fn single(&self, at: Time, event: &Event<'_>, form: Form) -> Vec<u8> {
        let mut text = Vec::new();
        let Some(name) = write::name(event, form) else { return text };
        open(&mut text, name, |text| millis(text, at.since(self.begin)));
        write::data(event, form, &mut text);
        text.extend_from_slice(b"}\n");
        text
    }

    /// Truncates the trace if too much of it waits.
    fn limit(&mut self) {
        if let Some(max) = self.max {
            self.cut = self.records.len() > max;
        }
    }
}

/// Writes the start of a record up to its data.
#[inline]
fn open(text: &mut Vec<u8>, name: &str, time: impl FnOnce(&mut Vec<u8>)) {
    text.push(RECORD_SEPARATOR);
    text.extend_from_slice(b"{\"time\":");
    time(text);
    text.extend_from_slice(b",\"name\":\"");
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b"\",\"data\":");
}
