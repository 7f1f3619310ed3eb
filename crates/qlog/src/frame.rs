//! QUIC frames (RFC 9000 §19; QuicFrame in quic-events).

use crate::form::Form;
use crate::json::{Object, millis, uint};
use bentpipe_units::Span;

/// A QUIC frame, without the content that it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Adjacent PADDING frames.
    Padding {
        /// Their bytes.
        length: u64,
    },
    /// PING.
    Ping,
    /// ACK.
    Ack(Ack<'a>),
    /// RESET_STREAM.
    ResetStream {
        /// Stream.
        stream_id: u64,
        /// Application error code.
        error_code: u64,
        /// Final size of the stream.
        final_size: u64,
    },
    /// STOP_SENDING.
    StopSending {
        /// Stream.
        stream_id: u64,
        /// Application error code.
        error_code: u64,
    },
    /// CRYPTO.
    Crypto {
        /// Offset of the content.
        offset: u64,
        /// Bytes of the content.
        length: u64,
    },
    /// NEW_TOKEN.
    NewToken {
        /// Bytes of the token.
        length: u64,
    },
    /// STREAM.
    Stream {
        /// Stream.
        stream_id: u64,
        /// Offset of the content.
        offset: u64,
        /// Bytes of the content.
        length: u64,
        /// Whether the stream ends with it.
        fin: bool,
    },
    /// MAX_DATA.
    MaxData {
        /// Limit.
        maximum: u64,
    },
    /// MAX_STREAM_DATA.
    MaxStreamData {
        /// Stream.
        stream_id: u64,
        /// Limit.
        maximum: u64,
    },
    /// MAX_STREAMS.
    MaxStreams {
        /// Whether it limits bidirectional streams.
        bidirectional: bool,
        /// Limit.
        maximum: u64,
    },
    /// DATA_BLOCKED.
    DataBlocked {
        /// The limit that blocks.
        limit: u64,
    },
    /// STREAM_DATA_BLOCKED.
    StreamDataBlocked {
        /// Stream.
        stream_id: u64,
        /// The limit that blocks.
        limit: u64,
    },
    /// STREAMS_BLOCKED.
    StreamsBlocked {
        /// Whether bidirectional streams are blocked.
        bidirectional: bool,
        /// The limit that blocks.
        limit: u64,
    },
    /// NEW_CONNECTION_ID, without its stateless reset token: whoever reads it could end the
    /// connection (RFC 9000 §10.3).
    NewConnectionId {
        /// Sequence number of the connection ID.
        sequence_number: u64,
        /// Connection IDs before this number are retired.
        retire_prior_to: u64,
        /// The connection ID.
        connection_id: &'a [u8],
    },
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId {
        /// Sequence number of the connection ID.
        sequence_number: u64,
    },
    /// PATH_CHALLENGE.
    PathChallenge {
        /// Its data.
        data: &'a [u8],
    },
    /// PATH_RESPONSE.
    PathResponse {
        /// Its data.
        data: &'a [u8],
    },
    /// CONNECTION_CLOSE.
    ConnectionClose {
        /// Whether the application closes, rather than the transport.
        application: bool,
        /// Error code.
        error_code: u64,
        /// Reason, if it is UTF-8.
        reason: Option<&'a str>,
    },
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// DATAGRAM (RFC 9221).
    Datagram {
        /// Bytes of the content.
        length: u64,
    },
    /// Any other frame.
    Unknown {
        /// Its type.
        frame_type: u64,
        /// Its bytes, as far as known.
        length: u64,
    },
}

/// An ACK frame (RFC 9000 §19.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Delay of the acknowledgement.
    pub delay: Span,
    /// Acknowledged packet numbers, from first to last of each range, the largest range first.
    pub ranges: &'a [(u64, u64)],
    /// ECN counts, if the frame has them.
    pub ecn: Option<EcnCounts>,
}

/// ECN counts of an ACK frame (RFC 9000 §19.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets with ECT(0).
    pub ect0: u64,
    /// Packets with ECT(1).
    pub ect1: u64,
    /// Packets with CE.
    pub ce: u64,
}

/// Names of stream types (StreamType in quic-events).
fn stream_type(bidirectional: bool) -> &'static str {
    if bidirectional { "bidirectional" } else { "unidirectional" }
}

impl Frame<'_> {
    /// Returns the name in qlog.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Padding { .. } => "padding",
            Self::Ping => "ping",
            Self::Ack(_) => "ack",
            Self::ResetStream { .. } => "reset_stream",
            Self::StopSending { .. } => "stop_sending",
            Self::Crypto { .. } => "crypto",
            Self::NewToken { .. } => "new_token",
            Self::Stream { .. } => "stream",
            Self::MaxData { .. } => "max_data",
            Self::MaxStreamData { .. } => "max_stream_data",
            Self::MaxStreams { .. } => "max_streams",
            Self::DataBlocked { .. } => "data_blocked",
            Self::StreamDataBlocked { .. } => "stream_data_blocked",
            Self::StreamsBlocked { .. } => "streams_blocked",
            Self::NewConnectionId { .. } => "new_connection_id",
            Self::RetireConnectionId { .. } => "retire_connection_id",
            Self::PathChallenge { .. } => "path_challenge",
            Self::PathResponse { .. } => "path_response",
            Self::ConnectionClose { .. } => "connection_close",
            Self::HandshakeDone => "handshake_done",
            Self::Datagram { .. } => "datagram",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// Writes the frame as an object.
    #[expect(clippy::too_many_lines, reason = "a table of frames")]
    pub(crate) fn write(&self, form: Form, out: &mut Vec<u8>) {
        if let (Self::Stream { stream_id, offset, length, fin: false }, Form::Current) =
            (*self, form)
        {
            // Almost all frames of a transfer: pieces of known length are copied faster.
            out.extend_from_slice(b"{\"frame_type\":\"stream\",\"stream_id\":");
            uint(out, stream_id);
            out.extend_from_slice(b",\"offset\":");
            uint(out, offset);
            out.extend_from_slice(b",\"raw\":{\"payload_length\":");
            uint(out, length);
            out.extend_from_slice(b"}}");
            return;
        }
        let mut object = Object::begin(out);
        object.name("frame_type", self.name());
        match *self {
            Self::Ping | Self::HandshakeDone => {}
            Self::Padding { length } => content(&mut object, form, length),
            Self::Ack(ack) => ack.write(&mut object),
            Self::ResetStream { stream_id, error_code, final_size } => {
                object.uint("stream_id", stream_id);
                error(&mut object, form, error_code);
                object.uint("final_size", final_size);
            }
            Self::StopSending { stream_id, error_code } => {
                object.uint("stream_id", stream_id);
                error(&mut object, form, error_code);
            }
            Self::Crypto { offset, length } => {
                object.uint("offset", offset);
                content(&mut object, form, length);
            }
            Self::NewToken { length } => {
                object.object("token", |token| {
                    token.name("type", "resumption");
                    token.object("raw", |raw| raw.uint("length", length));
                });
            }
            Self::Stream { stream_id, offset, length, fin } => {
                object.uint("stream_id", stream_id);
                object.uint("offset", offset);
                if fin {
                    object.bool("fin", fin);
                }
                content(&mut object, form, length);
            }
            Self::MaxData { maximum } => object.uint("maximum", maximum),
            Self::MaxStreamData { stream_id, maximum } => {
                object.uint("stream_id", stream_id);
                object.uint("maximum", maximum);
            }
            Self::MaxStreams { bidirectional, maximum } => {
                object.name("stream_type", stream_type(bidirectional));
                object.uint("maximum", maximum);
            }
            Self::DataBlocked { limit } => object.uint("limit", limit),
            Self::StreamDataBlocked { stream_id, limit } => {
                object.uint("stream_id", stream_id);
                object.uint("limit", limit);
            }
            Self::StreamsBlocked { bidirectional, limit } => {
                object.name("stream_type", stream_type(bidirectional));
                object.uint("limit", limit);
            }
            Self::NewConnectionId { sequence_number, retire_prior_to, connection_id } => {
                object.uint("sequence_number", sequence_number);
                object.uint("retire_prior_to", retire_prior_to);
                object.uint("connection_id_length", connection_id.len() as u64);
                object.hex("connection_id", connection_id);
            }
            Self::RetireConnectionId { sequence_number } => {
                object.uint("sequence_number", sequence_number);
            }
            Self::PathChallenge { data } | Self::PathResponse { data } => object.hex("data", data),
            Self::ConnectionClose { application, error_code, reason } => {
                let space = if application { "application" } else { "transport" };
                object.name("error_space", space);
                object.uint("error_code", error_code);
                if let Some(reason) = reason {
                    object.text("reason", reason);
                }
            }
            Self::Datagram { length } => content(&mut object, form, length),
            Self::Unknown { frame_type, length } => {
                let key = match form {
                    Form::Current => "frame_type_bytes",
                    Form::Qvis => "raw_frame_type",
                };
                object.uint(key, frame_type);
                content(&mut object, form, length);
            }
        }
        object.end();
    }
}

/// Writes the length of a frame's content. In qlog 0.3 frames have it themselves.
#[inline]
fn content(object: &mut Object<'_>, form: Form, length: u64) {
    if form == Form::Qvis {
        object.uint("length", length);
    }
    object.object("raw", |raw| raw.uint("payload_length", length));
}

/// Writes an application's error code: its name is known to the application only.
fn error(object: &mut Object<'_>, form: Form, code: u64) {
    if form == Form::Current {
        object.name("error", "unknown");
    }
    object.uint("error_code", code);
}

impl Ack<'_> {
    fn write(&self, object: &mut Object<'_>) {
        millis(object.key("ack_delay"), self.delay);
        object.array("acked_ranges", self.ranges.iter().rev(), |out, &(first, last)| {
            out.push(b'[');
            uint(out, first);
            if first != last {
                out.push(b',');
                uint(out, last);
            }
            out.push(b']');
        });
        if let Some(EcnCounts { ect0, ect1, ce }) = self.ecn {
            object.uint("ect1", ect1);
            object.uint("ect0", ect0);
            object.uint("ce", ce);
        }
    }
}
