//! What the real clock can follow of a scenario. Everything else is refused, by its key and with
//! the reason: a result must not tell of something that was asked for and not done.

use bentpipe_quic::{Handshake, Http};
use bentpipe_sim::{Direction, FlowSpec, RunSpec, Stack, TcpStack, Visit};
use bentpipe_tcp::http::Version;
use bentpipe_tcp::{AckPolicy, Settings};
use bentpipe_units::Span;

/// Ours, and the kernel's name of the same.
pub(super) const CONTROLLERS: [(&str, &str); 3] =
    [("newreno", "reno"), ("cubic", "cubic"), ("bbr1", "bbr")];
/// What the kernel's controllers do and ours do not by default: their parameters may say so, and
/// nothing else.
const PARAMETERS: [(&str, &str, f64); 1] = [("cubic", "first_growth", 0.05)];
/// Visits that a run may have: one port for each.
const MOST_VISITS: usize = 10_000;
/// Shortest silence between two visits to one server: half of it has to be longer than a lost
/// packet's repair.
const SHORTEST_WAIT: Span = Span::from_secs(2);

/// Says what of `spec` cannot be done on the real clock.
///
/// # Errors
/// The key, why, and what is allowed.
pub(crate) fn check_supported(spec: &RunSpec) -> Result<(), String> {
    if spec.mesh.is_some() {
        return Err(
            "`path.orbit` is not emulated; allowed with --clock real: hops, or a profile such as \
                `leo`"
                .to_owned(),
        );
    }
    let most = bentpipe_emu::MAX_TERMINALS;
    if spec.terminals > most {
        return Err(format!(
            "terminals = {}: each is a namespace; allowed: up to {most}",
            spec.terminals
        ));
    }
    let visits: usize = spec.flows.iter().map(|flow| flow.visits.len()).sum();
    if visits > MOST_VISITS {
        return Err(format!(
            "{visits} visits in one run; allowed with --clock real: up to {MOST_VISITS}"
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
            "`from_hop`, `to_hop`: hosts are at the ends of the path only; allowed with --clock \
                real: the whole path"
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

/// One visit with one download: what a pair of commands does.
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
            "{what} does one download; allowed with --clock real: `download`, and one visit"
        )),
    }
}

/// `bentpipe serve` and `bentpipe get` are the product: what a scenario may say of it is what they
/// may be told.
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
            "`bentpipe serve` takes none",
            "none",
        );
    }
    let mut later = flow.visits.iter().skip(1);
    if later.clone().any(|visit| visit.handshake != Handshake::ZeroRtt) {
        let allowed = "handshake = \"0rtt\" for what comes after a first visit";
        return refuse("handshake", "`bentpipe get` uses the ticket that it has", allowed);
    }
    let first = flow.visits.get(1).map(|visit| visit.idle_before);
    if later.any(|visit| Some(visit.idle_before) != first || visit.idle_before < SHORTEST_WAIT) {
        let allowed = "2 s or more, the same before all later visits";
        return refuse(
            "idle_before",
            "visits are told apart by the idle time between them",
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
            "`bentpipe get` does one download in each visit; allowed with --clock real: `download`";
        return Err(what.to_owned());
    }
    Ok(())
}

/// The kernel's TCP does what it does: what cannot be set on a socket or in a namespace is refused.
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
            "over the kernel's TCP nothing but bare requests is spoken",
            "http = \"raw\"",
        );
    }
    if flow.visits.iter().any(|visit| visit.handshake == Handshake::ZeroRtt) {
        return refuse(
            "handshake",
            "the kernel's TCP opens connections without data",
            "handshake = \"1rtt\"",
        );
    }
    let (congestion, tcp, default) = (&stack.congestion, &stack.tcp, Settings::default());
    let name = congestion.controller.as_str();
    if !CONTROLLERS.iter().any(|(ours, _)| *ours == name) {
        return refuse(
            "congestion",
            &format!("the kernel has no `{name}`"),
            "newreno (its reno), cubic, bbr1 (its bbr)",
        );
    }
    let start = congestion.slow_start.as_str();
    // Its CUBIC leaves slow start by HyStart, and nothing of a namespace changes that; its others
    // by the first loss.
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
        return refuse("resume", "the kernel's TCP resumes nothing", "resume = \"none\"");
    }
    let parameters = congestion.parameters.iter();
    for (part, key, value) in
        parameters.flat_map(|(part, all)| all.iter().map(move |(key, value)| (part, key, *value)))
    {
        if !PARAMETERS.contains(&(part, key, value)) {
            let why = format!(
                "{part}.{key} = {value}: those of the kernel's controllers belong to the host"
            );
            return refuse(
                "parameters",
                &why,
                "cubic.first_growth = 0.05, which is as the kernel has it",
            );
        }
    }
    if congestion.max_window.is_some() {
        return refuse(
            "max_window",
            "the kernel has no such limit",
            "nothing; `flow_control.send_buffer` limits what is unacknowledged",
        );
    }
    if congestion.path_change != Default::default() {
        return refuse(
            "path_change_response",
            "the kernel's TCP has none",
            "path_change_response = \"none\"",
        );
    }
    if tcp.initial_window != default.initial_window {
        return refuse(
            "initial_window",
            "it belongs to a route, and is the kernel's",
            "10, its own",
        );
    }
    // While its receive window grows the kernel acknowledges each segment, otherwise every other
    // one. Which is nearer is the scenario's to say.
    let default = AckPolicy::default();
    let nearest = [default.every, 1].map(|every| AckPolicy { every, ..default });
    if !nearest.contains(&AckPolicy { coalesce: None, ..tcp.ack }) {
        return refuse(
            "ack` or `max_ack_delay",
            "the kernel acknowledges as it does",
            "ack = \"stack\", ack = \"1:1\"",
        );
    }
    Ok(())
}

/// Buffers and the like are one setting for all connections of a namespace.
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
    let Some((first, own)) = all.next() else { return Ok(()) };
    match all.find(|(_, other)| *other != own) {
        Some((other, _)) => Err(format!(
            "flows `{first}` and `{other}` differ in `tcp.receive_buffer`, `tcp.receive_autotune`, \
                `flow_control.send_buffer`, `tcp.ecn`, `tcp.idle_restart` or `tcp.coalesce`, of \
                which a kernel has one for all; \
             allowed with --clock real: the same in all flows of transport = \"tcp\""
        )),
        None => Ok(()),
    }
}
