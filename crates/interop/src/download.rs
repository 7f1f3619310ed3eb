//! One download: a server, a path, a client, and the outcome.

use crate::placeholders::fill;
use crate::program::{clean, last_error_line, read_end, start};
use crate::shared_files::{Content, HOST, SharedFiles};
use crate::{Peer, Protocol, Role, RunOutcome, ready};
use bentpipe_emu::{
    EmuError, Emulator, EmulatorSettings, Namespace, PathSpec, Program, Testbed, server_addresses,
};
use bentpipe_units::{Bytes, Span};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Port of the servers. It is free, because their namespace is new.
const PORT: u16 = 4433;
/// MTU of the interfaces: that of Ethernet.
const MTU: Bytes = Bytes::new(1500);
/// Time that a client has beyond its timeout to start and to exit. Browsers are slow at both.
const GRACE: Duration = Duration::from_secs(30);
/// Time that a server has to exit before it is killed.
const SERVER_GRACE: Duration = Duration::from_secs(1);
/// Interval between checks of a client.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum 99th percentile of the packets' lateness for a result without warning. Our choice: a
/// tenth of a frame of most satellite systems.
const MAX_LATENESS: Span = Span::from_millis(1);

/// A planned download.
#[derive(Debug)]
pub struct Download<'a> {
    pub client: &'a Peer,
    pub server: &'a Peer,
    pub protocol: Protocol,
    pub path: PathSpec,
    pub content: &'a Content,
    pub run: u64,
    /// Maximum time of the client.
    pub timeout: Duration,
    /// Path of this program, which is one of the peers.
    pub bentpipe: &'a Path,
}

impl Download<'_> {
    /// Runs the download.
    ///
    /// # Errors
    /// Returns an error if this process is not permitted to emulate paths. Failures of the peers
    /// are in the outcome.
    pub fn run(&self, files: &SharedFiles, stop: &AtomicBool) -> Result<RunOutcome, EmuError> {
        let folder = |error: io::Error| EmuError::System {
            what: "a folder for the download".to_owned(),
            source: error,
        };
        let (client_work, server_work) =
            (files.work().map_err(folder)?, files.work().map_err(folder)?);
        let mut outcome = RunOutcome { run: self.run, ..RunOutcome::default() };
        let (Some(client_role), Some(server_role)) = (&self.client.client, &self.server.server)
        else {
            outcome.reason = Some("no client or no server of that name".to_owned());
            return Ok(outcome);
        };
        let testbed = Testbed::new(1, MTU)?;
        let output = client_work.path().join("output");
        let server_values = self.values(files, server_work.path(), self.server, &output);
        let mut server = match start_role(
            testbed.server(),
            self.server,
            server_role,
            server_work.path(),
            &server_values,
        ) {
            Ok(server) => server,
            Err(error) => {
                outcome.reason = Some(format!("server: {error}"));
                return Ok(outcome);
            }
        };
        if let Some(reason) = ready::wait(&mut server, testbed.server(), self.protocol, PORT)? {
            let line = last_error_line(server_work.path());
            outcome.reason = Some(clean(&format!("server: it {reason}: {line}")));
            return Ok(outcome);
        }
        let emulator = Emulator::start(testbed, &self.path, EmulatorSettings::default())?;
        let namespace = emulator.testbed().client(0)?;
        let values = self.values(files, client_work.path(), self.client, &output);
        match start_role(namespace, self.client, client_role, client_work.path(), &values) {
            Ok(mut client) => {
                let exit = self.wait(&mut client, &emulator, stop)?;
                outcome.reason =
                    self.evaluate(exit, client_role, client_work.path(), &output, &mut outcome);
            }
            Err(error) => outcome.reason = Some(format!("client: {error}")),
        }
        if let Some(reason) = &mut outcome.reason
            && let Some(status) = server.wait_for(Duration::ZERO)?
        {
            *reason = clean(&format!(
                "{reason}; the server exited with status {status}: {}",
                last_error_line(server_work.path())
            ));
        }
        outcome.completed = outcome.reason.is_none();
        server.terminate();
        server.wait_for(SERVER_GRACE)?;
        drop(server);
        let report = emulator.stop()?;
        outcome.warnings = report.warnings(MAX_LATENESS);
        outcome.packets_lost = report.directions().iter().map(|direction| direction.lost).sum();
        Ok(outcome)
    }

    /// Returns the values of the placeholders.
    fn values(
        &self,
        files: &SharedFiles,
        work: &Path,
        peer: &Peer,
        output: &Path,
    ) -> Vec<(&'static str, String)> {
        let address = server_addresses()[0].to_string();
        let path = format!("/{}", self.content.name);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        vec![
            ("url", format!("https://{address}:{PORT}{path}")),
            ("host", HOST.to_owned()),
            ("address", address),
            ("port", PORT.to_string()),
            ("path", path),
            ("cert", text(&files.cert())),
            ("key", text(&files.key())),
            ("root", text(&files.root())),
            ("output", text(output)),
            ("timeout", self.timeout.as_secs().to_string()),
            ("protocol", self.protocol.name().to_owned()),
            ("home", text(&peer.home)),
            ("peer", text(&peer.folder)),
            ("work", text(work)),
            ("bentpipe", text(self.bentpipe)),
        ]
    }

    /// Waits for the client and returns its exit status, or the reason why it was killed.
    fn wait(
        &self,
        client: &mut Program,
        emulator: &Emulator,
        stop: &AtomicBool,
    ) -> Result<Result<i32, String>, EmuError> {
        let mut left = self.timeout + GRACE;
        loop {
            if let Some(status) = client.wait_for(POLL_INTERVAL.min(left))? {
                return Ok(Ok(status));
            }
            left = left.saturating_sub(POLL_INTERVAL);
            let reason = if stop.load(Ordering::Relaxed) {
                "interrupted".to_owned()
            } else if !emulator.is_working() {
                "the emulator has stopped".to_owned()
            } else if left.is_zero() {
                format!("timeout: no exit within {} s", (self.timeout + GRACE).as_secs())
            } else {
                continue;
            };
            client.kill();
            return Ok(Err(reason));
        }
    }

    /// Reads the client's output into `outcome`. Returns the reason if the download failed.
    fn evaluate(
        &self,
        exit: Result<i32, String>,
        role: &Role,
        work: &Path,
        output: &Path,
        outcome: &mut RunOutcome,
    ) -> Option<String> {
        let printed = read_end(&work.join("stdout"));
        let line = times(&printed, &role.times);
        if let Some(line) = &line {
            let seconds = |key: &str| {
                line.get(key).and_then(serde_json::Value::as_f64).filter(|value| *value >= 0.0)
            };
            outcome.handshake_s = seconds("handshake_s");
            outcome.first_byte_s = seconds("first_byte_s");
            outcome.completion_s = seconds("completion_s");
        }
        let status = match exit {
            Ok(status) => status,
            Err(reason) => return Some(reason),
        };
        if status != 0 {
            let line = last_error_line(work);
            return Some(clean(&if line.is_empty() { format!("status {status}") } else { line }));
        }
        let Some(line) = line else {
            return Some(clean(&format!("it printed no times: {printed}")));
        };
        // A client with a single protocol may omit it.
        let reported = line.get("protocol").and_then(serde_json::Value::as_str);
        if let Some(name) =
            reported.filter(|name| Protocol::from_reported(name) != Some(self.protocol))
        {
            return Some(clean(&format!("it used {name} instead of {}", self.protocol.name())));
        }
        let digest = line.get("sha256").and_then(serde_json::Value::as_str);
        let same = match digest {
            Some(digest) => Ok(self.content.has_digest(digest)),
            None => self.content.is(output),
        };
        match same {
            Ok(true) if outcome.completion_s.is_some() => None,
            Ok(true) => Some("it printed no `completion_s`".to_owned()),
            Ok(false) => Some(format!(
                "wrong content: size or SHA-256 differ from those of the {} sent",
                self.content.size
            )),
            Err(error) => Some(clean(&format!("no file: {error}"))),
        }
    }
}

/// Writes the files of a peer's role and starts its program.
fn start_role(
    namespace: &Namespace,
    peer: &Peer,
    role: &Role,
    work: &Path,
    values: &[(&'static str, String)],
) -> Result<Program, Box<dyn std::error::Error>> {
    for (name, text) in role.files() {
        bentpipe_files::replace(&work.join(name), fill(text, values).as_bytes())?;
    }
    let words: Vec<String> = role.command().map(|word| fill(word, values)).collect();
    start(namespace, peer, &words, work)
}

/// Returns the JSON object with a client's times, at `pointer` in its complete output or in the
/// last line.
fn times(printed: &str, pointer: &str) -> Option<serde_json::Value> {
    let last = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let document: serde_json::Value =
        serde_json::from_str(printed).or_else(|_| serde_json::from_str(last)).ok()?;
    document.pointer(pointer).filter(|times| times.is_object()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_complete_output_or_its_last_line() {
        let seconds = |printed: &str, pointer: &str| {
            times(printed, pointer).and_then(|times| times["completion_s"].as_f64())
        };
        assert_eq!(seconds("warning\n{\"completion_s\": 1.5}\n\n", ""), Some(1.5));
        assert_eq!(
            seconds("{\n \"downloads\": [{\"completion_s\": 2}]\n}", "/downloads/0"),
            Some(2.0)
        );
        for (printed, pointer) in
            [("", ""), ("no", ""), ("[1]", "/0"), ("{}", "/downloads/0"), ("\u{0}{", "")]
        {
            assert_eq!(times(printed, pointer), None, "{printed}");
        }
    }
}
