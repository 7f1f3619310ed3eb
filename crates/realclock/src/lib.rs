//! The real clock: runs with real packets in real time.
//!
//! The emulator drives the link models of the simulator between network namespaces. Endpoints are
//! real programs and the kernel's TCP. Input and output are the types of the simulator, so that
//! results, report and expectations are the same for both clocks.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

mod call;
mod datagrams;
mod emulated_path;
mod emulation;
mod http;
mod kernel;
mod link_outcome;
mod mesh;
mod outcome;
mod path;
mod ports;
mod program;
mod program_files;
mod proxies;
mod quic;
mod send_limits;
mod shell_words;
mod stats;
mod supported;
mod tcp;
mod time_budget;
mod visit_outcome;
mod visit_report;
mod visit_runner;
mod visits;

pub use emulated_path::EmulatedPath;
pub use path::emulated_hops;
pub use stats::{LiveStats, StatsObserver};

use bentpipe_emu::{CaptureConfig, EmuError, EmulatorSettings, Monitor, Testbed};
use bentpipe_sim::{HopEnd, RunError, RunOutcome, RunSpec, Runner, SimError, Stack};
use bentpipe_units::{Bytes, Span};
use outcome::outcome;
use path::mtu;
use ports::{min_idle_gap, ports};
use proxies::Proxies;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use visit_runner::VisitRunner;

/// Largest capture: the file is read into memory to become part of the run directory.
const MAX_CAPTURE: Bytes = Bytes::from_mb(256);
/// Largest lateness of packets, at the 99th percentile, that gives no warning. The value is our
/// choice.
pub const MAX_LATENESS: Span = Span::from_millis(1);

/// Runs in real time, in network namespaces of this machine.
#[derive(Debug, Clone, Default)]
pub struct RealClock {
    /// Settings of the emulator.
    pub settings: EmulatorSettings,
    /// The `bentpipe` command, which provides the QUIC endpoints.
    pub bentpipe: PathBuf,
    /// Receives live statistics, if set.
    pub observer: Option<Arc<dyn StatsObserver>>,
}

impl Runner for RealClock {
    fn check(&self, spec: &RunSpec) -> Result<(), String> {
        supported::check(spec)
    }

    fn congestion(&self, stack: &Stack) -> Option<String> {
        match stack {
            Stack::Tcp(tcp) => Some(kernel::label(tcp.congestion.controller.as_str())),
            _ => None,
        }
    }

    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError> {
        self.check(spec).map_err(RunError::Failed)?;
        let failed = |error: EmuError| RunError::Failed(error.to_string());
        let spec = &*mesh::with_terminals(spec);
        let routers = proxies::places(spec);
        let testbed =
            Testbed::with_routers(spec.terminals.max(1), mtu(spec), &routers).map_err(failed)?;
        tcp::prepare(spec, &testbed).map_err(failed)?;
        // The emulator captures to a file, which is read when the run has ended.
        let directory = tempfile::tempdir().map_err(|error| {
            RunError::Failed(format!("cannot create a temporary directory: {error}"))
        })?;
        let file = directory.path().join("capture.pcapng");
        let at = |end| spec.capture.as_ref().is_some_and(|point| point.end == end);
        let capture = CaptureConfig {
            server: at(HopEnd::Server).then(|| file.clone()),
            clients: at(HopEnd::Client).then(|| file.clone()),
            max_size: MAX_CAPTURE,
            ..CaptureConfig::default()
        };
        let monitor = Monitor {
            ports: ports(spec),
            idle_time: min_idle_gap(spec),
            series: spec.trace,
            packet_log: if time_budget::is_possible(spec) { time_budget::MAX_PACKETS } else { 0 },
            capture,
        };
        let invalid = |error: SimError| RunError::Failed(error.to_string());
        let path = EmulatedPath::new(spec).map_err(invalid)?;
        let emulator = path.start(testbed, self.settings(spec), &monitor).map_err(failed)?;
        let proxies = Proxies::start(spec, &self.bentpipe, &emulator).map_err(failed)?;

        let runner = VisitRunner { spec, bentpipe: &self.bentpipe, emulator: &emulator, stop };
        let visits =
            stats::observe(self.observer.as_deref(), label, &emulator, || visits::run_all(runner));
        let proxies = proxies.stop().map_err(failed)?;
        let report = emulator.stop().map_err(failed)?;
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let visits = visits.map_err(failed)?;
        let emulation = emulation::emulation(&report, proxies, MAX_LATENESS);
        let mut outcome = outcome(spec, visits, report);
        outcome.emulation = Some(emulation);
        path.finish(&mut outcome).map_err(invalid)?;
        if spec.capture.is_some() {
            outcome.capture = std::fs::read(&file).ok();
        }
        Ok(outcome)
    }
}

impl RealClock {
    /// Returns the emulator's settings for `spec`. If it has TCP flows, their `coalesce` key sets
    /// how packets are aggregated for the kernel (GRO).
    fn settings(&self, spec: &RunSpec) -> EmulatorSettings {
        let tcp = spec.flows.iter().find_map(|flow| match &flow.stack {
            Stack::Tcp(stack) => Some(stack.tcp.ack.coalesce.unwrap_or_default()),
            _ => None,
        });
        EmulatorSettings { gro: tcp.unwrap_or(self.settings.gro), ..self.settings }
    }
}
