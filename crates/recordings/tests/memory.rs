//! Documents of JSON whose text is much shorter than what it becomes as values: 25 times the memory
//! of the text, before fields that say nothing were skipped. A program of its own, as it looks at
//! the most memory that the process ever had.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests read files")]

use bentpipe_recordings::read;

/// Most memory so far in MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn a_document_takes_no_more_memory_than_a_few_times_its_text() {
    let lists = vec!["[]"; 3_000_000].join(",");
    let refused = |text: String| read("f", text.into_bytes(), None).unwrap_err().to_string();
    for (text, words) in [
        (format!("{{\"event\":\"start\",\"data\":[{lists}]}}"), "allowed: "),
        (format!("{{\"dishGetHistory\":{{\"current\":[{lists}]}}}}"), "a whole number in"),
        (
            format!(
                "[{{\"type\":\"ping\",\"prb_id\":1,\"sent\":1,\"result\":\
                 [{{\"dup\":[{lists}]}},{{}}]}}]"
            ),
            "a reply without `rtt`, `x` and `error`; allowed: one of them",
        ),
    ] {
        let head: String = text.chars().take(40).collect();
        let error = refused(text);
        assert!(error.contains(words), "{head}: {error}");
        assert!(peak_mb() < 80, "{head}: {} MB", peak_mb());
    }
    let zeros = vec!["0"; 4_000_001].join(",");
    let ring = format!("{{\"dishGetHistory\":{{\"current\":1,\"popPingDropRate\":[{zeros}]}}}}");
    let expected = "a list has more than 4000000 values; allowed: a part of it";
    assert!(refused(ring).contains(expected));
}
