//! `bentpipe interop` on a real kernel: Bentpipe's own client and server, misbehaving programs, and
//! other implementations if installed.
//!
//! The tests need root, or `unshare -Ur`. Without it, they print the reason and pass.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

use bentpipe_emu::Testbed;
use bentpipe_units::Bytes;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../peers");

/// Returns true, with a note on standard error, if this process may not create namespaces.
fn cannot_run() -> bool {
    Testbed::new(1, Bytes::new(1500)).inspect_err(|error| eprintln!("skipped: {error}")).is_err()
}

fn matrix(dir: &Path, args: &[&str]) -> (Output, serde_json::Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    let output = command
        .current_dir(dir)
        .args(["interop", "--json"])
        .args(args)
        .output()
        .expect("command runs");
    let results = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, results)
}

fn describe(peers: &Path, name: &str, role: &str) {
    let folder = peers.join(name);
    std::fs::create_dir_all(&folder).expect("creates the folder");
    let text = format!(
        "name = \"{name}\"\ntitle = \"\"\nsource = \"\"\nversion = \"1\"\nneeds = [\"sh\"]\n{role}"
    );
    std::fs::write(folder.join("peer.toml"), text).expect("writes the description");
}

#[test]
fn own_client_and_server_complete_and_misbehaving_programs_are_detected() {
    if cannot_run() {
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    let peers = dir.path().join("peers");
    describe(
        &peers,
        "liar",
        "[client]\nprotocols = [\"h3\"]\n\
         command = [\"/bin/sh\", \"-c\", \"printf x > {output}; \
         echo '{\\\"completion_s\\\": 1}'\"]\n",
    );
    describe(
        &peers,
        "broken",
        "[server]\nprotocols = [\"h3\"]\n\
         command = [\"/bin/sh\", \"-c\", \"echo no key >&2; exit 3\"]\n",
    );
    std::os::unix::fs::symlink(Path::new(PEERS).join("bentpipe"), peers.join("bentpipe"))
        .expect("creates the link");
    let args = ["--profiles", "terrestrial", "--size", "1 MB", "--clients", "bentpipe,liar"];
    let (output, results) = matrix(dir.path(), &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let reason = |client: &str, server: &str| {
        let cells = results["cells"].as_array().expect("cells");
        let cell = cells
            .iter()
            .find(|cell| cell["client"] == client && cell["server"] == server)
            .expect("pairing exists");
        cell["runs"][0]["reason"].clone()
    };
    assert_eq!(reason("bentpipe", "bentpipe"), serde_json::Value::Null, "{stderr}");
    let broken = reason("bentpipe", "broken");
    assert!(
        broken
            .as_str()
            .is_some_and(|reason| reason.contains("status 3 before it listened: no key")),
        "{broken}"
    );
    let liar = reason("liar", "bentpipe");
    assert!(liar.as_str().is_some_and(|reason| reason.contains("wrong content")), "{liar}");
    let ours = results["cells"]
        .as_array()
        .and_then(|cells| cells.iter().find(|cell| cell["server"] == "bentpipe"));
    assert!(ours.is_some_and(|cell| {
        cell["completion_s"].as_f64().is_some_and(|seconds| (0.02..20.0).contains(&seconds))
    }));
    assert!(dir.path().join("out/interop/report.html").is_file());
}

/// The cheapest pairing of other implementations.
#[test]
fn installed_peers_complete_a_download() {
    if cannot_run() {
        return;
    }
    let (client, server) = ("curl_cffi", "quic-go");
    let installed = std::env::var_os("BENTPIPE_PEERS")
        .map_or_else(|| Path::new(PEERS).join("../target/peers"), PathBuf::from);
    let there = [format!("{client}/venv/bin/python"), format!("{server}/bin/peer-{server}")];
    if let Some(missing) = there.iter().find(|file| !installed.join(file).exists()) {
        eprintln!(
            "skipped: {} is missing: peers/install {client} {server}",
            installed.join(missing).display()
        );
        return;
    }
    let dir = tempfile::tempdir().expect("creates a directory");
    let installed = installed.display().to_string();
    let args =
        ["--peers", PEERS, "--installed", &installed, "--clients", client, "--servers", server];
    let (output, results) =
        matrix(dir.path(), &[&args[..], &["--profiles", "terrestrial", "--size", "1 MB"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(results["cells"][0]["completed"], 1, "{results}");
}

#[test]
fn unknown_peers_and_invalid_descriptions_are_rejected() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let peers = dir.path().join("peers");
    describe(&peers, "a", "[client]\nprotocols = [\"h3\"]\ncommand = [\"sh\"]\n");
    for (args, expected) in [
        (&["--clients", "b"][..], "no peer is named `b`; allowed: a"),
        (&["--servers", "a"], "no peer is named `a`; allowed: none"),
        (&["--clients", "a,a"], "`a` is given twice"),
        (&["--profiles", "pluto"], "no profile is named `pluto`; allowed: geo-10-2"),
        (&["--protocols", "h4"], "`h4` is not an HTTP version; allowed: h3, h2, h1"),
        (&["--peers", "nowhere"], "cannot read"),
    ] {
        let (output, _) = matrix(dir.path(), args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(
            error.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected),
            "{error}"
        );
    }
    describe(&peers, "a", "[client]\nprotocols = [\"h3\"]\ncommand = [\"{hom}\"]\n");
    let (output, _) = matrix(dir.path(), &[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("peer.toml:8"), "{error}");
    assert!(!dir.path().join("out").exists());
}

#[test]
fn missing_peers_are_listed_with_their_install_command() {
    let dir = tempfile::tempdir().expect("creates a directory");
    let (output, list) =
        matrix(dir.path(), &["--peers", PEERS, "--installed", "nowhere", "--list"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let quinn = list
        .as_array()
        .and_then(|list| list.iter().find(|peer| peer["name"] == "quinn"))
        .expect("quinn");
    assert_eq!(quinn["missing"][0], "{home}/bin/peer-quinn");
    assert!(
        quinn["install"].as_str().is_some_and(|command| command.contains("quinn/install")),
        "{quinn}"
    );
}
