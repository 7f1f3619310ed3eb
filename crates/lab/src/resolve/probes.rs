//! Probes on the connections of other flows.

use bentpipe_scenario::workload::Work;
use bentpipe_scenario::{Flow, Workload};
use bentpipe_sim::{ConnectionProbe, FlowSpec};

/// Moves the requests of each probe with `on` to the measured visits of that flow. The probe keeps
/// no visits, and has the transport of the connection that it uses.
pub(super) fn share_connections(flows: &[Flow], specs: &mut [FlowSpec]) {
    for (index, flow) in flows.iter().enumerate() {
        let Work::Once(Workload::Probe(probe)) = &flow.work else { continue };
        let host = probe.on.as_ref().map(|on| on.get_ref());
        let host = host.and_then(|on| specs.iter().position(|spec| spec.name == *on));
        let Some(host) = host.filter(|host| *host != index) else { continue };
        let visits = std::mem::take(&mut specs[index].visits);
        let objects = visits.into_iter().next_back().map(|visit| visit.objects).unwrap_or_default();
        for visit in specs[host].visits.iter_mut().filter(|visit| visit.measured) {
            let name = flow.name().to_owned();
            visit.probes.push(ConnectionProbe { name, objects: objects.clone() });
        }
        specs[index].stack = specs[host].stack.clone();
    }
}
