//! `bentpipe explain FILE --html`: the page of a trace.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn explain(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .current_dir(directory)
        .arg("explain")
        .args(arguments)
        .output()
        .unwrap()
}

/// A qlog file of a server that sends `packets` packets, a tenth of a millisecond apart.
fn qlog(title: &str, packets: u64) -> String {
    let head = json!({
        "qlog_format": "JSON-SEQ", "qlog_version": "0.3", "title": title,
        "trace": { "vantage_point": { "type": "server" } },
    });
    let event = |time: f64, name: &str, number: u64, frame: Value| {
        let header = json!({ "packet_type": "1RTT", "packet_number": number });
        let data = json!({ "header": header, "raw": { "length": 1250 }, "frames": [frame] });
        format!("\u{1e}{}\n", json!({ "time": time, "name": name, "data": data }))
    };
    let stream = |offset: u64, length: u64| {
        let mut frame = json!({ "frame_type": "stream", "stream_id": 0, "offset": offset });
        frame["length"] = length.into();
        frame
    };
    let mut lines = vec![(0.0, event(0.0, "transport:packet_received", 0, stream(0, 100)))];
    for number in 0..packets {
        let sent = number as f64 * 0.1;
        let ack = json!({ "frame_type": "ack", "acked_ranges": [[number, number]] });
        let data = stream(number * 1200, 1200);
        lines.push((sent, event(sent, "transport:packet_sent", number, data)));
        let at = sent + 50.0;
        lines.push((at, event(at, "transport:packet_received", number + 1, ack)));
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    format!("\u{1e}{head}\n{text}")
}

/// The data of a page, if it was built with the page of `studio/`.
fn document(page: &str) -> Option<Value> {
    let (_, after) = page.split_once("id=\"bentpipe-report\">")?;
    let (json, _) = after.split_once("</script>")?;
    Some(serde_json::from_str(json).unwrap())
}

#[test]
fn a_page_has_the_answer_and_series_of_bounded_size() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let mut sizes = Vec::new();
    for (name, packets) in [("short.sqlog", 2_000), ("long.sqlog", 40_000)] {
        std::fs::write(directory.join(name), qlog("server", packets)).unwrap();
        let output = explain(directory, &[name, "--html", "page.html"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "page.html\n");
        let page = std::fs::read_to_string(directory.join("page.html")).unwrap();
        sizes.push(page.len());
        let Some(document) = document(&page) else {
            println!("skipped: the page was not built (make page)");
            assert!(page.contains("server: download of"), "the text is there without it");
            continue;
        };
        assert_eq!(document["file"], name);
        assert_eq!(document["trace"]["bytes"], packets * 1200);
        assert!(document["answer"].as_str().unwrap().len() > 10, "{document}");
        let series = document["series"]["series"].as_object().unwrap();
        for one in ["sent", "acked", "rtt", "time_budget.serialisation_s"] {
            let points = series[one]["n"].as_u64().unwrap();
            assert!((1..=4096).contains(&points), "{one}: {points}");
        }
    }
    assert!(sizes[1] < sizes[0] + 400_000, "{sizes:?}");
}

#[test]
fn what_a_file_says_is_never_markup() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";
    std::fs::write(directory.join("a.sqlog"), qlog(hostile, 500)).unwrap();
    let output = explain(directory, &["a.sqlog", "--html", "page.html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(directory.join("page.html")).unwrap();
    // Only "</script" ends its element, and "<!--" may change that.
    assert!(!page.contains("</script><script>alert") && !page.contains("<!--<img"));
    if let Some(document) = document(&page) {
        assert_eq!(document["title"], hostile, "it is there as text");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    std::fs::write(directory.join("a.sqlog"), qlog("server", 500)).unwrap();
    std::fs::write(directory.join("kept.txt"), "mine").unwrap();
    std::os::unix::fs::symlink("kept.txt", directory.join("page.html")).unwrap();
    let output = explain(directory, &["a.sqlog", "--html", "page.html"]);
    assert_eq!(std::fs::read_to_string(directory.join("kept.txt")).unwrap(), "mine");
    let is_page = std::fs::symlink_metadata(directory.join("page.html")).unwrap().is_file();
    assert!(is_page || !output.status.success(), "it is replaced or refused");
}

#[test]
fn a_page_needs_one_transfer() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for (name, packets) in [("a.sqlog", 500), ("b.sqlog", 600)] {
        std::fs::write(directory.join(name), qlog(name, packets)).unwrap();
    }
    let output = explain(directory, &["a.sqlog", "b.sqlog", "--html", "page.html"]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--html") && errors.contains("one transfer"), "{errors}");
    assert!(!directory.join("page.html").exists());
}
