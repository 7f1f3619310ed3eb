//! `init`, `check`, `man` and `completions`, as typed.
// The tests wait for processes.
#![allow(clippy::disallowed_methods)]

use crate::program::bentpipe;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_new_scenario_runs_and_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let output = bentpipe(dir.path(), &["init", "My Study.toml", "--profile", "terrestrial"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = bentpipe(dir.path(), &["run", "My Study.toml", "--repeat", "2", "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(dir.path().join("out/my-study/report.html").exists());

    let file = dir.path().join("My Study.toml");
    std::fs::write(&file, "mine").expect("writes");
    let output = bentpipe(dir.path(), &["init", "My Study.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("it exists; allowed: a new file"));
    assert_eq!(std::fs::read_to_string(&file).expect("reads"), "mine");

    let output = bentpipe(dir.path(), &["init", "x.toml", "--profile", "pluto"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`pluto` is no profile; allowed: geo-10-2, geo-50-10"));
    assert!(!dir.path().join("x.toml").exists());
}

#[test]
fn all_scenarios_are_checked_also_after_an_invalid_one() {
    let dir = tempfile::tempdir().expect("creates a directory");
    assert_eq!(bentpipe(dir.path(), &["init", "good.toml"]).status.code(), Some(0));
    std::fs::write(dir.path().join("bad.toml"), "name = \"a\"\n[path]\nprofil = \"x\"\n")
        .expect("writes");
    let files = ["bad.toml", "nowhere.toml", "good.toml"];
    let output = bentpipe(dir.path(), &[&["check"][..], &files].concat());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(text(&output.stdout), "good.toml: good, 80 runs of 2 variants at 2 sweep points\n");
    let errors = text(&output.stderr);
    assert!(errors.contains("bad.toml:3: unknown key `profil`"), "{errors}");
    assert!(errors.contains("cannot read nowhere.toml"), "{errors}");

    let output = bentpipe(dir.path(), &[&["check", "--json"][..], &files].concat());
    assert_eq!(output.status.code(), Some(2));
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(list[0]["valid"], false);
    assert_eq!(list[0]["error"]["line"], 3);
    assert_eq!((&list[2]["valid"], &list[2]["runs"]), (&true.into(), &80.into()));
    assert_eq!(list[2]["sweep"]["workload.download"][1], "20 MB");

    let output = bentpipe(dir.path(), &["check", "good.toml", "--set", "repeat=3"]);
    assert!(text(&output.stdout).contains("12 runs"), "{}", text(&output.stdout));
    assert!(!dir.path().join("out").exists(), "nothing ran");
}

#[test]
fn every_subcommand_has_a_man_page() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let output = bentpipe(dir.path(), &["man", "share/man1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let help = text(&bentpipe(dir.path(), &["--help"]).stdout);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"run") && commands.contains(&"compare"), "{commands:?}");
    for name in commands {
        let page = dir.path().join(format!("share/man1/bentpipe-{name}.1"));
        let page = std::fs::read_to_string(page).expect(name);
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(dir.path().join("share/man1/bentpipe.1").exists());
}

#[test]
fn shells_complete_profiles_controllers_and_metrics() {
    let dir = tempfile::tempdir().expect("creates a directory");
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&bentpipe(dir.path(), &["completions", shell]).stdout);
        for name in ["geo-250-3-lossy", "geo-reno", "long-path", "packets_declared_lost"] {
            assert!(script.contains(name), "{name} in the completions of {shell}");
        }
        // Help does not list them all.
        let help = text(&bentpipe(dir.path(), &["init", "--help"]).stdout);
        assert!(!help.contains("geo-250-3-lossy"), "{help}");
    }
}
