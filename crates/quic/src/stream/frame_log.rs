//! HTTP/3 frames of one stream, for the trace of its connection.

use crate::varint::Reader;
use bentpipe_qlog::{Event, Http3Frame, Http3StreamType, Initiator, QlogSink};

/// Type of a SETTINGS frame (RFC 9114 §7.2.4).
const SETTINGS: u64 = 0x4;
/// Type of the control stream (RFC 9114 §6.2.1).
const CONTROL_STREAM: u64 = 0x0;

/// Writes the HTTP/3 frames of one stream to a trace.
#[derive(Debug, Clone)]
pub(super) struct FrameLog {
    sink: QlogSink,
    stream_id: u64,
}

impl FrameLog {
    pub fn new(sink: QlogSink, stream_id: u64) -> Self {
        Self { sink, stream_id }
    }

    /// Writes the type of a unidirectional stream.
    pub fn stream_type(&self, initiator: Initiator, code: u64) {
        self.sink.add_now(&Event::Http3StreamTypeSet {
            initiator,
            stream_id: self.stream_id,
            stream_type: Http3StreamType::from_code(code),
        });
    }

    /// Writes the frames that begin in `head`, which this side sends: the type of a unidirectional
    /// stream if it is the start, and frames up to the first payload that is not in `head`.
    /// Returns false if no frames follow on the stream.
    pub fn created(&self, head: &[u8], is_start: bool) -> bool {
        let mut rest = Reader(head);
        if is_start {
            let Some(code) = rest.varint() else { return false };
            self.stream_type(Initiator::Local, code);
            if code != CONTROL_STREAM {
                return false;
            }
        }
        while !rest.0.is_empty() {
            let before = rest.0.len();
            let (Some(kind), Some(payload)) = (rest.varint(), rest.varint()) else { break };
            let header = (before - rest.0.len()) as u64;
            let content = rest.bytes(payload);
            self.frame(Initiator::Local, kind, header, payload, content.unwrap_or_default());
            if content.is_none() {
                break;
            }
        }
        true
    }

    /// Writes a frame that was received, with as much of its payload as is known.
    pub fn parsed(&self, kind: u64, header: u64, payload: u64, content: &[u8]) {
        self.frame(Initiator::Remote, kind, header, payload, content);
    }

    fn frame(&self, initiator: Initiator, kind: u64, header: u64, payload: u64, content: &[u8]) {
        let mut integers = Vec::new();
        let mut rest = Reader(content);
        match kind {
            SETTINGS => {
                while let (Some(id), Some(value)) = (rest.varint(), rest.varint()) {
                    integers.push((id, value));
                }
                self.sink.add_now(&Event::Http3ParametersSet(initiator, &integers));
            }
            // CANCEL_PUSH, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID.
            0x3 | 0x5 | 0x7 | 0xd => integers.extend(rest.varint().map(|id| (id, 0))),
            _ => {}
        }
        let frame = Http3Frame { kind, payload, length: header + payload, integers: &integers };
        let stream_id = self.stream_id;
        self.sink.add_now(&match initiator {
            Initiator::Local => Event::Http3FrameCreated { stream_id, frame },
            Initiator::Remote => Event::Http3FrameParsed { stream_id, frame },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_qlog::check::check;
    use bentpipe_qlog::{Form, Forms, Side, Transport};

    #[test]
    fn frames_in_both_directions_are_written() {
        let sink = QlogSink::new("t", Forms::CURRENT);
        sink.begin(Side::Client, Transport::Quic, "00");
        // Control stream with SETTINGS of two values, one of them large.
        FrameLog::new(sink.clone(), 2).created(&[0x00, 0x04, 5, 0x06, 0x50, 0x00, 0x33, 1], true);
        // QPACK encoder stream, whose bytes are no frames.
        FrameLog::new(sink.clone(), 6).created(&[0x02, 0x04, 4], true);
        // Header of HEADERS, whose payload follows.
        FrameLog::new(sink.clone(), 0).created(&[0x01, 0x40, 200], false);
        FrameLog::new(sink.clone(), 0).parsed(0x00, 3, 5000, &[]);
        FrameLog::new(sink.clone(), 3).parsed(0x07, 2, 1, &[8]);
        let trace = check(&sink.take(Form::Current)).unwrap();
        let settings: Vec<_> = trace.named("http3:parameters_set").collect();
        assert_eq!(settings.len(), 1);
        assert_eq!(settings[0]["initiator"], "local");
        assert_eq!(settings[0]["max_field_section_size"], 4096);
        let types: Vec<_> = trace.named("http3:stream_type_set").collect();
        assert_eq!(types.len(), 2);
        assert_eq!(types[1]["stream_type"], "qpack_encode");
        let created: Vec<_> = trace.named("http3:frame_created").collect();
        assert_eq!(created.len(), 2);
        assert_eq!(created[0]["frame"]["settings"][1]["name"], "settings_h3_datagram");
        assert_eq!(created[1]["frame"]["raw"]["payload_length"], 200);
        let parsed: Vec<_> = trace.named("http3:frame_parsed").collect();
        assert_eq!(parsed[0]["frame"]["raw"]["length"], 5003);
        assert_eq!(parsed[1]["frame"]["id"], 8);
    }
}
