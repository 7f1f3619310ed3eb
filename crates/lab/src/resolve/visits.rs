//! The visits of a flow.

use super::bottleneck::bottleneck;
use super::path::ResolvedPath;
use super::repeat::{handshake, is_repeat};
use crate::outcome;
use bentpipe_media::abr::{AdaptiveVideo, Algorithm};
use bentpipe_media::responsiveness;
use bentpipe_quic::Handshake;
use bentpipe_quic::congestion::algorithms::fixed_rate;
use bentpipe_results::Direction;
use bentpipe_scenario::workload::{Abr, AbrAlgorithm, WebPage};
use bentpipe_scenario::workload::{PlannedObject, Sequence, Transfer, Visit as VisitSection, Work};
use bentpipe_scenario::{Flow, HttpPriorities, Scenario, Workload};
use bentpipe_sim::{Object, Pieces, Visit};
use bentpipe_units::{Bytes, Span};
use std::sync::Arc;

/// Idle time between the implied first visit and the measured one.
const DEFAULT_IDLE: Span = Span::from_secs(10);
/// Step of the times at which visits begin on a path that changes, if the scenario has none. It is
/// longer than most implied first visits with the idle time after them, and a multiple of the 15 s
/// between the handovers of Starlink's terminals.
const DEFAULT_STEP: Span = Span::from_secs(60);
/// Size of the implied first visit, in BDP: enough for slow start and a few RTTs at the full rate
/// of the path.
const FILL_BDP: f64 = 10.0;
/// Least size of the implied first visit.
const MIN_FILL: Bytes = Bytes::from_mb(1);
/// Largest size of the implied first visit: 10 BDP of a path of 1 Gbps with an RTT of 600 ms are
/// less. Over minutes of RTT they would be gigabytes, which take more memory and time to simulate
/// than anything that is learned from them is worth.
const MAX_FILL: Bytes = Bytes::from_mb(1000);

/// Returns the visits of a flow, with the implied first one if a repeat visit is measured.
pub(super) fn visits(flow: &Flow, path: &ResolvedPath, scenario: &Scenario) -> Vec<Visit> {
    let handshake = handshake(flow);
    let align = step(flow, path, scenario);
    let priorities = flow.transport.http_priorities == Some(HttpPriorities::Rfc9218);
    let workload = match &flow.work {
        Work::Visits(visits) => {
            let visits = visits.iter().enumerate();
            return visits
                .map(|(index, visit)| Visit {
                    align: align.filter(|_| index > 0),
                    priorities,
                    ..explicit(visit, index == 0, handshake, scenario.seed)
                })
                .collect();
        }
        Work::Once(workload) => workload,
    };
    let visit = Visit { align, priorities, ..planned(workload, scenario.seed, handshake) };
    if !is_repeat(flow) {
        // Begins where that of the variants with a first visit does.
        let others = scenario.variants.iter().flat_map(|variant| &variant.flows).any(is_repeat);
        return vec![Visit { align: align.filter(|_| others), ..visit }];
    }
    let Sequence { idle_before, .. } = &flow.sequence;
    let wait = idle_before.as_ref().map_or(DEFAULT_IDLE, |idle| *idle.get_ref());
    let last = Visit { idle_before: wait, ..visit.clone() };
    if let Workload::Call(_) | Workload::WebPage(WebPage::Archive(_)) = workload {
        // The ends of a call carry nothing else, and a page has several servers to know: the visit
        // before is the same.
        let first = Visit { handshake: Handshake::OneRtt, measured: false, align: None, ..visit };
        return vec![first, last];
    }
    let first = Visit {
        duration: None,
        handshake: Handshake::OneRtt,
        objects: vec![Object::new("first-visit", fill(flow, path, scenario, visit.direction))],
        measured: false,
        align: None,
        player: None,
        test: None,
        page: None,
        ..visit
    };
    vec![first, last]
}

/// Returns the size of the implied first visit, which gets the ticket and the token. It also fills
/// the path, so that its capacity can be remembered: slow start alone takes about two BDP. A sender
/// that is told its rate has nothing to find.
fn fill(
    flow: &Flow,
    path: &ResolvedPath,
    scenario: &Scenario,
    direction: bentpipe_sim::Direction,
) -> Bytes {
    let controller = flow.transport.congestion;
    if controller.is_some_and(|name| name.as_str() == fixed_rate::NAME) {
        return MIN_FILL;
    }
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let bdp = bottleneck(path, outcome::direction(direction), mtu).bdp;
    bdp.mul_f64(FILL_BDP).clamp(MIN_FILL, MAX_FILL)
}

/// Returns the step of the times at which visits begin, so that variants meet the same conditions
/// of a path that changes. Competing flows begin as the scenario says.
fn step(flow: &Flow, path: &ResolvedPath, scenario: &Scenario) -> Option<Span> {
    let alone = scenario.variants.iter().all(|variant| variant.flows.len() == 1);
    let step = flow.sequence.align_visits.as_ref().map_or(DEFAULT_STEP, |step| *step.get_ref());
    (alone && flow.users.is_none() && path.changes() && !step.is_zero()).then_some(step)
}

/// Converts a direction to the simulator's type.
fn sim_direction(direction: Direction) -> bentpipe_sim::Direction {
    match direction {
        Direction::Download => bentpipe_sim::Direction::Download,
        Direction::Upload => bentpipe_sim::Direction::Upload,
    }
}

/// Returns a visit that the scenario lists; `first` if it is the first of its flow.
fn explicit(visit: &VisitSection, first: bool, handshake: Handshake, seed: u64) -> Visit {
    let later = if first { Handshake::OneRtt } else { handshake };
    let handshake = visit.keys.handshake.as_ref().map_or(later, |handshake| *handshake.get_ref());
    Visit {
        idle_before: visit.keys.idle_before.unwrap_or_default(),
        measured: visit.keys.measured.unwrap_or(true),
        new_address: visit.keys.new_address.as_ref().is_some_and(|given| *given.get_ref()),
        ..planned(&visit.workload, seed, handshake)
    }
}

/// Returns a measured visit that starts at once.
fn planned(workload: &Workload, seed: u64, handshake: Handshake) -> Visit {
    let Transfer { direction, objects, duration } = workload.transfer(seed);
    let objects = objects.into_iter().map(object);
    Visit {
        duration,
        handshake,
        direction: sim_direction(direction),
        objects: objects.collect(),
        player: match workload {
            Workload::Abr(abr) => Some(Arc::new(adaptive_video(abr, seed))),
            _ => None,
        },
        test: match workload {
            Workload::Responsiveness(test) => Some(responsiveness::Plan {
                idle: test.idle(),
                interval: test.interval(),
                connections: test.connections(),
            }),
            _ => None,
        },
        page: match workload {
            Workload::WebPage(page) => page.page(seed),
            _ => None,
        },
        ..Visit::default()
    }
}

/// Converts a planned object to the simulator's type.
pub(crate) fn object(planned: PlannedObject) -> Object {
    let PlannedObject { name, bytes, after, delay, pieces } = planned;
    let pieces = pieces.map(|(size, interval)| Pieces { size, interval });
    Object { name, bytes, after, delay, pieces }
}

/// Returns an adaptive video, whose sizes are the same in all runs.
fn adaptive_video(abr: &Abr, seed: u64) -> AdaptiveVideo {
    let (ladder, segment) = (abr.ladder(), abr.segment());
    let (segments, variation) = (abr.segments() as usize, abr.size_variation());
    AdaptiveVideo {
        sizes: AdaptiveVideo::draw_sizes(&ladder, segment, segments, variation, seed),
        ladder,
        segment,
        algorithm: match abr.algorithm {
            AbrAlgorithm::Throughput => Algorithm::Throughput,
            AbrAlgorithm::Buffer => Algorithm::Buffer,
            AbrAlgorithm::Bola => Algorithm::Bola,
            AbrAlgorithm::Dynamic => Algorithm::Dynamic,
            AbrAlgorithm::RobustMpc => Algorithm::RobustMpc,
        },
        start_buffer: abr.start_buffer(),
        max_buffer: abr.max_buffer(),
    }
}
