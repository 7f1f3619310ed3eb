//! Satellite coverage of the stations and flows of a network, sampled before the runs. Queues,
//! windows and timeouts are sized by the RTTs found here.

use super::extremes::Extremes;
use super::orbit_path::FlowEnds;
use bentpipe_orbit::{Network, Node, OrbitError, Routes, SPEED_OF_LIGHT, Topology};
use bentpipe_units::{Span, Time};

/// Longest time for which outages are sampled.
const MAX_LENGTH: Span = Span::from_secs(600);
/// Number of samples after the first.
const SAMPLES: u64 = 60;

/// Coverage of a network.
pub(super) struct Coverage {
    /// Longest RTT of any flow, each measured when the flow first has a route.
    pub rtt: Span,
    /// RTT and gap that are the longest of any flow at any sample.
    pub extremes: Extremes,
    /// Notes about stations that see no satellite and flows without a route.
    pub notes: Vec<String>,
}

/// Samples coverage at the start and then evenly over `length`, up to ten minutes, but not beyond
/// `end`, after which no flow is left. RTTs and gaps of a longer run are sampled to its end.
pub(super) fn coverage(
    network: &Network,
    flows: &[FlowEnds],
    length: Span,
    end: Option<Span>,
) -> Result<Coverage, OrbitError> {
    let whole = end.map_or(length, |end| end.min(length));
    let length = length.min(MAX_LENGTH);
    let end = whole.min(length);
    // Whole seconds make the notes readable.
    let interval = Span::from_secs((length.as_nanos() / SAMPLES / 1_000_000_000).max(1));
    let mut routes = FlowRoutes::new(network, flows);
    let mut outages: Vec<Outages> =
        (0..network.stations().len()).map(|_| Outages::default()).collect();
    let mut at = Time::ZERO;
    loop {
        let topology = Topology::new(network, at)?;
        routes.sample(&topology);
        for (index, outages) in outages.iter_mut().enumerate() {
            outages.add(at, topology.visible(index).is_empty());
        }
        if at + interval > Time::ZERO + end {
            break;
        }
        at += interval;
    }
    // The notes below are about the first ten minutes.
    let first_rtts = routes.first_rtts.clone();
    routes.sample_until(at, Time::ZERO + whole)?;
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
    let rtt = longest.unwrap_or_else(|| geodesic_rtt(flows));
    Ok(Coverage { rtt, extremes: routes.extremes(rtt), notes })
}

/// What the samples show of the flows' routes.
struct FlowRoutes<'a> {
    network: &'a Network,
    flows: &'a [FlowEnds],
    /// Nodes of the servers, in order, each once.
    ends: Vec<Node>,
    /// When each flow first has a route, and its RTT then.
    first_rtts: Vec<Option<(Time, Span)>>,
    longest_rtt: Span,
    /// When each flow without a route last had one, or the start.
    lost_since: Vec<Option<Time>>,
    /// Time of the last sample.
    last: Time,
    longest_gap: Span,
}

impl<'a> FlowRoutes<'a> {
    fn new(network: &'a Network, flows: &'a [FlowEnds]) -> Self {
        let mut ends: Vec<Node> =
            flows.iter().map(|flow| network.station(flow.stations.1)).collect();
        ends.sort_unstable();
        ends.dedup();
        Self {
            network,
            flows,
            ends,
            first_rtts: vec![None; flows.len()],
            longest_rtt: Span::ZERO,
            lost_since: vec![None; flows.len()],
            last: Time::ZERO,
            longest_gap: Span::ZERO,
        }
    }

    /// Adds a sample.
    fn sample(&mut self, topology: &Topology) {
        let routes = Routes::new(self.network, topology, &self.ends);
        let at = topology.at();
        for (index, flow) in self.flows.iter().enumerate() {
            let end = self.network.station(flow.stations.1);
            let destination = self.ends.binary_search(&end).unwrap_or_default();
            let delay = routes.delay(self.network.station(flow.stations.0), destination);
            let Some(delay) = delay else {
                self.lost_since[index].get_or_insert(self.last);
                continue;
            };
            let rtt = delay * 2;
            self.first_rtts[index].get_or_insert((at, rtt));
            self.longest_rtt = self.longest_rtt.max(rtt);
            if let Some(since) = self.lost_since[index].take() {
                self.longest_gap = self.longest_gap.max(at.since(since));
            }
        }
        self.last = at;
    }

    /// Returns the longest RTT and gap; `rtt` if no sample has a route.
    fn extremes(&self, rtt: Span) -> Extremes {
        Extremes { rtt: rtt.max(self.longest_rtt), gap: self.longest_gap }
    }

    /// Samples evenly from `at` to `end`.
    fn sample_until(&mut self, mut at: Time, end: Time) -> Result<(), OrbitError> {
        let interval = end.since(at) / SAMPLES;
        while !interval.is_zero() && at + interval <= end {
            at += interval;
            self.sample(&Topology::new(self.network, at)?);
        }
        Ok(())
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
