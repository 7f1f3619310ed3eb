//! A network of satellites and stations. Each link has a queue of its own, and each node forwards
//! packets by the current routes.
//!
//! Nodes have the numbers of the network. A flow's own nodes are 0, its client, and 1, its server.
//! A table of node and destination holds the next hop of packets. It is cleared when routes change,
//! and filled as packets need it.

mod coverage_log;
mod driver;
mod egress;
mod flow_ends;
mod handover_buffers;
mod path_predictor;

use crate::checks::{LinkAudit, NodeEffects, VisitAudit};
use crate::error::SimError;
use crate::flow::Flow;
use crate::link_state::LinkState;
use crate::loss_reason::LossReason;
use crate::outcome::FlowOutcome;
use crate::packet_arena::PacketId;
use crate::packet_network::{NetworkUpdate, NextHop, PacketNetwork};
use crate::spec::{CapturePoint, Direction, FlowSpec, MeshSpec, RunSpec, Stack};
use bentpipe_link::{DirectionModel, DropCause, Packet};
use bentpipe_orbit::HandoverLoss;
use bentpipe_orbit::{Changes, Network, Node, RouteTimeline, SPEED_OF_LIGHT};
use bentpipe_timeseries::RouteChange;
use bentpipe_units::{Span, Time};
use coverage_log::CoverageLog;
pub use driver::{MeshDriver, MeshRecords, PacketFate};
use egress::Egress;
pub use flow_ends::Ends;
use handover_buffers::HandoverBuffers;
use path_predictor::PathPredictor;

/// Maximum number of links that a packet may enter: the default IP time to live (IANA, IP option
/// numbers: 64).
const HOP_LIMIT: u8 = 64;
/// Table entry that has not been looked up yet.
const NOT_LOOKED_UP: u32 = u32::MAX;
/// Table entry without a route.
const NO_ROUTE: u32 = u32::MAX - 1;

/// Hops of a path that [`Mesh::recent`] remembers. Paths around the Earth have up to 20.
const RECENT_HOPS: usize = 16;
/// A node that does not exist.
const NO_NODE: u32 = u32::MAX;

/// A network of satellites and stations.
pub struct Mesh {
    spec: MeshSpec,
    timeline: RouteTimeline,
    path_predictor: Option<PathPredictor>,
    rtt: Span,
    flows: Vec<Ends>,
    egress: Egress,
    /// By destination and node: the egress port of a packet, [`NOT_LOOKED_UP`] or [`NO_ROUTE`].
    table: Vec<u32>,
    /// By flow, direction and hop, modulo [`RECENT_HOPS`]: the node of the last packet, and its
    /// entry in `table`. Packets of a flow mostly follow the same path, and these few lines of
    /// memory stay in the CPU's cache, unlike the table.
    recent: Vec<(u32, u32)>,
    nodes: usize,
    /// Number of steps of the timeline so far.
    step: u32,
    /// End of the outage of each station.
    outage_until: Vec<Time>,
    handover_buffers: HandoverBuffers,
    /// Paths of the flows' data so far, if recorded.
    paths: Option<Vec<RouteChange>>,
    /// When stations have had a satellite, if time series are recorded.
    coverage: Option<CoverageLog>,
}

impl Mesh {
    /// Creates the network of `spec` at the start of the run.
    pub fn new(spec: &RunSpec, mesh: &MeshSpec) -> Result<Self, SimError> {
        check(spec)?;
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
            let download =
                flow.visits.first().is_none_or(|visit| visit.direction == Direction::Download);
            flows.push(Ends { stations, nodes, destinations: nodes.map(&mut number), download });
        }
        // Event-driven updates watch the flows' own paths in both directions, but not paths between
        // ends of different flows.
        let pairs = |flow: &Ends| {
            [(flow.nodes[0], flow.destinations[1]), (flow.nodes[1], flow.destinations[0])]
        };
        let watched: Vec<_> = flows.iter().flat_map(pairs).collect();
        let timeline = RouteTimeline::watching_pairs(
            mesh.network.clone(),
            mesh.step,
            &destinations,
            &watched,
        )?;
        let path_predictor = mesh
            .path_change_notice
            .map(|horizon| PathPredictor::new(mesh, timeline.clone(), horizon, &flows));
        let nodes = mesh.network.nodes();
        let mut made = Self {
            egress: Egress::new(spec, mesh),
            recent: vec![(NO_NODE, NO_ROUTE); 2 * RECENT_HOPS * flows.len()],
            spec: mesh.clone(),
            timeline,
            path_predictor,
            rtt: spec.base_rtt,
            flows,
            table: vec![NOT_LOOKED_UP; nodes * destinations.len()],
            nodes,
            step: 0,
            outage_until: vec![Time::ZERO; mesh.network.stations().len()],
            handover_buffers: HandoverBuffers::default(),
            paths: spec.trace.map(|_| Vec::new()),
            coverage: None,
        };
        let stations = mesh.network.stations().len();
        made.coverage = spec.trace.map(|_| CoverageLog::new(made.timeline.topology(), stations));
        made.record_paths(Time::ZERO);
        Ok(made)
    }

    /// Returns true if a queue tells flows apart by [`Packet::flow`].
    pub fn needs_flow(&self) -> bool {
        self.spec.models().any(DirectionModel::needs_flow)
    }

    /// Returns an upper bound of the number of links.
    pub fn max_links(mesh: &MeshSpec) -> usize {
        let network = &mesh.network;
        let (satellites, stations) = (network.satellites(), network.stations().len());
        let down =
            if mesh.shared_ground { satellites } else { satellites.saturating_mul(stations) };
        (2 * (network.isls().len() + network.fibres().len()))
            .saturating_add(stations.saturating_mul(1 + mesh.shells.len()))
            .saturating_add(down)
    }

    /// Returns true if `net_node` is a station.
    fn is_station(&self, net_node: u32) -> bool {
        self.spec.network.station_of(Node(net_node)).is_some()
    }

    /// Finds the egress port of `net_node` towards destination number `destination`, and enters it
    /// in the table.
    #[cold]
    fn look_up(&mut self, net_node: u32, destination: usize, links: &mut Vec<LinkState>) -> u32 {
        let out = match self.timeline.routes().next(Node(net_node), destination) {
            Some(to) => self.egress.find_or_create(&self.spec, Node(net_node), to, links),
            None => NO_ROUTE,
        };
        self.table[destination * self.nodes + net_node as usize] = out;
        out
    }

    /// Buffers a packet until the outage of `station` ends.
    #[cold]
    fn hold(
        &mut self,
        now: Time,
        out: u32,
        station: usize,
        packet: &Packet<PacketId>,
        links: &mut [LinkState],
    ) -> NextHop {
        let out = *self.egress.get_mut(out);
        let state = &mut links[out.link as usize];
        if self.handover_buffers.hold(station, (out.from, out.to), packet, &state.model, self.rtt) {
            return NextHop::Waits;
        }
        state.link.count_refused(out.port as usize, packet.bytes);
        let lost = LossReason::OnLink(DropCause::QueueFull);
        if let Some(recorder) = &mut state.recorder {
            recorder.dropped(now, lost);
        }
        NextHop::Lost(lost)
    }

    /// Handles a step of the timeline.
    fn changed(
        &mut self,
        now: Time,
        changes: &Changes,
        links: &mut [LinkState],
        update: &mut NetworkUpdate,
    ) {
        self.step += 1;
        for (station, outage_until) in self.outage_until.iter_mut().enumerate() {
            *outage_until = self.timeline.topology().outage_until(station);
        }
        if let Some(coverage) = &mut self.coverage {
            coverage.update(now, self.timeline.topology());
        }
        for &(a, b) in &changes.removed_links {
            self.end_link(now, a, b, links, update);
        }
        if changes.routes || !changes.removed_links.is_empty() {
            self.table.fill(NOT_LOOKED_UP);
            self.recent.fill((NO_NODE, NO_ROUTE));
        }
        if changes.routes {
            self.record_paths(now);
        }
    }

    /// Takes down the link between `a` and `b`. Packets on it are rerouted or lost.
    fn end_link(
        &mut self,
        now: Time,
        a: Node,
        b: Node,
        links: &mut [LinkState],
        update: &mut NetworkUpdate,
    ) {
        let is_isl = [a, b].iter().all(|&node| self.spec.network.station_of(node).is_none());
        let loss = if is_isl { HandoverLoss::None } else { self.spec.handover };
        let NetworkUpdate { forward, lost, links: touched } = update;
        let mut withdraw = |node: Node, packet: Packet<PacketId>| match loss {
            HandoverLoss::None => forward.push((node.0, packet)),
            HandoverLoss::Queued | HandoverLoss::InFlight => {
                lost.push((packet.payload, LossReason::Handover))
            }
        };
        for (from, to) in [(a, b), (b, a)] {
            let Some(out) = self.egress.find(from, to) else { continue };
            let out = *self.egress.get_mut(out);
            let state = &mut links[out.link as usize];
            let LinkState { link, recorder, .. } = state;
            link.withdraw(now, out.port as usize, loss == HandoverLoss::InFlight, |packet| {
                if let (Some(recorder), false) = (&mut *recorder, loss == HandoverLoss::None) {
                    recorder.dropped(now, LossReason::Handover);
                }
                withdraw(from, packet);
            });
            if let Some(recorder) = recorder {
                recorder.queue(now, link.queue_bytes());
            }
            touched.push(out.link as usize);
        }
        self.handover_buffers.withdraw(a, b, withdraw);
    }

    /// Records the paths of the flows' data that have changed.
    fn record_paths(&mut self, now: Time) {
        let Some(paths) = &mut self.paths else { return };
        for (flow, ends) in self.flows.iter().enumerate() {
            let path = ends.data_path(self.timeline.routes());
            let nodes: Vec<u32> =
                path.map_or_else(Vec::new, |path| path.nodes.iter().map(|node| node.0).collect());
            let last = paths.iter().rev().find(|path| path.flow == flow);
            if last.is_none_or(|last| last.nodes != nodes) {
                paths.push(RouteChange { flow, at: now, nodes });
            }
        }
    }

    /// Returns the minimum delay between a flow's ends: straight-line light time, through the
    /// Earth.
    ///
    /// Fibres with a given delay may be faster than that, so the time that each of them can save is
    /// subtracted. So is one part in ten thousand, because satellites move while packets are in
    /// flight (at 7.6 km/s, one part in forty thousand of the speed of light), and one microsecond
    /// for rounding.
    fn light_time(&self, flow: usize) -> Span {
        let network = &self.spec.network;
        let position = |node: Node| {
            network.station_of(node).map(|station| network.stations()[station].place.to_ecef())
        };
        let light = |a: Node, b: Node| match (position(a), position(b)) {
            (Some(a), Some(b)) => Span::from_secs_f64(a.distance_m(b) / SPEED_OF_LIGHT),
            _ => Span::ZERO,
        };
        let [client, server] = self.flows[flow].nodes;
        let saved = network.fibres().iter().map(|&(a, b, delay)| light(a, b).saturating_sub(delay));
        let least = saved.fold(light(client, server), Span::saturating_sub);
        least.mul_f64(0.9999).saturating_sub(Span::from_micros(1))
    }
}

impl PacketNetwork for Mesh {
    const LAZY: bool = true;

    fn net_node(&self, flow: usize, node: u16) -> u32 {
        self.flows[flow].nodes[usize::from(node)].0
    }

    fn passes(&self, _place: u32) -> Option<u16> {
        None
    }

    #[inline]
    fn next(
        &mut self,
        now: Time,
        net_node: u32,
        packet: Packet<PacketId>,
        links: &mut Vec<LinkState>,
    ) -> NextHop {
        let ends = &self.flows[packet.payload.flow as usize];
        let to = usize::from(packet.payload.to);
        if ends.nodes[to].0 == net_node {
            return NextHop::Arrived(packet.payload.to);
        }
        let path = (2 * packet.payload.flow as usize + to) * RECENT_HOPS;
        let recent = path + usize::from(packet.payload.hops()) % RECENT_HOPS;
        let (node, mut number) = self.recent[recent];
        if node != net_node {
            let destination = ends.destinations[to];
            number = self.table[destination * self.nodes + net_node as usize];
            if number == NOT_LOOKED_UP {
                number = self.look_up(net_node, destination, links);
            }
            self.recent[recent] = (net_node, number);
        }
        if number == NO_ROUTE {
            return NextHop::Lost(LossReason::NoRoute);
        }
        let out = self.egress.get_mut(number);
        if let Some(station) = out.station()
            && self.outage_until[station] > now
        {
            return self.hold(now, number, station, &packet, links);
        }
        let (link, port) = (out.link as usize, out.port as usize);
        if out.step != self.step {
            out.step = self.step;
            links[link].link.set_delay(port, self.timeline.link_delay(out.from, out.to));
        }
        if packet.payload.hops() >= HOP_LIMIT {
            return NextHop::Lost(LossReason::HopLimit);
        }
        NextHop::Link(link, port)
    }

    fn deadline(&self) -> Option<Time> {
        let path_predictor = self.path_predictor.as_ref().map_or(Time::MAX, PathPredictor::due);
        let next = self
            .timeline
            .next()
            .min(self.handover_buffers.due(&self.outage_until))
            .min(path_predictor);
        (next < Time::MAX).then_some(next)
    }

    fn act(
        &mut self,
        now: Time,
        flows: &mut [Flow],
        links: &mut [LinkState],
        update: &mut NetworkUpdate,
    ) -> Result<(), SimError> {
        if let Some(path_predictor) = &mut self.path_predictor {
            path_predictor.announce_due(now, &self.flows, flows)?;
        }
        while self.timeline.next() <= now && self.timeline.next() < Time::MAX {
            let changes = self.timeline.advance()?;
            self.changed(now, &changes, links, update);
        }
        self.handover_buffers.release(now, &self.outage_until, &mut update.forward);
        Ok(())
    }

    fn account<'a>(
        &self,
        flow: usize,
        outcome: &'a FlowOutcome,
        _links: &'a [LinkAudit<'a>],
    ) -> VisitAudit<'a> {
        VisitAudit {
            outcome,
            up: Vec::new(),
            down: Vec::new(),
            sampled: 0..0,
            light_time: self.light_time(flow),
            nodes: NodeEffects::default(),
        }
    }

    fn outages(&self, link: usize, end: Time) -> Vec<(Time, Time)> {
        let sky = self.egress.over_sky(link as u32);
        let outages = self.coverage.as_ref().zip(sky).map(|(log, sky)| log.outages(sky, end));
        outages.unwrap_or_default()
    }

    fn into_paths(self) -> Vec<RouteChange> {
        self.paths.unwrap_or_default()
    }
}

/// Rejects settings that a mesh does not support.
fn check(spec: &RunSpec) -> Result<(), SimError> {
    let wrong = |reason: String| Err(SimError::Spec(reason));
    if !spec.hops.is_empty() {
        return wrong(format!(
            "{} hops together with a satellite network; allowed: one of both",
            spec.hops.len()
        ));
    }
    if spec.terminals > 1 {
        return wrong(format!(
            "{} terminals in a satellite network are not possible; allowed: 1",
            spec.terminals
        ));
    }
    if let Some(CapturePoint { hop, .. }) = &spec.capture {
        return wrong(format!(
            "capture of `{hop}` in a satellite network is not possible; allowed: none"
        ));
    }
    for flow in &spec.flows {
        if let Stack::Tcp(stack) = &flow.stack
            && stack.pep.is_some()
        {
            return wrong(format!(
                "flow `{}` has a proxy in a satellite network; allowed: none",
                flow.name
            ));
        }
    }
    Ok(())
}

/// Returns the stations at a flow's ends.
fn ends(flow: &FlowSpec, network: &Network) -> Result<[usize; 2], SimError> {
    let wrong = |reason: String| Err(SimError::Spec(format!("flow `{}` {reason}", flow.name)));
    let stations = network.stations().len();
    match flow.ends {
        None => wrong("has no ends; allowed: the stations of its client and its server".to_owned()),
        Some((client, server)) if client >= stations || server >= stations => wrong(format!(
            "is between stations {client} and {server}; allowed: 0 to {}",
            stations.saturating_sub(1)
        )),
        Some((client, server)) if client == server => {
            wrong(format!("has both ends at station {client}; allowed: two stations"))
        }
        Some((client, server)) => Ok([client, server]),
    }
}
