//! Proxies on the path: `bentpipe pep` in routers between the hops (decision 29).
//!
//! Each is transparent. The rules that it prints for operators divert what arrives from the
//! clients, and servers see the client's address. What is not TCP is forwarded by the router.

mod log;
mod supported;

pub(super) use supported::{check_supported, proxies_of};

use super::kernel::kernel_name;
use bentpipe_emu::{EmuError, Emulator, Namespace, Program, ROUTER_CLIENT_SIDE};
use bentpipe_sim::{EmulatedProxy, PepSpec, RunSpec, Stack};
use bentpipe_units::Span;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Port on which a proxy listens, in its own namespace.
const PORT: u16 = 8118;
/// Time limits for the rules to be set up and for a proxy to start listening, and for it to end.
const START_TIMEOUT: Span = Span::from_secs(10);
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Connections of a proxy, all of which may come from one client.
const CONNECTIONS: u64 = 1000;
/// Controllers of the connections that do not cross the hop: that of a simulation, and the one that
/// every kernel permits in a namespace (`net.ipv4.tcp_allowed_congestion_control`).
const NEAR_CONTROLLERS: [&str; 2] = ["cubic", "reno"];
/// What the rules need.
const NEEDED: &str = "root (CAP_NET_ADMIN), and the commands nft, ip and sysctl (Debian: \
    nftables, iproute2, procps)";

/// Returns the places of the routers of a run: the number of hops between the clients and each.
pub(super) fn places(spec: &RunSpec) -> Vec<usize> {
    let Some(pep) = proxies_of(spec) else { return Vec::new() };
    let terminal = pep.terminal.then_some(pep.hop);
    terminal.into_iter().chain(pep.gateway.then_some(pep.hop + 1)).collect()
}

/// The running proxies of a run.
pub(super) struct Proxies {
    running: Vec<Proxy>,
    /// True if a flow is over TCP for certain. Programs may use QUIC.
    has_tcp: bool,
}

/// What proxies report when they have ended.
#[derive(Debug, Default)]
pub(super) struct ProxyReports {
    pub reports: Vec<EmulatedProxy>,
    /// Reasons to doubt the results.
    pub warnings: Vec<String>,
}

struct Proxy {
    name: &'static str,
    program: Program,
    directory: TempDir,
}

impl Proxies {
    /// Starts the proxies of `spec` in the routers of the path.
    pub fn start(spec: &RunSpec, bentpipe: &Path, emulator: &Emulator) -> Result<Self, EmuError> {
        let has_tcp = spec.flows.iter().any(|flow| matches!(flow.stack, Stack::Tcp(_)));
        let mut running = Vec::new();
        let Some(pep) = proxies_of(spec) else { return Ok(Self { running, has_tcp }) };
        let names = [(pep.terminal, "terminal", "server"), (pep.gateway, "gateway", "client")];
        let wanted = names.into_iter().filter(|(wanted, ..)| *wanted);
        for (index, (_, name, satellite)) in wanted.enumerate() {
            let Some(router) = emulator.testbed().router(index) else {
                let what = format!("there is no router for the {name}");
                return Err(EmuError::Spec { what, allowed: "a router for each proxy".to_owned() });
            };
            running.push(Proxy::start((name, satellite), pep, bentpipe, emulator, router)?);
        }
        Ok(Self { running, has_tcp })
    }

    /// Stops the proxies and returns what they report.
    pub fn stop(self) -> Result<ProxyReports, EmuError> {
        let mut all = ProxyReports::default();
        for proxy in self.running {
            proxy.stop(&mut all)?;
        }
        let idle = all.reports.iter().filter(|report| self.has_tcp && report.connections == 0);
        let idle = idle.map(|report| format!("no connection passed the {} proxy", report.name));
        all.warnings.extend(idle.collect::<Vec<_>>());
        Ok(all)
    }
}

impl Proxy {
    /// Starts a proxy in `router`. `satellite` names the side that crosses the hop.
    fn start(
        (name, satellite): (&'static str, &str),
        pep: &PepSpec,
        bentpipe: &Path,
        emulator: &Emulator,
        router: &Namespace,
    ) -> Result<Self, EmuError> {
        let system = |error: io::Error| EmuError::system("a directory for a proxy", error);
        let directory = TempDir::with_prefix("bentpipe-pep-").map_err(system)?;
        for name in NEAR_CONTROLLERS {
            if router.set("net.ipv4.tcp_congestion_control", name).is_ok() {
                break;
            }
        }
        // Metrics of one visit must not affect the next.
        router.set("net.ipv4.tcp_no_metrics_save", "1")?;
        let kernel = kernel_name(pep.to_client.controller.as_str());
        // A connection takes up to eight times the buffer, and gets at most a sixteenth of the
        // memory that is free beyond the minimum of all connections.
        let memory = pep.buffer.get().saturating_mul(8 * 16 * 2).saturating_add(1_000_000_000);
        let options = format!(
            "--mode transparent --keep-source --listen 127.0.0.1:{PORT} --satellite {satellite} \
             --congestion {kernel} --buffer '{} B' --memory '{memory} B' --max-connections \
             {CONNECTIONS} --max-per-client {CONNECTIONS} --log json --drain '1 s'",
            pep.buffer.get()
        );
        let run = |role: &str, script: &str| {
            let file = |stream: &str| {
                let path = directory.path().join(format!("{role}.{stream}"));
                bentpipe_files::create(&path)
                    .map_err(|error| EmuError::system(path.display().to_string(), error))
            };
            let mut shell = Command::new("/bin/sh");
            shell.args(["-euc", script, "sh"]).arg(bentpipe).current_dir(directory.path());
            shell.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
            Program::start(router, shell)
        };
        let mut rules = run(
            "rules",
            &format!(
                "\"$1\" pep {options} --print-rules --interface {ROUTER_CLIENT_SIDE} > rules.sh; \
                 sh -eu rules.sh"
            ),
        )?;
        if rules.wait_for(START_TIMEOUT.into())? != Some(0) {
            let said = log::tail(&directory.path().join("rules.err"));
            return Err(failed(name, "the rules that divert connections to it", said));
        }
        let mut program = run("proxy", &format!("exec \"$1\" pep {options}"))?;
        let deadline = emulator.now() + START_TIMEOUT;
        while !router.is_listening_at(PORT)? {
            let ended = program.wait_for(Duration::from_millis(10))?.is_some();
            if ended || emulator.now() > deadline {
                let said = log::tail(&directory.path().join("proxy.err"));
                return Err(failed(name, "listening", said));
            }
        }
        Ok(Self { name, program, directory })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn stop(mut self, all: &mut ProxyReports) -> Result<(), EmuError> {
        if let Some(status) = self.program.wait_for(Duration::ZERO)? {
            let said = log::tail(&self.file("proxy.err"));
            all.warnings.push(format!(
                "the {} proxy ended before the run with status {status}{said}",
                self.name
            ));
        } else {
            self.program.terminate();
            self.program.wait_for(END_TIMEOUT)?;
        }
        let text = fs::read_to_string(self.file("proxy.out")).unwrap_or_default();
        let report = log::report(self.name, &text);
        if report.incomplete > 0 {
            let (failed, of, name) = (report.incomplete, report.connections, self.name);
            all.warnings.push(format!(
                "{failed} of {of} connections through the {name} proxy did not end in order"
            ));
        }
        let said = fs::read_to_string(self.file("proxy.err")).unwrap_or_default();
        let warnings = said.lines().filter_map(|line| line.strip_prefix("warning: "));
        all.warnings.extend(warnings.map(|line| format!("{} proxy: {line}", self.name)));
        all.reports.push(report);
        Ok(())
    }
}

/// Returns the error of a proxy that cannot be set up.
fn failed(name: &str, what: &str, said: String) -> EmuError {
    EmuError::System {
        what: format!("setting up the {name} proxy, {what}"),
        source: io::Error::other(format!("it failed{said}. Needed: {NEEDED}")),
    }
}
