//! The program itself: its options, and the episodes of a few seeds.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Output};

fn swarm(args: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_swarm"));
    command.args(args).current_dir(directory.path()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn episodes_of_every_kind_pass() {
    for kind in ["scenario", "endpoints", "hostile", "disk"] {
        let output = swarm(&["--seed", "1", "--runs", "2", "--kind", kind]);
        let said = text(&output.stdout);
        assert!(output.status.success(), "{said}{}", text(&output.stderr));
        assert!(said.contains(&format!("2 {kind}")) || said.contains("skipped: disk"), "{said}");
    }
}

#[test]
fn a_seed_draws_the_same_again_and_names_leave_dimensions_out() {
    let show = |args: &[&str]| {
        let output = swarm(&[&["--show", "--kind", "scenario", "--seed", "3"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let all = show(&[]);
    assert!(all.contains("name = \"swarm-3\"") && all.contains("time_limit"), "{all}");
    assert_eq!(show(&[]), all);
    assert_ne!(show(&["--without", "rates,queue"]), all);
}

#[test]
fn wrong_options_are_refused() {
    for args in [["--without", "weather"], ["--minutes", "0"], ["--kind", "none"]] {
        let output = swarm(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("error"), "{args:?}");
    }
}

#[test]
fn the_examples_of_the_help_are_valid() {
    let help = text(&swarm(&["--help"]).stdout);
    let examples = help.split("Examples:").nth(1).unwrap();
    let lines = examples.lines().filter_map(|line| line.trim_start().strip_prefix("swarm "));
    let mut number = 0;
    for line in lines {
        // What stands behind two spaces is the explanation.
        let command = line.split("  ").next().unwrap();
        let mut args: Vec<&str> = command.split_whitespace().collect();
        // Reads the options, and plays nothing.
        args.push("--dimensions");
        let output = swarm(&args);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        number += 1;
    }
    assert_eq!(number, 5, "{examples}");
}
