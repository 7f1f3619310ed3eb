//! HTTP Archives from arbitrary bytes: no panic, requests in order, and pages whose objects wait
//! for earlier ones.
#![no_main]

use bentpipe_captures::{HarLog, HarPage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = HarLog::is_har(bytes);
    let Ok(log) = HarLog::parse(bytes) else { return };
    assert!(log.requests.is_sorted_by_key(|request| request.started));
    let Ok(page) = HarPage::of(&log) else { return };
    for (index, object) in page.objects.iter().enumerate() {
        assert!(object.after.map_or(index == 0, |parent| parent < index));
        assert!(object.origin < page.origins.len());
    }
});
