//! Flows that make an implied first visit, and when the flows of a scenario end.

use bentpipe_quic::Handshake;
use bentpipe_scenario::workload::Work;
use bentpipe_scenario::{Flow, MeasuredVisit, Protocol, Scenario};
use bentpipe_units::Span;

/// Returns when the last flow of `scenario` ends at the latest, counted from the start of the run.
/// `None` if some flow may take until the time limit.
pub(super) fn last_end(scenario: &Scenario) -> Option<Span> {
    let flows = scenario.variants.iter().flat_map(|variant| &variant.flows);
    let ends = flows.map(|flow| {
        let Work::Once(workload) = &flow.work else { return None };
        let duration = workload.transfer(scenario.seed).duration?;
        let start = flow.placement.start_time.unwrap_or_default();
        let jitter = flow.ends.start_jitter.unwrap_or_default();
        let single = flow.users.is_none() && !is_repeat(flow);
        single.then_some(start + jitter + duration)
    });
    ends.reduce(|latest, end| Some(latest?.max(end?))).flatten()
}

/// Returns true if the measured visit of `flow` has an implied first one before it.
pub(super) fn is_repeat(flow: &Flow) -> bool {
    let of_workload = match &flow.work {
        Work::Visits(_) => false,
        Work::Once(workload) => !workload.clocks().has_own_transport(),
    };
    let repeat = handshake(flow) == Handshake::ZeroRtt
        || flow.transport.visit == Some(MeasuredVisit::Repeat);
    of_workload && repeat
}

/// Returns the handshake of the visits of `flow`.
pub(super) fn handshake(flow: &Flow) -> Handshake {
    match flow.protocol {
        Protocol::Quic(_) | Protocol::Tcp(_) => flow.transport.handshake.unwrap_or_default(),
        Protocol::Datagrams | Protocol::External => Handshake::OneRtt,
    }
}
