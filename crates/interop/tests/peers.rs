//! The descriptions of the repository's peers, and the scripts and clients of those that need a
//! build which the user has.

use bentpipe_interop::read_all;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Peers that are not in a registry: name, variable with the folder of the build, program.
const OWN_BUILDS: [(&str, &str, &str); 2] =
    [("picoquic", "BENTPIPE_PICOQUIC_BUILD", "picoquicdemo"), ("h2o", "BENTPIPE_H2O_BUILD", "h2o")];

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers")
}

fn place() -> TempDir {
    tempfile::tempdir().expect("creates a folder")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes an executable script.
fn script(file: &Path, content: &str) {
    fs::write(file, content).expect("writes the script");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("makes it executable");
}

/// Runs `peers/NAME/install` with `variable` set to `build`, or not set.
fn install(name: &str, variable: &str, build: Option<&Path>, into: &Path) -> Output {
    let mut command = Command::new(peers().join(name).join("install"));
    command.arg(into).env_remove(variable);
    if let Some(build) = build {
        command.env(variable, build);
    }
    command.output().expect("runs the script")
}

#[test]
fn every_peer_has_a_valid_description_and_a_script() {
    let into = place();
    let all = read_all(&peers(), into.path()).expect("descriptions are valid");
    let names: Vec<&str> = all.iter().map(|peer| peer.name.as_str()).collect();
    assert!(names.len() >= 14 && names.is_sorted(), "{names:?}");
    for (name, ..) in OWN_BUILDS {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    for peer in &all {
        let mode = fs::metadata(peer.folder.join("install")).expect("a script").permissions();
        assert_eq!(mode.mode() & 0o111, 0o111, "{}: install is not executable", peer.name);
    }
}

#[test]
fn without_a_build_the_script_names_the_variable_and_the_remedy() {
    for (name, variable, program) in OWN_BUILDS {
        let into = place();
        let output = install(name, variable, None, into.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        let remedy = format!("{variable}=/path/to/the/build peers/install {name}");
        for part in [format!("{variable} is not set"), remedy, program.to_owned()] {
            assert!(error.contains(&part), "no `{part}` in: {error}");
        }
    }
}

#[test]
fn a_folder_without_the_program_is_refused_and_one_with_it_installs_it() {
    for (name, variable, program) in OWN_BUILDS {
        let (into, build) = (place(), place());
        let output = install(name, variable, Some(build.path()), into.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(&format!("which has no program {program}")), "{error}");

        script(&build.path().join(program), "#!/bin/sh\n");
        let output = install(name, variable, Some(build.path()), into.path());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let all = read_all(&peers(), into.path()).expect("descriptions are valid");
        let peer = all.iter().find(|peer| peer.name == name).expect("the peer");
        assert_eq!(peer.missing(), Vec::<String>::new());
    }
}

#[test]
fn a_peer_that_was_named_and_has_no_build_is_a_failure() {
    let into = place();
    let output = Command::new(peers().join("install"))
        .arg("h2o")
        .env("BENTPIPE_PEERS", into.path())
        .env_remove("BENTPIPE_H2O_BUILD")
        .output()
        .expect("runs the script");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not installed: h2o"), "{}", text(&output.stderr));
}

/// Runs the client of picoquic with a stand-in for picoquicdemo that does `body`.
fn picoquic(folder: &Path, body: &str, timeout: &str) -> Output {
    script(&folder.join("picoquicdemo"), &format!("#!/bin/sh\n{body}\n"));
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("python3")
        .arg(peers().join("picoquic/peer.py"))
        .args(["--url", "https://192.0.2.1:4433/7.bin", "--name", "h3.test", "--ca", "cert.pem"])
        .args(["--output", "output", "--timeout", timeout])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .expect("runs python3")
}

#[test]
fn times_of_picoquic_are_those_of_its_lines() {
    let folder = place();
    // The options are: -n NAME -t CA -o FOLDER …
    let body = "echo 'Starting client connection. Version = 1'; sleep 0.2\n\
        echo 'Connection established. Version = 1'; printf 1234567 >\"$6/7.bin\"; sleep 0.2\n\
        echo 'Stream 0 ended after 7 bytes'";
    let output = picoquic(folder.path(), body, "20");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let times: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let seconds = |key: &str| times[key].as_f64().expect("a time");
    assert!(seconds("handshake_s") >= 0.19, "{times}");
    assert!(seconds("completion_s") >= seconds("handshake_s") + 0.19, "{times}");
    assert_eq!((times["bytes"].as_u64(), times["zero_rtt"].as_bool()), (Some(7), Some(false)));
    assert_eq!(fs::read(folder.path().join("output")).expect("the file"), b"1234567");
}

#[test]
fn a_download_of_picoquic_that_fails_or_hangs_has_a_reason() {
    let begin = "echo 'Starting client connection. Version = 1'\n";
    let error = "Connection ends with local error 0x433 (idle timeout).";
    for (body, timeout, reason) in [
        (format!("{begin}echo '{error}'; exit 1"), "20", "idle timeout"),
        (format!("{begin}exec sleep 30"), "1", "not complete within 1 s"),
        ("exit 7".to_owned(), "20", "status 7"),
    ] {
        let folder = place();
        let output = picoquic(folder.path(), &body, timeout);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}
