//! Rewriting arbitrary bytes as a qlog trace for qvis: an error or a result, no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = bentpipe_quic::qlog::to_qvis(bytes);
});
