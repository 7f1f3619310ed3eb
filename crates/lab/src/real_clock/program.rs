//! A flow between two programs: a server and a client, given by their commands.

use super::program_files::ProgramFiles;
use super::visit_outcome::VisitOutcome;
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, ObjectOutcome, Program, TransferOutcome};
use bentpipe_sim::{FlowSpec, ProgramStack, Visit};
use bentpipe_units::{Span, Time};
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
/// Option of `bentpipe get` that discards the download.
pub const DISCARDS: &str = " --discard";

/// Result of running a pair of commands.
pub struct CommandOutcome {
    pub outcome: TransferOutcome,
    /// Standard output of the client.
    pub output: Vec<u8>,
}

/// Runs one visit.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &ProgramStack,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let outcome = commands(runner, flow, stack, std::slice::from_ref(visit), port)?.outcome;
    Ok(VisitOutcome { port, outcome, client_times: None, qlog: Vec::new() })
}

/// Runs the commands of `stack`, one client for all `visits`.
///
/// The client succeeds if it writes as many bytes as the first object has. A client that discards
/// its downloads, as that of several visits does, succeeds by its exit status.
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
        return Ok(CommandOutcome { outcome, output: Vec::new() });
    }
    let Some(namespace) = testbed.client(flow.terminal) else {
        return Err(EmuError::Spec {
            what: format!("terminal {} does not exist", flow.terminal),
            allowed: "the terminals of the path".to_owned(),
        });
    };
    outcome.begin = runner.emulator.now();
    let mut client = files.start(namespace, "client", &stack.client)?;
    let status = loop {
        if let Some(status) = client.wait_for(POLL_INTERVAL)? {
            break Some(status);
        }
        let working = runner.emulator.is_working();
        if runner.stop.load(Ordering::Relaxed) || !working || runner.emulator.now() >= deadline {
            client.kill();
            break None;
        }
    };
    let now = runner.emulator.now();
    if server.wait_for(Duration::ZERO)?.is_none() {
        server.terminate();
        server.wait_for(EXIT_TIMEOUT)?;
    }
    let written = if stack.client.contains(DISCARDS) { bytes } else { files.written() };
    let error = match status {
        None => Some("stopped at the time limit".to_owned()),
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
    finish(&mut outcome, error);
    outcome.end = now;
    Ok(CommandOutcome { outcome, output: files.client_output() })
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
