//! A peer's program in a namespace, and what it says.

use crate::Peer;
use bentpipe_emu::{Namespace, Program, Testbed};
use bentpipe_units::Bytes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What is read of what programs say.
const MOST_SAID: u64 = 16 * 1024;
/// Characters of a reason that are kept.
const MOST_REASON: usize = 240;
/// What a program may take to print its version.
const VERSION_TIME: Duration = Duration::from_secs(20);

/// Starts a program of `peer`, with what it says going to files in `work`.
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
    // What the user's own shell says of proxies would lead out of the namespace, where nothing is.
    for variable in
        ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env_remove(variable);
    }
    command
        .stdin(Stdio::null())
        .stdout(File::create(work.join("stdout"))?)
        .stderr(File::create(work.join("stderr"))?);
    Ok(Program::start(namespace, command)?)
}

/// The version that a peer's script installs, or the first line that its program prints.
pub fn version(peer: &Peer, work: &Path) -> Option<String> {
    if peer.version.is_some() || peer.version_command.is_empty() || !peer.missing().is_empty() {
        return peer.version.clone();
    }
    // As everything of others, where there is nothing to reach.
    let ground = Testbed::new(1, Bytes::new(1500)).ok()?;
    let mut program = start(ground.server(), peer, &peer.version_command, work).ok()?;
    program.wait_for(VERSION_TIME).ok()??;
    // nginx says it on standard error.
    let said = said(&work.join("stdout")) + &said(&work.join("stderr"));
    said.lines().find(|line| !line.trim().is_empty()).map(clean)
}

/// The end of what a program has written to a file.
pub fn said(file: &Path) -> String {
    let read = || {
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_SAID)))?;
        let mut bytes = Vec::new();
        file.take(MOST_SAID).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

/// The last line on standard error.
pub fn last_words(work: &Path) -> String {
    let said = said(&work.join("stderr"));
    said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}

/// One line without control characters, and not too long: it comes from others' programs and goes
/// to a terminal.
pub fn clean(text: &str) -> String {
    let words: String = text
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(MOST_REASON)
        .collect();
    words.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_say_reaches_the_terminal_as_one_short_line() {
        assert_eq!(clean("a\x1b[31mb\r\nc\t"), "a [31mb  c");
        assert_eq!(clean(&"é".repeat(1000)).chars().count(), MOST_REASON);
    }
}
