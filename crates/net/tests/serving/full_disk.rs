//! A server whose files are on a full disk: a small tmpfs in a mount namespace.

use super::kit::{LogBuffer, until};
use super::refusals::started;
use super::{TestServer, content};
use bentpipe_net::{LogFormat, write_warnings};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

/// Mounts the disk at `$0` and runs the test, which is the other arguments, with files on it. Each
/// step is a process of its own, because files that are closed later make room.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=1m,nr_inodes=64 none "$0" || exit 77
STORE="$0/existing" ROOM=yes "$@" || exit 1
dd if=/dev/zero of="$0/filler" bs=512 2>/dev/null
STORE="$0/new" ROOM=no "$@" || exit 2
STORE="$0/existing" ROOM=some "$@" || exit 3
number=0
while touch "$0/$number" 2>/dev/null; do number=$((number + 1)); done
STORE="$0/none" ROOM=no "$@" || exit 4
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a step of `a_full_disk_does_not_keep_the_server_from_starting`"]
async fn starts_with_files_on_the_disk() {
    let store = PathBuf::from(std::env::var_os("STORE").expect("the path store"));
    let keys = store.with_extension("keys");
    let report = started(|builder| builder.store(&store).keys(&keys)).await.unwrap();
    match std::env::var("ROOM").expect("what is expected").as_str() {
        "yes" => assert_eq!(report, ""),
        "no" => {
            for kept in
                ["paths are remembered in memory only", "keys and TLS sessions are kept in memory"]
            {
                let line = report.lines().find(|line| line.contains(kept));
                let line = line.unwrap_or_else(|| panic!("`{kept}` is missing: {report}"));
                assert!(line.contains("free some space on its disk"), "{line}");
            }
        }
        // Files that are there may be used, or not.
        _ => {}
    }
}

/// Mounts the disk at `$0` and runs the step, which is the other arguments.
const MOUNT: &str = r#"
mount -t tmpfs -o size=1m,nr_inodes=64 none "$0" || exit 77
STORE="$0/existing" "$@"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a step of `a_disk_that_fills_up_later_is_reported`"]
async fn serves_while_the_disk_fills_up() {
    let store = PathBuf::from(std::env::var_os("STORE").expect("the path store"));
    let lines = LogBuffer::default();
    // For all of the process, which has no other test.
    write_warnings(LogFormat::Text, Box::new(lines.clone()));
    let keys = store.with_extension("keys");
    let site = TestServer::with(|builder| builder.store(&store).keys(&keys)).await;
    let mut filler = std::fs::File::create(store.with_extension("filler")).unwrap();
    while filler.write(&[0; 512]).is_ok_and(|written| written > 0) {}
    for _ in 0..3 {
        let client = site.client();
        let response = site.get(&client, "/hello.txt").await.unwrap();
        assert_eq!(content(response).await.unwrap(), b"hello");
        client.disconnect().await;
    }
    let failed = || site.server.metrics().sessions_failed.load(Relaxed) > 0;
    until("sessions that are not kept are counted", failed).await;
    let line = lines.lines(1).await.swap_remove(0);
    assert!(
        line.contains("a TLS session is not kept") && line.contains("free some space"),
        "{line}"
    );
}

#[test]
fn a_full_disk_does_not_keep_the_server_from_starting() {
    on_a_small_disk(SCRIPT, "full_disk::starts_with_files_on_the_disk", 4);
}

#[test]
fn a_disk_that_fills_up_later_is_reported() {
    on_a_small_disk(MOUNT, "full_disk::serves_while_the_disk_fills_up", 1);
}

/// Runs a script that runs the test `step` so many `times`, in a mount namespace if the system
/// allows one.
fn on_a_small_disk(script: &str, step: &str, times: usize) {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", step, "--ignored"])
        .output();
    let output = match output {
        Err(error) => return eprintln!("skipped: unshare: {error}"),
        Ok(output) => output,
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if !text.contains("running 1 test") {
        return eprintln!("skipped: no mount namespace: {text}");
    }
    assert!(output.status.success(), "{}: {text}", output.status);
    assert_eq!(text.matches("1 passed").count(), times, "{text}");
}
