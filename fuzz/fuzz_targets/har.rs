//! HTTP Archives from arbitrary bytes: no panic, requests in order.
#![no_main]

use bentpipe_captures::HarLog;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = HarLog::is_har(bytes);
    let Ok(log) = HarLog::parse(bytes) else { return };
    assert!(log.requests.is_sorted_by_key(|request| request.started));
});
