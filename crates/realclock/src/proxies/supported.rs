//! Checks that real proxies can follow `tcp.pep` and `[path.pep]`.

use super::super::kernel::kernel_congestion;
use bentpipe_sim::{FlowSpec, PepSpec, RunSpec, Stack};
use bentpipe_tcp::{AckPolicy, TcpSettings};

/// Returns the proxies that a flow asks for, and whether a proxy could split its connections.
fn pep(flow: &FlowSpec) -> (Option<&PepSpec>, bool) {
    (flow.stack.pep(), matches!(flow.stack, Stack::Tcp(_) | Stack::Program(_)))
}

/// Returns the proxies of a run. All flows that have any have the same.
pub(in super::super) fn proxies_of(spec: &RunSpec) -> Option<&PepSpec> {
    spec.flows.iter().find_map(|flow| pep(flow).0)
}

/// Checks that the proxies of a run are `bentpipe pep`, as it can be set up.
///
/// # Errors
/// A key is not supported, or flows differ in it. The error gives the reason and the allowed
/// values.
pub(in super::super) fn check_supported(spec: &RunSpec) -> Result<(), String> {
    let Some(first) = proxies_of(spec) else { return Ok(()) };
    check(first)?;
    for flow in &spec.flows {
        let (own, splits) = pep(flow);
        if splits && !own.is_some_and(|own| is_same(own, first)) {
            return Err(format!(
                "flow `{}`: `tcp.pep`: the proxies split all TCP connections of the path; allowed \
                    with --clock real: the same value in all flows over TCP and of programs",
                flow.name
            ));
        }
    }
    Ok(())
}

fn is_same(one: &PepSpec, other: &PepSpec) -> bool {
    let of = |pep: &PepSpec| (pep.hop, pep.terminal, pep.gateway, pep.buffer);
    of(one) == of(other)
}

fn check(pep: &PepSpec) -> Result<(), String> {
    let refuse = |key: &str, why: &str, allowed: &str| {
        Err(format!("`{key}`: {why}; allowed with --clock real: {allowed}"))
    };
    if !pep.terminal && !pep.gateway {
        return refuse(
            "tcp.pep",
            "`bentpipe pep` splits connections and does not filter acknowledgements",
            "\"none\", \"gateway\" or \"both\"",
        );
    }
    kernel_congestion("path.pep.", &pep.to_client)?;
    if pep.initial_window != TcpSettings::default().initial_window {
        return refuse(
            "path.pep.initial_window",
            "it is an attribute of the route, and stays at the kernel's default",
            "10",
        );
    }
    if pep.ack != AckPolicy::default() {
        return refuse(
            "path.pep.ack",
            "the kernel's acknowledgements cannot be configured",
            "\"stack\"",
        );
    }
    if pep.ack_filter.is_some() {
        return refuse("path.pep.ack_filter", "`bentpipe pep` does not filter them", "none");
    }
    if pep.failure.is_some() {
        return refuse("path.pep.fails_at", "real proxies run until the end", "none");
    }
    Ok(())
}
