//! A flow of programs: a server and a client, by the commands that run them.

use super::VisitRunner;
use super::outcome::VisitOutcome;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bentpipe_emu::{
    EmuError, Namespace, ObjectOutcome, Program, TransferOutcome, client_addresses,
    server_addresses,
};
use bentpipe_link::random::stream;
use bentpipe_sim::{FlowSpec, ProgramStack, Visit};
use bentpipe_units::{Span, Time};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tempfile::TempDir;

/// How long a server may take until it listens.
const PATIENCE: Span = Span::from_secs(10);
/// How long one may take to end.
const GRACE: Duration = Duration::from_secs(3);
/// How often whoever waits for a program looks whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// Of what a program that failed has said, so much is told.
const LAST_BYTES: u64 = 2000;
const LAST_LINES: usize = 5;
/// The object's name; those of later visits have the visit's number before it, from 1.
pub const OBJECT: &str = "object.bin";
/// The option of `bentpipe get` with which nothing is written.
pub const DISCARDS: &str = " --discard";

/// What one run of the commands left.
pub struct Ended {
    /// What the results tell.
    pub outcome: TransferOutcome,
    /// What the client wrote to standard output, where its command does not name `{output}`.
    pub output: Vec<u8>,
}

/// Carries out one visit.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &ProgramStack,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let ended = commands(runner, flow, stack, std::slice::from_ref(visit), port)?;
    Ok(VisitOutcome { port, outcome: ended.outcome, told: None, qlog: Vec::new() })
}

/// Runs the commands of `stack`. Of a single visit, the client is to have written as many bytes as
/// its object has; what one that makes several has done, it has to say itself.
pub fn commands(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &ProgramStack,
    visits: &[Visit],
    port: u16,
) -> Result<Ended, EmuError> {
    let system = |what: &'static str| move |source: io::Error| EmuError::system(what, source);
    let sizes: Vec<u64> = visits
        .iter()
        .filter_map(|visit| visit.objects.first())
        .map(|object| object.bytes.get())
        .collect();
    let bytes = sizes.first().copied().unwrap_or(0);
    let place = TempDir::with_prefix("bentpipe-").map_err(system("a directory for programs"))?;
    let files = ProgramFiles::new(place.path(), runner, flow, port, &sizes)
        .map_err(system("files for programs"))?;
    // Each visit has its time, and there are pauses between them.
    let pauses = visits
        .iter()
        .skip(1)
        .fold(Span::ZERO, |sum, visit| sum + visit.idle_before + visit.start_jitter);
    let give_up = runner.emulator.now() + runner.spec.time_limit * visits.len() as u64 + pauses;

    let testbed = runner.emulator.testbed();
    let mut outcome = TransferOutcome {
        begin: runner.emulator.now(),
        objects: vec![ObjectOutcome::default()],
        ..TransferOutcome::default()
    };
    let over = |outcome: &mut TransferOutcome, error: Option<String>| {
        outcome.end = runner.emulator.now();
        outcome.error = error;
    };
    let mut server = files.start(testbed.server(), "server", &stack.server)?;
    if let Some(error) = listens(runner, &mut server, &files, port)? {
        over(&mut outcome, Some(error));
        return Ok(Ended { outcome, output: Vec::new() });
    }
    let Some(namespace) = testbed.client(flow.terminal) else {
        let what = format!("terminal {}", flow.terminal);
        return Err(EmuError::Spec { what, allowed: "those of the path".to_owned() });
    };
    outcome.begin = runner.emulator.now();
    let mut client = files.start(namespace, "client", &stack.client)?;
    let status = loop {
        if let Some(status) = client.wait_for(LOOK)? {
            break Some(status);
        }
        let working = runner.emulator.is_working();
        if runner.stop.load(Ordering::Relaxed) || !working || runner.emulator.now() >= give_up {
            client.kill();
            break None;
        }
    };
    let now = runner.emulator.now();
    if server.wait_for(Duration::ZERO)?.is_none() {
        server.terminate();
        server.wait_for(GRACE)?;
    }
    let written = if stack.client.contains(DISCARDS) { bytes } else { files.written() };
    let error = match status {
        None => Some("given up at the time limit".to_owned()),
        Some(0) if written != bytes => {
            Some(format!("the client ended well and has written {written} of {bytes} bytes"))
        }
        Some(0) => None,
        Some(status) => {
            Some(format!("the client ended with status {status}{}", files.last_words("client")))
        }
    };
    outcome.objects[0] = ObjectOutcome {
        requested: Some(outcome.begin),
        received: written.min(bytes),
        completed: error.is_none().then_some(now),
    };
    over(&mut outcome, error);
    outcome.end = now;
    Ok(Ended { outcome, output: fs::read(files.path("client.out")).unwrap_or_default() })
}

/// Waits until the server listens; why not, where it does not.
fn listens(
    runner: VisitRunner<'_>,
    server: &mut Program,
    files: &ProgramFiles<'_>,
    port: u16,
) -> Result<Option<String>, EmuError> {
    let patience: Time = runner.emulator.now() + PATIENCE;
    while !runner.emulator.testbed().server().is_listening_at(port)? {
        if let Some(status) = server.wait_for(Duration::from_millis(10))? {
            let words = files.last_words("server");
            return Ok(Some(format!(
                "the server ended with status {status} before it listened at port {port}{words}"
            )));
        }
        if runner.stop.load(Ordering::Relaxed) || runner.emulator.now() > patience {
            let words = files.last_words("server");
            return Ok(Some(format!(
                "the server did not listen at port {port} within {PATIENCE}{words}"
            )));
        }
    }
    Ok(None)
}

/// The files of one visit, and what placeholders stand for.
struct ProgramFiles<'a> {
    place: &'a Path,
    words: Vec<(&'static str, String)>,
}

impl<'a> ProgramFiles<'a> {
    /// Makes the object, and a certificate for the server's addresses.
    fn new(
        place: &'a Path,
        runner: VisitRunner<'_>,
        flow: &FlowSpec,
        port: u16,
        sizes: &[u64],
    ) -> io::Result<Self> {
        let ([server, server6], [client, client6]) =
            (server_addresses(), client_addresses(flow.terminal));
        let at = |name: &str| place.join(name).display().to_string();
        fs::create_dir(place.join("served"))?;
        fill(&place.join("served").join(OBJECT), sizes.first().copied().unwrap_or(0))?;
        for (index, bytes) in sizes.iter().enumerate().skip(1) {
            fill(&place.join("served").join(format!("{index}-{OBJECT}")), *bytes)?;
        }
        certificate(place, &[server.to_string(), server6.to_string()])?;
        let words = vec![
            ("server", server.to_string()),
            ("client", client.to_string()),
            ("server6", server6.to_string()),
            ("client6", client6.to_string()),
            ("port", port.to_string()),
            ("url", format!("https://{server}:{port}/{OBJECT}")),
            ("dir", at("served")),
            ("file", OBJECT.to_owned()),
            ("bytes", sizes.first().copied().unwrap_or(0).to_string()),
            ("output", at("output")),
            ("cert", at("cert.pem")),
            ("key", at("key.pem")),
            ("bentpipe", runner.bentpipe.display().to_string()),
        ];
        Ok(Self { place, words })
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.join(name)
    }

    fn filled(&self, text: &str) -> String {
        self.words
            .iter()
            .fold(text.to_owned(), |text, (name, word)| text.replace(&format!("{{{name}}}"), word))
    }

    /// Runs `command` in `namespace`; what it says goes to files.
    fn start(&self, namespace: &Namespace, who: &str, command: &str) -> Result<Program, EmuError> {
        let file = |what: &str| {
            let path = self.path(&format!("{who}.{what}"));
            File::create(&path)
                .map_err(|error| EmuError::system(format!("{}", path.display()), error))
        };
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(self.filled(command)).current_dir(self.place);
        shell.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
        Program::start(namespace, shell)
    }

    /// What the client has written: the file it was given, or else its standard output.
    fn written(&self) -> u64 {
        let length = |name: &str| fs::metadata(self.path(name)).map(|file| file.len()).ok();
        length("output").or_else(|| length("client.out")).unwrap_or(0)
    }

    /// The last lines that `who` has said, to stand behind a sentence.
    fn last_words(&self, who: &str) -> String {
        let tail = |what: &str| -> io::Result<String> {
            let mut file = File::open(self.path(&format!("{who}.{what}")))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(LAST_BYTES).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let mut lines: Vec<String> = Vec::new();
        for what in ["out", "err"] {
            let text = tail(what).unwrap_or_default();
            // What a terminal would do with them is nobody's business.
            let clean = |line: &str| line.chars().filter(|c| !c.is_control()).collect::<String>();
            lines.extend(text.lines().map(clean).filter(|line| !line.trim().is_empty()));
        }
        let last = lines.split_off(lines.len().saturating_sub(LAST_LINES));
        if last.is_empty() { String::new() } else { format!(": {}", last.join(" | ")) }
    }
}

/// A file of so many bytes that nothing makes smaller.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut draws = stream(1, 0, "content");
    let mut block = vec![0u8; 1 << 20];
    for word in block.chunks_exact_mut(8) {
        word.copy_from_slice(&draws.unit().to_bits().to_le_bytes());
    }
    let mut file = File::create(path)?;
    let mut left = bytes;
    while left > 0 {
        let next = left.min(block.len() as u64) as usize;
        file.write_all(&block[..next])?;
        left -= next as u64;
    }
    Ok(())
}

/// Writes a self-signed certificate for `names` and its key, for this visit alone.
fn certificate(place: &Path, names: &[String]) -> io::Result<()> {
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    fs::write(place.join("cert.pem"), pem("CERTIFICATE", made.cert.der()))?;
    fs::write(place.join("key.pem"), pem("PRIVATE KEY", &made.signing_key.serialize_der()))
}

/// Text with lines of 64 characters (RFC 7468 §2).
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_has_lines_of_64_characters_between_its_labels() {
        let text = pem("CERTIFICATE", &[0; 100]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines[0], lines[lines.len() - 1]),
            ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        );
        assert_eq!(
            lines[1..lines.len() - 1].iter().map(|line| line.len()).collect::<Vec<_>>(),
            [64, 64, 8]
        );
    }

    #[test]
    fn placeholders_are_filled_in_other_braces_stay_and_the_last_words_are_short() {
        let place = tempfile::tempdir().unwrap();
        let files = ProgramFiles { place: place.path(), words: vec![("port", "5001".to_owned())] };
        assert_eq!(files.filled("serve :{port} '{x}' {port}"), "serve :5001 '{x}' 5001");
        assert_eq!(files.last_words("client"), "");
        let lines: String = (0..50).map(|line| format!("line {line}\x1b[0m\n\n")).collect();
        fs::write(files.path("client.err"), lines).unwrap();
        assert_eq!(
            files.last_words("client"),
            ": line 45[0m | line 46[0m | line 47[0m | line 48[0m | line 49[0m"
        );
    }

    #[test]
    fn the_object_has_its_size() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("object");
        fill(&path, 1_500_001).unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), 1_500_001);
    }
}
