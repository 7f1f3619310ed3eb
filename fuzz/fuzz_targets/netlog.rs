//! NetLogs of Chromium with arbitrary events: no panic, and parts that add up.
#![no_main]

use bentpipe_captures::{CapturedConnection, account};
use libfuzzer_sys::fuzz_target;

/// Constants that give numbers of events a meaning; without them nothing is read.
const START: &[u8] = br#"{"constants":{"logEventTypes":{"QUIC_SESSION":1,
"QUIC_SESSION_PACKET_SENT":2,"QUIC_SESSION_PACKET_RECEIVED":3,
"QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED":4,"QUIC_SESSION_STREAM_FRAME_SENT":5,
"QUIC_SESSION_STREAM_FRAME_RECEIVED":6,"QUIC_SESSION_ACK_FRAME_RECEIVED":7,
"QUIC_SESSION_PACKET_LOST":8,"QUIC_SESSION_WINDOW_UPDATE_FRAME_RECEIVED":9,
"QUIC_SESSION_TRANSPORT_PARAMETERS_RECEIVED":10,"HTTP3_HEADERS_SENT":11}},"events":["#;

fuzz_target!(|bytes: &[u8]| {
    let file = [START, bytes].concat();
    let Ok(trace) = CapturedConnection::parse(&file, &[]) else { return };
    assert!(trace.events.is_sorted_by_key(|(at, _)| *at));
    if let Ok(recorded) = account(&trace, None) {
        let total = recorded.completion.as_secs_f64();
        assert!((recorded.budget.total_s() - total).abs() <= 1e-6 * (1.0 + total));
    }
});
