//! Runs the visits of all flows.

use super::ports::ports;
use super::visit_outcome::VisitOutcome;
use super::visit_runner::VisitRunner;
use super::{call, datagrams, http, program, quic, tcp};
use bentpipe_emu::EmuError;
use bentpipe_sim::{FlowSpec, Stack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_units::Time;

/// Runs all flows at the same time, and the visits of each flow one after the other.
pub(super) fn run_all(runner: VisitRunner<'_>) -> Result<Vec<VisitOutcome>, EmuError> {
    std::thread::scope(|scope| {
        let mut ports = ports(runner.spec);
        let mut threads = Vec::new();
        for flow in &runner.spec.flows {
            let own: Vec<u16> = ports.drain(..flow.visits.len()).collect();
            threads.push(scope.spawn(move || run_flow(runner, flow, &own)));
        }
        let mut visits = Vec::new();
        for thread in threads {
            let panicked = EmuError::Spec {
                what: "a flow panicked".to_owned(),
                allowed: "none that does".to_owned(),
            };
            visits.extend(thread.join().map_err(|_| panicked)??);
        }
        Ok(visits)
    })
}

/// Runs the visits of `flow` to servers at `ports`.
fn run_flow(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    ports: &[u16],
) -> Result<Vec<VisitOutcome>, EmuError> {
    let mut outcomes = Vec::new();
    let mut start = Time::ZERO + flow.start;
    for ((visit, &port), number) in flow.visits.iter().zip(ports).zip(1..) {
        start = start + visit.idle_before + visit.start_jitter;
        if !runner.emulator.wait_until(start, runner.stop) {
            break;
        }
        if let Stack::Quic(settings) = &flow.stack {
            // One client makes all visits, because its tickets last only as long as it runs.
            return quic::visits(runner, flow, settings, port);
        }
        outcomes.push(run_visit(runner, flow, (visit, number), port)?);
        start = runner.emulator.now();
    }
    Ok(outcomes)
}

fn run_visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    (visit, number): (&Visit, u32),
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    match &flow.stack {
        Stack::Tcp(stack) if stack.http.version == Version::Raw => {
            tcp::visit(runner, flow, stack, visit, port)
        }
        Stack::Tcp(stack) => http::visit(runner, flow, stack, visit, port),
        Stack::Program(stack) => program::visit(runner, flow, stack, visit, port),
        Stack::DatagramTraffic(kind) => {
            datagrams::visit(runner, flow, *kind, (visit, number), port)
        }
        Stack::Call(traffic) => call::visit(runner, flow, traffic, (visit, number), port),
        // `run_flow` handles QUIC, and `check_supported` refuses others.
        _ => Err(EmuError::Spec {
            what: format!("flow `{}`", flow.name),
            allowed: "flows that `check_supported` accepts".to_owned(),
        }),
    }
}
