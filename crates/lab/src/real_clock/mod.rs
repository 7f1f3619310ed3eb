//! The wall clock: a run whose packets are real.
//!
//! The path's links are the simulator's own, driven by the emulator between network namespaces;
//! endpoints are those of the machine. What a run is told, and what comes out, are the types of the
//! simulator, so that results, report and expectations do not know which clock ran.

mod emulation;
mod outcome;
mod plan;
mod program;
mod quic;
mod stats;
mod supported;
mod tcp;

pub use stats::{LiveStats, StatsObserver};
pub(crate) use supported::check_supported;

use crate::run::{Ran, RunError, Runner};
use bentpipe_emu::{CaptureConfig, EmuError, Emulator, Hop, Monitor, PathSpec, Settings, Testbed};
use bentpipe_sim::{FlowSpec, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Span, Time};
use outcome::{VisitOutcome, outcome};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The server's port of a run's first visit; the others follow.
const FIRST_PORT: u16 = 5001;
/// What a capture may hold: it becomes part of the run directory by way of memory.
const CAPTURE: Bytes = Bytes::from_mb(256);
/// What a TCP segment has beside its payload: headers of IPv4 and TCP, and timestamps.
const TCP_OVERHEAD: u64 = 52;
/// Packets that leave later than this at the 99th percentile make results doubtful: our choice.
pub const TOLERATED: Span = Span::from_millis(1);

/// Runs by the wall clock, on the machine's own kernel.
#[derive(Debug, Clone, Default)]
pub struct RealClock {
    /// How the emulator works.
    pub settings: Settings,
    /// The command `bentpipe`, which is what speaks QUIC.
    pub bentpipe: PathBuf,
    /// Who looks on while runs go on, if anyone.
    pub observer: Option<Arc<dyn StatsObserver>>,
}

impl Runner for RealClock {
    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool) -> Result<Ran, RunError> {
        check_supported(spec).map_err(RunError::Failed)?;
        let failed = |error: EmuError| RunError::Failed(error.to_string());
        let path = path(spec);
        let testbed = Testbed::new(spec.terminals.max(1), mtu(spec)).map_err(failed)?;
        tcp::prepare(spec, &testbed).map_err(failed)?;
        // A file first, since a capture has no bound but the disk's, and then what results keep.
        let place = tempfile::tempdir()
            .map_err(|error| RunError::Failed(format!("a directory: {error}")))?;
        let file = place.path().join("server.pcapng");
        let capture = CaptureConfig {
            server: spec.capture.is_some().then(|| file.clone()),
            max_size: CAPTURE,
            ..CaptureConfig::default()
        };
        let watch =
            Monitor { ports: ports(spec), idle_time: silence(spec), series: spec.trace, capture };
        let emulator = Emulator::start_monitored(testbed, &path, self.settings(spec), &watch)
            .map_err(failed)?;

        let runner = VisitRunner { spec, bentpipe: &self.bentpipe, emulator: &emulator, stop };
        let visits = stats::observe(self.observer.as_deref(), label, &emulator, || runner.all());
        let report = emulator.stop().map_err(failed)?;
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let visits = visits.map_err(failed)?;
        let emulation = emulation::emulation(&report, TOLERATED);
        let mut outcome = outcome(spec, visits, report);
        if spec.capture.is_some() {
            outcome.capture = std::fs::read(&file).ok();
        }
        Ok(Ran { outcome, emulation: Some(emulation) })
    }
}

impl RealClock {
    /// How the emulator works for `spec`: what reaches the kernel's TCP together is what the
    /// scenario says.
    fn settings(&self, spec: &RunSpec) -> Settings {
        let tcp = spec.flows.iter().find_map(|flow| match &flow.stack {
            Stack::Tcp(stack) => Some(stack.tcp.ack.coalesce.unwrap_or_default()),
            _ => None,
        });
        Settings { gro: tcp.unwrap_or(self.settings.gro), ..self.settings }
    }
}

/// The path as the emulator is told of it.
fn path(spec: &RunSpec) -> PathSpec {
    let hop = |hop: &bentpipe_sim::HopSpec| Hop {
        name: hop.name.clone(),
        forward: hop.forward.clone(),
        reverse: hop.reverse.clone(),
        shared: hop.shared,
    };
    PathSpec {
        hops: spec.hops.iter().map(hop).collect(),
        base_rtt: spec.base_rtt,
        seed: spec.seed,
        run: spec.run,
    }
}

/// The largest packet that any flow sends: there is one size for the whole path.
fn mtu(spec: &RunSpec) -> Bytes {
    let size = |flow: &FlowSpec| match &flow.stack {
        Stack::Tcp(stack) => Bytes::new(u64::from(stack.tcp.segment) + TCP_OVERHEAD),
        Stack::Quic(settings) => {
            Bytes::new(u64::from(settings.max_mtu) + bentpipe_scenario::HEADERS)
        }
        Stack::Program(stack) => stack.mtu,
        Stack::DatagramTraffic(_) => Bytes::ZERO,
    };
    spec.flows.iter().map(size).max().unwrap_or_default()
}

/// The server's port of each visit of the run. Those of a client of QUIC go to one server, which
/// remembers it.
fn ports(spec: &RunSpec) -> Vec<u16> {
    let mut ports = Vec::new();
    for flow in &spec.flows {
        for index in 0..flow.visits.len() {
            let next = ports.last().map_or(FIRST_PORT, |last: &u16| last.saturating_add(1));
            let same = index > 0 && matches!(flow.stack, Stack::Quic(_));
            ports.push(if same { next.saturating_sub(1) } else { next });
        }
    }
    ports
}

/// What tells two visits to one server apart: half of the shortest time between two.
fn silence(spec: &RunSpec) -> Span {
    let quic = spec.flows.iter().filter(|flow| matches!(flow.stack, Stack::Quic(_)));
    quic.flat_map(|flow| flow.visits.iter().skip(1))
        .map(|visit| visit.idle_before / 2)
        .min()
        .unwrap_or(Span::MAX)
}

/// What visits are carried out with.
#[derive(Clone, Copy)]
struct VisitRunner<'a> {
    spec: &'a RunSpec,
    bentpipe: &'a Path,
    emulator: &'a Emulator,
    stop: &'a AtomicBool,
}

impl VisitRunner<'_> {
    /// All flows at the same time, each with its visits one after the other.
    fn all(self) -> Result<Vec<VisitOutcome>, EmuError> {
        std::thread::scope(|scope| {
            let mut ports = ports(self.spec);
            let mut threads = Vec::new();
            for flow in &self.spec.flows {
                let own: Vec<u16> = ports.drain(..flow.visits.len()).collect();
                threads.push(scope.spawn(move || self.flow(flow, &own)));
            }
            let mut visits = Vec::new();
            for thread in threads {
                let allowed = "none that does".to_owned();
                let panicked = EmuError::Spec { what: "a flow panicked".to_owned(), allowed };
                visits.extend(thread.join().map_err(|_| panicked)??);
            }
            Ok(visits)
        })
    }

    /// The visits of `flow`, to servers at these ports.
    fn flow(self, flow: &FlowSpec, ports: &[u16]) -> Result<Vec<VisitOutcome>, EmuError> {
        let mut outcomes = Vec::new();
        let mut begins = Time::ZERO + flow.start;
        for (visit, &port) in flow.visits.iter().zip(ports) {
            begins = begins + visit.idle_before + visit.start_jitter;
            if !self.emulator.wait_until(begins, self.stop) {
                break;
            }
            if let Stack::Quic(settings) = &flow.stack {
                // One client makes all visits, since tickets last as long as it does.
                return quic::visits(self, flow, settings, port);
            }
            outcomes.push(self.visit(flow, visit, port)?);
            begins = self.emulator.now();
        }
        Ok(outcomes)
    }

    fn visit(self, flow: &FlowSpec, visit: &Visit, port: u16) -> Result<VisitOutcome, EmuError> {
        match &flow.stack {
            Stack::Tcp(stack) => tcp::visit(self, flow, stack, visit, port),
            Stack::Program(stack) => program::visit(self, flow, stack, visit, port),
            // `check_supported` has refused the one, and `flow` sees to the other.
            Stack::DatagramTraffic(_) | Stack::Quic(_) => {
                let what = format!("flow `{}`", flow.name);
                Err(EmuError::Spec {
                    what,
                    allowed: "what `check_supported` lets through".to_owned(),
                })
            }
        }
    }

    /// When a visit that begins now is given up.
    fn give_up(self) -> Time {
        self.emulator.now() + self.spec.time_limit
    }
}
