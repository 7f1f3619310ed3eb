//! What `bentpipe explain FILE --json` writes, against its schema, and the account of one request.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used)]

use crate::program::bentpipe;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Three objects one after another over GEO, and a download that a window limits.
const SCENARIO: &str = r#"
name = "requests"
[path]
forward = { rate = "20 Mbps", delay = "300 ms" }
return = { rate = "5 Mbps", delay = "300 ms" }
[workload]
objects = [
    { name = "page", size = "20 kB" },
    { name = "script", size = "50 kB", after = ["page"] },
    { name = "picture", size = "600 kB", after = ["script"] },
]
[output]
capture = "access"
capture_at = "client"
time_series = "none"
[[variant]]
name = "quic"
[[variant]]
name = "tcp"
transport = "tcp"
http = "h1"
"#;

fn document(directory: &Path, arguments: &[&str]) -> Value {
    let output = bentpipe(directory, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The words of JSON Schema that the test knows.
const KNOWN: [&str; 17] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "oneOf",
    "const",
    "enum",
    "format",
    "minimum",
    "maximum",
    "additionalProperties",
];

/// Returns why `value` does not fit `schema`, of a schema with the words that ours uses.
fn misfit(value: &Value, schema: &Value, root: &Value) -> Option<String> {
    for key in schema.as_object()?.keys() {
        if !KNOWN.contains(&key.as_str()) {
            return Some(format!("the test does not know `{key}`"));
        }
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").unwrap();
        return misfit(value, &root["$defs"][name], root);
    }
    if let Some(allowed) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let fits = allowed.iter().any(|one| misfit(value, one, root).is_none());
        return (!fits).then(|| format!("{value} fits none of {allowed:?}"));
    }
    if !schema["const"].is_null() && schema["const"] != *value {
        return Some(format!("{value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value)) {
        return Some(format!("{value} is none of {}", schema["enum"]));
    }
    let kinds = match &schema["type"] {
        Value::Null => Vec::new(),
        Value::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(is) {
        return Some(format!("{value} is none of {kinds:?}"));
    }
    let within = |(place, misfit): (String, String)| format!("{place}: {misfit}");
    if let Some(list) = value.as_array() {
        let mut list = list.iter().enumerate();
        return list
            .find_map(|(at, one)| Some((at.to_string(), misfit(one, &schema["items"], root)?)))
            .map(within);
    }
    let object = value.as_object()?;
    let missing = schema["required"].as_array().into_iter().flatten();
    let mut missing = missing.filter(|key| !object.contains_key(key.as_str().unwrap()));
    if let Some(key) = missing.next() {
        return Some(format!("{key} is missing"));
    }
    object
        .iter()
        .find_map(|(key, one)| {
            let of_key = &schema["properties"][key];
            let of_others = &schema["additionalProperties"];
            let inner = match (of_key.is_null(), of_others.is_null()) {
                (false, _) => misfit(one, of_key, root),
                (true, false) => misfit(one, of_others, root),
                (true, true) => Some("the schema does not have it".to_owned()),
            };
            Some((key.clone(), inner?))
        })
        .map(within)
}

#[test]
fn what_explain_writes_fits_its_schema() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    std::fs::write(directory.join("scenario.toml"), SCENARIO).unwrap();
    let output = bentpipe(directory, &["run", "scenario.toml", "--no-store", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let schema = document(directory, &["schema", "--explain"]);
    // In TCP, whose captures have no content, the handshake of TLS is one more.
    for (variant, count) in [("000-quic", 3), ("001-tcp", 4)] {
        let last = count.to_string();
        let file = format!("out/captures/{variant}-run0.pcapng");
        let told = document(directory, &["explain", &file, "--json", "--request", &last]);
        assert_eq!(misfit(&told, &schema, &schema), None, "{variant}");
        assert_eq!(told["requests"].as_array().unwrap().len(), count, "{variant}");
        // The third object alone: its round trip, and then its data.
        let (asked, listed) = (&told["request"], &told["requests"][count - 1]);
        assert_eq!((&asked["number"], &listed["number"]), (&json!(count), &json!(count)));
        let number = |value: &Value| value.as_f64().unwrap();
        let took = number(&listed["last_byte_s"]) - number(&listed["asked_s"]);
        assert!((number(&asked["completion_s"]) - took).abs() < 1e-6, "{variant}: {asked}");
        let parts = asked["time_budget"].as_object().unwrap();
        let sum: f64 = parts.values().map(number).sum::<f64>() + number(&asked["others_s"]);
        assert!((sum - took).abs() < 1e-6, "{variant}: {asked}");
        let round_trip = number(&asked["time_budget"]["request_s"]);
        assert!((0.59..0.65).contains(&round_trip), "{variant}: {asked}");
        assert!(number(&asked["time_budget"]["serialisation_s"]) >= 0.24, "{variant}: {asked}");
        let text = asked["text"].as_str().unwrap();
        assert!(
            text.starts_with(&format!("request {last} ")) && text.contains(" for 60"),
            "{text}"
        );
        let words = bentpipe(directory, &["explain", &file, "--request", &last]);
        assert!(String::from_utf8(words.stdout).unwrap().contains(text), "{text}");
        // What the schema does not allow is noticed.
        for (place, wrong) in [("/direction", json!("left")), ("/requests/0/bytes", json!(1.5))] {
            let mut told = told.clone();
            *told.pointer_mut(place).unwrap() = wrong;
            assert!(misfit(&told, &schema, &schema).is_some(), "{place}");
        }
        let refused = bentpipe(directory, &["explain", &file, "--request", "5"]);
        let reason = String::from_utf8(refused.stderr).unwrap();
        assert!(reason.contains(&format!("no request 5; allowed: 1 to {count}")), "{reason}");
    }
}

#[test]
fn a_copy_for_wireshark_has_the_account_as_comments() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    std::fs::write(directory.join("scenario.toml"), SCENARIO).unwrap();
    let output = bentpipe(directory, &["run", "scenario.toml", "--no-store", "--out", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let file = "out/captures/001-tcp-run0.pcapng";
    let told = document(directory, &["explain", file, "--json", "--annotate", "copy.pcapng"]);
    // The copy says the same, and has what was told.
    let again = document(directory, &["explain", "copy.pcapng", "--json"]);
    assert_eq!(told, again);
    let copy = std::fs::read(directory.join("copy.pcapng")).unwrap();
    let text = told["transfers"][0]["text"].as_str().unwrap();
    for words in [&format!("the transfer {text}"), "s until here: slow start", "request 4 was"] {
        let count = copy.windows(words.len()).filter(|part| *part == words.as_bytes()).count();
        assert!(count >= 1, "{words}");
    }
    // tshark reads it, if it is there.
    let arguments = ["-r", "copy.pcapng", "-Y", "frame.comment", "-T", "fields", "-e"];
    let all = [&arguments[..], &["frame.number", "-e", "frame.comment"]].concat();
    if let Ok(output) = Command::new("tshark").current_dir(directory).args(all).output() {
        let lines = String::from_utf8(output.stdout).unwrap();
        assert!(lines.starts_with("1\tthe transfer took"), "{lines}");
        assert!(lines.lines().count() > 4, "{lines}");
    }
    #[cfg(unix)]
    {
        // A link is not followed.
        std::fs::write(directory.join("other"), "kept").unwrap();
        std::os::unix::fs::symlink("other", directory.join("link")).unwrap();
        let linked = bentpipe(directory, &["explain", file, "--annotate", "link"]);
        let kept = std::fs::read(directory.join("other")).unwrap();
        assert_eq!(kept, b"kept", "{}", String::from_utf8_lossy(&linked.stderr));
    }
    let refused = bentpipe(directory, &["explain", "out", "--annotate", "x"]);
    assert!(!refused.status.success());
}
