//! Qlog files and captures, with keys and without, from arbitrary bytes: no panic, and parts that
//! add up.
#![no_main]

use bentpipe_captures::{CapturedConnection, account};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for keys in [bytes, &[]] {
        let Ok(trace) = CapturedConnection::parse(bytes, keys) else { return };
        assert!(trace.events.is_sorted_by_key(|(at, _)| *at));
        if let Ok(recorded) = account(&trace, None) {
            let total = recorded.completion.as_secs_f64();
            assert!((recorded.budget.total_s() - total).abs() <= 1e-6 * (1.0 + total));
        }
    }
});
