//! Satellite coverage of the stations and flows of a network, sampled before the runs. The RTT that
//! queues and windows are sized by comes from here.

use super::orbit_path::FlowEnds;
use bentpipe_orbit::{Network, Node, OrbitError, Routes, SPEED_OF_LIGHT, Topology};
use bentpipe_units::{Span, Time};

/// Longest time that is sampled.
const MAX_LENGTH: Span = Span::from_secs(600);
/// Number of samples after the first.
const SAMPLES: u64 = 60;

/// Coverage of a network.
pub(super) struct Coverage {
    /// Longest RTT of any flow, each measured when the flow first has a route.
    pub rtt: Span,
    /// Notes about stations that see no satellite and flows without a route.
    pub notes: Vec<String>,
}

/// Samples coverage at the start and then evenly over `length`, up to ten minutes, but not beyond
/// `end`, after which no flow is left.
pub(super) fn coverage(
    network: &Network,
    flows: &[FlowEnds],
    length: Span,
    end: Option<Span>,
) -> Result<Coverage, OrbitError> {
    let length = length.min(MAX_LENGTH);
    let end = end.map_or(length, |end| end.min(length));
    // Whole seconds make the notes readable.
    let interval = Span::from_secs((length.as_nanos() / SAMPLES / 1_000_000_000).max(1));
    let mut first_rtts: Vec<Option<(Time, Span)>> = vec![None; flows.len()];
    let mut outages: Vec<Outages> =
        (0..network.stations().len()).map(|_| Outages::default()).collect();
    let mut at = Time::ZERO;
    loop {
        let topology = Topology::new(network, at)?;
        measure_first_rtts(network, &topology, flows, &mut first_rtts);
        for (index, outages) in outages.iter_mut().enumerate() {
            outages.add(at, topology.visible(index).is_empty());
        }
        if at + interval > Time::ZERO + end {
            break;
        }
        at += interval;
    }
    let mut notes: Vec<String> = Vec::new();
    for (index, outages) in outages.iter().enumerate() {
        let node = network.station(index);
        // A station with a fibre needs no satellite.
        if !network.fibres().iter().any(|(a, b, _)| [*a, *b].contains(&node)) {
            notes.extend(outages.note(&network.stations()[index].name, at, interval));
        }
    }
    for (flow, first_rtt) in flows.iter().zip(&first_rtts) {
        let name = &flow.name;
        match first_rtt {
            None => {
                notes.push(format!("flow `{name}` has no route {}", period(Time::ZERO, at)));
            }
            Some((first, _)) if *first > Time::ZERO => {
                notes.push(format!("flow `{name}` has no route before {}", seconds(*first)));
            }
            Some(_) => {}
        }
    }
    let longest = first_rtts.iter().flatten().map(|(_, rtt)| *rtt).max();
    Ok(Coverage { rtt: longest.unwrap_or_else(|| geodesic_rtt(flows)), notes })
}

/// Measures the RTT of each flow that has none in `first_rtts` and has a route in `topology`. Only
/// routes to the ends of such flows are computed: one flow without a route must not cost those of
/// all others at each sample.
fn measure_first_rtts(
    network: &Network,
    topology: &Topology,
    flows: &[FlowEnds],
    first_rtts: &mut [Option<(Time, Span)>],
) {
    let end = |flow: &FlowEnds| network.station(flow.stations.1);
    let pending = flows.iter().zip(&*first_rtts).filter(|(_, rtt)| rtt.is_none());
    let mut ends: Vec<Node> = pending.map(|(flow, _)| end(flow)).collect();
    if ends.is_empty() {
        return;
    }
    ends.sort_unstable();
    ends.dedup();
    let routes = Routes::new(network, topology, &ends);
    for (flow, first_rtt) in flows.iter().zip(first_rtts).filter(|(_, rtt)| rtt.is_none()) {
        let destination = ends.binary_search(&end(flow)).unwrap_or_default();
        *first_rtt = routes
            .delay(network.station(flow.stations.0), destination)
            .map(|delay| (topology.at(), delay * 2));
    }
}

/// Returns the time between two samples as text; one sample is a point in time.
fn period(from: Time, to: Time) -> String {
    let (begin, end) = (seconds(from), seconds(to));
    if from == to { format!("at {begin}") } else { format!("from {begin} to {end}") }
}

fn seconds(at: Time) -> String {
    format!("{} s", at.as_secs_f64())
}

/// Returns the RTT of light along the longest geodesic of any flow. Sizes windows and queues if no
/// flow has a route.
fn geodesic_rtt(flows: &[FlowEnds]) -> Span {
    let longest = flows.iter().map(|flow| flow.distance_m).fold(0.0, f64::max);
    Span::from_secs_f64(2.0 * longest / SPEED_OF_LIGHT).max(Span::from_millis(1))
}

/// Outages of a station: times at which it sees no satellite.
#[derive(Default)]
struct Outages {
    /// Start of the current outage.
    since: Option<Time>,
    /// Start and end of the first outage.
    first: Option<(Time, Time)>,
    count: usize,
}

impl Outages {
    /// Adds a sample; `outage` if no satellite is visible.
    fn add(&mut self, at: Time, outage: bool) {
        match (outage, self.since) {
            (true, None) => {
                self.since = Some(at);
                self.count += 1;
            }
            (false, Some(since)) => {
                self.first.get_or_insert((since, at));
                self.since = None;
            }
            _ => {}
        }
    }

    /// Returns a note about the outages of the station `name`, if it has any.
    fn note(&self, name: &str, end: Time, interval: Span) -> Option<String> {
        let (from, to) = self.first.or_else(|| self.since.map(|since| (since, end)))?;
        let again = match self.count {
            0 | 1 => String::new(),
            count => format!(", and {} more times until {}", count - 1, seconds(end)),
        };
        let sampled = match end {
            Time::ZERO => String::new(),
            _ => format!(" (sampled every {interval})"),
        };
        let period = period(from, to);
        Some(format!("station `{name}` sees no satellite {period}{again}{sampled}"))
    }
}
