//! Logs of `ss` from arbitrary bytes: no panic, every socket with samples.
#![no_main]

use bentpipe_captures::TcpInfoLog;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = TcpInfoLog::is_log(bytes);
    let Ok(log) = TcpInfoLog::parse(bytes) else { return };
    for socket in &log.sockets {
        let summary = socket.summary();
        assert!(summary.samples > 0);
        let _ = (summary.window_limited(), summary.idle());
    }
});
