//! Transport parameters for a trace (RFC 9000 §18).

use crate::varint::Reader;
use bentpipe_qlog::Parameters;
use noq_proto::transport_parameters::TransportParameters;

/// Integers: identifier, name in qlog, and default (RFC 9000 §18.2, RFC 9221 §3).
const INTEGERS: [(u64, &str, Option<u64>); 12] = [
    (0x01, "max_idle_timeout", None),
    (0x03, "max_udp_payload_size", Some(65527)),
    (0x0a, "ack_delay_exponent", Some(DEFAULT_EXPONENT)),
    (0x0b, "max_ack_delay", Some(25)),
    (0x0e, "active_connection_id_limit", Some(2)),
    (0x04, "initial_max_data", Some(0)),
    (0x05, "initial_max_stream_data_bidi_local", Some(0)),
    (0x06, "initial_max_stream_data_bidi_remote", Some(0)),
    (0x07, "initial_max_stream_data_uni", Some(0)),
    (0x08, "initial_max_streams_bidi", Some(0)),
    (0x09, "initial_max_streams_uni", Some(0)),
    (0x20, "max_datagram_frame_size", None),
];

/// Default ack_delay_exponent (RFC 9000 §18.2).
pub(super) const DEFAULT_EXPONENT: u64 = 3;

/// Reads the parameters by the form in which they are sent: the stack keeps its fields private.
pub(super) fn read(parameters: &TransportParameters) -> Parameters {
    let mut encoded = Vec::new();
    parameters.write(&mut encoded);
    parse(&encoded).unwrap_or_default()
}

fn parse(encoded: &[u8]) -> Option<Parameters> {
    let mut parameters = Parameters::default();
    let mut present = [None; INTEGERS.len()];
    let mut rest = Reader(encoded);
    while !rest.0.is_empty() {
        let id = rest.varint()?;
        let value = rest.text()?;
        let bytes = Some(value.to_vec());
        match id {
            0x00 => parameters.original_destination_connection_id = bytes,
            // The stateless reset token: a secret.
            0x02 => {}
            0x0c => parameters.disable_active_migration = true,
            0x0f => parameters.initial_source_connection_id = bytes,
            0x10 => parameters.retry_source_connection_id = bytes,
            0x2ab2 => parameters.grease_quic_bit = true,
            id => match INTEGERS.iter().position(|&(known, ..)| known == id) {
                Some(index) => present[index] = Reader(value).varint(),
                None => parameters.unknown.push((id, value.to_vec())),
            },
        }
    }
    let integers = INTEGERS.iter().zip(present);
    parameters.integers = integers
        .filter_map(|(&(_, name, default), value)| Some((name, value.or(default)?)))
        .collect();
    Some(parameters)
}

/// Returns an integer by its name in qlog.
pub(super) fn integer(parameters: &Parameters, name: &str) -> Option<u64> {
    parameters.integers.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

/// Returns the exponent of the ACK delays that the owner of `parameters` sends.
pub(super) fn ack_delay_exponent(parameters: &Parameters) -> u32 {
    // Larger values are invalid (RFC 9000 §18.2).
    integer(parameters, "ack_delay_exponent").unwrap_or(DEFAULT_EXPONENT).min(20) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_and_defaults_are_filled_in() {
        let encoded = [0x00, 2, 0xab, 1, 0x04, 2, 0x40, 0x64, 0x0a, 1, 10, 0x1b, 1, 9, 0x0c, 0];
        let parameters = parse(&encoded).unwrap();
        assert_eq!(parameters.original_destination_connection_id, Some(vec![0xab, 1]));
        let value = |name| parameters.integers.iter().find(|(key, _)| *key == name);
        assert_eq!(value("initial_max_data"), Some(&("initial_max_data", 100)));
        assert_eq!(value("max_ack_delay"), Some(&("max_ack_delay", 25)));
        assert_eq!(value("max_idle_timeout"), None);
        assert!(parameters.disable_active_migration);
        assert_eq!(parameters.unknown, [(0x1b, vec![9])]);
        assert_eq!(ack_delay_exponent(&parameters), 10);
        assert_eq!(ack_delay_exponent(&Parameters::default()), 3);
        assert_eq!(parse(&encoded[..3]), None);
    }
}
