//! Running scenarios on either clock.

// Each test file uses some of them.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub fn command(dir: &Path, clock: &str, text: &str) -> Command {
    let file = dir.join("scenario.toml");
    std::fs::write(&file, text).expect("writes the file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.arg("run").arg(file).args(["--clock", clock, "--json", "--out"]).arg(dir.join("out"));
    command.env("XDG_CACHE_HOME", dir.join("cache"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(clock: &str, text: &str) -> Output {
    let dir = tempfile::tempdir().expect("creates a directory");
    command(dir.path(), clock, text).output().expect("command runs")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns true, with a note on standard error, if neither root nor user namespaces are available.
pub fn cannot_run(output: &Output) -> bool {
    let cannot = output.status.code() == Some(3) && stderr(output).contains("Needed:");
    if cannot {
        eprintln!("skipped: {}", stderr(output));
    }
    cannot
}

pub fn results(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}
