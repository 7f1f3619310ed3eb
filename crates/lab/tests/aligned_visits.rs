//! Variants begin their measured visits together on a path that changes.

#![allow(clippy::unwrap_used)]

use bentpipe_lab::Lab;

const SCENARIO: &str = r#"
name = "aligned"
[path]
forward = { rate = RATE, delay = "300 ms" }
return = { rate = "5 Mbps", delay = "300 ms" }
[workload]
download = "1 MB"
ALIGN
[[variant]]
name = "plain"
[[variant]]
name = "resumed"
handshake = "0rtt"
"#;
const CHANGING: &str = r#"{ schedule = [{ at = "0 s", rate = "20 Mbps" },
    { at = "70 s", rate = "5 Mbps" }] }"#;

/// Returns the start of the measured visit of `plain` and of `resumed`, in seconds.
fn starts(rate: &str, align: &str) -> (f64, f64) {
    let text = SCENARIO.replace("RATE", rate).replace("ALIGN", align);
    let results = Lab::new().run(&text).unwrap();
    let start = |index: usize| results.runs[index].flows[0].start_s;
    assert_eq!(results.runs[1].variant, "resumed");
    (start(0), start(1))
}

#[test]
fn measured_visits_begin_at_the_same_multiple_of_the_step() {
    assert_eq!(starts(CHANGING, "align_visits = \"1 min\""), (60.0, 60.0));
    assert_eq!(starts(CHANGING, "align_visits = \"45 s\""), (45.0, 45.0));
}

#[test]
fn without_alignment_or_change_visits_follow_one_another() {
    let (plain, resumed) = starts(CHANGING, "");
    assert!(plain == 0.0 && resumed > 10.0 && resumed < 45.0, "{plain}, {resumed}");
    let (plain, resumed) = starts("\"20 Mbps\"", "align_visits = \"1 min\"");
    assert!(plain == 0.0 && resumed > 10.0 && resumed < 45.0, "{plain}, {resumed}");
}
