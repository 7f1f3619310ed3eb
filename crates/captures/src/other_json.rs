//! What a JSON file is that is none of those that can be read.

/// Returns what a file with these fields at its top is, and what it lacks.
pub fn describe(keys: &[String], is_list: bool) -> Option<&'static str> {
    let has = |key: &str| keys.iter().any(|other| other == key);
    let all = |keys: &[&str]| keys.iter().all(|key| has(key));
    if has("traceevents") || (is_list && all(&["ph", "ts"])) {
        return Some(
            "it is a performance trace of Chromium, which has no packets; chrome://net-export \
             records a NetLog",
        );
    }
    if is_list && all(&["_index", "_source"]) {
        return Some("it is an export of Wireshark as JSON: give the capture itself");
    }
    if has("timetickoffset") && has("events") {
        return Some(
            "it is a NetLog of Chromium without the constants that give its numbers a meaning: \
             export it again",
        );
    }
    if has("log") {
        return Some(
            "it is an HTTP Archive (HAR), which has times of requests but no packets: capture the \
             transfer, or record a NetLog with chrome://net-export",
        );
    }
    if all(&["intervals", "end", "start"]) {
        return Some("it is a report of iperf3, which has no packets: capture the transfer");
    }
    None
}
