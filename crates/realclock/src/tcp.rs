//! A flow over the TCP of the kernel.

use super::kernel::kernel_name;
use super::visit_outcome::VisitOutcome;
use super::visit_runner::VisitRunner;
use bentpipe_emu::{EmuError, Testbed, Transfer, TransferObject};
use bentpipe_sim::{Direction, FlowSpec, ProgramStack, RunSpec, Stack, TcpStack, Visit};
use bentpipe_tcp::TcpSettings;
use std::collections::BTreeMap;

/// Buffer size under memory pressure, in bytes: the default of Linux.
const MIN_BUFFER: u64 = 4096;
/// Initial send buffer, in bytes: the default of Linux.
const INITIAL_SEND_BUFFER: u64 = 16_384;

/// Sets the kernel's TCP parameters in the namespaces of both ends.
pub fn prepare(spec: &RunSpec, testbed: &Testbed) -> Result<(), EmuError> {
    // `check_supported` admits flows that agree. What a program leaves open, TCP flows decide.
    let stacks = || spec.flows.iter().map(|flow| &flow.stack);
    let programs = stacks().filter_map(|stack| match stack {
        Stack::Program(stack) => Some(of_program(stack)),
        _ => None,
    });
    let tcp = stacks().filter_map(|stack| match stack {
        Stack::Tcp(stack) => Some(of_tcp(&stack.tcp)),
        _ => None,
    });
    let parameters: BTreeMap<_, _> = programs.chain(tcp).flatten().collect();
    for namespace in testbed.namespaces() {
        for (key, value) in &parameters {
            namespace.set(key, value)?;
        }
    }
    Ok(())
}

fn switch(on: bool) -> String {
    u8::from(on).to_string()
}

/// Returns `tcp_rmem` for buffers that grow from `start` to `receive` bytes.
fn receive_memory(start: u64, receive: u64) -> (&'static str, String) {
    let start = start.min(receive);
    ("net.ipv4.tcp_rmem", format!("{} {start} {receive}", MIN_BUFFER.min(start)))
}

/// Metrics of one visit must not affect the next.
fn no_metrics() -> (&'static str, String) {
    ("net.ipv4.tcp_no_metrics_save", switch(true))
}

fn of_tcp(tcp: &TcpSettings) -> Vec<(&'static str, String)> {
    let (receive, send) = (tcp.receive_buffer.get(), tcp.send_buffer.get());
    let start = if tcp.autotune { tcp.receive_buffer_start.get() } else { receive };
    vec![
        receive_memory(start, receive),
        (
            "net.ipv4.tcp_wmem",
            format!("{} {} {send}", MIN_BUFFER.min(send), INITIAL_SEND_BUFFER.min(send)),
        ),
        ("net.ipv4.tcp_moderate_rcvbuf", switch(tcp.autotune)),
        ("net.ipv4.tcp_ecn", switch(tcp.ecn.is_on())),
        ("net.ipv4.tcp_slow_start_after_idle", switch(tcp.idle_restart)),
        no_metrics(),
    ]
}

/// Returns the defaults for sockets of programs, which may choose others.
fn of_program(stack: &ProgramStack) -> Vec<(&'static str, String)> {
    let start = TcpSettings::default().receive_buffer_start.get();
    let receive = stack.receive_buffer.map(|receive| receive_memory(start, receive.get()));
    let congestion = stack
        .congestion
        .map(|name| ("net.ipv4.tcp_congestion_control", kernel_name(name.as_str()).to_owned()));
    receive.into_iter().chain(congestion).chain([no_metrics()]).collect()
}

/// Runs one visit.
pub fn visit(
    runner: VisitRunner<'_>,
    flow: &FlowSpec,
    stack: &TcpStack,
    visit: &Visit,
    port: u16,
) -> Result<VisitOutcome, EmuError> {
    let congestion = kernel_name(stack.congestion.controller.as_str());
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
    let outcome = runner.emulator.transfer(&transfer, runner.stop)?;
    Ok(VisitOutcome::new(port, outcome))
}
