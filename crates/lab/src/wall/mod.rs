//! The wall clock: a run whose packets are real.
//!
//! The path's links are the simulator's own, driven by the emulator between network namespaces; endpoints are those of the machine. What a run is
//! told, and what comes out, are the types of the simulator, so that results, report and expectations do not know which clock ran.

mod emulation;
mod follow;
mod outcome;
mod program;
mod quic;
mod tcp;

pub use emulation::{DirectionEmulation, Emulation};
pub(crate) use follow::follow;

use crate::run::{Ran, RunError, Runner};
use bentpipe_emu::{EmuError, Emulator, Ground, Hop, PathSpec, Settings, Watch};
use bentpipe_sim::{FlowSpec, RunSpec, Stack, Visit};
use bentpipe_units::{Bytes, Span, Time};
use outcome::{VisitOutcome, outcome};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The server's port of a run's first visit; the others follow.
const FIRST_PORT: u16 = 5001;
/// What a TCP segment has beside its payload: headers of IPv4 and TCP, and timestamps.
const TCP_OVERHEAD: u64 = 52;
/// Packets that leave later than this at the 99th percentile make results doubtful: our choice.
pub const TOLERATED: Span = Span::from_millis(1);

/// Runs by the wall clock, on the machine's own kernel.
#[derive(Debug, Clone, Default)]
pub struct Wall {
    /// How the emulator works.
    pub settings: Settings,
    /// The command `bentpipe`, which is what speaks QUIC.
    pub bentpipe: PathBuf,
}

impl Runner for Wall {
    fn run(&self, spec: &RunSpec, stop: &AtomicBool) -> Result<Ran, RunError> {
        follow(spec).map_err(RunError::Failed)?;
        let failed = |error: EmuError| RunError::Failed(error.to_string());
        let path = path(spec);
        let ground = Ground::new(spec.terminals.max(1), mtu(spec)).map_err(failed)?;
        tcp::prepare(spec, &ground).map_err(failed)?;
        let count: usize = spec.flows.iter().map(|flow| flow.visits.len()).sum();
        let ports: Vec<u16> = (0..count).map(port).collect();
        let watch = Watch { ports, series: spec.trace, ..Watch::default() };
        let emulator = Emulator::start_watched(ground, &path, self.settings(spec), &watch).map_err(failed)?;

        let played = Play { spec, bentpipe: &self.bentpipe, emulator: &emulator, stop }.all();
        let report = emulator.stop().map_err(failed)?;
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let visits = played.map_err(failed)?;
        let emulation = Emulation::new(&report, TOLERATED);
        Ok(Ran { outcome: outcome(spec, visits, report), emulation: Some(emulation) })
    }
}

impl Wall {
    /// How the emulator works for `spec`: what reaches the kernel's TCP together is what the scenario says.
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
    PathSpec { hops: spec.hops.iter().map(hop).collect(), base_rtt: spec.base_rtt, seed: spec.seed, run: spec.run }
}

/// The largest packet that any flow sends: there is one size for the whole path.
fn mtu(spec: &RunSpec) -> Bytes {
    let size = |flow: &FlowSpec| match &flow.stack {
        Stack::Tcp(stack) => Bytes::new(u64::from(stack.tcp.segment) + TCP_OVERHEAD),
        Stack::Quic(settings) => Bytes::new(u64::from(settings.max_mtu) + crate::scenario::HEADERS),
        Stack::Program(stack) => stack.mtu,
        Stack::Datagrams(_) => Bytes::ZERO,
    };
    spec.flows.iter().map(size).max().unwrap_or_default()
}

/// The server's port of visit number `index` of the run.
fn port(index: usize) -> u16 {
    FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX))
}

/// What visits are carried out with.
#[derive(Clone, Copy)]
struct Play<'a> {
    spec: &'a RunSpec,
    bentpipe: &'a Path,
    emulator: &'a Emulator,
    stop: &'a AtomicBool,
}

impl Play<'_> {
    /// All flows at the same time, each with its visits one after the other.
    fn all(self) -> Result<Vec<VisitOutcome>, EmuError> {
        std::thread::scope(|scope| {
            let mut first = 0;
            let mut threads = Vec::new();
            for flow in &self.spec.flows {
                let before = first;
                first += flow.visits.len();
                threads.push(scope.spawn(move || self.flow(flow, before)));
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

    /// The visits of `flow`, before which there are so many of others.
    fn flow(self, flow: &FlowSpec, before: usize) -> Result<Vec<VisitOutcome>, EmuError> {
        let mut outcomes = Vec::new();
        let mut begins = Time::ZERO + flow.start;
        for (index, visit) in flow.visits.iter().enumerate() {
            begins = begins + visit.wait + visit.think;
            if !self.emulator.wait_until(begins, self.stop) {
                break;
            }
            outcomes.push(self.visit(flow, visit, port(before + index))?);
            begins = self.emulator.now();
        }
        Ok(outcomes)
    }

    fn visit(self, flow: &FlowSpec, visit: &Visit, port: u16) -> Result<VisitOutcome, EmuError> {
        match &flow.stack {
            Stack::Tcp(stack) => tcp::visit(self, flow, stack, visit, port),
            Stack::Program(stack) => program::visit(self, flow, stack, visit, port),
            Stack::Quic(settings) => quic::visit(self, flow, settings, visit, port),
            // `follow` has refused these.
            Stack::Datagrams(_) => {
                let what = format!("flow `{}`", flow.name);
                Err(EmuError::Spec { what, allowed: "what `follow` lets through".to_owned() })
            }
        }
    }

    /// When a visit that begins now is given up.
    fn give_up(self) -> Time {
        self.emulator.now() + self.spec.time_limit
    }
}
