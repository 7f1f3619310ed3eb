//! Checks that the real clock supports everything that a run asks for. Unsupported keys are errors,
//! because results must not suggest that they had an effect.

use bentpipe_quic::{Handshake, Http};
use bentpipe_sim::{Direction, FlowSpec, RunSpec, Stack, TcpStack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_tcp::{AckPolicy, Settings};
use bentpipe_units::Span;

/// Controllers of Bentpipe, each with the kernel's name for it.
pub(super) const CONTROLLERS: [(&str, &str); 3] =
    [("newreno", "reno"), ("cubic", "cubic"), ("bbr1", "bbr")];
/// Controller parameters that may be set, with the value that the kernel uses.
const PARAMETERS: [(&str, &str, f64); 1] = [("cubic", "first_growth", 0.05)];
/// Largest number of visits in a run: each needs a port.
const MAX_VISITS: usize = 10_000;
/// Shortest idle time between two visits to one server. Half of it separates them, and must be
/// longer than the retransmission of a lost packet takes.
const MIN_IDLE: Span = Span::from_secs(2);

/// Checks that the real clock can run `spec`.
///
/// # Errors
/// A key is not supported. The error gives the reason and the allowed values.
pub(crate) fn check_supported(spec: &RunSpec) -> Result<(), String> {
    if spec.mesh.is_some() {
        return Err(
            "`path.orbit` is not emulated; allowed with --clock real: hops, or a profile such as \
                `leo`"
                .to_owned(),
        );
    }
    let max = bentpipe_emu::MAX_TERMINALS;
    if spec.terminals > max {
        return Err(format!(
            "terminals = {}: each terminal is a network namespace; allowed with --clock real: up \
                to {max}",
            spec.terminals
        ));
    }
    let visits: usize = spec.flows.iter().map(|flow| flow.visits.len()).sum();
    if visits > MAX_VISITS {
        return Err(format!(
            "a run has {visits} visits; allowed with --clock real: up to {MAX_VISITS}"
        ));
    }
    for flow in &spec.flows {
        self::flow(flow).map_err(|reason| format!("flow `{}`: {reason}", flow.name))?;
    }
    one_kernel(spec)
}

fn flow(flow: &FlowSpec) -> Result<(), String> {
    if flow.ends.is_some() {
        return Err(
            "`from_hop`, `to_hop`: all hosts are at the ends of the path; allowed with --clock \
                real: flows over the whole path"
                .into(),
        );
    }
    match &flow.stack {
        Stack::Tcp(stack) => tcp(flow, stack),
        Stack::Quic(settings) => quic(flow, settings),
        Stack::Program(_) => one_download(flow, "a program"),
        Stack::DatagramTraffic(_) => {
            Err("`cbr` and `ping` run on the virtual clock only; allowed: `download`".into())
        }
    }
}

/// Checks that the flow is a single download, which is all that a pair of commands does.
fn one_download(flow: &FlowSpec, what: &str) -> Result<(), String> {
    match flow.visits.as_slice() {
        [visit]
            if visit.duration.is_none()
                && visit.direction == Direction::Download
                && visit.objects.len() == 1 =>
        {
            Ok(())
        }
        _ => Err(format!(
            "{what} makes one download; allowed with --clock real: `download` with one visit"
        )),
    }
}

/// Checks a QUIC flow. Only options of `bentpipe serve` and `bentpipe get` are supported.
fn quic(flow: &FlowSpec, settings: &bentpipe_quic::Settings) -> Result<(), String> {
    let refuse = |key: &str, why: &str, allowed: &str| {
        Err(format!("`{key}`: {why}; allowed with --clock real: {allowed}"))
    };
    if settings.http != Http::H3 {
        return refuse("http", "`bentpipe serve` speaks HTTP", "http = \"h3\"");
    }
    let congestion = &settings.congestion;
    if !congestion.parameters.is_empty()
        || congestion.max_window.is_some()
        || congestion.path_change != Default::default()
    {
        return refuse(
            "parameters`, `max_window` or `path_change_response",
            "`bentpipe serve` has no options for them",
            "none",
        );
    }
    let mut later = flow.visits.iter().skip(1);
    if later.clone().any(|visit| visit.handshake != Handshake::ZeroRtt) {
        let allowed = "handshake = \"0rtt\" for repeat visits";
        return refuse("handshake", "`bentpipe get` uses its ticket if it has one", allowed);
    }
    let first = flow.visits.get(1).map(|visit| visit.idle_before);
    if later.any(|visit| Some(visit.idle_before) != first || visit.idle_before < MIN_IDLE) {
        let allowed = "2 s or more, the same for all repeat visits";
        return refuse(
            "idle_before",
            "packets are assigned to visits by the idle time between them",
            allowed,
        );
    }
    let simple = |visit: &Visit| {
        visit.duration.is_none()
            && visit.direction == Direction::Download
            && visit.objects.len() == 1
    };
    if !flow.visits.iter().all(simple) {
        let what =
            "`bentpipe get` makes one download per visit; allowed with --clock real: `download`";
        return Err(what.to_owned());
    }
    Ok(())
}

/// Checks a TCP flow. Only options of a socket or a namespace are supported.
fn tcp(flow: &FlowSpec, stack: &TcpStack) -> Result<(), String> {
    let refuse = |key: &str, why: &str, allowed: &str| {
        Err(format!("`{key}`: {why}; allowed with --clock real: {allowed}"))
    };
    if stack.pep.is_some() {
        return refuse("tcp.pep", "there is no proxy between the namespaces", "tcp.pep = \"none\"");
    }
    if stack.http.version != Version::Raw {
        return refuse(
            "http",
            "over the kernel's TCP, objects are requested without HTTP",
            "http = \"raw\"",
        );
    }
    if flow.visits.iter().any(|visit| visit.handshake == Handshake::ZeroRtt) {
        return refuse(
            "handshake",
            "the kernel's TCP sends no data in its handshake",
            "handshake = \"1rtt\"",
        );
    }
    let (congestion, tcp, default) = (&stack.congestion, &stack.tcp, Settings::default());
    let name = congestion.controller.as_str();
    if !CONTROLLERS.iter().any(|(ours, _)| *ours == name) {
        return refuse(
            "congestion",
            &format!("the kernel has no `{name}`"),
            "newreno (reno in the kernel), cubic, bbr1 (bbr in the kernel)",
        );
    }
    let start = congestion.slow_start.as_str();
    // The kernel's CUBIC uses HyStart, which cannot be changed in a namespace. Its other
    // controllers leave slow start at the first loss.
    let starts: &[&str] =
        if name == "cubic" { &["auto", "hystart"] } else { &["auto", "standard"] };
    if !starts.contains(&start) {
        let allowed =
            starts.iter().map(|start| format!("`{start}`")).collect::<Vec<_>>().join(", ");
        return refuse(
            "slow_start",
            &format!("the kernel's {name} does not have `{start}`"),
            &allowed,
        );
    }
    if congestion.resume != Default::default() {
        return refuse(
            "resume",
            "the kernel's TCP cannot resume path parameters",
            "resume = \"none\"",
        );
    }
    let parameters = congestion.parameters.iter();
    for (part, key, value) in
        parameters.flat_map(|(part, all)| all.iter().map(move |(key, value)| (part, key, *value)))
    {
        if !PARAMETERS.contains(&(part, key, value)) {
            let why = format!(
                "{part}.{key} = {value} cannot be set: parameters of the kernel's controllers are \
                    global to the host"
            );
            return refuse(
                "parameters",
                &why,
                "cubic.first_growth = 0.05, the value of the kernel",
            );
        }
    }
    if congestion.max_window.is_some() {
        return refuse(
            "max_window",
            "the kernel has no such limit",
            "none; `flow_control.send_buffer` limits unacknowledged data",
        );
    }
    if congestion.path_change != Default::default() {
        return refuse(
            "path_change_response",
            "the kernel's TCP does not support it",
            "path_change_response = \"none\"",
        );
    }
    if tcp.initial_window != default.initial_window {
        return refuse(
            "initial_window",
            "it is an attribute of the route, and stays at the kernel's default",
            "10",
        );
    }
    // The kernel acknowledges each segment while its receive window grows, and every second one
    // otherwise. The scenario chooses which of the two describes it better.
    let default = AckPolicy::default();
    let supported = [default.every, 1].map(|every| AckPolicy { every, ..default });
    if !supported.contains(&AckPolicy { coalesce: None, ..tcp.ack }) {
        return refuse(
            "ack` or `max_ack_delay",
            "the kernel's acknowledgements cannot be configured",
            "ack = \"stack\" or ack = \"1:1\"",
        );
    }
    Ok(())
}

/// Checks that all TCP flows have the same buffers and options, which are set per namespace.
fn one_kernel(spec: &RunSpec) -> Result<(), String> {
    let settings = |flow: &FlowSpec| match &flow.stack {
        Stack::Tcp(stack) => {
            let tcp = &stack.tcp;
            Some((
                flow.name.clone(),
                (
                    tcp.receive_buffer,
                    tcp.send_buffer,
                    tcp.autotune,
                    tcp.ecn,
                    tcp.idle_restart,
                    tcp.ack.coalesce,
                ),
            ))
        }
        _ => None,
    };
    let mut all = spec.flows.iter().filter_map(settings);
    let Some((first, expected)) = all.next() else { return Ok(()) };
    match all.find(|(_, other)| *other != expected) {
        Some((other, _)) => Err(format!(
            "flows `{first}` and `{other}` differ in `tcp.receive_buffer`, `tcp.receive_autotune`, \
                `flow_control.send_buffer`, `tcp.ecn`, `tcp.idle_restart` or `tcp.coalesce`, which \
                the kernel sets for all flows together; \
             allowed with --clock real: the same values in all flows with transport = \"tcp\""
        )),
        None => Ok(()),
    }
}
