//! The settings of a flow that most influence its results.

use bentpipe_quic::congestion::{CongestionConfig, ResumeName};
use bentpipe_quic::{Handshake, ResumeVia};
use bentpipe_results::FlowSettings;
use bentpipe_scenario as scenario;
use bentpipe_sim::{DatagramTraffic, FlowSpec, Stack};

/// Adds the settings of a flow to those of a variant's flows, each listed once.
pub(super) fn add(all: &mut Vec<FlowSettings>, flow: &scenario::Flow, spec: &FlowSpec) {
    let new = settings(flow, spec);
    let is_same =
        |old: &&mut FlowSettings| FlowSettings { flows: Vec::new(), ..(**old).clone() } == new;
    match all.iter_mut().find(is_same) {
        Some(old) => old.flows.push(flow.name().to_owned()),
        None => all.push(FlowSettings { flows: vec![flow.name().to_owned()], ..new }),
    }
}

/// Returns the settings of a flow as results show them, without its name.
fn settings(flow: &scenario::Flow, spec: &FlowSpec) -> FlowSettings {
    let congestion = spec.stack.congestion();
    let (transport, ack) = match &spec.stack {
        Stack::Quic(quic) => ("quic", Some(quic.ack.to_string())),
        Stack::Tcp(_) => {
            let given = flow.transport.ack.as_ref();
            ("tcp", Some(given.map_or("stack".to_owned(), |ack| ack.get_ref().to_string())))
        }
        Stack::Program(_) => ("external", None),
        Stack::Call(call) => (spec.stack.name(), call.quic().map(|quic| quic.ack.to_string())),
        // Bursts or not.
        Stack::DatagramTraffic(DatagramTraffic::Constant { .. }) => ("cbr", None),
        other => (other.name(), None),
    };
    let measured = spec.visits.iter().rfind(|visit| visit.measured);
    let handshake = measured.map(|visit| match visit.handshake {
        Handshake::OneRtt => "1rtt",
        Handshake::ZeroRtt => "0rtt",
    });
    let resume = congestion.map(|congestion| {
        let by_token =
            matches!(&spec.stack, Stack::Quic(quic) if quic.resume_via == ResumeVia::Token);
        let used = congestion.resume != ResumeName::default();
        format!("{}{}", congestion.resume, if by_token && used { " by token" } else { "" })
    });
    FlowSettings {
        flows: Vec::new(),
        transport: transport.to_owned(),
        congestion: congestion.map(CongestionConfig::label),
        slow_start: congestion
            .filter(|congestion| congestion.has_slow_start())
            .map(|congestion| congestion.slow_start.to_string()),
        ack,
        handshake: handshake.filter(|_| congestion.is_some()).map(str::to_owned),
        resume,
        preset: congestion.map(|_| flow.transport.preset.unwrap_or_default().as_str().to_owned()),
    }
}
