//! The first record of a trace.

use crate::form::Form;
use crate::json::{Object, text};
use bentpipe_units::Epoch;

/// Schema of `quic:` events. Drafts append their number.
pub const QUIC_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-13";
/// Schema of `http3:` events.
pub const HTTP3_SCHEMA: &str = "urn:ietf:params:qlog:events:http3-13";
/// Schema of the event that ends a truncated trace.
pub const LOGLEVEL_SCHEMA: &str = "urn:ietf:params:qlog:events:loglevel-14";
/// Schema of quic:careful_resume_phase_updated (draft-ietf-tsvwg-careful-resume-qlog-01). The draft
/// registers none yet; this is the form that the main schema gives to extensions.
pub const CAREFUL_RESUME_SCHEMA: &str = "urn:ietf:params:qlog:events:quic#careful-resume-01";
/// Schema of `tcp:` events, our own.
pub const TCP_SCHEMA: &str = "https://github.com/bentpipe/bentpipe/112026/tcp";

/// Schema of a sequential file (QlogFileSeq in the main schema).
pub(crate) const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// Serialization format: JSON text sequences (RFC 7464).
pub(crate) const SERIALIZATION_FORMAT: &str = "application/qlog+json-seq";
/// First byte of each record of a JSON text sequence (RFC 7464 §2.2).
pub(crate) const RECORD_SEPARATOR: u8 = 0x1e;

/// The end of the connection at which a trace is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The side that opens the connection.
    Client,
    /// The side that accepts it.
    Server,
}

/// The transport of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// QUIC, with or without HTTP/3.
    Quic,
    /// TCP.
    Tcp,
}

/// Content of the first record.
#[derive(Debug, Clone)]
pub(crate) struct Head<'a> {
    pub title: &'a str,
    pub side: Side,
    pub transport: Transport,
    /// Identifier of the connection, the same at both ends.
    pub group: &'a str,
    /// Time of day at which times begin, if the clock is real.
    pub wall: Option<Epoch>,
}

impl Head<'_> {
    /// Writes the record. What readers look for is in its first 256 bytes, for qvis in its first
    /// 1024.
    pub fn write(&self, form: Form, out: &mut Vec<u8>) {
        out.push(RECORD_SEPARATOR);
        let mut head = Object::begin(out);
        match form {
            Form::Current => {
                head.name("file_schema", FILE_SCHEMA);
                head.name("serialization_format", SERIALIZATION_FORMAT);
            }
            Form::Qvis => {
                head.name("qlog_version", "0.3");
                head.name("qlog_format", "JSON-SEQ");
            }
        }
        head.text("title", self.title);
        head.object("trace", |trace| {
            trace.text("title", self.title);
            trace.object("vantage_point", |point| {
                let side = if self.side == Side::Client { "client" } else { "server" };
                point.name("type", side);
            });
            if form == Form::Current {
                trace.array("event_schemas", self.schemas(), text);
            }
            trace.object("common_fields", |common| self.common_fields(form, common));
        });
        head.end();
        out.push(b'\n');
    }

    fn common_fields(&self, form: Form, common: &mut Object<'_>) {
        common.text("group_id", self.group);
        match form {
            Form::Current => {
                common.name("time_format", "relative_to_epoch");
                // Monotonic clocks have no known epoch (ReferenceTime in the main schema).
                common.object("reference_time", |reference| {
                    reference.name("clock_type", "monotonic");
                    reference.name("epoch", "unknown");
                    if let Some(wall) = self.wall {
                        reference.name("wall_clock_time", &format!("{wall:.3}"));
                    }
                });
            }
            Form::Qvis => {
                let protocol = if self.transport == Transport::Quic { "QUIC" } else { "TCP" };
                common.array("protocol_type", [protocol], text);
                // Milliseconds after 1970: any value but zero, which the viewer ignores.
                common.uint("reference_time", 1);
                common.name("time_format", "relative");
            }
        }
    }

    /// Returns the schemas of the events that may follow.
    fn schemas(&self) -> impl Iterator<Item = &'static str> {
        let own = if self.transport == Transport::Quic { HTTP3_SCHEMA } else { TCP_SCHEMA };
        // A trace that may be truncated lists the schema of the warning.
        let warning = self.wall.map(|_| LOGLEVEL_SCHEMA);
        [QUIC_SCHEMA, CAREFUL_RESUME_SCHEMA, own].into_iter().chain(warning)
    }
}
