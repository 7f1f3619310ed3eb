//! A flow between two programs: a server and a client, given by their commands.

use super::program_files::ProgramFiles;
use super::visit_outcome::{ClientTimes, VisitOutcome};
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, ObjectOutcome, Program, TransferOutcome};
use bentpipe_sim::{FlowSpec, ProgramStack, Visit};
use bentpipe_units::{Span, Time};
use serde::Deserialize;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tempfile::TempDir;

/// Time limit for a server to start listening.
const LISTEN_TIMEOUT: Span = Span::from_secs(10);
/// Time limit for a server to exit after a termination signal.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval at which a wait for a client checks for interruption and the deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Placeholder of the file in which a client reports its own times.
const TIMES: &str = "{times}";
/// Option of `bentpipe get` that discards the download.
pub const DISCARDS: &str = " --discard";

/// Result of running a pair of commands.
pub struct CommandOutcome {
    pub outcome: TransferOutcome,
    /// Standard output of the client.
    pub output: Vec<u8>,
    /// Times that the client reported.
    pub times: Option<ClientTimes>,
}

/// What a client reports in `{times}`: seconds since its request, and the bytes that it received.
#[derive(Debug, Deserialize)]
struct Times {
    bytes: u64,
    handshake_s: Option<f64>,
    first_byte_s: f64,
    completion_s: f64,
}

impl Times {
    /// Reads the report of a client that should have received `bytes`.
    fn read(text: Option<&[u8]>, bytes: u64) -> Result<ClientTimes, String> {
        let text = text.ok_or("the client succeeded but has not written {times}")?;
        let times: Self = serde_json::from_slice(text)
            .map_err(|error| format!("the client wrote no times to {{times}}: {error}"))?;
        if times.bytes != bytes {
            let received = times.bytes;
            return Err(format!("the client has received {received} of {bytes} bytes"));
        }
        // Converting seconds, negative values and NaN give zero.
        let span = |seconds: f64| Span::from_nanos((seconds * 1e9) as u64);
        Ok(ClientTimes {
            handshake: times.handshake_s.map(span),
            first_byte: span(times.first_byte_s),
            completion: span(times.completion_s),
            retreated: None,
        })
    }
}

/// Runs one visit.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &ProgramStack,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let CommandOutcome { outcome, times, .. } =
        commands(runner, flow, stack, std::slice::from_ref(visit), port)?;
    Ok(VisitOutcome { client_times: times, ..VisitOutcome::new(port, outcome) })
}

/// Runs the commands of `stack`, one client for all `visits`.
///
/// The client succeeds if it writes as many bytes as the first object has, or reports in `{times}`
/// that it has received them. A client that discards its downloads, as that of several visits does,
/// succeeds by its exit status.
pub fn commands(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &ProgramStack,
    visits: &[Visit],
    port: u16,
) -> Result<CommandOutcome, EmuError> {
    let system = |what: &'static str| move |source: io::Error| EmuError::system(what, source);
    let sizes: Vec<u64> = visits
        .iter()
        .filter_map(|visit| visit.objects.first())
        .map(|object| object.bytes.get())
        .collect();
    let bytes = sizes.first().copied().unwrap_or(0);
    let directory =
        TempDir::with_prefix("bentpipe-").map_err(system("a directory for programs"))?;
    let files = ProgramFiles::new(directory.path(), runner, flow, port, &sizes)
        .map_err(system("files for programs"))?;
    // Each visit has its own time limit, and the pauses between visits count extra.
    let pauses = visits
        .iter()
        .skip(1)
        .fold(Span::ZERO, |sum, visit| sum + visit.idle_before + visit.start_jitter);
    let deadline = runner.emulator.now() + runner.spec.time_limit * visits.len() as u64 + pauses;

    let testbed = runner.emulator.testbed();
    let mut outcome = TransferOutcome {
        begin: runner.emulator.now(),
        objects: vec![ObjectOutcome::default()],
        ..TransferOutcome::default()
    };
    let finish = |outcome: &mut TransferOutcome, error: Option<String>| {
        outcome.end = runner.emulator.now();
        outcome.error = error;
    };
    let mut server = files.start(testbed.server(), "server", &stack.server)?;
    if let Some(error) = wait_until_listening(runner, &mut server, &files, port)? {
        finish(&mut outcome, Some(error));
        return Ok(CommandOutcome { outcome, output: Vec::new(), times: None });
    }
    let namespace = testbed.client(flow.terminal)?;
    outcome.begin = runner.emulator.now();
    let mut client = files.start(namespace, "client", &stack.client)?;
    let status = wait_for_client(runner, &mut client, deadline)?;
    let now = runner.emulator.now();
    if server.wait_for(Duration::ZERO)?.is_none() {
        server.terminate();
        server.wait_for(EXIT_TIMEOUT)?;
    }
    let reports = stack.client.contains(TIMES);
    let times = reports.then(|| Times::read(files.times().as_deref(), bytes));
    let written = match &times {
        Some(times) => times.as_ref().map_or(0, |_| bytes),
        None if stack.client.contains(DISCARDS) => bytes,
        None => files.written(),
    };
    let error = match status {
        None => Some("stopped at the time limit".to_owned()),
        Some(0) if reports => times.as_ref().and_then(|times| times.as_ref().err().cloned()),
        Some(0) if written != bytes => {
            Some(format!("the client succeeded but has written {written} of {bytes} bytes"))
        }
        Some(0) => None,
        Some(status) => {
            Some(format!("the client ended with status {status}{}", files.log_tail("client")))
        }
    };
    outcome.objects[0] = ObjectOutcome {
        requested: Some(outcome.begin),
        received: written.min(bytes),
        completed: error.is_none().then_some(now),
    };
    let times = times.and_then(Result::ok).filter(|_| error.is_none());
    finish(&mut outcome, error);
    outcome.end = now;
    Ok(CommandOutcome { outcome, output: files.client_output(), times })
}

/// Waits until the client ends. Returns its status, `None` if it is killed because of an interrupt
/// or at `deadline`.
fn wait_for_client(
    runner: VisitRunner<'_>,
    client: &mut Program,
    deadline: Time,
) -> Result<Option<i32>, EmuError> {
    loop {
        if let Some(status) = client.wait_for(POLL_INTERVAL)? {
            return Ok(Some(status));
        }
        let working = runner.emulator.is_working();
        if runner.stop.load(Ordering::Relaxed) || !working || runner.emulator.now() >= deadline {
            client.kill();
            return Ok(None);
        }
    }
}

/// Waits until the server listens. Returns the reason if it does not.
fn wait_until_listening(
    runner: VisitRunner<'_>,
    server: &mut Program,
    files: &ProgramFiles<'_>,
    port: u16,
) -> Result<Option<String>, EmuError> {
    let deadline: Time = runner.emulator.now() + LISTEN_TIMEOUT;
    while !runner.emulator.testbed().server().is_listening_at(port)? {
        if let Some(status) = server.wait_for(Duration::from_millis(10))? {
            let log = files.log_tail("server");
            return Ok(Some(format!(
                "the server ended with status {status} before it listened on port {port}{log}"
            )));
        }
        if runner.stop.load(Ordering::Relaxed) || runner.emulator.now() > deadline {
            let log = files.log_tail("server");
            return Ok(Some(format!(
                "the server did not listen on port {port} within {LISTEN_TIMEOUT}{log}"
            )));
        }
    }
    Ok(None)
}
