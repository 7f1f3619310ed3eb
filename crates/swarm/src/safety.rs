//! What must hold for every run, whatever was drawn: the simulator's own checks, and these, which
//! compare its outcome with the specification once more.

use bentpipe_link::Counters;
use bentpipe_sim::{
    DatagramTraffic, FlowOutcome, FlowSpec, LinkOutcome, RunError, RunOutcome, RunSpec, Runner,
    Simulator, Stack,
};
use std::sync::atomic::AtomicBool;

/// Runs on the virtual clock and checks what comes out.
pub struct Checked {
    /// True if visits may fail.
    pub may_fail: bool,
}

impl Runner for Checked {
    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError> {
        let outcome = Simulator.run(spec, label, stop)?;
        check(spec, &outcome, self.may_fail)
            .map_err(|(check, what)| RunError::Failed(format!("check `{check}`: {what}")))?;
        Ok(outcome)
    }
}

/// The name of a check and what was wrong.
type Problem = (&'static str, String);

fn check(spec: &RunSpec, outcome: &RunOutcome, may_fail: bool) -> Result<(), Problem> {
    outcome.links.iter().try_for_each(conservation)?;
    let wanted = spec.flows.iter().flat_map(|flow| {
        let visits = flow.visits.iter().enumerate();
        visits.filter(|(_, visit)| visit.measured).map(move |(number, _)| (flow, number))
    });
    let wanted: Vec<(&FlowSpec, usize)> = wanted.collect();
    let is_probe = |got: &&FlowOutcome| {
        let mut visits = spec.flows.iter().flat_map(|flow| &flow.visits);
        visits.any(|visit| visit.probes.iter().any(|probe| probe.name == got.name))
    };
    let (probes, visits): (Vec<_>, Vec<_>) = outcome.flows.iter().partition(is_probe);
    let shared = wanted.iter().map(|(flow, number)| flow.visits[*number].probes.len());
    if wanted.len() != visits.len() || shared.sum::<usize>() != probes.len() {
        let what = format!("{} outcomes of {} visits", outcome.flows.len(), wanted.len());
        return Err(("one outcome for each visit", what));
    }
    probes.into_iter().try_for_each(probe)?;
    for ((flow, number), got) in wanted.into_iter().zip(visits) {
        if flow.name != got.name || number + 1 != got.visit {
            let what = format!("`{}` visit {} is that of {}", got.name, got.visit, flow.name);
            return Err(("one outcome for each visit", what));
        }
        bytes(flow, number, got)?;
        packets(flow, got)?;
        if !got.completed && !may_fail {
            let reason = got.error.as_deref().unwrap_or("the time limit");
            let received = format!("{} of {} bytes", got.received, got.bytes);
            let what = format!("`{}` visit {}: {received}: {reason}", got.name, got.visit);
            return Err(("completion", what));
        }
    }
    Ok(())
}

/// What enters a link leaves it, is lost for a reason, or is inside.
fn conservation(link: &LinkOutcome) -> Result<(), Problem> {
    let Counters { dropped_policer, dropped_queue, dropped_aqm, dropped_loss, .. } = &link.counters;
    let Counters { withdrawn, in_flight, .. } = &link.counters;
    let gone = [dropped_policer, dropped_queue, dropped_aqm, dropped_loss, withdrawn, in_flight];
    let (packets, bytes) = gone
        .iter()
        .fold((link.counters.packets_out, link.counters.bytes_out), |(packets, bytes), totals| {
            (packets + totals.packets, bytes + totals.bytes)
        });
    let entered = (link.counters.packets_in, link.counters.bytes_in);
    let carried: u64 = link.carried.iter().map(|(_, bytes)| bytes).sum();
    if entered != (packets, bytes) || carried != link.counters.bytes_out {
        let what = format!(
            "link {}: {entered:?} packets and bytes in, {:?} accounted for, {carried} bytes \
             carried: {:?}",
            link.name,
            (packets, bytes),
            link.counters
        );
        return Err(("conservation", what));
    }
    Ok(())
}

/// A visit asks for what the specification says, and gets that and no more.
fn bytes(flow: &FlowSpec, number: usize, got: &FlowOutcome) -> Result<(), Problem> {
    let visit = &flow.visits[number];
    let is_timed = visit.duration.is_some() || matches!(flow.stack, Stack::DatagramTraffic(_));
    let asked: u64 = match visit.player {
        // It decides on the sizes as it goes on.
        Some(_) => got.objects.iter().map(|object| object.bytes).sum(),
        None => visit.objects.iter().map(|object| object.bytes.get()).sum(),
    };
    let holds = match (is_timed, got.completed) {
        (true, _) => got.objects.is_empty(),
        (false, true) => got.bytes == asked && got.received == asked,
        (false, false) => got.bytes == asked && got.received <= asked,
    };
    if holds {
        return Ok(());
    }
    let what = format!(
        "`{}` visit {}: {asked} bytes wanted, {} asked for, {} received",
        got.name, got.visit, got.bytes, got.received
    );
    Err(("bytes as asked", what))
}

/// A probe on another flow's connection has the answers that have come, or says why there are none.
fn probe(got: &FlowOutcome) -> Result<(), Problem> {
    let answered: u64 = got.objects.iter().map(|object| object.received).sum();
    let whole = got.objects.iter().all(|object| object.completion.is_some());
    if whole && answered == got.received && got.completed == got.error.is_none() {
        return Ok(());
    }
    let what = format!("`{}` visit {}: {answered} of {} bytes", got.name, got.visit, got.received);
    Err(("answers of a probe", what))
}

/// Packets are lost or arrive at most once. Proxies send packets of their own, and lost replies
/// count as lost packets of a ping.
fn packets(flow: &FlowSpec, got: &FlowOutcome) -> Result<(), Problem> {
    let ping = matches!(flow.stack, Stack::DatagramTraffic(DatagramTraffic::Ping { .. }));
    let others = ping || flow.stack.pep().is_some();
    let lost = got.packets_lost_policer
        + got.packets_lost_queue
        + got.packets_lost_channel
        + got.packets_lost_routing;
    let arrived = got.arrivals.map_or(0, |arrivals| arrivals.packets);
    if others || lost + arrived <= got.packets_sent {
        return Ok(());
    }
    let what = format!(
        "`{}` visit {}: {arrived} arrived and {lost} lost of {} packets",
        got.name, got.visit, got.packets_sent
    );
    Err(("packets counted once", what))
}
