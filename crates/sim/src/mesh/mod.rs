//! A network of satellites and stations: each link a queue of its own, and each node forwards by the routes of the moment.
//!
//! Nodes are numbered as the network numbers them; a flow's own nodes are 0, its client, and 1, its server. What each node does with a packet is looked up in a
//! table of node and destination that is emptied when routes change, and filled again as packets ask.

mod foresight;
mod outs;
mod rooms;

use crate::checks::{LinkAccount, VisitAccount};
use crate::error::SimError;
use crate::flow::Flow;
use crate::links::LinkState;
use crate::lost::Lost;
use crate::net::{Moved, Net, Next};
use crate::outcome::{FlowOutcome, PathTrace};
use crate::parcels::{Parcel, Parcels};
use crate::spec::{Direction, FlowSpec, HandoverLoss, MeshSpec, RunSpec, Stack};
use bentpipe_link::{DelayLaw, DropCause, Packet};
use bentpipe_orbit::{Changes, Guide, Network, Node, Path, Routes, SPEED_OF_LIGHT};
use bentpipe_units::{Span, Time};
use foresight::Foresight;
use outs::Outs;
use rooms::Rooms;

/// How many links a packet may enter: the default time to live of IP, which counts forwarders (IANA, IP option numbers: 64).
const HOP_LIMIT: u8 = 64;
/// In the table: nobody has asked yet.
const UNKNOWN: u32 = u32::MAX;
/// In the table: there is no way.
const NOWHERE: u32 = u32::MAX - 1;

/// Where one flow's ends are.
pub struct Ends {
    /// The client's station and the server's, by index.
    stations: [usize; 2],
    nodes: [Node; 2],
    /// Their numbers among the destinations of routes.
    destinations: [usize; 2],
    /// Whether the client is the receiver of the data of the first visit.
    download: bool,
}

impl Ends {
    /// The way that the flow's data takes.
    fn data_path(&self, routes: &Routes) -> Option<Path> {
        let to = usize::from(!self.download);
        routes.path(self.nodes[1 - to], self.destinations[to])
    }
}

/// A network of satellites and stations at work.
pub struct Mesh {
    spec: MeshSpec,
    guide: Guide,
    foresight: Option<Foresight>,
    rtt: Span,
    flows: Vec<Ends>,
    outs: Outs,
    /// By destination and node: the out that a packet takes, [`UNKNOWN`] or [`NOWHERE`].
    table: Vec<u32>,
    nodes: usize,
    /// Counts moves of the guide.
    step: u32,
    /// By station: until when it is silent.
    silent: Vec<Time>,
    rooms: Rooms,
    /// The way of each flow's data so far, where it is recorded.
    paths: Option<Vec<PathTrace>>,
}

impl Mesh {
    /// The network of `spec` at the beginning of the run.
    pub fn new(spec: &RunSpec, mesh: &MeshSpec) -> Result<Self, SimError> {
        refuse(spec)?;
        let mut destinations: Vec<Node> = Vec::new();
        let mut number = |node: Node| match destinations.iter().position(|&other| other == node) {
            Some(number) => number,
            None => {
                destinations.push(node);
                destinations.len() - 1
            }
        };
        let mut flows = Vec::with_capacity(spec.flows.len());
        for flow in &spec.flows {
            let stations = ends(flow, &mesh.network)?;
            let nodes = stations.map(|station| mesh.network.station(station));
            let download = flow.visits.first().is_none_or(|visit| visit.direction == Direction::Download);
            flows.push(Ends { stations, nodes, destinations: nodes.map(&mut number), download });
        }
        // Exact steps watch the flows' own ways, there and back; those between ends of different flows concern nobody.
        let ways = |flow: &Ends| [(flow.nodes[0], flow.destinations[1]), (flow.nodes[1], flow.destinations[0])];
        let watched: Vec<_> = flows.iter().flat_map(ways).collect();
        let guide = Guide::watching(mesh.network.clone(), mesh.step, &destinations, &watched)?;
        let foresight = mesh.hints.map(|horizon| Foresight::new(mesh, guide.clone(), horizon, &flows));
        let nodes = mesh.network.nodes();
        let mut made = Self {
            outs: Outs::new(spec, mesh),
            spec: mesh.clone(),
            guide,
            foresight,
            rtt: spec.base_rtt,
            flows,
            table: vec![UNKNOWN; nodes * destinations.len()],
            nodes,
            step: 0,
            silent: vec![Time::ZERO; mesh.network.stations().len()],
            rooms: Rooms::default(),
            paths: spec.trace.then(Vec::new),
        };
        made.note_paths(Time::ZERO);
        Ok(made)
    }

    /// How many links there can be: every one that some packet may take.
    pub fn most_links(mesh: &MeshSpec) -> usize {
        let network = &mesh.network;
        let (satellites, stations) = (network.satellites(), network.stations().len());
        let down = if mesh.shared_ground { satellites } else { satellites.saturating_mul(stations) };
        (2 * (network.isls().len() + network.fibres().len())).saturating_add(stations).saturating_add(down)
    }

    /// The out of `place` towards destination number `destination`, looked up in the routes; it enters the table.
    #[cold]
    fn look_up(&mut self, place: u32, destination: usize, links: &mut Vec<LinkState>) -> u32 {
        let out = match self.guide.routes().next(Node(place), destination) {
            Some(to) => self.outs.find_or_make(&self.spec.network, Node(place), to, links),
            None => NOWHERE,
        };
        self.table[destination * self.nodes + place as usize] = out;
        out
    }

    /// A packet has to wait for the silence of `station` to end.
    #[cold]
    fn hold(&mut self, now: Time, out: u32, station: usize, packet: &Packet<Parcel>, links: &mut [LinkState]) -> Next {
        let out = *self.outs.get_mut(out);
        let state = &mut links[out.link as usize];
        if self.rooms.hold(station, (out.from, out.to), packet, &state.model, self.rtt) {
            return Next::Waits;
        }
        state.link.refuse(out.port as usize, packet.bytes);
        let lost = Lost::OnLink(DropCause::QueueFull);
        if let Some(recorder) = &mut state.recorder {
            recorder.dropped(now, lost);
        }
        Next::Lost(lost)
    }

    /// The guide has moved.
    fn changed(&mut self, now: Time, changes: &Changes, links: &mut [LinkState], moved: &mut Moved) {
        self.step += 1;
        for (station, silent) in self.silent.iter_mut().enumerate() {
            *silent = self.guide.topology().silent_until(station);
        }
        for &(a, b) in &changes.gone {
            self.end_link(now, a, b, links, moved);
        }
        if changes.routes || !changes.gone.is_empty() {
            self.table.fill(UNKNOWN);
        }
        if changes.routes {
            self.note_paths(now);
        }
    }

    /// The link between `a` and `b` is no more: what has not left goes on by other ways, or is lost.
    fn end_link(&mut self, now: Time, a: Node, b: Node, links: &mut [LinkState], moved: &mut Moved) {
        let is_isl = [a, b].iter().all(|&node| self.spec.network.station_of(node).is_none());
        let loss = if is_isl { HandoverLoss::Nothing } else { self.spec.handover };
        let Moved { forward, lost, links: touched } = moved;
        let mut taken = |node: Node, packet: Packet<Parcel>| match loss {
            HandoverLoss::Nothing => forward.push((node.0, packet)),
            HandoverLoss::Queued | HandoverLoss::Flying => lost.push((packet.payload, Lost::Handover)),
        };
        for (from, to) in [(a, b), (b, a)] {
            let Some(out) = self.outs.find(from, to) else { continue };
            let out = *self.outs.get_mut(out);
            let state = &mut links[out.link as usize];
            let LinkState { link, recorder, .. } = state;
            link.withdraw(now, out.port as usize, loss == HandoverLoss::Flying, |packet| {
                if let (Some(recorder), false) = (&mut *recorder, loss == HandoverLoss::Nothing) {
                    recorder.dropped(now, Lost::Handover);
                }
                taken(from, packet);
            });
            if let Some(recorder) = recorder {
                recorder.queue(now, link.queue_bytes());
            }
            touched.push(out.link as usize);
        }
        self.rooms.withdraw(a, b, taken);
    }

    /// Writes down the ways of the flows' data that are other than before.
    fn note_paths(&mut self, now: Time) {
        let Some(paths) = &mut self.paths else { return };
        for (flow, ends) in self.flows.iter().enumerate() {
            let nodes = ends.data_path(self.guide.routes()).map(|path| path.nodes).unwrap_or_default();
            let last = paths.iter().rev().find(|path| path.flow == flow);
            if last.is_none_or(|last| last.nodes != nodes) {
                paths.push(PathTrace { flow, at: now, nodes });
            }
        }
    }

    /// The least time that anything takes between a flow's ends: light on a straight line, through the Earth.
    ///
    /// Fibres whose delay was given may be faster than that: what each of them can save is taken off. So is a part in ten thousand, since satellites move while
    /// packets fly (by 7.6 km/s, a part in forty thousand of the speed of light), and a microsecond for rounding.
    fn beeline(&self, flow: usize) -> Span {
        let network = &self.spec.network;
        let place = |node: Node| network.station_of(node).map(|station| network.stations()[station].place.to_ecef());
        let light = |a: Node, b: Node| match (place(a), place(b)) {
            (Some(a), Some(b)) => Span::from_secs_f64(a.distance_m(b) / SPEED_OF_LIGHT),
            _ => Span::ZERO,
        };
        let [client, server] = self.flows[flow].nodes;
        let saved = network.fibres().iter().map(|&(a, b, delay)| light(a, b).saturating_sub(delay));
        let least = saved.fold(light(client, server), Span::saturating_sub);
        least.mul_f64(0.9999).saturating_sub(Span::from_micros(1))
    }
}

impl Net for Mesh {
    const LAZY: bool = true;

    fn place(&self, flow: usize, node: u16) -> u32 {
        self.flows[flow].nodes[usize::from(node)].0
    }

    fn passes(&self, _place: u32) -> Option<u16> {
        None
    }

    #[inline]
    fn next(
        &mut self,
        now: Time,
        place: u32,
        packet: &Packet<Parcel>,
        parcels: &mut Parcels,
        links: &mut Vec<LinkState>,
    ) -> Next {
        let label = parcels.label(packet.payload);
        let ends = &self.flows[label.flow as usize];
        let to = usize::from(label.to);
        if ends.nodes[to].0 == place {
            return Next::Arrived(label.to);
        }
        let destination = ends.destinations[to];
        let mut number = self.table[destination * self.nodes + place as usize];
        if number == UNKNOWN {
            number = self.look_up(place, destination, links);
        }
        if number == NOWHERE {
            return Next::Lost(Lost::NoRoute);
        }
        let out = self.outs.get_mut(number);
        if let Some(station) = out.station()
            && self.silent[station] > now
        {
            return self.hold(now, number, station, packet, links);
        }
        let (link, port) = (out.link as usize, out.port as usize);
        if out.step != self.step {
            out.step = self.step;
            let law = self.guide.law(out.from, out.to);
            links[link].link.steer(port, DelayLaw::new(law.from, law.delay, law.drift_ps_per_s));
        }
        if parcels.count_hop(packet.payload) > HOP_LIMIT {
            return Next::Lost(Lost::HopLimit);
        }
        Next::Link(link, port)
    }

    fn deadline(&self) -> Option<Time> {
        let foresight = self.foresight.as_ref().map_or(Time::MAX, Foresight::due);
        let next = self.guide.next().min(self.rooms.due(&self.silent)).min(foresight);
        (next < Time::MAX).then_some(next)
    }

    fn act(
        &mut self,
        now: Time,
        flows: &mut [Box<dyn Flow>],
        links: &mut [LinkState],
        moved: &mut Moved,
    ) -> Result<(), SimError> {
        if let Some(foresight) = &mut self.foresight {
            foresight.look(now, &self.flows, flows)?;
        }
        while self.guide.next() <= now && self.guide.next() < Time::MAX {
            let changes = self.guide.advance()?;
            self.changed(now, &changes, links, moved);
        }
        self.rooms.release(now, &self.silent, &mut moved.forward);
        Ok(())
    }

    fn account<'a>(&self, flow: usize, outcome: &'a FlowOutcome, _links: &'a [LinkAccount<'a>]) -> VisitAccount<'a> {
        VisitAccount { outcome, up: Vec::new(), down: Vec::new(), sampled: 0..0, beeline: self.beeline(flow) }
    }

    fn into_paths(self) -> Vec<PathTrace> {
        self.paths.unwrap_or_default()
    }
}

/// Refuses what a mesh does not have.
fn refuse(spec: &RunSpec) -> Result<(), SimError> {
    let wrong = |reason: String| Err(SimError::Spec(reason));
    if !spec.hops.is_empty() {
        return wrong(format!("{} hops beside a network of satellites; allowed: one of both", spec.hops.len()));
    }
    if spec.terminals > 1 {
        return wrong(format!("{} terminals in a network of satellites; allowed: 1", spec.terminals));
    }
    if let Some(hop) = &spec.capture {
        return wrong(format!("a capture of `{hop}` in a network of satellites; allowed: none"));
    }
    for flow in &spec.flows {
        if let Stack::Tcp(stack) = &flow.stack
            && stack.pep.is_some()
        {
            return wrong(format!("flow `{}` has a proxy in a network of satellites; allowed: none", flow.name));
        }
    }
    Ok(())
}

/// The stations at a flow's ends.
fn ends(flow: &FlowSpec, network: &Network) -> Result<[usize; 2], SimError> {
    let wrong = |reason: String| Err(SimError::Spec(format!("flow `{}` {reason}", flow.name)));
    let stations = network.stations().len();
    match flow.ends {
        None => wrong("has no ends; it needs the stations of its client and its server".to_owned()),
        Some((client, server)) if client >= stations || server >= stations => {
            wrong(format!("is between stations {client} and {server}; allowed: 0 to {}", stations.saturating_sub(1)))
        }
        Some((client, server)) if client == server => {
            wrong(format!("has both ends at station {client}; allowed: two stations"))
        }
        Some((client, server)) => Ok([client, server]),
    }
}
