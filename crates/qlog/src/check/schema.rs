//! The events that Bentpipe writes, by quic-events, h3-events, the main schema, the draft of
//! Careful Resume, and our own schema of TCP.

use super::fields::{Field, Kind, RAW};
use super::frames;

const fn required(name: &'static str, kind: Kind) -> Field {
    Field::required(name, kind)
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field::optional(name, kind)
}

const INITIATOR: Kind = Kind::OneOf(&["local", "remote"]);

/// Fields of the first record.
pub(super) const HEAD: [Field; 5] = [
    required("file_schema", Kind::Text),
    required("serialization_format", Kind::Text),
    optional("title", Kind::Text),
    optional("description", Kind::Text),
    required(
        "trace",
        Kind::Object(&[
            optional("title", Kind::Text),
            optional("description", Kind::Text),
            required("event_schemas", Kind::Texts),
            optional(
                "vantage_point",
                Kind::Object(&[
                    optional("name", Kind::Text),
                    required("type", Kind::OneOf(&["client", "server", "network", "unknown"])),
                ]),
            ),
            optional(
                "common_fields",
                Kind::Object(&[
                    optional("group_id", Kind::Text),
                    optional("time_format", Kind::OneOf(&["relative_to_epoch"])),
                    optional(
                        "reference_time",
                        Kind::Object(&[
                            required("clock_type", Kind::OneOf(&["monotonic"])),
                            required("epoch", Kind::OneOf(&["unknown"])),
                            optional("wall_clock_time", Kind::Text),
                        ]),
                    ),
                ]),
            ),
        ]),
    ),
];

pub(super) const PACKET_HEADER: [Field; 4] = [
    required("packet_type", Kind::OneOf(&["initial", "handshake", "0RTT", "1RTT"])),
    optional("packet_number", Kind::Uint),
    optional("scid", Kind::Hex),
    optional("dcid", Kind::Hex),
];
const PACKET: [Field; 3] = [
    required("header", Kind::Object(&PACKET_HEADER)),
    optional("frames", Kind::Frames(frames::QUIC)),
    optional("raw", Kind::Object(&RAW)),
];
const LOST: [Field; 2] = [
    optional("header", Kind::Object(&PACKET_HEADER)),
    optional("trigger", Kind::OneOf(&["reordering_threshold", "time_threshold", "pto_expired"])),
];
const ENDPOINT: [Field; 5] = [
    optional("ip_v4", Kind::Text),
    optional("port_v4", Kind::Uint),
    optional("ip_v6", Kind::Text),
    optional("port_v6", Kind::Uint),
    optional("connection_ids", Kind::Texts),
];
const STARTED: [Field; 2] =
    [required("local", Kind::Object(&ENDPOINT)), required("remote", Kind::Object(&ENDPOINT))];
const TRIGGERS: [&str; 7] = [
    "idle_timeout",
    "application",
    "error",
    "version_mismatch",
    "stateless_reset",
    "aborted",
    "unspecified",
];
const CLOSED: [Field; 6] = [
    optional("initiator", INITIATOR),
    optional("connection_error", Kind::OneOf(&["unknown"])),
    optional("application_error", Kind::OneOf(&["unknown"])),
    optional("error_code", Kind::Uint),
    optional("reason", Kind::Text),
    optional("trigger", Kind::OneOf(&TRIGGERS)),
];
const PARAMETERS: [Field; 20] = [
    optional("initiator", INITIATOR),
    optional("original_destination_connection_id", Kind::Hex),
    optional("initial_source_connection_id", Kind::Hex),
    optional("retry_source_connection_id", Kind::Hex),
    optional("stateless_reset_token", Kind::Hex),
    optional("disable_active_migration", Kind::Bool),
    optional("max_idle_timeout", Kind::Uint),
    optional("max_udp_payload_size", Kind::Uint),
    optional("ack_delay_exponent", Kind::Uint),
    optional("max_ack_delay", Kind::Uint),
    optional("active_connection_id_limit", Kind::Uint),
    optional("initial_max_data", Kind::Uint),
    optional("initial_max_stream_data_bidi_local", Kind::Uint),
    optional("initial_max_stream_data_bidi_remote", Kind::Uint),
    optional("initial_max_stream_data_uni", Kind::Uint),
    optional("initial_max_streams_bidi", Kind::Uint),
    optional("initial_max_streams_uni", Kind::Uint),
    optional("max_datagram_frame_size", Kind::Uint),
    optional("grease_quic_bit", Kind::Bool),
    optional(
        "unknown_parameters",
        Kind::Objects(&[required("id", Kind::Uint), optional("value", Kind::Hex)]),
    ),
];
const RESTORED: [Field; 11] = [
    optional("disable_active_migration", Kind::Bool),
    optional("max_idle_timeout", Kind::Uint),
    optional("max_udp_payload_size", Kind::Uint),
    optional("active_connection_id_limit", Kind::Uint),
    optional("initial_max_data", Kind::Uint),
    optional("initial_max_stream_data_bidi_local", Kind::Uint),
    optional("initial_max_stream_data_bidi_remote", Kind::Uint),
    optional("initial_max_stream_data_uni", Kind::Uint),
    optional("initial_max_streams_bidi", Kind::Uint),
    optional("initial_max_streams_uni", Kind::Uint),
    optional("max_datagram_frame_size", Kind::Uint),
];
const RECOVERY: [Field; 5] = [
    optional("reordering_threshold", Kind::Uint),
    optional("time_threshold", Kind::Number),
    required("timer_granularity", Kind::Uint),
    optional("max_datagram_size", Kind::Uint),
    optional("initial_congestion_window", Kind::Uint),
];
const METRICS: [Field; 9] = [
    optional("min_rtt", Kind::Number),
    optional("smoothed_rtt", Kind::Number),
    optional("latest_rtt", Kind::Number),
    optional("rtt_variance", Kind::Number),
    optional("congestion_window", Kind::Uint),
    optional("bytes_in_flight", Kind::Uint),
    optional("ssthresh", Kind::Uint),
    optional("pacing_rate", Kind::Uint),
    // Our extension: variables of the controller.
    optional("controller", Kind::Any),
];
const STATE: [Field; 2] = [optional("old", Kind::Text), required("new", Kind::Text)];
const PHASE: Kind =
    Kind::OneOf(&["reconnaissance", "unvalidated", "validating", "normal", "safe_retreat"]);
const CAREFUL_RESUME: [Field; 5] = [
    optional("old", PHASE),
    required("new", PHASE),
    required(
        "state_data",
        Kind::Object(&[
            required("pipesize", Kind::Uint),
            optional("first_unvalidated_packet", Kind::Uint),
            optional("last_unvalidated_packet", Kind::Uint),
            optional("congestion_window", Kind::Uint),
            optional("ssthresh", Kind::Uint),
        ]),
    ),
    optional(
        "restored_data",
        Kind::Object(&[
            required("saved_congestion_window", Kind::Uint),
            required("saved_rtt", Kind::Number),
        ]),
    ),
    optional(
        "trigger",
        Kind::OneOf(&[
            "congestion_window_limited",
            "rtt_not_validated",
            "last_unvalidated_packet_sent",
            "first_unvalidated_packet_acknowledged",
            "rtt_exceeded",
            "rate_limited",
            "last_unvalidated_packet_acknowledged",
            "path_changed",
            "packet_loss",
            "ECN_CE",
            "exit_recovery",
        ]),
    ),
];
const HTTP3_PARAMETERS: [Field; 6] = [
    optional("initiator", INITIATOR),
    optional("max_field_section_size", Kind::Uint),
    optional("max_table_capacity", Kind::Uint),
    optional("blocked_streams_count", Kind::Uint),
    optional("extended_connect", Kind::Uint),
    optional("h3_datagram", Kind::Uint),
];
const STREAM_TYPE: [Field; 3] = [
    optional("initiator", INITIATOR),
    required("stream_id", Kind::Uint),
    required(
        "stream_type",
        Kind::OneOf(&["control", "push", "unknown", "qpack_encode", "qpack_decode"]),
    ),
];
const HTTP3_FRAME: [Field; 2] =
    [required("stream_id", Kind::Uint), required("frame", Kind::Frame(frames::HTTP3))];
const TCP_PACKET: [Field; 2] = [
    required(
        "header",
        Kind::Object(&[
            required("sequence_number", Kind::Uint),
            optional("acknowledgment_number", Kind::Uint),
            required("window", Kind::Uint),
            required("flags", Kind::Flags(&["syn", "fin", "rst", "ack", "ece", "cwr"])),
            optional("sack", Kind::Ranges),
        ]),
    ),
    required("raw", Kind::Object(&RAW)),
];
const TCP_LOST: [Field; 2] = [
    required("header", Kind::Object(&[required("sequence_number", Kind::Uint)])),
    required("raw", Kind::Object(&RAW)),
];
const MESSAGE: [Field; 1] = [required("message", Kind::Text)];

/// Returns the fields of an event's data. `None` if no event has this name.
pub(super) fn event(name: &str) -> Option<&'static [Field]> {
    Some(match name {
        "quic:connection_started" => &STARTED,
        "quic:connection_closed" => &CLOSED,
        "quic:parameters_set" => &PARAMETERS,
        "quic:parameters_restored" => &RESTORED,
        "quic:packet_sent" | "quic:packet_received" => &PACKET,
        "quic:packet_lost" => &LOST,
        "quic:recovery_parameters_set" => &RECOVERY,
        "quic:recovery_metrics_updated" => &METRICS,
        "quic:congestion_state_updated" => &STATE,
        "quic:careful_resume_phase_updated" => &CAREFUL_RESUME,
        "http3:parameters_set" => &HTTP3_PARAMETERS,
        "http3:stream_type_set" => &STREAM_TYPE,
        "http3:frame_created" | "http3:frame_parsed" => &HTTP3_FRAME,
        "tcp:packet_sent" | "tcp:packet_received" => &TCP_PACKET,
        "tcp:packet_lost" => &TCP_LOST,
        "loglevel:warning" => &MESSAGE,
        _ => return None,
    })
}
