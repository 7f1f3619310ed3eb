//! A flow over the TCP of the kernel.

use super::supported::CONTROLLERS;
use super::visit_outcome::VisitOutcome;
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, Testbed, Transfer, TransferObject};
use bentpipe_sim::{Direction, FlowSpec, RunSpec, Stack, TcpStack, Visit};

/// Buffer size under memory pressure, in bytes: the default of Linux.
const MIN_BUFFER: u64 = 4096;
/// Initial send buffer, in bytes: the default of Linux.
const INITIAL_SEND_BUFFER: u64 = 16_384;

/// Sets the kernel's TCP parameters in the namespaces of both ends.
pub fn prepare(spec: &RunSpec, testbed: &Testbed) -> Result<(), EmuError> {
    let tcp = spec.flows.iter().find_map(|flow| match &flow.stack {
        Stack::Tcp(stack) => Some(&stack.tcp),
        _ => None,
    });
    let Some(tcp) = tcp else { return Ok(()) };
    let (receive, send) = (tcp.receive_buffer.get(), tcp.send_buffer.get());
    let start = if tcp.autotune { tcp.receive_buffer_start.get().min(receive) } else { receive };
    let switch = |on: bool| u8::from(on).to_string();
    let parameters = [
        ("net.ipv4.tcp_rmem", format!("{} {start} {receive}", MIN_BUFFER.min(start))),
        (
            "net.ipv4.tcp_wmem",
            format!("{} {} {send}", MIN_BUFFER.min(send), INITIAL_SEND_BUFFER.min(send)),
        ),
        ("net.ipv4.tcp_moderate_rcvbuf", switch(tcp.autotune)),
        ("net.ipv4.tcp_ecn", switch(tcp.ecn)),
        ("net.ipv4.tcp_slow_start_after_idle", switch(tcp.idle_restart)),
        // Metrics of one visit must not affect the next.
        ("net.ipv4.tcp_no_metrics_save", switch(true)),
    ];
    for namespace in testbed.namespaces() {
        for (key, value) in &parameters {
            namespace.set(key, value)?;
        }
    }
    Ok(())
}

/// Runs one visit.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &TcpStack,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let name = stack.congestion.controller.as_str();
    let congestion =
        CONTROLLERS.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, kernel)| kernel);
    let objects = visit.objects.iter().map(|object| TransferObject {
        bytes: object.bytes,
        after: object.after.clone(),
        delay: object.delay,
    });
    let transfer = Transfer {
        client: flow.terminal,
        port,
        congestion: congestion.to_owned(),
        upload: visit.direction == Direction::Upload,
        objects: objects.collect(),
        duration: visit.duration,
        deadline: runner.deadline(),
    };
    runner.emulator.transfer(&transfer, runner.stop).map(|outcome| VisitOutcome {
        port,
        outcome,
        client_times: None,
        qlog: Vec::new(),
    })
}
