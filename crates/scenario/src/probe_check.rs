//! Checks of a `probe` on the connection of another flow.

use crate::error::Problem;
use crate::flow::Flow;
use crate::limits::Check;
use crate::protocol::Protocol;
use crate::scenario::Scenario;
use crate::workload::{Clocks, Work, Workload};
use bentpipe_results::Direction;
use bentpipe_tcp::http::Version;

/// Checks that the flow whose connection a probe uses is one of `flows` and can have it.
pub(crate) fn probe(scenario: &Scenario, flows: &[Flow], flow: &Flow) -> Check {
    let Work::Once(Workload::Probe(probe)) = &flow.work else { return Ok(()) };
    let Some(on) = &probe.on else { return Ok(()) };
    let others: Vec<&Flow> = flows.iter().filter(|other| other.name() != flow.name()).collect();
    let names: Vec<&str> = others.iter().map(|other| other.name()).collect();
    let Some(host) = others.iter().find(|other| other.name() == on.get_ref()) else {
        return Err(Problem::not_one_of(on.span(), "other flow", on.get_ref(), names));
    };
    let refused = |message: String| Err(Problem::new(on.span(), message));
    if host.users.is_some() || flow.users.is_some() {
        return refused(format!(
            "`{}` and `{on}` have to be single flows; allowed: flows without `count`",
            flow.name()
        ));
    }
    if matches!(&host.work, Work::Once(Workload::Probe(other)) if other.on.is_some()) {
        return refused(format!("`{on}` has no connection of its own; allowed: a flow that has"));
    }
    let has_objects = host.work.first().clocks() != Clocks::VirtualQuic;
    match host.protocol {
        Protocol::Quic(_) if has_objects => {}
        Protocol::Tcp(Version::H2) if host.work.direction(scenario.seed) == Direction::Download => {
        }
        _ => {
            return refused(format!(
                "the connection of `{on}` takes no requests beside its own; allowed: flows over \
                 QUIC other than `call` and `responsiveness`, and downloads over HTTP/2"
            ));
        }
    }
    if flow.placement.start_time.is_some() {
        return refused(format!(
            "`start_time` has no effect on requests on the connection of `{on}`; allowed: \
             `start_time` of `{on}`"
        ));
    }
    Ok(())
}
