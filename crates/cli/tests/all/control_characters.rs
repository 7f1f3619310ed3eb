//! A scenario of somebody else cannot control the terminal.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::program::bentpipe;
use std::fs;
use std::path::Path;

/// As TOML and JSON write it: sets the title of the window, rings, turns red, uses C1, turns the
/// direction of the text, and has letters that are to stay.
const HOSTILE: &str = "\\u001b]0;PWNED\\u0007\\u001b[31mred\\u009b2J\\r\\u202etxt ärger 東京";
/// What is printed of it.
const ESCAPED: &str = "\\u{1b}]0;PWNED\\u{7}\\u{1b}[31mred\\u{9b}2J\\u{d}\\u{202e}txt ärger 東京";

fn scenario(more: &str) -> String {
    format!(
        "name = \"x\"\ntitle = \"{HOSTILE}\"\nrepeat = 2\n[path]\n\
         [[path.hop]]\nname = \"access\"\nforward = {{ rate = \"5 Mbps\", delay = \"9 ms\" }}\n\
         return = {{ rate = \"5 Mbps\", delay = \"9 ms\" }}\n[workload]\ndownload = \"10 kB\"\n\
         start_jitter = \"20 ms\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n{more}"
    )
}

/// Returns what a command prints, in which no character controls a terminal.
fn printed(directory: &Path, args: &[&str]) -> String {
    let output = bentpipe(directory, args);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let controls =
        |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(controls), "{args:?}: {text:?}");
    text
}

#[test]
fn titles_are_escaped_wherever_they_are_printed() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    fs::write(at.join("x.toml"), scenario("")).unwrap();
    let run = ["run", "x.toml", "--no-store", "--out", "run"];
    assert!(printed(at, &run).starts_with(ESCAPED));
    printed(at, &["run", "x.toml", "--no-store", "--out", "s1", "--shard", "1/2"]);
    printed(at, &["run", "x.toml", "--no-store", "--out", "s2", "--shard", "2/2"]);
    assert!(printed(at, &["merge", "s1", "s2", "--out", "merged"]).contains(ESCAPED));
    assert!(printed(at, &["replay", "run", "--variant", "a", "--out", "again"]).contains(ESCAPED));
    for args in [
        &["check", "x.toml"][..],
        &["compare", "run", "run"],
        &["explain", "run"],
        &["run", "x.toml", "--dry-run", "--no-store"],
    ] {
        printed(at, args);
    }
    // Programs get the text as it is.
    let json = bentpipe(at, &["check", "x.toml", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert!(json[0]["title"].as_str().unwrap().starts_with("\u{1b}]0;PWNED\u{7}"), "{json}");
}

#[test]
fn names_in_errors_and_in_results_of_others_are_escaped() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (name, wrong) in [
        ("variant", format!("[[variant]]\nname = \"{HOSTILE}\"\n")),
        ("key", format!("\"{HOSTILE}\" = 1\n")),
        ("value", format!("congestion = \"{HOSTILE}\"\n")),
        // In the line that is shown, C1 stands as it is.
        ("line", "congestion = \"\u{9b}31m \u{202e}txt\"\n".to_owned()),
        ("metric", format!("[[expect]]\nmetric = \"{HOSTILE}\"\nbelow = 1\n")),
        ("published", format!("[sweep]\n\"path.{HOSTILE}\" = [\"1 ms\"]\n")),
    ] {
        let file = format!("{name}.toml");
        fs::write(at.join(&file), scenario(&wrong)).unwrap();
        printed(at, &["check", &file]);
        printed(at, &["run", &file, "--no-store", "--out", "other"]);
    }
    fs::write(at.join("x.toml"), scenario("")).unwrap();
    printed(at, &["run", "x.toml", "--no-store", "--out", "run"]);
    // A run directory that somebody has changed.
    for file in ["results.json", "manifest.json"] {
        let text = fs::read_to_string(at.join("run").join(file)).unwrap();
        let changed = text.replace("\"a\"", &format!("\"{HOSTILE}\""));
        fs::write(at.join("run").join(file), changed).unwrap();
    }
    for args in [&["explain", "run"][..], &["compare", "run", "run"], &["replay", "run"]] {
        printed(at, args);
    }
    printed(at, &["explain", "run", "--variant", "missing"]);
}
