//! One download: a server, a path, a client, and what came of it.

use crate::placeholders::fill;
use crate::program::{clean, last_words, said, start};
use crate::stage::{Content, HOST, Stage};
use crate::{Peer, Protocol, Role, RunOutcome, ready};
use bentpipe_emu::{
    EmuError, Emulator, Namespace, PathSpec, Program, Settings, Testbed, server_addresses,
};
use bentpipe_units::{Bytes, Span};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where servers listen. Their namespace is new: nothing else is there.
const PORT: u16 = 4433;
/// IP packets of the interfaces: Ethernet's.
const MTU: Bytes = Bytes::new(1500);
/// What a client may take beyond its time, to start and to end: a browser does so slowly.
const GRACE: Duration = Duration::from_secs(30);
/// What a server may take to end before it is killed.
const SERVER_GRACE: Duration = Duration::from_secs(1);
/// Between two looks at a client.
const LOOK: Duration = Duration::from_millis(200);
/// Packets that leave later than this at the 99th percentile make a result doubtful: our choice, a
/// tenth of a frame of most satellite systems.
const TOLERATED: Span = Span::from_millis(1);

/// A download that is to be.
#[derive(Debug)]
pub struct Download<'a> {
    pub client: &'a Peer,
    pub server: &'a Peer,
    pub protocol: Protocol,
    pub path: PathSpec,
    pub content: &'a Content,
    pub run: u64,
    /// How long the client may take.
    pub timeout: Duration,
    /// This program, for the peer that is ours.
    pub bentpipe: &'a Path,
}

impl Download<'_> {
    /// Carries it out.
    ///
    /// # Errors
    /// The machine does not let this process emulate. What the peers do wrong is in the outcome.
    pub fn play(&self, stage: &Stage, stop: &AtomicBool) -> Result<RunOutcome, EmuError> {
        let folder = |error: io::Error| EmuError::System {
            what: "a folder for the download".to_owned(),
            source: error,
        };
        let (client_work, server_work) =
            (stage.work().map_err(folder)?, stage.work().map_err(folder)?);
        let mut outcome = RunOutcome { run: self.run, ..RunOutcome::default() };
        let (Some(client_role), Some(server_role)) = (&self.client.client, &self.server.server)
        else {
            outcome.reason = Some("no client or no server of that name".to_owned());
            return Ok(outcome);
        };
        let ground = Testbed::new(1, MTU)?;
        let output = client_work.path().join("output");
        let server_values = self.values(stage, server_work.path(), self.server, &output);
        let mut server = match run(
            ground.server(),
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
        if let Some(reason) = ready::wait(&mut server, ground.server(), self.protocol, PORT)? {
            outcome.reason =
                Some(clean(&format!("server: it {reason}: {}", last_words(server_work.path()))));
            return Ok(outcome);
        }
        let emulator = Emulator::start(ground, &self.path, Settings::default())?;
        let Some(namespace) = emulator.testbed().client(0) else {
            return Err(EmuError::Spec { what: "no client".to_owned(), allowed: "one".to_owned() });
        };
        let values = self.values(stage, client_work.path(), self.client, &output);
        match run(namespace, self.client, client_role, client_work.path(), &values) {
            Ok(mut client) => {
                let ended = self.wait(&mut client, &emulator, stop)?;
                outcome.reason =
                    self.judge(ended, client_role, client_work.path(), &output, &mut outcome);
            }
            Err(error) => outcome.reason = Some(format!("client: {error}")),
        }
        if let Some(reason) = &mut outcome.reason
            && let Some(status) = server.wait_for(Duration::ZERO)?
        {
            *reason = clean(&format!(
                "{reason}; the server ended with status {status}: {}",
                last_words(server_work.path())
            ));
        }
        outcome.completed = outcome.reason.is_none();
        server.terminate();
        server.wait_for(SERVER_GRACE)?;
        drop(server);
        let report = emulator.stop()?;
        outcome.doubts = report.warnings(TOLERATED);
        outcome.packets_lost = report.directions().iter().map(|direction| direction.lost).sum();
        Ok(outcome)
    }

    /// What placeholders stand for.
    fn values(
        &self,
        stage: &Stage,
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
            ("cert", text(&stage.cert())),
            ("key", text(&stage.key())),
            ("root", text(&stage.root())),
            ("output", text(output)),
            ("timeout", self.timeout.as_secs().to_string()),
            ("protocol", self.protocol.name().to_owned()),
            ("home", text(&peer.home)),
            ("peer", text(&peer.folder)),
            ("work", text(work)),
            ("bentpipe", text(self.bentpipe)),
        ]
    }

    /// The client's exit status, or why there is none.
    fn wait(
        &self,
        client: &mut Program,
        emulator: &Emulator,
        stop: &AtomicBool,
    ) -> Result<Result<i32, String>, EmuError> {
        let mut left = self.timeout + GRACE;
        loop {
            if let Some(status) = client.wait_for(LOOK.min(left))? {
                return Ok(Ok(status));
            }
            left = left.saturating_sub(LOOK);
            let reason = if stop.load(Ordering::Relaxed) {
                "interrupted".to_owned()
            } else if !emulator.is_working() {
                "the emulator has stopped".to_owned()
            } else if left.is_zero() {
                format!("timeout: no end within {} s", (self.timeout + GRACE).as_secs())
            } else {
                continue;
            };
            client.kill();
            return Ok(Err(reason));
        }
    }

    /// Reads what the client has printed and written into `outcome`; why it is no success.
    fn judge(
        &self,
        ended: Result<i32, String>,
        role: &Role,
        work: &Path,
        output: &Path,
        outcome: &mut RunOutcome,
    ) -> Option<String> {
        let printed = said(&work.join("stdout"));
        let line = times(&printed, &role.times);
        if let Some(line) = &line {
            let seconds = |key: &str| {
                line.get(key).and_then(serde_json::Value::as_f64).filter(|value| *value >= 0.0)
            };
            outcome.handshake_s = seconds("handshake_s");
            outcome.first_byte_s = seconds("first_byte_s");
            outcome.completion_s = seconds("completion_s");
        }
        let status = match ended {
            Ok(status) => status,
            Err(reason) => return Some(reason),
        };
        if status != 0 {
            let words = last_words(work);
            return Some(clean(&if words.is_empty() { format!("status {status}") } else { words }));
        }
        let Some(line) = line else {
            return Some(clean(&format!("it printed no times: {printed}")));
        };
        // A client that speaks one protocol need not say which.
        let spoken = line.get("protocol").and_then(serde_json::Value::as_str);
        if let Some(spoken) =
            spoken.filter(|spoken| Protocol::spoken(spoken) != Some(self.protocol))
        {
            return Some(clean(&format!("it spoke {spoken} instead of {}", self.protocol.name())));
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
                "wrong content; its size and SHA-256 are not those of the {} sent",
                self.content.size
            )),
            Err(error) => Some(clean(&format!("no file: {error}"))),
        }
    }
}

/// Starts a role of a peer: its files first, then its program.
fn run(
    namespace: &Namespace,
    peer: &Peer,
    role: &Role,
    work: &Path,
    values: &[(&'static str, String)],
) -> Result<Program, Box<dyn std::error::Error>> {
    for (name, text) in role.files() {
        std::fs::write(work.join(name), fill(text, values))?;
    }
    let words: Vec<String> = role.command().map(|word| fill(word, values)).collect();
    start(namespace, peer, &words, work)
}

/// The JSON object with a client's times: all that it printed, or the last line.
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
    fn times_are_read_from_the_whole_or_the_last_line() {
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
