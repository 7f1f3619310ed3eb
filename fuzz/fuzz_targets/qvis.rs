//! Any bytes as a qlog trace to rewrite: refused, or rewritten; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = bentpipe_quic::qlog::to_qvis(bytes);
});
