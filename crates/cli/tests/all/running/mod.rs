//! Helpers for commands that run until a signal stops them, and for other commands.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A running command with a JSON log. It is killed when dropped.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    errors: PathBuf,
    /// The first line of its output, with the address at which it listens.
    pub first: Value,
}

impl Running {
    /// Starts `bentpipe OPTIONS` in `dir` and waits until it listens.
    pub fn start(dir: &Path, options: &[&str]) -> Self {
        Self::start_with(bentpipe(dir), dir, options)
    }

    /// Like [`Self::start`], with another `command` that runs it.
    pub fn start_with(mut command: Command, dir: &Path, options: &[&str]) -> Self {
        // Several may run in one directory.
        let errors =
            dir.join(format!("{}-{}.errors", options[0], std::fs::read_dir(dir).unwrap().count()));
        let mut child = command
            .args(options)
            .args(["--log", "json"])
            .stdout(Stdio::piped())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, lines, errors, first: Value::Null };
        running.first = running.line();
        running
    }

    /// Returns the next line on standard output.
    pub fn line(&mut self) -> Value {
        let mut text = String::new();
        self.lines.read_line(&mut text).unwrap();
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{error} in `{text}`: {}", self.errors()))
    }

    /// Process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard error so far.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    /// The messages on its standard error so far, each of which is a line of JSON.
    pub fn messages(&self) -> Vec<Value> {
        let errors = self.errors();
        errors.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// Sends SIGTERM.
    pub fn send_sigterm(&self) {
        let sent = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end, and returns the exit status.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "still running: {}", self.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends SIGTERM, and returns the exit status.
    pub fn terminate(&mut self) -> Option<i32> {
        self.send_sigterm();
        self.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command, with its state in `dir`.
pub fn bentpipe(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(dir).env("XDG_STATE_HOME", dir.join("state"));
    command
}

/// Asserts that the command line is rejected for this reason.
pub fn refused(dir: &Path, options: &[&str], reason: &str) {
    // A command that is not rejected would keep running.
    let mut child =
        bentpipe(dir).args(options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    // It may have ended already.
    let _ = child.kill();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&stderr);
    assert_eq!((status.code(), stdout.as_slice()), (Some(2), &b""[..]), "{options:?}: {text}");
    assert!(text.contains(reason), "{options:?}: `{reason}` is missing in `{text}`");
}
