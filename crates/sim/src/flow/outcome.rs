//! Outcome of a visit that ends.

use super::current_visit::CurrentVisit;
use super::report::VisitReport;
use crate::object_state::ObjectState;
use crate::outcome::{FlowOutcome, ObjectOutcome};
use crate::spec::{ConnectionProbe, FlowSpec, Object};
use crate::time_budget::ClosedAccount;
use crate::visit_progress::VisitProgress;
use bentpipe_quic::FlowControlReport;
use bentpipe_units::{Span, Time};

/// Returns the outcome of a visit that ends `now`, in a run that gives visits up after `limit`.
pub fn flow_outcome(
    spec: &FlowSpec,
    current: &CurrentVisit,
    now: Time,
    limit: Span,
    report: &VisitReport,
    account: Option<ClosedAccount>,
) -> FlowOutcome {
    let visit = &spec.visits[current.number - 1];
    let since = |at: Time| at.since(current.start);
    let completed_at = current.completion(now);
    let error = completed_at.is_none().then(|| reason_given_up(current, now, limit));
    let player = current.progress.played(now);
    let progress = current.progress.state();
    let counters = &current.counters;
    let record = report.metrics.stats();
    let congestion = spec.stack.congestion();
    FlowOutcome {
        name: spec.name.clone(),
        visit: current.number,
        transport: spec.stack.name(),
        congestion: spec.stack.congestion_name().to_owned(),
        connections: report.connections,
        direction: visit.direction,
        bytes: match visit.duration {
            Some(_) => progress.received,
            // A player has decided on their sizes.
            None if visit.player.is_some() => {
                progress.objects.iter().map(|object| object.bytes).sum()
            }
            None => visit.objects.iter().map(|object| object.bytes.get()).sum(),
        },
        received: progress.received,
        received_by_tenth: progress.received_by_tenth.clone(),
        completed: completed_at.is_some(),
        start: current.start,
        handshake: report.handshake.map(since),
        first_byte: progress.first_byte.map(since),
        completion: completed_at.map(since),
        time_budget: account.as_ref().map(|account| account.budget),
        loss_times: account.as_ref().map(|account| account.loss_times).unwrap_or_default(),
        episodes: account.map(|account| account.episodes).unwrap_or_default(),
        packets_sent: counters.data_packets,
        bytes_sent: counters.data_bytes,
        packets_forwarded: counters.forwarded,
        packets_lost_policer: counters.lost_policer,
        packets_lost_queue: counters.lost_queue,
        packets_lost_channel: counters.lost_random,
        packets_lost_routing: counters.lost_route,
        arrivals: Some(counters.arrivals),
        delays: counters.delays.clone(),
        // Nobody waits for an acknowledgement of a datagram.
        packets_declared_lost: congestion.map(|_| record.packets_declared_lost),
        flow_control_blocked: Some(record.window_blocked),
        flow_control_blocked_longest: Some(record.window_blocked_longest),
        flow_control: report.flow_control.as_ref().map(FlowControlReport::stats),
        reverse_packets: counters.reverse_packets,
        reverse_packets_lost: counters.reverse_lost,
        reverse_bytes: counters.reverse_bytes,
        acknowledgements: report.reverse.acknowledgements.clone(),
        rtt_min: record.rtt_min(),
        rtt_mean: record.rtt_mean(),
        rtt_p99: record.rtt_p99(),
        rtt_max: record.rtt_max(),
        cwnd_max: record.cwnd_max(),
        path: report.path,
        pep: report.pep,
        call: report.call.clone(),
        test: report.test,
        player,
        page: progress.page.as_ref().map(|page| page.outcome(&progress.objects, current.start)),
        // With a fixed duration, objects only need to exceed the capacity.
        objects: match visit.duration {
            Some(_) => Vec::new(),
            None => objects(&visit.objects, &progress.objects, current.start),
        },
        error,
    }
}

/// Returns the outcome of the requests of a probe on the connection of a visit with this `outcome`.
/// They end with the visit: requests without an answer by then do not count.
pub fn probe_outcome(
    outcome: &FlowOutcome,
    probe: &ConnectionProbe,
    progress: &VisitProgress,
) -> FlowOutcome {
    let state = progress.state();
    let mut objects = objects(&probe.objects, &state.objects, outcome.start);
    objects.retain(|object| object.completion.is_some());
    let completion = objects.iter().filter_map(|object| object.completion).max();
    let none = || "no request was answered before the connection ended".to_owned();
    let error = state.error.clone().or_else(|| completion.is_none().then(none));
    let received = objects.iter().map(|object| object.bytes).sum();
    FlowOutcome {
        name: probe.name.clone(),
        visit: outcome.visit,
        transport: outcome.transport,
        congestion: outcome.congestion.clone(),
        bytes: received,
        received,
        received_by_tenth: state.received_by_tenth.clone(),
        completed: error.is_none(),
        start: outcome.start,
        handshake: outcome.handshake,
        first_byte: state.first_byte.map(|at| at.since(outcome.start)),
        completion: completion.filter(|_| error.is_none()),
        objects,
        error,
        ..FlowOutcome::default()
    }
}

/// Returns why a visit that ends `now` has not completed.
fn reason_given_up(current: &CurrentVisit, now: Time, limit: Span) -> String {
    if let Some(error) = &current.progress.state().error {
        return error.clone();
    }
    let after = now.since(current.start);
    let mut reason = format!("given up after {after}, the time limit of {limit}");
    if current.counters.no_route > 0 {
        reason += &format!(
            "; {} of its packets found no route to the other end",
            current.counters.no_route
        );
    }
    reason
}

/// Returns the outcomes of objects, as times since `start`.
fn objects(objects: &[Object], states: &[ObjectState], start: Time) -> Vec<ObjectOutcome> {
    let since = |at: Time| at.since(start);
    objects
        .iter()
        .zip(states)
        .map(|(object, state)| ObjectOutcome {
            name: object.name.clone(),
            bytes: state.bytes,
            received: state.received,
            start: state.start.map_or(Span::ZERO, since),
            completion: state.completion.map(since),
        })
        .collect()
}
