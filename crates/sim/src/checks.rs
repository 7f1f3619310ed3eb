//! Checks that every run must pass: laws that hold for every transport, link and setting. A
//! violation is a bug in Bentpipe, and the run fails instead of returning numbers.
//!
//! One side of each comparison comes from the links and the other from the applications or from
//! separate counts, so that no number is compared with itself. Visits that are not measured take
//! part only in the checks of links, because their state at the end is unknown.

use crate::error::SimError;
use crate::node::NodeCounters;
use crate::outcome::FlowOutcome;
use crate::spec::{Direction, Stack};
use bentpipe_link::{Counters, DirectionModel, PacketTotals, QueueTime};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Span, Time};
use std::fmt::Display;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// A link at the end of a run.
pub struct LinkAudit<'a> {
    pub name: &'a str,
    pub model: &'a DirectionModel,
    pub counters: Counters,
    /// Both sides of Little's law.
    pub queue: QueueTime,
    /// Packets inside, counted separately.
    pub held: u64,
    /// Arrival of the first packet.
    pub first_in: Option<Time>,
    /// Departure of the last packet.
    pub last_out: Time,
    /// Bytes that have left the link, counted per flow and independently of the link's counters.
    pub crossed: u64,
}

/// A measured visit and its path.
pub struct VisitAudit<'a> {
    pub outcome: &'a FlowOutcome,
    /// The links towards the server, by hop from the client's side.
    pub up: Vec<&'a LinkAudit<'a>>,
    /// The links towards the client, by hop from the client's side.
    pub down: Vec<&'a LinkAudit<'a>>,
    /// The hops over which RTTs were sampled.
    pub sampled: Range<usize>,
    /// Lower bound of the end-to-end delay in addition to these links: straight-line light time if
    /// satellites move.
    pub light_time: Span,
    /// What nodes of the path have done to the flow.
    pub nodes: NodeEffects,
}

/// What nodes of the path have done to a flow, as far as checks depend on it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NodeEffects {
    /// True if a node has dropped, delayed, copied or made a packet.
    pub acted: bool,
    /// True if a node has made packets, which may acknowledge what has not arrived.
    pub made: bool,
    /// Bytes that nodes have copied and made.
    pub added_bytes: u64,
}

/// A node at the end of a run, in one direction.
pub struct NodeAudit<'a> {
    pub name: &'a str,
    pub counters: NodeCounters,
    /// What it delays, counted separately.
    pub held: PacketTotals,
    /// What the link or the node before it has passed to it, as far as that counts.
    pub offered: Option<PacketTotals>,
    /// What the link or the node behind it has taken, as far as that counts.
    pub taken: Option<PacketTotals>,
}

/// Returns the hops over which the data's sender samples RTTs: all `hops` or, with proxies, those
/// of the connection across the proxies' hop, whose sender is recorded.
pub fn sampled_hops(stack: &Stack, hops: usize) -> Range<usize> {
    match stack.pep() {
        None => 0..hops,
        Some(pep) => {
            let begin = if pep.terminal { pep.hop } else { 0 };
            begin..if pep.gateway { pep.hop + 1 } else { hops }
        }
    }
}

/// Runs all checks of a run that ended at `end`.
///
/// # Errors
/// The first violation.
pub fn run<'a>(
    links: &'a [LinkAudit<'a>],
    visits: &[VisitAudit<'a>],
    end: Time,
) -> Result<(), SimError> {
    for link in links {
        conservation(link)?;
        rate(link)?;
        little(link)?;
    }
    for visit in visits {
        bytes(visit.outcome)?;
        round_trip(visit)?;
        completion(visit)?;
        time_budget(visit)?;
    }
    // A mesh does not report the links of a visit, and checking thousands of links would be
    // useless.
    if visits.iter().all(|visit| visit.down.is_empty()) {
        return Ok(());
    }
    for link in links {
        shares(link, visits, end)?;
    }
    Ok(())
}

fn require(
    check: &'static str,
    holds: bool,
    what: impl FnOnce() -> String,
    expected: impl Display,
    measured: impl Display,
) -> Result<(), SimError> {
    if holds {
        return Ok(());
    }
    let (expected, measured) = (expected.to_string(), measured.to_string());
    Err(SimError::Physics { check, what: what(), expected, measured })
}

/// Checks conservation: in = out + dropped + withdrawn + inside, in packets and bytes; and the
/// packets of the flows add up to those that the link has delivered.
fn conservation(link: &LinkAudit<'_>) -> Result<(), SimError> {
    let LinkAudit { counters: c, name, .. } = link;
    let check = |holds, what: &str, expected: u64, measured: u64| {
        require("conservation", holds, || format!("{what} of link {name}"), expected, measured)
    };
    let gone = [c.dropped_policer, c.dropped_queue, c.dropped_aqm, c.dropped_loss, c.withdrawn];
    let packets = c.packets_out + gone.iter().map(|tally| tally.packets).sum::<u64>() + link.held;
    check(
        c.packets_in == packets,
        "packets delivered, dropped, withdrawn and inside",
        c.packets_in,
        packets,
    )?;
    let bytes = c.bytes_out + gone.iter().map(|tally| tally.bytes).sum::<u64>() + c.in_flight.bytes;
    check(
        c.bytes_in == bytes,
        "bytes delivered, dropped, withdrawn and inside",
        c.bytes_in,
        bytes,
    )?;
    check(
        c.bytes_out == link.crossed,
        "bytes delivered, summed over flows,",
        c.bytes_out,
        link.crossed,
    )
}

/// Checks conservation at nodes: arrived + copied + made = left + dropped + inside, and what their
/// neighbours have counted.
///
/// # Errors
/// The first violation.
pub fn nodes(nodes: &[NodeAudit<'_>]) -> Result<(), SimError> {
    for NodeAudit { name, counters: c, held, offered, taken } in nodes {
        let check = |what: &str, expected: (u64, u64), measured: (u64, u64)| {
            let text = |(packets, bytes)| format!("{packets} packets of {bytes} bytes");
            let what = || format!("{what} node {name}");
            let holds = expected == measured;
            require("conservation", holds, what, text(expected), text(measured))
        };
        check(
            "packets that left, were dropped at or are inside",
            sum([c.arrived, c.copied, c.made]),
            sum([c.left, c.dropped, *held]),
        )?;
        if let Some(offered) = offered {
            check("packets passed to", sum([*offered]), sum([c.arrived]))?;
        }
        if let Some(taken) = taken {
            check("packets taken from", sum([c.left]), sum([*taken]))?;
        }
    }
    Ok(())
}

/// Returns the sums of packets and of bytes.
fn sum<const N: usize>(totals: [PacketTotals; N]) -> (u64, u64) {
    totals
        .iter()
        .fold((0, 0), |(packets, bytes), totals| (packets + totals.packets, bytes + totals.bytes))
}

/// Checks the rate: a link delivers no more than its transmitter can send between its first arrival
/// and its last departure, less the minimum delay of the last packet.
///
/// Exact for constant and stepped rates without a policer. A policer admits less than this bound,
/// frames and jitter delay the last packet, and a trace carries 4 bytes less per packet.
fn rate(link: &LinkAudit<'_>) -> Result<(), SimError> {
    let through = link.last_out.saturating_sub(link.model.least_delay());
    let buffer =
        link.first_in.map_or(Bytes::ZERO, |first| link.model.capacity(first, through)).get();
    let out = link.counters.bytes_out;
    let what = || format!("bytes delivered by link {}", link.name);
    require("rate", out <= buffer, what, format!("at most {buffer}"), out)
}

/// Checks Little's law: the integral of the queue length equals the sum of the waits, in packets
/// and weighted by bytes.
///
/// Both sides are integer nanoseconds, so there is no rounding.
fn little(link: &LinkAudit<'_>) -> Result<(), SimError> {
    let QueueTime { occupied_packets, occupied_bytes, waited_packets, waited_bytes } = link.queue;
    for (unit, expected, measured) in
        [("packet", occupied_packets, waited_packets), ("byte", occupied_bytes, waited_bytes)]
    {
        let what = || format!("{unit}-nanoseconds waited in the queue of link {}", link.name);
        require("little", expected == measured, what, expected, measured)?;
    }
    Ok(())
}

/// Checks that a complete visit, and each of its objects, has received exactly the requested bytes,
/// and an incomplete one no more.
fn bytes(outcome: &FlowOutcome) -> Result<(), SimError> {
    let check = |complete: bool, what: &str, requested: u64, received: u64| {
        let holds = if complete { received == requested } else { received <= requested };
        let at_most = if complete { "" } else { "at most " };
        let what =
            || format!("bytes received of {what}flow `{}`, visit {}", outcome.name, outcome.visit);
        require("bytes", holds, what, format!("{at_most}{requested}"), received)
    };
    check(outcome.completed, "", outcome.bytes, outcome.received)?;
    for object in &outcome.objects {
        let what = format!("object `{}` of ", object.name);
        check(object.completion.is_some(), &what, object.bytes, object.received)?;
    }
    if is_timed(outcome) {
        return Ok(());
    }
    let sum = outcome.objects.iter().map(|object| object.received).sum();
    check(true, "all objects of ", outcome.received, sum)
}

/// Checks that no RTT is below the minimum delays of the hops over which it was sampled, in both
/// directions. Ignores transmission times, because packet sizes are unknown here, and visits whose
/// acknowledgements a node may have made.
fn round_trip(visit: &VisitAudit<'_>) -> Result<(), SimError> {
    let Some(measured) = visit.outcome.rtt_min.filter(|_| !visit.nodes.made) else {
        return Ok(());
    };
    let hops =
        |links: &[&LinkAudit<'_>]| delay(links.get(visit.sampled.clone()).unwrap_or_default());
    let least = hops(&visit.up) + hops(&visit.down) + visit.light_time * 2;
    let what =
        || format!("minimum RTT of flow `{}`, visit {}", visit.outcome.name, visit.outcome.visit);
    require("round trip", measured >= least, what, format!("at least {least}"), measured)
}

/// Returns true if a time limit completes the visit instead of its last byte.
fn is_timed(outcome: &FlowOutcome) -> bool {
    outcome.objects.is_empty()
}

/// Checks that no visit completes too early: a request and a response cross the path, and in
/// between the bytes pass each link in the time that the delays around it leave.
///
/// Counts only payload bytes: no headers, handshakes or other flows. Ignores visits for which a
/// node may have answered.
fn completion(visit: &VisitAudit<'_>) -> Result<(), SimError> {
    let outcome = visit.outcome;
    if is_timed(outcome) || visit.nodes.made {
        return Ok(());
    }
    let whole = outcome.completion.filter(|_| outcome.completed);
    let whole = whole.map(|completion| (None, Span::ZERO, completion, outcome.received));
    let objects = outcome.objects.iter().filter_map(|object| {
        Some((Some(&object.name), object.start, object.completion?, object.received))
    });
    let least = delay(&visit.up) + delay(&visit.down) + visit.light_time * 2;
    for (object, start, completion, bytes) in whole.into_iter().chain(objects) {
        let what = || {
            let object = object.map(|name| format!("object `{name}` of ")).unwrap_or_default();
            format!("completion of {object}flow `{}`, visit {}", outcome.name, outcome.visit)
        };
        let soonest = start + least;
        require(
            "completion",
            completion >= soonest,
            what,
            format!("at least {soonest}"),
            completion,
        )?;
        let (begin, end) = (outcome.start + start, outcome.start + completion);
        // The delays before and after each link on the path of the data: those of request and
        // response, or of data and confirmation.
        let mut passed = match outcome.direction {
            Direction::Download => delay(&visit.up),
            Direction::Upload => Span::ZERO,
        };
        for link in data_links(visit) {
            let from = begin + passed;
            passed += link.model.least_delay();
            let to = end.saturating_sub(least - (passed - link.model.least_delay()));
            let buffer = link.model.capacity(from, to).get() + visit.nodes.added_bytes;
            let what = || format!("{} at {completion}: bytes over link {}", what(), link.name);
            require("completion", bytes <= buffer, what, format!("at most {buffer}"), bytes)?;
        }
    }
    Ok(())
}

/// Checks that the visits over a link, each and together, have received no more than the link can
/// send from their start to their end, and no more than has left it. Nodes may have added to that.
fn shares(link: &LinkAudit<'_>, visits: &[VisitAudit<'_>], end: Time) -> Result<(), SimError> {
    let (mut sum, mut added, mut first, mut last) = (0, 0, Time::MAX, Time::ZERO);
    for visit in
        visits.iter().filter(|visit| data_links(visit).any(|other| std::ptr::eq(other, link)))
    {
        let outcome = visit.outcome;
        let ended = outcome.completion.map_or(end, |completion| outcome.start + completion);
        let buffer = link.model.capacity(outcome.start, ended).get() + visit.nodes.added_bytes;
        let what = || {
            format!(
                "goodput of flow `{}`, visit {}, over link {}",
                outcome.name, outcome.visit, link.name
            )
        };
        let bytes = outcome.received;
        require(
            "shares",
            bytes <= buffer,
            what,
            format!("at most {buffer} bytes"),
            format!("{bytes} bytes"),
        )?;
        sum += bytes;
        added += visit.nodes.added_bytes;
        first = first.min(outcome.start);
        last = last.max(ended);
    }
    let buffer = link.model.capacity(first, last).get().min(link.counters.bytes_out) + added;
    let what = || format!("goodputs of all flows over link {}", link.name);
    require(
        "shares",
        sum <= buffer,
        what,
        format!("at most {buffer} bytes"),
        format!("{sum} bytes"),
    )
}

/// Checks that the parts of the completion time add up to it, and that their causes are known: at
/// most a hundredth of it, or a nanosecond for each part, has none. What nodes have caused is
/// unknown.
fn time_budget(visit: &VisitAudit<'_>) -> Result<(), SimError> {
    let outcome = visit.outcome;
    let (Some(completion), Some(budget)) = (outcome.completion, &outcome.time_budget) else {
        return Ok(());
    };
    let what = |part: &str| {
        format!("{part} of the time budget of flow `{}`, visit {}", outcome.name, outcome.visit)
    };
    let total = budget.total();
    require("time budget", total == completion, || what("sum"), completion, total)?;
    let unknown = budget.get(TimePart::Unattributed);
    let most = completion / 100;
    require(
        "time budget",
        unknown <= most || visit.nodes.acted,
        || what("unattributed part"),
        format!("at most {most}"),
        unknown,
    )
}

/// Returns the links that the visit's data crosses, in order.
fn data_links<'v, 'a>(
    visit: &'v VisitAudit<'a>,
) -> Box<dyn Iterator<Item = &'a LinkAudit<'a>> + 'v> {
    match visit.outcome.direction {
        Direction::Download => Box::new(visit.down.iter().rev().copied()),
        Direction::Upload => Box::new(visit.up.iter().copied()),
    }
}

/// Returns the minimum delay over all `links`.
fn delay(links: &[&LinkAudit<'_>]) -> Span {
    links.iter().fold(Span::ZERO, |sum, link| sum + link.model.least_delay())
}
