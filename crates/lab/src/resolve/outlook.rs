//! What can be said of a network before anything runs: the round trip that queues and windows are
//! sized by, and who will see no satellite.

use super::orbit::FlowEnds;
use bentpipe_orbit::{Network, Node, OrbitError, Routes, SPEED_OF_LIGHT, Topology};
use bentpipe_units::{Span, Time};

/// How far it looks ahead, at most.
const FURTHEST: Span = Span::from_secs(600);
/// How many times it looks.
const LOOKS: u64 = 60;

/// What was found.
pub(super) struct Outlook {
    /// The longest of the flows' round trips, each when it has a way for the first time.
    pub rtt: Span,
    /// Stations that see nothing, flows that have no way.
    pub notes: Vec<String>,
}

/// Looks at the beginning, and then evenly over `length`, up to ten minutes.
pub(super) fn outlook(
    network: &Network,
    flows: &[FlowEnds],
    length: Span,
) -> Result<Outlook, OrbitError> {
    let length = length.min(FURTHEST);
    // To the second, so that notes can be read.
    let pause = Span::from_secs((length.as_nanos() / LOOKS / 1_000_000_000).max(1));
    let mut ends: Vec<Node> = flows.iter().map(|flow| network.station(flow.stations.1)).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut found: Vec<Option<(Time, Span)>> = vec![None; flows.len()];
    let mut blind: Vec<Blind> = (0..network.stations().len()).map(|_| Blind::default()).collect();
    let mut at = Time::ZERO;
    loop {
        let topology = Topology::new(network, at)?;
        if found.iter().any(Option::is_none) {
            let routes = Routes::new(network, &topology, &ends);
            for (flow, found) in flows.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
                let end = ends.binary_search(&network.station(flow.stations.1)).unwrap_or_default();
                *found = routes
                    .delay(network.station(flow.stations.0), end)
                    .map(|delay| (at, delay * 2));
            }
        }
        for (index, blind) in blind.iter_mut().enumerate() {
            blind.look(at, topology.visible(index).is_empty());
        }
        if at + pause > Time::ZERO + length {
            break;
        }
        at += pause;
    }
    let mut notes: Vec<String> = Vec::new();
    for (index, blind) in blind.iter().enumerate() {
        let node = network.station(index);
        // Behind a fibre it needs no satellite.
        if !network.fibres().iter().any(|(a, b, _)| [*a, *b].contains(&node)) {
            notes.extend(blind.note(&network.stations()[index].name, at, pause));
        }
    }
    for (flow, found) in flows.iter().zip(&found) {
        match found {
            None => {
                notes.push(format!("flow `{}` has no way from 0 s to {}", flow.name, seconds(at)))
            }
            Some((first, _)) if *first > Time::ZERO => {
                notes.push(format!("flow `{}` has no way before {}", flow.name, seconds(*first)));
            }
            Some(_) => {}
        }
    }
    let longest = found.iter().flatten().map(|(_, rtt)| *rtt).max();
    Ok(Outlook { rtt: longest.unwrap_or_else(|| straight(flows)), notes })
}

fn seconds(at: Time) -> String {
    format!("{} s", at.as_secs_f64())
}

/// Where no flow has a way, light along the longest of their geodesics and back; windows and queues
/// need some size.
fn straight(flows: &[FlowEnds]) -> Span {
    let longest = flows.iter().map(|flow| flow.distance_m).fold(0.0, f64::max);
    Span::from_secs_f64(2.0 * longest / SPEED_OF_LIGHT).max(Span::from_millis(1))
}

/// When a station saw nothing.
#[derive(Default)]
struct Blind {
    since: Option<Time>,
    first: Option<(Time, Time)>,
    times: usize,
}

impl Blind {
    fn look(&mut self, at: Time, nothing: bool) {
        match (nothing, self.since) {
            (true, None) => {
                self.since = Some(at);
                self.times += 1;
            }
            (false, Some(since)) => {
                self.first.get_or_insert((since, at));
                self.since = None;
            }
            _ => {}
        }
    }

    fn note(&self, name: &str, end: Time, pause: Span) -> Option<String> {
        let (from, to) = self.first.or_else(|| self.since.map(|since| (since, end)))?;
        let again = match self.times {
            0 | 1 => String::new(),
            times => format!(", and {} more times until {}", times - 1, seconds(end)),
        };
        let (from, to) = (seconds(from), seconds(to));
        Some(format!(
            "station `{name}` sees no satellite from {from} to {to}{again} (looked at every \
                {pause})"
        ))
    }
}
