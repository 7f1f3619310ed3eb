//! Frames of QUIC and HTTP/3.

use super::fields::{Field, Kind, RAW, Tagged};

const STREAM_TYPE: Kind = Kind::OneOf(&["unidirectional", "bidirectional"]);
const ERROR: Kind = Kind::OneOf(&["unknown"]);
const TYPE: Field = Field::required("frame_type", Kind::Text);
const STREAM_ID: Field = Field::required("stream_id", Kind::Uint);
const LIMIT: Field = Field::required("limit", Kind::Uint);
const MAXIMUM: Field = Field::required("maximum", Kind::Uint);
const CODE: Field = Field::optional("error_code", Kind::Uint);
const TOKEN: [Field; 2] = [
    Field::optional("type", Kind::OneOf(&["retry", "resumption"])),
    Field::optional("raw", Kind::Object(&RAW)),
];

/// Fields of each QUIC frame besides `raw`.
pub(super) const QUIC: Tagged = &[
    ("padding", &[TYPE]),
    ("ping", &[TYPE]),
    (
        "ack",
        &[
            TYPE,
            Field::optional("ack_delay", Kind::Number),
            Field::optional("acked_ranges", Kind::Ranges),
            Field::optional("ect1", Kind::Uint),
            Field::optional("ect0", Kind::Uint),
            Field::optional("ce", Kind::Uint),
        ],
    ),
    (
        "reset_stream",
        &[
            TYPE,
            STREAM_ID,
            Field::required("error", ERROR),
            CODE,
            Field::required("final_size", Kind::Uint),
        ],
    ),
    ("stop_sending", &[TYPE, STREAM_ID, Field::required("error", ERROR), CODE]),
    ("crypto", &[TYPE, Field::required("offset", Kind::Uint)]),
    ("new_token", &[TYPE, Field::required("token", Kind::Object(&TOKEN))]),
    (
        "stream",
        &[
            TYPE,
            STREAM_ID,
            Field::optional("offset", Kind::Uint),
            Field::optional("fin", Kind::Bool),
        ],
    ),
    ("max_data", &[TYPE, MAXIMUM]),
    ("max_stream_data", &[TYPE, STREAM_ID, MAXIMUM]),
    ("max_streams", &[TYPE, Field::required("stream_type", STREAM_TYPE), MAXIMUM]),
    ("data_blocked", &[TYPE, LIMIT]),
    ("stream_data_blocked", &[TYPE, STREAM_ID, LIMIT]),
    ("streams_blocked", &[TYPE, Field::required("stream_type", STREAM_TYPE), LIMIT]),
    (
        "new_connection_id",
        &[
            TYPE,
            Field::required("sequence_number", Kind::Uint),
            Field::required("retire_prior_to", Kind::Uint),
            Field::optional("connection_id_length", Kind::Uint),
            Field::required("connection_id", Kind::Hex),
            Field::optional("stateless_reset_token", Kind::Hex),
        ],
    ),
    ("retire_connection_id", &[TYPE, Field::required("sequence_number", Kind::Uint)]),
    ("path_challenge", &[TYPE, Field::optional("data", Kind::Hex)]),
    ("path_response", &[TYPE, Field::optional("data", Kind::Hex)]),
    (
        "connection_close",
        &[
            TYPE,
            Field::optional("error_space", Kind::OneOf(&["transport", "application"])),
            CODE,
            Field::optional("reason", Kind::Text),
        ],
    ),
    ("handshake_done", &[TYPE]),
    ("datagram", &[TYPE]),
    ("unknown", &[TYPE, Field::required("frame_type_bytes", Kind::Uint)]),
];

const HEADERS: Field = Field::required(
    "headers",
    Kind::Objects(&[
        Field::optional("name", Kind::Text),
        Field::optional("name_bytes", Kind::Hex),
        Field::optional("value", Kind::Text),
        Field::optional("value_bytes", Kind::Hex),
    ]),
);
const SETTINGS: [&str; 7] = [
    "settings_qpack_max_table_capacity",
    "settings_max_field_section_size",
    "settings_qpack_blocked_streams",
    "settings_enable_connect_protocol",
    "settings_h3_datagram",
    "reserved",
    "unknown",
];
const SETTING: [Field; 3] = [
    Field::optional("name", Kind::OneOf(&SETTINGS)),
    Field::optional("name_bytes", Kind::Uint),
    Field::required("value", Kind::Uint),
];

/// Fields of each HTTP/3 frame besides `raw`.
pub(super) const HTTP3: Tagged = &[
    ("data", &[TYPE]),
    ("headers", &[TYPE, HEADERS]),
    ("cancel_push", &[TYPE, Field::required("push_id", Kind::Uint)]),
    ("settings", &[TYPE, Field::required("settings", Kind::Objects(&SETTING))]),
    ("push_promise", &[TYPE, Field::required("push_id", Kind::Uint), HEADERS]),
    ("goaway", &[TYPE, Field::required("id", Kind::Uint)]),
    ("max_push_id", &[TYPE, Field::required("push_id", Kind::Uint)]),
    ("reserved", &[TYPE, Field::required("frame_type_bytes", Kind::Uint)]),
    ("unknown", &[TYPE, Field::required("frame_type_bytes", Kind::Uint)]),
];
