//! `bentpipe get` as a program: where it writes, what it leaves alone, how it ends.

// Waiting for a process takes a clock.
#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod running;

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

/// A server of `file.bin`, and a directory to download into.
struct Got {
    place: TempDir,
    url: String,
    running: Running,
}

impl Got {
    /// From `bentpipe serve`.
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("public")).unwrap();
        fs::write(place.path().join("public/file.bin"), content()).unwrap();
        Self::from(place, &["serve", "public"])
    }

    /// From a web server at `port`, with `bentpipe proxy` in front of it.
    fn proxied(port: u16) -> Self {
        let upstream = format!("http://127.0.0.1:{port}");
        Self::from(tempfile::tempdir().unwrap(), &["proxy", "--upstream", &upstream])
    }

    fn from(place: TempDir, begin: &[&str]) -> Self {
        let listening =
            ["--listen", "127.0.0.1:0", "--no-store", "--self-signed", "--save-cert", "server.pem"];
        let running = Running::begin(place.path(), &[begin, &listening].concat());
        let url = format!("{}/file.bin", running.first["url"].as_str().unwrap());
        fs::create_dir(place.path().join("here")).unwrap();
        Self { place, url, running }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("here").join(name)
    }

    fn command(&self, output: &str, options: &[&str]) -> Command {
        let mut command = bentpipe(self.place.path());
        command.current_dir(self.place.path().join("here"));
        command.args(["get", "--ca", "../server.pem", &self.url, "--output", output]).args(options);
        command
    }

    fn get(&self, output: &str) -> Output {
        self.command(output, &[]).output().unwrap()
    }

    /// Asserts that the output is refused with that status, for that reason.
    fn refused(&self, output: &str, status: i32, reason: &str) {
        let Output { status: ended, stderr, .. } = self.get(output);
        let said = String::from_utf8_lossy(&stderr);
        assert!(ended.code() == Some(status) && said.contains(reason), "{output}: {ended}, {said}");
    }

    /// The names in the directory, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Makes a device or a FIFO (mknod(1)), or says why there can be none.
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

    /// A character device like the one in `/dev`, or why there can be none.
    fn device(&self, name: &str, minor: &str) -> Result<PathBuf, String> {
        if fs::metadata("/proc/self").unwrap().uid() != 0 {
            // Root could replace the system's own, nobody else can.
            return Ok(Path::new("/dev").join(name));
        }
        self.node(name, &["c", "1", minor]).map(|()| self.path(name))
    }
}

fn assert_ok(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_device_is_written_to_and_stays_a_device() {
    let got = Got::new();
    let (null, full) = match (got.device("null", "3"), got.device("full", "7")) {
        (Ok(null), Ok(full)) => (null, full),
        (Err(reason), _) | (_, Err(reason)) => return eprintln!("skipped: {reason}"),
    };
    assert_ok(&got.get(null.to_str().unwrap()));
    got.refused(full.to_str().unwrap(), 3, "No space left on device");
    for device in [null, full] {
        let kind = fs::symlink_metadata(&device).unwrap().file_type();
        assert!(kind.is_char_device(), "{} is replaced", device.display());
    }
    assert!(got.names().iter().all(|name| name == "null" || name == "full"), "{:?}", got.names());
}

#[test]
fn a_fifo_passes_the_content_to_its_reader() {
    let got = Got::new();
    got.node("fifo", &["p"]).unwrap();
    let mut end = File::options().read(true).write(true).open(got.path("fifo")).unwrap();
    let reader = std::thread::spawn(move || {
        let mut content = vec![0; BYTES];
        end.read_exact(&mut content).map(|()| content)
    });
    assert_ok(&got.get("fifo"));
    assert!(
        fs::symlink_metadata(got.path("fifo")).unwrap().file_type().is_fifo(),
        "it is replaced"
    );
    assert!(reader.join().unwrap().unwrap() == content());
}

#[test]
fn standard_output_gets_the_content_and_nothing_else() {
    let got = Got::new();
    for output in ["-", "/dev/stdout"] {
        let piped = got.get(output);
        assert_ok(&piped);
        assert!(piped.stdout == content(), "{output}: {} bytes", piped.stdout.len());
        // A file that it is redirected to goes on where it stands.
        let log = got.path("log");
        fs::write(&log, "before").unwrap();
        let appended = File::options().append(true).open(&log).unwrap();
        let mut child = got.command(output, &[]).stdout(appended).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{output}");
        assert!(fs::read(&log).unwrap() == [b"before", &content()[..]].concat(), "{output}");
        assert_eq!(got.names(), ["log"], "{output}");
        refused(
            &got.path(""),
            &["get", "--insecure", &got.url, "--output", output, "--json"],
            "--json",
        );
    }
}

#[test]
fn standard_output_whose_reader_leaves_is_a_failure() {
    let got = Got::new();
    let mut child =
        got.command("-", &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 1000]).unwrap();
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.code() == Some(3) && said.contains("Broken pipe"), "{status}: {said}");
}

#[test]
fn a_directory_or_what_lies_in_none_is_refused() {
    let got = Got::new();
    fs::create_dir(got.path("directory")).unwrap();
    got.refused("directory", 2, "cannot write to directory: it is a directory");
    got.refused("directory/", 2, "is a directory");
    got.refused("absent/file", 2, "absent does not exist");
    assert_eq!((got.names().len(), fs::read_dir(got.path("directory")).unwrap().count()), (1, 0));
}

#[test]
fn links_are_followed_where_they_are_the_output_and_nowhere_else() {
    let got = Got::new();
    fs::write(got.path("old"), "old").unwrap();
    for (link, target) in [("to-old", "old"), ("dangling", "new")] {
        symlink(target, got.path(link)).unwrap();
        assert_ok(&got.get(link));
        assert!(got.path(link).is_symlink(), "{link} is replaced");
        assert!(fs::read(got.path(target)).unwrap() == content(), "{link}");
    }
    for planted in ["copy.part", "copy.part.json"] {
        fs::write(got.path("old"), "old").unwrap();
        symlink("old", got.path(planted)).unwrap();
        got.refused("copy", 3, planted);
        assert_eq!(fs::read_to_string(got.path("old")).unwrap(), "old");
        assert!(!got.path("copy").exists());
        fs::remove_file(got.path(planted)).unwrap();
        // It may have been made before the record was looked at.
        let _ = fs::remove_file(got.path("copy.part"));
    }
}

/// A web server whose first response waits in the middle until the test lets it go on.
fn halting() -> (u16, std::sync::mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (go, gate) = channel();
    std::thread::spawn(move || {
        let mut gate = Some(gate);
        for stream in listener.incoming().flatten() {
            let gate = gate.take();
            std::thread::spawn(move || {
                // How a connection ends is the proxy's affair.
                let _ = halt(stream, gate);
            });
        }
    });
    (port, go)
}

fn halt(stream: TcpStream, mut gate: Option<Receiver<()>>) -> std::io::Result<()> {
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
            // A test that has failed has gone.
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

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "{what} does not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn length(path: &Path) -> usize {
    fs::metadata(path).map_or(0, |metadata| metadata.len() as usize)
}

#[test]
fn of_two_at_a_time_the_second_is_told_and_the_first_is_whole() {
    let (port, go) = halting();
    let got = Got::proxied(port);
    let first = got.command("copy", &[]).stderr(Stdio::piped()).spawn().unwrap();
    until("the first half", || length(&got.path("copy.part")) == BYTES / 2);
    got.refused("copy", 3, "another download");
    go.send(()).unwrap();
    assert_ok(&wait(first));
    assert!(fs::read(got.path("copy")).unwrap() == content());
    assert_eq!(got.names(), ["copy"]);
}

#[test]
fn a_download_that_is_killed_is_resumed_by_the_same_command() {
    let (port, go) = halting();
    let mut got = Got::proxied(port);
    let mut first = got.command("copy", &[]).stderr(Stdio::piped()).spawn().unwrap();
    until("the first half", || length(&got.path("copy.part")) == BYTES / 2);
    first.kill().unwrap();
    first.wait().unwrap();
    drop(go);
    let second = got.get("copy");
    assert_ok(&second);
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("resumed at 1000000"), "{said}");
    assert!(fs::read(got.path("copy")).unwrap() == content());
    assert_eq!(got.names(), ["copy"]);
    assert_eq!(got.running.terminate(), Some(0));
}
