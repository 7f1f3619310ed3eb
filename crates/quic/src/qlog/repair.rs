//! Repair of noq-proto 1.4's deviations from the drafts, record by record.
//!
//! Records are not parsed: the few places are found by their text, in the exact form in which the
//! stack writes them. Any other record passes unchanged.

use noq_proto::Side;
use std::io::Write;

/// Default ack_delay_exponent, also before the peer's is known (RFC 9000 §18.2).
const DEFAULT_EXPONENT: u32 = 3;
/// Largest ack_delay_exponent (RFC 9000 §18.2).
const MAX_EXPONENT: u32 = 20;
/// Authentication tag of Initial packets, in bytes: AEAD_AES_128_GCM (RFC 9001 §5.2).
const INITIAL_TAG: u64 = 16;

/// Name of the events that are left out.
pub(super) const TIMER_UPDATED: &[u8] = b"quic:timer_updated";

/// Repairs one trace.
pub(super) struct Repair {
    /// Exponents of the delays in ACK frames that this side sends, and that it receives.
    exponents: [u32; 2],
    /// True until this side receives its first Initial, whose size the stack gives without the tag.
    first_initial: bool,
}

/// The kind of a packet event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packet {
    Sent,
    Received,
    Lost,
}

impl Repair {
    pub fn new(side: Side) -> Self {
        Self { exponents: [DEFAULT_EXPONENT; 2], first_initial: side == Side::Server }
    }

    /// Appends the repaired `record`, with its separator and line feed, to `out`, unless it is
    /// dropped.
    pub fn record(&mut self, record: &[u8], out: &mut Vec<u8>) {
        let length = out.len();
        let done = match event_name(record) {
            Some((TIMER_UPDATED, _)) => Some(()),
            Some((b"quic:packet_sent", rest)) => self.packet(Packet::Sent, record, rest, out),
            Some((b"quic:packet_received", rest)) => {
                self.packet(Packet::Received, record, rest, out)
            }
            Some((b"quic:packet_lost", rest)) => self.packet(Packet::Lost, record, rest, out),
            Some((b"quic:recovery_metrics_updated", _)) => metrics(record, out),
            Some((b"quic:parameters_set", rest)) => {
                self.learn_exponent(rest);
                None
            }
            _ => None,
        };
        if done.is_none() {
            out.truncate(length);
            out.extend_from_slice(record);
        }
    }

    fn learn_exponent(&mut self, parameters: &[u8]) {
        let exponent = value_of(parameters, b"\"ack_delay_exponent\":").and_then(integer);
        if let Some((exponent, _)) = exponent {
            let received = find(parameters, b"\"initiator\":\"remote\"").is_some();
            self.exponents[usize::from(received)] = exponent.min(u64::from(MAX_EXPONENT)) as u32;
        }
    }

    /// Moves the packet's size from `header.length`, which is the Length field of a long header
    /// (PacketHeader in quic-events), to `raw.length`.
    ///
    /// Lost packets of size zero were not in flight, mostly ACKs: their size is unknown.
    fn packet(
        &mut self,
        kind: Packet,
        record: &[u8],
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        const LENGTH: &[u8] = b",\"length\":";
        let fields = rest.strip_prefix(b"\",\"data\":{\"header\":{")?;
        let (header, frames) = fields.split_at(find(fields, b"}")? + 1);
        let length_at = find(header, LENGTH)?;
        let (length, after_length) = digits(&header[length_at + LENGTH.len()..]);
        if length.is_empty() {
            return None;
        }
        out.extend_from_slice(before(record, fields));
        out.extend_from_slice(&header[..length_at]);
        out.extend_from_slice(after_length);
        if kind != Packet::Lost || length != b"0" {
            out.extend_from_slice(b",\"raw\":{\"length\":");
            if kind == Packet::Received && self.first_initial {
                self.first_initial = false;
                number(integer(length)?.0.saturating_add(INITIAL_TAG), out);
            } else {
                out.extend_from_slice(length);
            }
            out.push(b'}');
        }
        acks(frames, self.exponents[usize::from(kind == Packet::Received)], out);
        Some(())
    }
}

/// Copies frames. In ACK frames, the delay becomes milliseconds instead of the encoded field, and
/// ranges end with the last acknowledged packet instead of the number after it (AckFrame in
/// quic-events).
fn acks(mut frames: &[u8], exponent: u32, out: &mut Vec<u8>) {
    // The search uses a suffix of the name whose first byte is rare.
    const DELAY: &[u8] = b"k_delay\":";
    const RANGES: &[u8] = b",\"acked_ranges\":[";
    while let Some(at) = find(frames, DELAY) {
        let key;
        (key, frames) = frames.split_at(at + DELAY.len());
        out.extend_from_slice(key);
        if !key.ends_with(b"\"ack_delay\":") {
            continue;
        }
        frames = delay(frames, exponent, out).unwrap_or(frames);
        if let Some(ranges) = frames.strip_prefix(RANGES) {
            out.extend_from_slice(RANGES);
            frames = ranges;
            while let Some((first, end, rest)) = range(frames) {
                let last = end.saturating_sub(1).max(first);
                out.push(b'[');
                number(first, out);
                if first != last {
                    out.push(b',');
                    number(last, out);
                }
                out.push(b']');
                frames = rest;
                if frames.first() == Some(&b',') {
                    out.push(b',');
                    frames = &frames[1..];
                }
            }
        }
    }
    out.extend_from_slice(frames);
}

/// Writes the delay at the start of `text` in milliseconds. Returns the rest.
fn delay<'a>(text: &'a [u8], exponent: u32, out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (whole, rest) = integer(text)?;
    let rest = rest.strip_prefix(b".0")?;
    let micros = whole.checked_shl(exponent)?;
    if micros == 0 {
        out.push(b'0');
    } else {
        write!(out, "{}", micros as f64 / 1e3).ok()?;
    }
    Some(rest)
}

/// Parses the range `[first,end]` at the start of `text`. Returns it and the rest.
fn range(text: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (first, rest) = integer(text.strip_prefix(b"[")?)?;
    let (end, rest) = integer(rest.strip_prefix(b",")?)?;
    Some((first, end, rest.strip_prefix(b"]")?))
}

/// Drops an ssthresh of all ones, which stands for none, and converts pacing rates from bytes to
/// bits per second (RecoveryMetricsUpdated in quic-events).
fn metrics(record: &[u8], out: &mut Vec<u8>) -> Option<()> {
    const NO_THRESHOLD: &[u8] = b",\"ssthresh\":18446744073709551615";
    const PACING_RATE: &[u8] = b"\"pacing_rate\":";
    let mut rest = record;
    if let Some(at) = find(rest, NO_THRESHOLD) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + NO_THRESHOLD.len()..];
    }
    if let Some(value) = value_of(rest, PACING_RATE) {
        let (bytes_per_second, after) = integer(value)?;
        out.extend_from_slice(before(rest, value));
        number(bytes_per_second.saturating_mul(8), out);
        rest = after;
    }
    out.extend_from_slice(rest);
    Some(())
}

/// Returns the name of an event, and the rest.
fn event_name(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = record.strip_prefix(b"\x1e{\"time\":")?;
    let rest = &rest[position(rest, b',')?..];
    let rest = rest.strip_prefix(b",\"name\":\"")?;
    Some(rest.split_at(position(rest, b'"')?))
}

fn value_of<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    find(text, key).map(|at| &text[at + key.len()..])
}

/// Writes an integer, faster than formatting does.
fn number(number: u64, out: &mut Vec<u8>) {
    serde_json::to_writer(out, &number).expect("writing to memory does not fail");
}

/// Splits `text` after its leading digits.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

/// Parses the integer at the start of `text`. Returns it and the rest.
fn integer(text: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = digits(text);
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

/// Returns the first position of `needle` in `text`.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, tail) = needle.split_first()?;
    let mut from = 0;
    while let Some(at) = position(&text[from..], first) {
        from += at + 1;
        if text[from..].starts_with(tail) {
            return Some(from - 1);
        }
    }
    None
}

/// Returns the first position of `byte` in `text`. Compares sixteen bytes at a time, which the
/// compiler turns into one instruction.
fn position(text: &[u8], byte: u8) -> Option<usize> {
    let absent = |chunk: &[u8; 16]| {
        !chunk.iter().fold(false, |found, &candidate| found | (candidate == byte))
    };
    let (chunks, _) = text.as_chunks();
    let skipped = 16 * chunks.iter().take_while(|chunk| absent(chunk)).count();
    text[skipped..].iter().position(|&candidate| candidate == byte).map(|at| skipped + at)
}

/// Returns `text` without `suffix`, its end.
fn before<'a>(text: &'a [u8], suffix: &[u8]) -> &'a [u8] {
    &text[..text.len() - suffix.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(side: Side, records: &[&str]) -> Vec<String> {
        let mut repair = Repair::new(side);
        let one = |record: &&str| {
            let mut out = b"before".to_vec();
            repair.record(format!("\x1e{record}\n").as_bytes(), &mut out);
            String::from_utf8(out)
                .unwrap()
                .replace("before", "")
                .trim_matches(['\x1e', '\n'])
                .to_owned()
        };
        records.iter().map(one).collect()
    }

    #[test]
    fn a_packets_size_moves_and_its_acks_are_repaired() {
        let sent = r#"{"time":902.161,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7,"path_id":0,"length":39,"dcid":"bf"},"frames":[{"frame_type":"ack","ack_delay":3125.0,"acked_ranges":[[0,1],[262,492],[493,515]],"ect1":0},{"frame_type":"ping"}]},"tuple":"p0"}"#;
        let right = r#"{"time":902.161,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7,"path_id":0,"dcid":"bf"},"raw":{"length":39},"frames":[{"frame_type":"ack","ack_delay":25,"acked_ranges":[[0],[262,491],[493,514]],"ect1":0},{"frame_type":"ping"}]},"tuple":"p0"}"#;
        assert_eq!(repaired(Side::Client, &[sent]), [right]);
    }

    #[test]
    fn delays_use_the_exponent_of_their_sender() {
        let parameters = |initiator: &str, exponent: u32| {
            format!(
                r#"{{"time":0.0,"name":"quic:parameters_set","data":{{"initiator":"{initiator}","ack_delay_exponent":{exponent},"max_ack_delay":25}}}}"#
            )
        };
        let ack = |direction: &str| {
            format!(
                r#"{{"time":0.0,"name":"quic:packet_{direction}","data":{{"header":{{"packet_type":"1RTT","length":30}},"frames":[{{"frame_type":"ack","ack_delay":100.0,"acked_ranges":[[1,3]]}}]}}}}"#
            )
        };
        let (local, remote) = (parameters("local", 0), parameters("remote", 10));
        let out = repaired(
            Side::Client,
            &[&ack("sent"), &local, &remote, &ack("sent"), &ack("received")],
        );
        assert_eq!((&out[1], &out[2]), (&local, &remote));
        for (record, delay) in [(0, "0.8"), (3, "0.1"), (4, "102.4")] {
            assert!(
                out[record].contains(&format!("\"ack_delay\":{delay},\"acked_ranges\":[[1,2]]")),
                "{}",
                out[record]
            );
        }
    }

    #[test]
    fn only_the_first_packet_of_a_server_lacks_its_tag() {
        let initial = r#"{"time":0.0,"name":"quic:packet_received","data":{"header":{"packet_type":"initial","length":1184,"dcid":"bf"},"frames":[]}}"#;
        let out = repaired(Side::Server, &[initial, initial]);
        assert!(out[0].contains(r#""dcid":"bf"},"raw":{"length":1200},"#), "{}", out[0]);
        assert!(out[1].contains(r#""raw":{"length":1184}"#));
        assert!(repaired(Side::Client, &[initial])[0].contains(r#""raw":{"length":1184}"#));
    }

    #[test]
    fn packets_not_in_flight_have_no_size_and_timers_are_dropped() {
        let lost = |length: u32| {
            format!(
                r#"{{"time":0.0,"name":"quic:packet_lost","data":{{"header":{{"packet_type":"1RTT","packet_number":3,"length":{length}}},"trigger":"time_threshold"}}}}"#
            )
        };
        let timer = |event: &str| {
            format!(
                r#"{{"time":0.0,"name":"quic:timer_updated","data":{{"timer_type":"loss_timeout","event_type":"{event}"}}}}"#
            )
        };
        let out =
            repaired(Side::Client, &[&lost(0), &lost(1200), &timer("set"), &timer("expired")]);
        assert!(out[0].contains(r#""packet_number":3},"trigger""#), "{}", out[0]);
        assert!(
            out[1].contains(r#""packet_number":3},"raw":{"length":1200},"trigger""#),
            "{}",
            out[1]
        );
        assert_eq!(out[2..], ["", ""]);
    }

    #[test]
    fn rates_are_in_bits_and_a_missing_threshold_is_dropped() {
        let metrics = |text: &str| {
            format!(
                r#"{{"time":0.0,"name":"quic:recovery_metrics_updated","data":{{"path_id":0{text}}}}}"#
            )
        };
        let written =
            metrics(r#","ssthresh":18446744073709551615,"packets_in_flight":0,"pacing_rate":1000"#);
        let right = metrics(r#","packets_in_flight":0,"pacing_rate":8000"#);
        let plain = metrics(r#","ssthresh":12000"#);
        assert_eq!(repaired(Side::Client, &[&written, &plain]), [right, plain]);
    }

    #[test]
    fn unknown_records_pass_unchanged() {
        for record in [
            "",
            "{}",
            r#"{"time":0.0}"#,
            r#"{"time":0.0,"name":"other:thing","data":{}}"#,
            r#"{"time":0.0,"name":"quic:packet_sent","data":{"header":{}}}"#,
            r#"{"time":0.0,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","length":"#,
            r#"{"time":0.0,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT"},"frames":[{"raw":{"a":0,"length":3}}]}}"#,
        ] {
            assert_eq!(repaired(Side::Client, &[record]), [record]);
        }
    }

    #[test]
    fn other_delays_pass_unchanged() {
        let record = r#"{"time":0.0,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","length":9},"frames":[{"frame_type":"ack_frequency","requested_max_ack_delay":25000},{"frame_type":"ack","ack_delay":1e9,"acked_ranges":[]},{"frame_type":"ack","ack_delay":8.0,"acked_ranges":[[1,"#;
        let out = repaired(Side::Client, &[record]).remove(0);
        assert!(
            out.contains("25000")
                && out.contains("1e9")
                && out.ends_with("\"ack_delay\":0.064,\"acked_ranges\":[[1,"),
            "{out}"
        );
    }
}
