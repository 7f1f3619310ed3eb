//! Results of the populations of a run.

use super::Expansion;
use super::draw::user_name;
use crate::outcome::{call_stream, link_uses, player};
use bentpipe_results::fairness::{ALL_FLOWS, LinkUse, TENTH, link_share_percent};
use bentpipe_results::{CallMetrics, Experience, Population, PopulationShares, User};
use bentpipe_sim::{FlowOutcome, FlowSpec, RunOutcome, RunSpec, Stack};
use bentpipe_units::Time;
use std::collections::{BTreeMap, HashMap};

/// A user's flow.
#[derive(Debug, Clone, Copy)]
struct Owner {
    /// Number of the share among those of all populations.
    share: usize,
    /// Number of the user in its population.
    number: usize,
    /// Index of the flow in the run.
    flow: usize,
    /// Index of the population.
    population: usize,
}

/// Splits the outcomes of a run into those of single flows and the results of its populations.
/// `names` has the names of the flows before their expansion.
pub(crate) fn populations<'a>(
    expansions: &[Expansion],
    names: &[String],
    spec: &RunSpec,
    outcome: &'a RunOutcome,
) -> (Vec<&'a FlowOutcome>, Vec<Population>) {
    let outcomes = &outcome.flows;
    let shares: Vec<(usize, &Expansion, usize)> = expansions
        .iter()
        .enumerate()
        .flat_map(|(population, expansion)| {
            let users = expansion.shares.iter().filter(|(_, users)| users.is_some());
            users.map(move |(template, _)| (population, expansion, *template))
        })
        .collect();
    if shares.is_empty() {
        return (outcomes.iter().collect(), Vec::new());
    }
    let owners = owners(&shares, names, spec);
    let links = link_uses(outcome);
    let mut single = Vec::new();
    // Users by visit and share.
    let mut found: BTreeMap<(usize, usize), Vec<Member<'_>>> = BTreeMap::new();
    for outcome in outcomes {
        let Some(owner) = owners.get(outcome.name.as_str()) else {
            single.push(outcome);
            continue;
        };
        let user = user(&expansions[owner.population], *owner, spec, outcome);
        let flow = &spec.flows[owner.flow];
        let member = Member { user, flow: owner.flow, outcome, endless: is_endless(flow, outcome) };
        found.entry((outcome.visit, owner.share)).or_default().push(member);
    }
    let mut results = Vec::new();
    let visits: Vec<usize> = {
        let mut visits: Vec<usize> = found.keys().map(|(visit, _)| *visit).collect();
        visits.dedup();
        visits
    };
    for visit in visits {
        let own = found.range((visit, 0)..(visit + 1, 0));
        let population = |name: &str, members: &[Member<'_>], listed| {
            let users: Vec<User> = members.iter().map(|member| member.user).collect();
            let shares = self::shares(members, outcomes, &links);
            Population::new(name, visit, &users, shares, listed)
        };
        let mut all: Vec<Member<'_>> = Vec::new();
        for ((_, share), members) in own {
            let (_, _, template) = shares[*share];
            results.push(population(&names[template], members, true));
            all.extend(members);
        }
        if shares.len() > 1 {
            // All users of a run that has several populations or shares.
            results.push(population(ALL_FLOWS, &all, false));
        }
    }
    (single, results)
}

/// A user of a population, with its flow.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    user: User,
    /// Index of the flow in the run.
    flow: usize,
    outcome: &'a FlowOutcome,
    /// True if it sends as long as it lasts.
    endless: bool,
}

/// Returns true if the visit of an outcome is one of `bulk`.
fn is_endless(flow: &FlowSpec, outcome: &FlowOutcome) -> bool {
    let visit = flow.visits.get(outcome.visit - 1);
    matches!(flow.stack, Stack::Quic(_) | Stack::Tcp(_))
        && visit.is_some_and(|visit| visit.duration.is_some() && visit.player.is_none())
}

/// Returns what `own` users have together beside `all` flows of a run.
fn shares(own: &[Member<'_>], all: &[FlowOutcome], links: &[LinkUse<'_>]) -> PopulationShares {
    let outcomes: Vec<&FlowOutcome> = own.iter().map(|member| member.outcome).collect();
    let received = outcomes.iter().map(|outcome| outcome.received).sum();
    let indices = own.iter().map(|member| member.flow).collect();
    let endless = own.iter().all(|member| member.endless);
    PopulationShares {
        goodput_percent: share_percent(&outcomes, all),
        link_percent: endless.then(|| link_share_percent(&indices, received, links)).flatten(),
    }
}

/// Returns the part of `own` flows, in percent, of what `all` received in the same direction, from
/// the start of the first of them to the end of the last. `None` without an end, without bytes, or
/// if one of them took too long for counts ([`FlowOutcome::received_by_tenth`]).
fn share_percent(own: &[&FlowOutcome], all: &[FlowOutcome]) -> Option<f64> {
    let direction = own.first()?.direction;
    let alike = all.iter().filter(|flow| flow.direction == direction);
    if !alike.clone().all(FlowOutcome::is_counted) {
        return None;
    }
    let start = own.iter().map(|flow| flow.start).min()?;
    let ends = own.iter().filter_map(|flow| Some(flow.start + flow.completion?));
    let tenth = |time: Time| (time.since_start().as_nanos() / TENTH.as_nanos()) as usize;
    let within = tenth(start)..tenth(ends.max()?) + 1;
    let received = |flow: &FlowOutcome| flow.received_by_tenth.sum(within.clone()) as f64;
    let part: f64 = own.iter().map(|flow| received(flow)).sum();
    let whole: f64 = alike.map(received).sum();
    (whole > 0.0).then(|| part / whole * 100.0)
}

/// Returns the owner of each user's flow by its name.
fn owners(
    shares: &[(usize, &Expansion, usize)],
    names: &[String],
    spec: &RunSpec,
) -> HashMap<String, Owner> {
    let flows: HashMap<&str, usize> =
        spec.flows.iter().enumerate().map(|(index, flow)| (flow.name.as_str(), index)).collect();
    let mut owners = HashMap::new();
    for (share, &(population, expansion, template)) in shares.iter().enumerate() {
        let own = expansion.shares.iter().filter(|(index, _)| *index == template);
        for &number in own.filter_map(|(_, users)| users.as_ref()).flat_map(|users| &users.members)
        {
            let name = user_name(&names[template], number);
            if let Some(&flow) = flows.get(name.as_str()) {
                owners.insert(name, Owner { share, number, flow, population });
            }
        }
    }
    owners
}

fn user(expansion: &Expansion, owner: Owner, spec: &RunSpec, outcome: &FlowOutcome) -> User {
    let ideal = expansion.bottleneck.ideal(&spec.flows[owner.flow], outcome.visit, outcome.bytes);
    let completion = outcome.completion.filter(|time| outcome.completed && !time.is_zero());
    User {
        number: owner.number,
        bytes: outcome.bytes,
        start_s: outcome.start.as_secs_f64(),
        completion_s: completion.map(|time| time.as_secs_f64()),
        ideal_s: ideal.as_secs_f64(),
        packets_sent: outcome.packets_sent + outcome.packets_forwarded,
        packets_dropped: outcome.packets_lost_policer
            + outcome.packets_lost_queue
            + outcome.packets_lost_channel
            + outcome.packets_lost_routing,
        experience: experience(outcome),
    }
}

/// Returns what the call or the adaptive video of a user was like; `None` for a transfer.
fn experience(outcome: &FlowOutcome) -> Option<Experience> {
    if let Some(played) = &outcome.player {
        let played = player(played).metrics;
        return Some(Experience::Video {
            startup_s: played.startup_s,
            stalls: played.stalls,
            stall_percent: played.stall_percent,
            bitrate_kbps: played.mean_bitrate_kbps,
        });
    }
    let streams: Vec<CallMetrics> =
        outcome.call.iter().map(|stream| call_stream(stream).metrics).collect();
    let missed =
        |stream: &CallMetrics| Some(stream.frames_late_percent? + stream.frames_lost_percent?);
    (!streams.is_empty()).then(|| Experience::Call {
        mos: streams.iter().filter_map(|stream| stream.mos).min_by(f64::total_cmp),
        frame_delay_ms: (streams.iter().filter_map(|stream| stream.frame_delay_mean_ms))
            .max_by(f64::total_cmp),
        frames_missed_percent: streams.iter().filter_map(missed).max_by(f64::total_cmp),
    })
}
