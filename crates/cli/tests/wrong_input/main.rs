//! Invalid input: exit status 2, a message with the position and the allowed values, nothing on
//! standard output, and no output directory.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

mod command_lines;
mod flows;
mod orbits;
mod paths;
mod plans;
mod scenarios;
mod transports;
mod users;

use std::path::Path;
use std::process::{Command, Output};

fn bentpipe(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .current_dir(directory)
        .env("XDG_CACHE_HOME", "")
        .env("HOME", "")
        .args(args)
        .output()
        .expect("command runs")
}

/// Returns the differences from the expected rejection: status 2, every part of the message,
/// nothing on standard output, no panic, and no directory.
fn complaints(what: &str, directory: &Path, output: &Output, expected: &[&str]) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut found = Vec::new();
    if output.status.code() != Some(2) {
        found.push(format!("status {:?}", output.status.code()));
    }
    if stderr.contains("panicked") {
        found.push("a panic".to_owned());
    }
    found.extend(
        expected
            .iter()
            .filter(|part| !stderr.contains(**part))
            .map(|part| format!("the message lacks `{part}`")),
    );
    if !output.stdout.is_empty() {
        found.push("text on standard output".to_owned());
    }
    if directory.join("out").exists() {
        found.push("a directory left behind".to_owned());
    }
    found.into_iter().map(|complaint| format!("{what}: {complaint}\n{stderr}")).collect()
}

#[test]
fn invalid_input_is_rejected_with_its_line_and_allowed_values() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let mut found = Vec::new();
    for (name, text) in orbits::elements() {
        std::fs::write(dir.path().join(name), text).expect("writes the elements");
    }
    let cases = [
        flows::cases(),
        orbits::cases(),
        paths::cases(),
        plans::cases(),
        transports::cases(),
        users::cases(),
    ];
    for case in cases.into_iter().flatten() {
        std::fs::write(dir.path().join("wrong.toml"), &case.text).expect("writes the scenario");
        let output = bentpipe(dir.path(), &["run", "wrong.toml"]);
        let line = format!("wrong.toml:{}:", case.line);
        let expected: Vec<&str> = case.expected.iter().copied().chain([line.as_str()]).collect();
        found.extend(complaints(case.what, dir.path(), &output, &expected));
    }
    std::fs::write(dir.path().join("good.toml"), scenarios::after(""))
        .expect("writes the scenario");
    for (what, args, expected) in command_lines::COMMAND_LINES {
        found.extend(complaints(what, dir.path(), &bentpipe(dir.path(), args), expected));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let mut names: Vec<_> = std::fs::read_dir(dir.path())
        .expect("reads the directory")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["down.tle", "good.toml", "short.tle", "wrong.tle", "wrong.toml"],
        "other files remain"
    );
}
