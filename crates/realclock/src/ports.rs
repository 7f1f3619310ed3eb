//! Server ports, by which the emulator assigns packets to visits.

use bentpipe_sim::{RunSpec, Stack};
use bentpipe_units::Span;

/// Server port of the first visit of a run. Other visits use the ports after it.
const FIRST_PORT: u16 = 5001;

/// Returns the server port of each visit. All visits of a QUIC flow use one server, which remembers
/// the client.
pub(super) fn ports(spec: &RunSpec) -> Vec<u16> {
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

/// Returns the idle time that separates two visits to one server: half of the shortest
/// `idle_before`.
pub(super) fn min_idle_gap(spec: &RunSpec) -> Span {
    let quic = spec.flows.iter().filter(|flow| matches!(flow.stack, Stack::Quic(_)));
    quic.flat_map(|flow| flow.visits.iter().skip(1))
        .map(|visit| visit.idle_before / 2)
        .min()
        .unwrap_or(Span::MAX)
}
