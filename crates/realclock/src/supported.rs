//! Checks that the real clock supports everything that a run asks for. Unsupported keys are errors,
//! because results must not suggest that they had an effect.

use super::kernel::{kernel_congestion, kernel_controller};
use super::proxies;
use bentpipe_link::Dscp;
use bentpipe_quic::{EcnMode, Handshake, Http};
use bentpipe_sim::{
    CallCarrier, DatagramTraffic, Direction, FlowSpec, RunSpec, Stack, TcpStack, Visit,
};
use bentpipe_tcp::{AckPolicy, EcnSupport, TcpSettings};
use bentpipe_units::{Bytes, Span};

/// Largest number of visits in a run: each needs a port.
const MAX_VISITS: usize = 10_000;
/// Shortest idle time between two visits to one server. Half of it separates them, and must be
/// longer than the retransmission of a lost packet takes.
const MIN_IDLE: Span = Span::from_secs(2);

/// Smallest IP packet of `cbr` and `ping`: headers, and eight bytes for the sending time.
const SMALLEST_DATAGRAM: Bytes = Bytes::new(36);

/// Checks that the real clock can run `spec`.
///
/// # Errors
/// A key is not supported. The error gives the reason and the allowed values.
pub fn check(spec: &RunSpec) -> Result<(), String> {
    let max = bentpipe_emu::MAX_TERMINALS;
    if spec.mesh.is_some() && spec.flows.len() > max {
        return Err(format!(
            "{} flows over `path.orbit`: each has a network namespace; allowed with --clock real: \
                up to {max}",
            spec.flows.len()
        ));
    }
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
        self::flow(flow, spec.mesh.is_some())
            .map_err(|reason| format!("flow `{}`: {reason}", flow.name))?;
    }
    proxies::check_supported(spec)?;
    one_kernel(spec)?;
    one_default(spec)
}

/// Checks a flow. `at_stations`: its ends are stations of a satellite network.
fn flow(flow: &FlowSpec, at_stations: bool) -> Result<(), String> {
    if flow.ends.is_some() && !at_stations {
        return Err(
            "`from_hop`, `to_hop`: all hosts are at the ends of the path; allowed with --clock \
                real: flows over the whole path"
                .into(),
        );
    }
    let dscp = flow.marking.dscp;
    let own_sockets = matches!(flow.stack, Stack::DatagramTraffic(_) | Stack::Call(_));
    if dscp != Dscp::BEST_EFFORT && !own_sockets {
        return Err(format!(
            "`dscp = \"{dscp}\"`: sockets of this transport do not set it; allowed with --clock \
                real: cbr, ping and call"
        ));
    }
    match &flow.stack {
        Stack::Tcp(stack) => tcp(flow, stack),
        Stack::Quic(settings) => quic(flow, settings),
        Stack::Program(stack) => {
            if let Some(name) = stack.congestion {
                kernel_controller("congestion", name.as_str())?;
            }
            one_download(flow, "a program")
        }
        Stack::DatagramTraffic(kind) => datagrams(*kind),
        Stack::Call(call) => match call.carrier {
            CallCarrier::Udp if call.media.adaptation.is_some() => {
                let what = "`adaptation`: the rate of a call adapts on the virtual clock only; \
                    allowed with --clock real: `adaptation = \"none\"`";
                Err(what.to_owned())
            }
            CallCarrier::Udp => Ok(()),
            CallCarrier::Quic(..) => {
                let what = "`framing`: a call over QUIC runs on the virtual clock only; allowed \
                    with --clock real: a call over UDP, without `framing`";
                Err(what.to_owned())
            }
        },
    }
}

/// Checks a flow without congestion control: each packet carries its sending time.
fn datagrams(kind: DatagramTraffic) -> Result<(), String> {
    let (DatagramTraffic::Constant { packet, .. } | DatagramTraffic::Ping { packet, .. }) = kind;
    if packet < SMALLEST_DATAGRAM {
        return Err(format!(
            "packets of {packet} have no space for the time at which they are sent; allowed with \
                --clock real: {SMALLEST_DATAGRAM} or more"
        ));
    }
    Ok(())
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
fn quic(flow: &FlowSpec, settings: &bentpipe_quic::QuicSettings) -> Result<(), String> {
    let refuse = |key: &str, why: &str, allowed: &str| {
        Err(format!("`{key}`: {why}; allowed with --clock real: {allowed}"))
    };
    if settings.http != Http::H3 {
        return refuse("http", "`bentpipe serve` speaks HTTP", "http = \"h3\"");
    }
    if settings.ecn == EcnMode::Ect1 {
        return refuse(
            "quic.ecn",
            "`bentpipe serve` sends ECT(0), also with the controller `prague`, for which `ect1` is \
             the default",
            "quic.ecn = \"ect0\"",
        );
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
    if flow.visits.iter().any(|visit| visit.handshake == Handshake::ZeroRtt) {
        return refuse(
            "handshake",
            "the kernel's TCP sends no data in its handshake",
            "handshake = \"1rtt\"",
        );
    }
    if flow.visits.iter().any(|visit| visit.priorities) {
        return refuse(
            "http_priorities",
            "the server in real time sends objects in turn",
            "http_priorities = \"none\"",
        );
    }
    let plays = flow.visits.iter().any(|visit| visit.player.is_some());
    if plays && !stack.http.version.has_tls() {
        return refuse(
            "http",
            "the server of a bare exchange does not know the sizes that a player asks for",
            "http = \"h1\" or \"h2\" for `abr`",
        );
    }
    let (congestion, tcp, default) = (&stack.congestion, &stack.tcp, TcpSettings::default());
    kernel_congestion("", congestion)?;
    if congestion.resume != Default::default() {
        return refuse(
            "resume",
            "the kernel's TCP cannot resume path parameters",
            "resume = \"none\"",
        );
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
    if matches!(tcp.ecn, EcnSupport::Accurate { .. }) {
        return refuse(
            "tcp.ecn",
            "AccECN of the kernel is not used: it has no controller that needs the counts",
            "true or false",
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

/// Checks that all programs ask for the same defaults of the kernel's TCP, and that TCP flows do
/// not ask for another receive buffer.
fn one_default(spec: &RunSpec) -> Result<(), String> {
    let programs = spec.flows.iter().filter_map(|flow| match &flow.stack {
        Stack::Program(stack) => Some((&flow.name, stack)),
        _ => None,
    });
    let buffers = spec.flows.iter().filter_map(|flow| match &flow.stack {
        Stack::Tcp(stack) => Some(stack.tcp.receive_buffer),
        _ => None,
    });
    let mut programs = programs.peekable();
    let Some((first, expected)) = programs.peek().copied() else { return Ok(()) };
    let differs = |other: &bentpipe_sim::ProgramStack| {
        (other.congestion, other.receive_buffer) != (expected.congestion, expected.receive_buffer)
    };
    let other_buffer = |buffer| expected.receive_buffer.is_some_and(|expected| expected != buffer);
    if let Some((other, _)) = programs.find(|(_, stack)| differs(stack)) {
        return Err(format!(
            "flows `{first}` and `{other}` differ in `congestion` or `tcp.receive_buffer`, which \
                are the kernel's defaults for all programs together; allowed with --clock real: \
                the same values in all flows of programs"
        ));
    }
    if buffers.into_iter().any(other_buffer) {
        return Err(format!(
            "flow `{first}`: `tcp.receive_buffer` differs from that of a flow over TCP, which the \
                kernel sets for all connections together; allowed with --clock real: the same value"
        ));
    }
    Ok(())
}
