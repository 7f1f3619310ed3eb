//! Commands that go on until they are told to stop, and others beside them.

#![allow(dead_code, reason = "each program of tests uses its part")]

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A command that logs in JSON. It ends with the test.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    errors: PathBuf,
    /// What it said once it listened.
    pub first: Value,
}

impl Running {
    /// Begins `bentpipe OPTIONS` in `place` and waits until it listens.
    pub fn begin(place: &Path, options: &[&str]) -> Self {
        Self::begin_as(bentpipe(place), place, options)
    }

    /// The same with a `command` that runs it in its own way.
    pub fn begin_as(mut command: Command, place: &Path, options: &[&str]) -> Self {
        // Several may run in one place.
        let errors = place.join(format!(
            "{}-{}.errors",
            options[0],
            std::fs::read_dir(place).unwrap().count()
        ));
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

    /// The next line on standard output.
    pub fn line(&mut self) -> Value {
        let mut text = String::new();
        self.lines.read_line(&mut text).unwrap();
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{error} in `{text}`: {}", self.errors()))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said on standard error.
    pub fn errors(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }

    /// Sends SIGTERM.
    pub fn tell(&self) {
        let told = Command::new("kill").arg(self.id().to_string()).status().unwrap();
        assert!(told.success());
    }

    /// Waits for its end; the exit status.
    pub fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "it goes on: {}", self.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGTERM, and how it ends.
    pub fn terminate(&mut self) -> Option<i32> {
        self.tell();
        self.ended()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command, with a home of its own.
pub fn bentpipe(place: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(place).env("XDG_STATE_HOME", place.join("state"));
    command
}

/// Asserts that the command line is refused, for this reason.
pub fn refused(place: &Path, options: &[&str], reason: &str) {
    // One that is not refused would go on.
    let mut child = bentpipe(place)
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    // Where it has ended there is nothing to kill.
    let _ = child.kill();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!((status.code(), stdout.as_slice()), (Some(2), &b""[..]), "{options:?}: {said}");
    assert!(said.contains(reason), "{options:?}: `{reason}` is not in `{said}`");
}
