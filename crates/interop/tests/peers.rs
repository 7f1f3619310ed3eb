//! The descriptions of the repository's peers, and the scripts and clients of those that need a
//! build which the user has.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]

use bentpipe_interop::read_all;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A peer that is in no registry.
struct OwnBuild {
    name: &'static str,
    /// The variable with the folder of a build, and the programs that it must have.
    build: &'static str,
    programs: &'static [&'static str],
    /// Variables with source trees.
    sources: &'static [&'static str],
}

const OWN_BUILDS: [OwnBuild; 3] = [
    OwnBuild {
        name: "picoquic",
        build: "BENTPIPE_PICOQUIC_BUILD",
        programs: &["picoquicdemo"],
        sources: &["BENTPIPE_PICOQUIC_SOURCE", "BENTPIPE_PICOTLS_SOURCE"],
    },
    OwnBuild {
        name: "h2o",
        build: "BENTPIPE_H2O_BUILD",
        programs: &["h2o"],
        sources: &["BENTPIPE_H2O_SOURCE"],
    },
    OwnBuild {
        name: "lsquic",
        build: "BENTPIPE_LSQUIC_BUILD",
        programs: &["http_client", "http_server"],
        sources: &["BENTPIPE_LSQUIC_SOURCE", "BENTPIPE_BORINGSSL_SOURCE"],
    },
];

/// Peers with a client of ours around a program of theirs, and that program.
const PICOQUIC: (&str, &str) = ("picoquic", "picoquicdemo");
const LSQUIC: (&str, &str) = ("lsquic", "http_client");

impl OwnBuild {
    /// Runs `peers/NAME/install` with these variables set, and no others of its own.
    fn install(&self, into: &Path, set: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(peers().join(self.name).join("install"));
        command.arg(into).env_remove(self.build);
        for source in self.sources {
            command.env_remove(source);
        }
        command.envs(set.iter().copied()).output().expect("runs the script")
    }

    /// What the installed peer still needs.
    fn missing(&self, into: &Path) -> Vec<String> {
        let all = read_all(&peers(), into).expect("descriptions are valid");
        all.iter().find(|peer| peer.name == self.name).expect("the peer").missing()
    }
}

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

#[test]
fn every_peer_has_a_valid_description_and_a_script() {
    let into = place();
    let all = read_all(&peers(), into.path()).expect("descriptions are valid");
    let names: Vec<&str> = all.iter().map(|peer| peer.name.as_str()).collect();
    assert!(names.len() >= 15 && names.is_sorted(), "{names:?}");
    for OwnBuild { name, .. } in OWN_BUILDS {
        assert!(names.contains(&name), "{name} is missing: {names:?}");
    }
    for peer in &all {
        let mode = fs::metadata(peer.folder.join("install")).expect("a script").permissions();
        assert_eq!(mode.mode() & 0o111, 0o111, "{}: install is not executable", peer.name);
    }
}

#[test]
fn without_a_build_the_script_names_the_variables_and_the_remedy() {
    for peer in OWN_BUILDS {
        let into = place();
        let output = peer.install(into.path(), &[]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        let mut parts = vec![
            format!("{} is not set, nor is {}", peer.sources[0], peer.build),
            format!("{}=/path/to/the/build peers/install {}", peer.build, peer.name),
        ];
        parts.extend(peer.sources.iter().map(|name| format!("{name}=/path/to/its/source")));
        parts.extend(peer.programs.iter().map(|program| (*program).to_owned()));
        for part in parts {
            assert!(error.contains(&part), "no `{part}` in: {error}");
        }
    }
}

#[test]
fn a_folder_without_the_program_is_refused_and_one_with_it_installs_it() {
    for peer in OWN_BUILDS {
        let (into, build) = (place(), place());
        let output = peer.install(into.path(), &[(peer.build, build.path())]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(&format!("which has no program {}", peer.programs[0])), "{error}");

        for program in peer.programs {
            script(&build.path().join(program), "#!/bin/sh\n");
        }
        let output = peer.install(into.path(), &[(peer.build, build.path())]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(peer.missing(into.path()), Vec::<String>::new());
    }
}

/// Stands in for cmake: `cmake -S SOURCE -B TREE …` makes the tree, `cmake --build TREE …` puts the
/// programs of all peers where those of lsquic and of the others are.
const CMAKE: &str = r#"#!/bin/sh
if [ "$1" = -S ]; then
    [ -f "$2/CMakeLists.txt" ] && mkdir -p "$4/bin"
    exit
fi
for program in picoquicdemo pico_sim h2o bin/http_client bin/http_server; do
    printf '#!/bin/sh
' >"$2/$program" && chmod 755 "$2/$program"
done
"#;

/// A folder with a `cmake` that does `body` and with compilers, and a PATH that begins with it.
fn tools(body: &str) -> (TempDir, PathBuf) {
    let folder = place();
    script(&folder.path().join("cmake"), body);
    for compiler in ["cc", "c++"] {
        script(&folder.path().join(compiler), "#!/bin/sh\n");
    }
    let before = std::env::var("PATH").unwrap_or_default();
    let path = PathBuf::from(format!("{}:{before}", folder.path().display()));
    (folder, path)
}

#[test]
fn programs_are_built_from_source_trees() {
    let (_tools, path) = tools(CMAKE);
    for peer in OWN_BUILDS {
        let (into, source) = (place(), place());
        let mut set: Vec<(&str, &Path)> = vec![("PATH", &path)];
        set.extend(peer.sources.iter().map(|name| (*name, source.path())));
        let output = peer.install(into.path(), &set);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("which has no CMakeLists.txt; allowed: a source tree"), "{error}");

        fs::write(source.path().join("CMakeLists.txt"), "").expect("writes a file");
        let output = peer.install(into.path(), &set);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(peer.missing(into.path()), Vec::<String>::new());
    }
}

#[test]
fn a_build_that_fails_ends_with_what_it_said_last() {
    let (_tools, path) = tools("#!/bin/sh\necho no such header >&2; exit 2\n");
    let (into, source) = (place(), place());
    fs::write(source.path().join("CMakeLists.txt"), "").expect("writes a file");
    let h2o = &OWN_BUILDS[1];
    let output = h2o.install(into.path(), &[("PATH", &path), (h2o.sources[0], source.path())]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in ["no such header", "h2o: not built; all of it: "] {
        assert!(error.contains(part), "no `{part}` in: {error}");
    }
}

#[test]
fn a_peer_that_was_named_and_has_no_build_is_a_failure() {
    let into = place();
    let output = Command::new(peers().join("install"))
        .arg("h2o")
        .env("BENTPIPE_PEERS", into.path())
        .env_remove("BENTPIPE_H2O_BUILD")
        .env_remove("BENTPIPE_H2O_SOURCE")
        .output()
        .expect("runs the script");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not installed: h2o"), "{}", text(&output.stderr));
}

/// Runs the client of a peer, `peers/NAME/peer.py`, with a stand-in for `program` that does `body`.
fn client(folder: &Path, (name, program): (&str, &str), body: &str, timeout: &str) -> Output {
    script(&folder.join(program), &format!("#!/bin/sh\n{body}\n"));
    fs::write(folder.join("cert.pem"), "a certificate").expect("writes a file");
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("python3")
        .arg(peers().join(name).join("peer.py"))
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
    let output = client(folder.path(), PICOQUIC, body, "20");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let times: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let seconds = |key: &str| times[key].as_f64().expect("a time");
    assert!(seconds("handshake_s") >= 0.19, "{times}");
    // A busy machine may note the handshake late.
    assert!(seconds("completion_s") >= 0.39, "{times}");
    assert!(seconds("completion_s") > seconds("handshake_s"), "{times}");
    assert_eq!((times["bytes"].as_u64(), times["zero_rtt"].as_bool()), (Some(7), Some(false)));
    assert_eq!(fs::read(folder.path().join("output")).expect("the file"), b"1234567");
}

#[test]
fn times_of_lsquic_follow_one_another() {
    let folder = place();
    // The options are: -H NAME -s ADDRESS -p PATH -7 FOLDER -C ANCHORS -t
    let line = |what: &str, ms: &str| {
        format!("echo '{what}: n: 1; min: {ms} ms; max: {ms} ms; mean: {ms} ms; sd: 0.00 ms'\n")
    };
    let body = [
        "[ \"$2 $4\" = 'h3.test 192.0.2.1:4433' ] && [ -f \"${10}/ca.pem\" ] || exit 1\n"
            .to_owned(),
        "printf 'HTTP/1.1 200 OK\\r\\n\\r\\n1234567' >\"$8$6\"\n".to_owned(),
        line("time for connect", "650.25"),
        line("time for request", "2000.00"),
        line("time to 1st byte", "651.00"),
    ]
    .concat();
    let output = client(folder.path(), LSQUIC, &body, "20");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let times: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let near = |key: &str, seconds: f64| {
        let time = times[key].as_f64().expect("a time");
        assert!((time - seconds).abs() < 1e-9, "{key}: {time}");
    };
    near("handshake_s", 0.65025);
    near("first_byte_s", 1.30125);
    near("completion_s", 3.30125);
    assert_eq!(times["bytes"].as_u64(), Some(7));
    assert_eq!(fs::read(folder.path().join("output")).expect("the file"), b"1234567");
}

#[test]
fn a_download_that_fails_or_hangs_has_a_reason() {
    let begin = "echo 'Starting client connection. Version = 1'\n";
    let error = "Connection ends with local error 0x433 (idle timeout).";
    let none = "time for request: n: 0; min: 0.00 ms; max: 0.00 ms; mean: 0.00 ms; sd: 0.00 ms";
    for (peer, body, timeout, reason) in [
        (PICOQUIC, format!("{begin}echo '{error}'; exit 1"), "20", "idle timeout"),
        (PICOQUIC, format!("{begin}exec sleep 30"), "1", "not complete within 1 s"),
        (PICOQUIC, "exit 7".to_owned(), "20", "status 7"),
        (LSQUIC, format!("echo '{none}'; echo 'could not verify' >&2"), "20", "could not verify"),
        (LSQUIC, "exec sleep 30".to_owned(), "1", "not complete within 1 s"),
        (LSQUIC, "exit 7".to_owned(), "20", "status 7"),
    ] {
        let folder = place();
        let output = client(folder.path(), peer, &body, timeout);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}
