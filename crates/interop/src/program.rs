//! A peer's program in a namespace, and its output.

use crate::Peer;
use bentpipe_emu::{Namespace, Program, Testbed};
use bentpipe_units::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Maximum number of bytes that are read from the end of a program's output.
const MAX_OUTPUT: u64 = 16 * 1024;
/// Maximum length of a reason in characters.
const MAX_REASON: usize = 240;
/// Maximum time for a program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Starts a program of `peer`. Its output goes to the files `stdout` and `stderr` in `work`.
pub fn start(
    namespace: &Namespace,
    peer: &Peer,
    words: &[String],
    work: &Path,
) -> Result<Program, Box<dyn std::error::Error>> {
    let (program, arguments) = words.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(work)
        .env("PATH", peer.search_path())
        .env("HOME", work)
        .env("TMPDIR", work);
    // The user's proxies cannot be reached from the namespace.
    for variable in
        ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env_remove(variable);
    }
    command
        .stdin(Stdio::null())
        .stdout(bentpipe_files::create(&work.join("stdout"))?)
        .stderr(bentpipe_files::create(&work.join("stderr"))?);
    Ok(Program::start(namespace, command)?)
}

/// Returns the version that a peer's script installs, or the first line of its version command.
pub fn version(peer: &Peer, work: &Path) -> Option<String> {
    if peer.version.is_some() || peer.version_command.is_empty() || !peer.missing().is_empty() {
        return peer.version.clone();
    }
    // Programs of others run only in namespaces without a network.
    let testbed = Testbed::new(1, Bytes::new(1500)).ok()?;
    let mut program = start(testbed.server(), peer, &peer.version_command, work).ok()?;
    program.wait_for(VERSION_TIMEOUT).ok()??;
    // nginx prints its version to standard error.
    let output = read_end(&work.join("stdout")) + &read_end(&work.join("stderr"));
    output.lines().find(|line| !line.trim().is_empty()).map(clean)
}

/// Reads the last 16 KiB of a file; empty if it cannot be read.
pub fn read_end(file: &Path) -> String {
    let read = || {
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MAX_OUTPUT)))?;
        let mut bytes = Vec::new();
        file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

/// Returns the last line that a program wrote to standard error.
pub fn last_error_line(work: &Path) -> String {
    let output = read_end(&work.join("stderr"));
    output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

/// Shortens text of other programs to one line without control characters, safe for a terminal.
pub fn clean(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(MAX_REASON)
        .collect();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_programs_becomes_one_short_line() {
        assert_eq!(clean("a\x1b[31mb\r\nc\t"), "a [31mb  c");
        assert_eq!(clean(&"é".repeat(1000)).chars().count(), MAX_REASON);
    }
}
