//! `bentpipe get`: output files, existing files, resumption, and exit status.

// The tests wait for processes.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use crate::running;

use running::{Running, bentpipe, refused};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const BYTES: usize = 2_000_000;

fn content() -> Vec<u8> {
    (0..BYTES).map(|index| (index % 251) as u8).collect()
}

/// A server of `file.bin`, and a directory to download to.
struct Fixture {
    dir: TempDir,
    url: String,
    running: Running,
}

impl Fixture {
    /// With `bentpipe serve`.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("public")).unwrap();
        fs::write(dir.path().join("public/file.bin"), content()).unwrap();
        Self::from(dir, &["serve", "public"])
    }

    /// With a web server at `port` behind `bentpipe proxy`.
    fn proxied(port: u16) -> Self {
        let upstream = format!("http://127.0.0.1:{port}");
        Self::from(tempfile::tempdir().unwrap(), &["proxy", "--upstream", &upstream])
    }

    fn from(dir: TempDir, command: &[&str]) -> Self {
        let options =
            ["--listen", "127.0.0.1:0", "--no-store", "--self-signed", "--save-cert", "server.pem"];
        let running = Running::start(dir.path(), &[command, &options].concat());
        let url = format!("{}/file.bin", running.first["url"].as_str().unwrap());
        fs::create_dir(dir.path().join("here")).unwrap();
        Self { dir, url, running }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("here").join(name)
    }

    fn command(&self, output: &str, options: &[&str]) -> Command {
        let mut command = bentpipe(self.dir.path());
        command.current_dir(self.dir.path().join("here"));
        command.args(["get", "--ca", "../server.pem", &self.url, "--output", output]).args(options);
        command
    }

    fn get(&self, output: &str) -> Output {
        self.command(output, &[]).output().unwrap()
    }

    /// Asserts that a download to `output` fails with this status and reason.
    fn refused(&self, output: &str, status: i32, reason: &str) {
        let Output { status: ended, stderr: bytes, .. } = self.get(output);
        let stderr = String::from_utf8_lossy(&bytes);
        assert!(
            ended.code() == Some(status) && stderr.contains(reason),
            "{output}: {ended}, {stderr}"
        );
    }

    /// Names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Creates a device or a FIFO (mknod(1)), or returns why that is not possible.
    fn node(&self, name: &str, kind: &[&str]) -> Result<(), String> {
        let path = self.path(name);
        let made = Command::new("mknod").arg(&path).args(kind).output().unwrap();
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
        // A file system may be mounted without devices.
        let opened = File::options().read(true).write(true).open(&path);
        opened.map(drop).map_err(|error| format!("{name} cannot be opened: {error}"))
    }

    /// Creates a character device like the one in `/dev`, or returns why that is not possible.
    fn device(&self, name: &str, minor: &str) -> Result<PathBuf, String> {
        if fs::metadata("/proc/self").unwrap().uid() != 0 {
            // Root could replace the system's own device, so it gets another.
            return Ok(Path::new("/dev").join(name));
        }
        self.node(name, &["c", "1", minor]).map(|()| self.path(name))
    }
}

fn assert_ok(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let fixture = Fixture::new();
    let (null, full) = match (fixture.device("null", "3"), fixture.device("full", "7")) {
        (Ok(null), Ok(full)) => (null, full),
        (Err(reason), _) | (_, Err(reason)) => return eprintln!("skipped: {reason}"),
    };
    assert_ok(&fixture.get(null.to_str().unwrap()));
    fixture.refused(full.to_str().unwrap(), 3, "No space left on device");
    for device in [null, full] {
        let kind = fs::symlink_metadata(&device).unwrap().file_type();
        assert!(kind.is_char_device(), "{} was replaced", device.display());
    }
    assert!(
        fixture.names().iter().all(|name| name == "null" || name == "full"),
        "{:?}",
        fixture.names()
    );
}

#[test]
fn a_fifo_receives_the_content() {
    let fixture = Fixture::new();
    fixture.node("fifo", &["p"]).unwrap();
    let mut end = File::options().read(true).write(true).open(fixture.path("fifo")).unwrap();
    let reader = std::thread::spawn(move || {
        let mut content = vec![0; BYTES];
        end.read_exact(&mut content).map(|()| content)
    });
    assert_ok(&fixture.get("fifo"));
    assert!(
        fs::symlink_metadata(fixture.path("fifo")).unwrap().file_type().is_fifo(),
        "FIFO was replaced"
    );
    assert!(reader.join().unwrap().unwrap() == content());
}

#[test]
fn standard_output_receives_only_the_content() {
    let fixture = Fixture::new();
    for output in ["-", "/dev/stdout"] {
        let piped = fixture.get(output);
        assert_ok(&piped);
        assert!(piped.stdout == content(), "{output}: {} bytes", piped.stdout.len());
        // Output redirected to a file continues at its position.
        let log = fixture.path("log");
        fs::write(&log, "before").unwrap();
        let appended = File::options().append(true).open(&log).unwrap();
        let mut child = fixture.command(output, &[]).stdout(appended).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{output}");
        assert!(fs::read(&log).unwrap() == [b"before", &content()[..]].concat(), "{output}");
        assert_eq!(fixture.names(), ["log"], "{output}");
        for option in ["--json", "--continue"] {
            refused(
                &fixture.path(""),
                &["get", "--insecure", &fixture.url, "--output", output, option],
                option,
            );
        }
    }
}

#[test]
fn a_closed_standard_output_is_an_error() {
    let fixture = Fixture::new();
    let mut child =
        fixture.command("-", &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 1000]).unwrap();
    let Output { status, stderr: bytes, .. } = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&bytes);
    assert!(status.code() == Some(3) && stderr.contains("Broken pipe"), "{status}: {stderr}");
}

#[test]
fn an_untrusted_certificate_is_an_error_that_names_the_options() {
    let site = Fixture::new();
    let mut command = bentpipe(site.dir.path());
    let output = command.args(["get", "--no-tokens", "--discard", &site.url]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{errors}");
    assert!(errors.contains("invalid peer certificate"), "{errors}");
    assert!(errors.contains("--ca FILE") && errors.contains("--insecure"), "{errors}");
}

#[test]
fn directories_and_files_in_missing_directories_are_rejected() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("directory")).unwrap();
    fixture.refused("directory", 2, "cannot write to directory: it is a directory");
    fixture.refused("directory/", 2, "is a directory");
    fixture.refused("absent/file", 2, "absent does not exist");
    assert_eq!(
        (fixture.names().len(), fs::read_dir(fixture.path("directory")).unwrap().count()),
        (1, 0)
    );
}

#[test]
fn urls_that_end_in_one_name_are_refused_before_anything_is_requested() {
    let dir = tempfile::tempdir().unwrap();
    // Nobody listens there, and nothing is resolved.
    let [first, second] = ["https://a.invalid/x/file.bin", "https://b.invalid/y/file.bin?z"];
    let get = |urls: &[&str]| {
        let mut command = bentpipe(dir.path());
        let output = command.arg("get").args(urls).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, stderr) = get(&[first, "https://a.invalid/other.bin", second]);
    assert_eq!(status, Some(2), "{stderr}");
    for part in [first, second, "file.bin", "--output"] {
        assert!(stderr.contains(part), "{part} is not in: {stderr}");
    }
    // The same file twice is no loss, and content that is discarded has no name.
    for urls in [&[first, first][..], &[first, second, "--discard"]] {
        assert_eq!(get(urls).0, Some(3), "{urls:?}: the host has no address");
    }
}

#[test]
fn symlinks_are_followed_only_for_the_output() {
    let fixture = Fixture::new();
    fs::write(fixture.path("old"), "old").unwrap();
    for (link, target) in [("to-old", "old"), ("dangling", "new")] {
        symlink(target, fixture.path(link)).unwrap();
        assert_ok(&fixture.get(link));
        assert!(fixture.path(link).is_symlink(), "{link} was replaced");
        assert!(fs::read(fixture.path(target)).unwrap() == content(), "{link}");
    }
    for planted in ["copy.part", "copy.part.json"] {
        fs::write(fixture.path("old"), "old").unwrap();
        symlink("old", fixture.path(planted)).unwrap();
        fixture.refused("copy", 3, planted);
        assert_eq!(fs::read_to_string(fixture.path("old")).unwrap(), "old");
        assert!(!fixture.path("copy").exists());
        fs::remove_file(fixture.path(planted)).unwrap();
        // It may have been created before the record was checked.
        let _ = fs::remove_file(fixture.path("copy.part"));
    }
}

/// A web server that pauses in the middle of its first response until the test lets it continue.
fn pausing_server() -> (u16, std::sync::mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (go, gate) = channel();
    std::thread::spawn(move || {
        let mut gate = Some(gate);
        for stream in listener.incoming().flatten() {
            let gate = gate.take();
            std::thread::spawn(move || {
                // Connections may end with any error.
                let _ = respond(stream, gate);
            });
        }
    });
    (port, go)
}

fn respond(stream: TcpStream, mut gate: Option<Receiver<()>>) -> std::io::Result<()> {
    let (mut reader, mut head) = (BufReader::new(stream), String::new());
    while reader.read_line(&mut head)? > 0 {
        if !head.ends_with("\r\n\r\n") {
            continue;
        }
        let (content, stream) = (content(), reader.get_mut());
        let range = head.to_lowercase().split_once("range: bytes=").and_then(|(_, rest)| {
            rest.split_once('-').and_then(|(first, _)| first.parse::<usize>().ok())
        });
        let begin = range.unwrap_or(0);
        let (status, left) =
            (if range.is_some() { "206 Partial Content" } else { "200 OK" }, BYTES - begin);
        write!(stream, "HTTP/1.1 {status}\r\nETag: \"v1\"\r\nContent-Length: {left}\r\n")?;
        write!(stream, "Content-Range: bytes {begin}-{}/{BYTES}\r\n\r\n", BYTES - 1)?;
        let (first, second) = content[begin..].split_at(left / 2);
        stream.write_all(first)?;
        if let Some(gate) = gate.take() {
            // A failed test has dropped the sender.
            let _ = gate.recv();
        }
        stream.write_all(second)?;
        head.clear();
    }
    Ok(())
}

fn wait(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn length(path: &Path) -> usize {
    fs::metadata(path).map_or(0, |metadata| metadata.len() as usize)
}

#[test]
fn a_second_download_of_the_same_file_is_rejected() {
    let (port, go) = pausing_server();
    let fixture = Fixture::proxied(port);
    let first = fixture.command("copy", &[]).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first half has arrived", || length(&fixture.path("copy.part")) == BYTES / 2);
    fixture.refused("copy", 3, "another download");
    go.send(()).unwrap();
    assert_ok(&wait(first));
    assert!(fs::read(fixture.path("copy")).unwrap() == content());
    assert_eq!(fixture.names(), ["copy"]);
}

#[test]
fn a_killed_download_is_resumed_by_the_same_command() {
    let mut fixture = resumed(&[]);
    assert_eq!(fixture.running.terminate(), Some(0));
    // The option of other programs changes nothing.
    resumed(&["--continue"]);
    resumed(&["-c"]);
}

/// Asserts that a download with `options` resumes one that was killed.
fn resumed(options: &[&str]) -> Fixture {
    let (port, go) = pausing_server();
    let fixture = Fixture::proxied(port);
    let mut first = fixture.command("copy", &[]).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first half has arrived", || length(&fixture.path("copy.part")) == BYTES / 2);
    first.kill().unwrap();
    first.wait().unwrap();
    drop(go);
    let second = fixture.command("copy", options).output().unwrap();
    assert_ok(&second);
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert!(stderr.contains("resumed at byte 1000000"), "{stderr}");
    assert!(fs::read(fixture.path("copy")).unwrap() == content());
    assert_eq!(fixture.names(), ["copy"]);
    fixture
}
