//! `bentpipe shell`: runs a command behind an emulated path.

use crate::args::shell::Shell;
use crate::output::{self, live, say};
use crate::status::{FAILED, USAGE};
use bentpipe_emu::{
    CaptureConfig, CaptureReport, DirectionReport, EmuError, Emulator, EmulatorSettings,
    Interrupts, LinkReport, Monitor, PathSpec, PathStats, Program, Report, TcpForwarder, Testbed,
    UdpForwarder, client_addresses, prepare, server_addresses,
};
use bentpipe_lab::{Changes, LabError, Plan, Task};
use bentpipe_realclock::EmulatedPath;
use bentpipe_scenario::profiles::{profile, profiles};
use bentpipe_units::{Span, Time};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Exit statuses if a program does not exist or cannot be run, as in shells (POSIX.1-2017, XCU
/// 2.8.2).
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;
/// Added to the number of a signal that ended this command before it has run the other one.
const BY_SIGNAL: i32 = 128;
/// Time limit for the server to listen.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the server to end.
const GRACE: Duration = Duration::from_secs(2);
/// Time limit for the command to end after a signal has asked for it. Our choice, that of
/// containers.
const KILL_AFTER: Duration = Duration::from_secs(10);
/// Signals within this time are one request: timeout(1) sends one to the process, and one to its
/// group.
const ONE_REQUEST: Duration = Duration::from_secs(1);
/// 99th percentile of lateness above which results are doubtful. Our choice: a tenth of a frame of
/// most satellite systems.
const MAX_LATENESS: Span = Span::from_millis(1);
/// Most links of a satellite network that the summary lists. Routes change every few seconds.
const SHOWN_LINKS: usize = 12;

/// Runs the command. Prints the summary of the path on standard error, or as JSON on standard
/// output.
pub fn run(args: &Shell) -> Result<u8, LabError> {
    let (path, terminals, recorded) = path(args)?;
    let watch = Monitor { capture: capture(args)?, ..Monitor::default() };
    let mut notes = Vec::new();
    match run_behind(args, path, terminals, &watch, &mut notes) {
        Ok(done) => {
            notes.extend(recorded.and_then(|recorded| outlasted(recorded, done.report.length)));
            let document = json(args, &done, &notes);
            if args.json {
                output::document(&format!("{document:#}\n"))?;
            } else {
                output::report(&text(args, &done, &notes));
            }
            Ok(u8::try_from(done.status).unwrap_or(FAILED))
        }
        Err(error) => {
            say!(
                "{} {error}",
                output::paint(output::coloured(&std::io::stderr()), "1;31", "error:")
            );
            Ok(match error {
                EmuError::Spec { .. } => USAGE,
                EmuError::Interrupted { signal } => {
                    u8::try_from(BY_SIGNAL + signal).unwrap_or(FAILED)
                }
                EmuError::Program { source, .. }
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    NOT_FOUND
                }
                EmuError::Program { .. } => NOT_RUN,
                _ => FAILED,
            })
        }
    }
}

/// Says that a command of this length has outlasted the recordings of its path.
fn outlasted(recorded: Span, length: Span) -> Option<String> {
    (length > recorded).then(|| {
        format!(
            "the recordings of the path ended after {recorded}; for the last {} it had their last \
             values",
            length - recorded
        )
    })
}

/// Returns the path of a profile or of a scenario's first variant at its first sweep point, as in
/// run 0 of a simulation, the number of its terminals, and the length of recordings that no run may
/// outlast. In a satellite network, the terminal is the client of the first flow.
fn path(args: &Shell) -> Result<(EmulatedPath, usize, Option<Span>), LabError> {
    let plan = plan(args)?;
    let mut spec = plan.spec(Task { case: 0, run: 0 })?;
    let recorded = plan.cases.first().and_then(|case| case.recordings_left());
    if spec.mesh.is_some() {
        spec.flows.truncate(1);
    }
    let path = EmulatedPath::new(&spec)
        .map_err(|error| LabError::Usage { argument: "PROFILE", reason: error.to_string() })?;
    Ok((path, spec.terminals.max(1), recorded))
}

fn plan(args: &Shell) -> Result<Plan, LabError> {
    let changes = Changes { sets: args.set.clone(), seed: args.seed, repeat: None };
    match profile(&args.path) {
        Some(profile) => Ok(Plan::profile(&profile.name, &changes)?),
        None if Path::new(&args.path).exists() => Plan::read(Path::new(&args.path), &changes),
        None => {
            let names: Vec<&str> = profiles().iter().map(|profile| profile.name.as_str()).collect();
            let reason = format!(
                "no profile or scenario file is named `{}`; allowed: a file, or one of {}",
                args.path,
                names.join(", ")
            );
            Err(LabError::Usage { argument: "PROFILE", reason })
        }
    }
}

/// Result of a command.
struct Done {
    status: i32,
    report: Report,
    /// Links of a satellite network, which serve both directions.
    satellite_links: Vec<LinkReport>,
}

/// Returns the requested captures. Each needs a file of its own.
fn capture(args: &Shell) -> Result<CaptureConfig, LabError> {
    let named = [
        ("--capture", &args.capture),
        ("--capture-client", &args.capture_client),
        ("--capture-lost", &args.capture_lost),
    ];
    let files = named.iter().filter_map(|(option, file)| Some((*option, file.as_ref()?)));
    let files: Vec<(&'static str, &PathBuf)> = files.collect();
    for (index, (option, file)) in files.iter().enumerate() {
        if let Some((other, _)) = files[..index].iter().find(|(_, other)| other == file) {
            let reason = format!(
                "`{}` is already used by {other}; allowed: a file of its own",
                file.display()
            );
            return Err(LabError::Usage { argument: option, reason });
        }
    }
    let Shell { capture: server, capture_client: clients, capture_lost: lost, .. } = args;
    Ok(CaptureConfig {
        server: server.clone(),
        clients: clients.clone(),
        lost: lost.clone(),
        ..CaptureConfig::default()
    })
}

/// Prints live statistics at regular intervals.
struct StatsPrinter {
    interval: Span,
    next: Time,
    before: PathStats,
}

impl StatsPrinter {
    fn new(interval: Span) -> Self {
        Self { interval, next: Time::ZERO + interval, before: PathStats::default() }
    }

    /// Prints a line if it is due. A failed write is ignored.
    fn print_if_due(&mut self, emulator: &Emulator) {
        let now = emulator.now();
        if now < self.next {
            return;
        }
        let carried = emulator.stats().read();
        let line = live::line(now.since_start(), &self.before, &carried);
        say!("bentpipe: {line}");
        let next = self.next + self.interval;
        // Skips lines that are overdue.
        self.next = if next > now { next } else { now + self.interval };
        self.before = carried;
    }
}

fn run_behind(
    args: &Shell,
    path: EmulatedPath,
    terminals: usize,
    watch: &Monitor,
    notes: &mut Vec<String>,
) -> Result<Done, EmuError> {
    prepare()?;
    Interrupts::catch()?;
    // The command runs at the first terminal. The others are idle, but matter if capacity is
    // allocated.
    let testbed = Testbed::new(terminals, args.mtu)?;
    for (key, value) in args.sysctl.iter().map(|set| set.split_once('=').unwrap_or((set, ""))) {
        for namespace in testbed.namespaces() {
            namespace.set(key.trim(), value.trim())?;
        }
    }
    let server = args.serve.as_deref();
    let server = server.map(|serve| Server::start(serve, &testbed, notes)).transpose()?;
    let tcp_forwarders: Result<Vec<TcpForwarder>, EmuError> = args
        .forward
        .iter()
        .map(|forward| TcpForwarder::start(testbed.server(), forward.port, &forward.target))
        .collect();
    let tcp_forwarders = tcp_forwarders?;
    let udp_forwarders: Result<Vec<UdpForwarder>, EmuError> = args
        .forward
        .iter()
        .map(|forward| UdpForwarder::start(testbed.server(), forward.port, &forward.target))
        .collect();
    let udp_forwarders = udp_forwarders?;

    let settings = EmulatorSettings {
        busy_poll: args.busy_poll,
        realtime: !args.no_realtime,
        ..EmulatorSettings::default()
    };
    if let EmulatedPath::Hops(PathSpec { utc: Some(phase), .. }) = &path {
        say!("bentpipe: starts within {}, so that the path changes in time with UTC", phase.period);
    }
    let emulator = path.start(testbed, settings, watch)?;
    Interrupts::check()?;
    let status = run_command(args, &emulator)?;
    if let Some(mut server) = server
        && let Some(status) = server.0.wait_for(Duration::ZERO)?
    {
        notes.push(format!("the server ended early with status {status}"));
    }
    notes.extend(forwarder_notes(args, &tcp_forwarders, &udp_forwarders));
    drop((tcp_forwarders, udp_forwarders));
    let report = emulator.stop()?;
    notes.extend(report.warnings(MAX_LATENESS));
    let satellite_links =
        path.satellite_links(Time::ZERO + report.length).unwrap_or_else(|error| {
            notes.push(format!("routes did not change to the end: {error}"));
            Vec::new()
        });
    Ok(Done { status, report, satellite_links })
}

/// Runs the command at the first terminal. Returns its exit status.
fn run_command(args: &Shell, emulator: &Emulator) -> Result<i32, EmuError> {
    let client = emulator.testbed().client(0)?;
    let mut program = Program::start(client, command(args))?;
    let mut ending = Ending::default();
    let mut printer = args.stats.map(StatsPrinter::new);
    loop {
        if let Some(status) = program.wait_for(Duration::from_millis(100))? {
            return Ok(status);
        }
        if let Some(printer) = &mut printer {
            printer.print_if_due(emulator);
        }
        if !emulator.is_working() {
            // `stop` returns its error. The command no longer has a path.
            program.kill();
        }
        ending.pass_on(&program);
    }
}

/// Passes signals on to the command.
#[derive(Default)]
struct Ending {
    /// When the command was asked to end.
    asked: Option<Instant>,
    /// Signals that have asked.
    signals: u32,
}

impl Ending {
    /// Asks the command to end if a signal has arrived, and kills it at another one or after a
    /// while.
    fn pass_on(&mut self, program: &Program) {
        let Interrupts { typed, sent } = Interrupts::so_far();
        // At a terminal, the command has received the key itself and decides what to do.
        let signals = if std::io::stdin().is_terminal() { sent } else { sent + typed };
        match self.asked {
            None if signals > 0 => {
                program.terminate();
                #[expect(clippy::disallowed_methods, reason = "how long a user waits")]
                let now = Instant::now();
                self.asked = Some(now);
                self.signals = signals;
            }
            Some(asked) if asked.elapsed() < ONE_REQUEST => self.signals = signals,
            Some(asked) if asked.elapsed() > KILL_AFTER || signals > self.signals => program.kill(),
            _ => {}
        }
    }
}

/// The server of `--serve`. It is asked to end when this is dropped, and killed if it does not.
struct Server(Program);

impl Server {
    /// Starts the server, and waits until it listens.
    fn start(serve: &str, testbed: &Testbed, notes: &mut Vec<String>) -> Result<Self, EmuError> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(with_addresses(serve));
        command.stdin(Stdio::null()).stdout(Stdio::from(std::io::stderr()));
        let mut server = Self(Program::start(testbed.server(), command)?);
        notes.extend(server.listens(testbed)?);
        Ok(server)
    }

    /// Waits until the server listens. Returns a note if it does not.
    fn listens(&mut self, testbed: &Testbed) -> Result<Option<String>, EmuError> {
        #[expect(clippy::disallowed_methods, reason = "how long a user waits")]
        let begin = Instant::now();
        while !testbed.server().is_listening()? {
            if let Some(status) = self.0.wait_for(Duration::from_millis(20))? {
                let note = format!("the server ended with status {status} before it listened");
                return Ok(Some(note));
            }
            Interrupts::check()?;
            if begin.elapsed() > LISTEN_TIMEOUT {
                let limit = LISTEN_TIMEOUT.as_secs();
                return Ok(Some(format!("the server did not listen within {limit} s")));
            }
        }
        Ok(None)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.terminate();
        let _ = self.0.wait_for(GRACE);
    }
}

/// Returns notes about connections and datagrams that were not forwarded.
fn forwarder_notes(args: &Shell, tcp: &[TcpForwarder], udp: &[UdpForwarder]) -> Vec<String> {
    let mut notes = Vec::new();
    for (forward, forwarder) in args.forward.iter().zip(tcp) {
        let report = forwarder.report();
        if report.refused + report.failed > 0 {
            notes.push(format!(
                "port {}: {} connections, {} of which could not reach {}; {} more were refused, \
                 because 256 were open",
                forward.port, report.accepted, report.failed, forward.target, report.refused
            ));
        }
    }
    for (forward, forwarder) in args.forward.iter().zip(udp) {
        let report = forwarder.report();
        if report.refused > 0 {
            notes.push(format!(
                "port {}: {} datagrams were refused, because 256 client addresses were in use",
                forward.port, report.refused
            ));
        }
        if report.failed > 0 {
            notes.push(format!(
                "port {}: {} datagrams to or from {} were lost, because it could not be reached \
                 or their receiver refused them",
                forward.port, report.failed, forward.target
            ));
        }
    }
    notes
}

/// Returns the command, or the user's shell.
fn command(args: &Shell) -> Command {
    let shell = || vec![std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned())];
    let words = if args.command.is_empty() {
        shell()
    } else {
        args.command.iter().map(|word| with_addresses(word)).collect()
    };
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(words.iter().skip(1));
    for (name, address) in addresses() {
        command.env(format!("BENTPIPE_{}", name.to_uppercase()), address);
    }
    if args.json {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    command
}

/// Placeholders and their addresses.
fn addresses() -> [(&'static str, String); 4] {
    let ([server, server6], [client, client6]) = (server_addresses(), client_addresses(0));
    [("server", server), ("client", client), ("server6", server6), ("client6", client6)]
        .map(|(name, address)| (name, address.to_string()))
}

fn with_addresses(text: &str) -> String {
    addresses().iter().fold(text.to_owned(), |text, (name, address)| {
        text.replace(&format!("{{{name}}}"), address)
    })
}

fn text(args: &Shell, done: &Done, notes: &[String]) -> String {
    let mut text = format!("bentpipe: {}, {:.1} s\n", args.path, done.report.length.as_secs_f64());
    for direction in done.report.directions() {
        let DirectionReport { name, lateness, .. } = direction;
        let _ = writeln!(
            text,
            "  {name:<8} {} packets in, {} out, {} in flight; lateness {} median, {} p99, {} max{}",
            direction.packets_read,
            direction.packets_written,
            direction.in_flight,
            lateness.p50,
            lateness.p99,
            lateness.max,
            if direction.without_realtime.is_some() { ", without real-time priority" } else { "" },
        );
        if direction.lost > 0 && direction.links.is_empty() {
            let _ = writeln!(text, "    {} lost", direction.lost);
        }
        text.extend(direction.links.iter().map(described));
    }
    let mut used: Vec<&LinkReport> =
        done.satellite_links.iter().filter(|link| link.counters.packets_out > 0).collect();
    if !used.is_empty() {
        used.sort_by_key(|link| std::cmp::Reverse(link.counters.packets_out));
        let _ = writeln!(text, "  {} links between satellites and stations", used.len());
        text.extend(used.iter().take(SHOWN_LINKS).map(|link| described(link)));
        if let Some(more @ 1..) = used.len().checked_sub(SHOWN_LINKS) {
            let _ = writeln!(text, "    and {more} with fewer packets; --json lists all");
        }
    }
    for capture in &done.report.captures {
        let _ = writeln!(text, "  capture  {}", captured(capture));
    }
    for note in notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

/// Returns the line about a link.
fn described(link: &LinkReport) -> String {
    let counters = &link.counters;
    let dropped = [
        ("policer", counters.dropped_policer),
        ("queue", counters.dropped_queue),
        ("AQM", counters.dropped_aqm),
        ("loss", counters.dropped_loss),
    ];
    let dropped: Vec<String> = dropped
        .iter()
        .filter(|(_, tally)| tally.packets > 0)
        .map(|(cause, tally)| format!("{} by {cause}", tally.packets))
        .collect();
    let dropped = if dropped.is_empty() {
        "nothing dropped".to_owned()
    } else {
        format!("dropped {}", dropped.join(", "))
    };
    format!(
        "    {}: {} packets, {:.3} MB; {dropped}; queue up to {:.3} MB\n",
        link.name,
        counters.packets_out,
        counters.bytes_out as f64 / 1e6,
        counters.queue_max_bytes as f64 / 1e6
    )
}

/// Returns the summary of a capture.
fn captured(capture: &CaptureReport) -> String {
    let CaptureReport { file, packets, missed, error } = capture;
    let missed = match missed {
        0 => String::new(),
        missed => format!(", {missed} more missed because the file was full or the disk too slow"),
    };
    let error = error.as_ref().map(|error| format!("; ended early: {error}")).unwrap_or_default();
    format!("{}: {packets} packets{missed}{error}", file.display())
}

fn json(args: &Shell, done: &Done, notes: &[String]) -> serde_json::Value {
    let us = |span: Span| span.as_nanos() as f64 / 1e3;
    let seconds = done.report.length.as_secs_f64();
    let link = |link: &LinkReport| {
        let counters = &link.counters;
        serde_json::json!({
            "name": link.name,
            "packets": counters.packets_out,
            "bytes": counters.bytes_out,
            "dropped_policer": counters.dropped_policer.packets,
            "dropped_queue": counters.dropped_queue.packets + counters.dropped_aqm.packets,
            "dropped_loss": counters.dropped_loss.packets,
            "marked_ce": counters.marked_ce,
            "in_flight": counters.in_flight.packets,
            "queue_max_bytes": counters.queue_max_bytes,
            "utilisation": counters.busy.as_secs_f64() / seconds.max(1e-9),
        })
    };
    let links = |links: &[LinkReport]| links.iter().map(link).collect::<Vec<_>>();
    let directions = done.report.directions().map(|direction| {
        serde_json::json!({
            "name": direction.name,
            "realtime": direction.without_realtime.is_none(),
            "cpu_s": direction.cpu_time.as_secs_f64(),
            "packets_read": direction.packets_read,
            "bytes_read": direction.bytes_read,
            "packets_written": direction.packets_written,
            "bytes_written": direction.bytes_written,
            "lost": direction.lost,
            "in_flight": direction.in_flight,
            "not_carried": direction.not_carried,
            "malformed": direction.malformed,
            "unroutable": direction.unroutable,
            "dropped_memory": direction.dropped_memory,
            "dropped_write": direction.dropped_write,
            "dropped_ring": direction.dropped_ring,
            "late_p50_us": us(direction.lateness.p50),
            "late_p99_us": us(direction.lateness.p99),
            "late_max_us": us(direction.lateness.max),
            "links": links(&direction.links),
        })
    });
    let captures = done.report.captures.iter().map(|capture| {
        let CaptureReport { file, packets, missed, error } = capture;
        serde_json::json!({ "file": file, "packets": packets, "missed": missed, "error": error })
    });
    serde_json::json!({
        "path": args.path,
        "status": done.status,
        "length_s": seconds,
        "directions": directions,
        "satellite_links": links(&done.satellite_links),
        "captures": captures.collect::<Vec<_>>(),
        "notes": notes,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_known_placeholders_are_replaced() {
        assert_eq!(
            super::with_addresses("http://{server}:80/{x} [{server6}] {client}"),
            "http://198.19.0.1:80/{x} [2001:2:0:2::1] 198.18.0.1"
        );
    }
}
