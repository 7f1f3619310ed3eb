//! The main loop: advances a run from event to event.

mod nodes;

use crate::capture::Capture;
use crate::checks::{self, LinkAudit};
use crate::datagram::Datagram;
use crate::error::SimError;
use crate::event_queue::{Component, EventQueue};
use crate::flow::{Flow, LostPacket, Shared};
use crate::hop_ends::HopEnds;
use crate::hop_path::HopPath;
use crate::hosts::Hosts;
use crate::link_state::LinkState;
use crate::loss_reason::LossReason;
use crate::mesh::Mesh;
use crate::node::{NodeOutcome, PlacedNode};
use crate::outcome::RunOutcome;
use crate::packet_arena::{PacketArena, PacketId};
use crate::packet_network::{NetworkUpdate, NextHop, PacketNetwork};
use crate::path_nodes::PathNodes;
use crate::spec::RunSpec;
use crate::time_budget::Sharing;
use bentpipe_link::{Event, Packet, random};
use bentpipe_quic::tls::{self, SecretLog};
use bentpipe_quic::{Clock, EpochClock};
use bentpipe_timeseries::RunSeries;
use bentpipe_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};

/// Real-world time at which simulations start, in seconds since 1970: 1 January 2026. It dates
/// tickets and tokens.
const EPOCH_UNIX_SECS: u64 = 1_767_225_600;
/// Events between checks of the stop flag.
const STOP_CHECK: u64 = 4096;
/// Component of the network.
const NETWORK: usize = 0;
/// Component of all nodes of the path. The components of flows follow, then those of links.
const NODES: usize = 1;
/// Number of components before those of flows.
const BEFORE_FLOWS: usize = 2;

/// Runs `spec` to its end.
///
/// Deterministic: the outcome depends only on `spec`. Does no I/O.
///
/// # Errors
/// The specification is invalid, or `stop` was set ([`SimError::Interrupted`]).
pub fn run(spec: &RunSpec, stop: &AtomicBool) -> Result<RunOutcome, SimError> {
    Ok(run_with_nodes(spec, Vec::new(), stop)?.0)
}

/// Runs `spec` to its end with these nodes on its path, and returns what they have done.
///
/// Deterministic, if the nodes are. Without nodes it is [`run`].
///
/// # Errors
/// Those of [`run`]; a node stands at a hop that does not exist or in a satellite network; or two
/// nodes have the same name.
pub fn run_with_nodes(
    spec: &RunSpec,
    nodes: Vec<PlacedNode>,
    stop: &AtomicBool,
) -> Result<(RunOutcome, Vec<NodeOutcome>), SimError> {
    let Some(mesh) = &spec.mesh else {
        let (hop_path, links) = HopPath::new(spec)?;
        let nodes = match nodes.is_empty() {
            true => None,
            false => Some(PathNodes::new(spec, nodes, &hop_path, &links)?),
        };
        let (last_node, count) = (spec.hops.len() as u16, links.len());
        return Simulation::new(spec, hop_path, links, nodes, last_node, count)?.run(stop);
    };
    if let Some(node) = nodes.first() {
        let name = &node.name;
        return Err(SimError::Spec(format!(
            "node `{name}` in a satellite network is not possible; allowed: a path of hops"
        )));
    }
    let network = Mesh::new(spec, mesh)?;
    Simulation::new(spec, network, Vec::new(), None, 1, Mesh::max_links(mesh))?.run(stop)
}

struct Simulation<N> {
    shared: Shared,
    now: Time,
    event_queue: EventQueue,
    network: N,
    links: Vec<LinkState>,
    packet_arena: PacketArena,
    flows: Vec<Flow>,
    /// Few runs have any.
    hop_ends: Option<Box<HopEnds>>,
    base_rtt: Span,
    /// Start of the first measured visit, from which utilisation counts.
    measured_from: Option<Time>,
    events: u64,
}

impl<N: PacketNetwork> Simulation<N> {
    /// Creates a simulation over `network`, whose nodes are numbered up to `last_node` and which
    /// has at most `max_links` links. `nodes` stand at ends of its hops.
    fn new(
        spec: &RunSpec,
        network: N,
        links: Vec<LinkState>,
        nodes: Option<PathNodes>,
        last_node: u16,
        max_links: usize,
    ) -> Result<Self, SimError> {
        let mut seed = [0; 16];
        rand_core::Rng::fill_bytes(&mut random::stream(spec.seed, spec.run, "tls"), &mut seed);
        tls::seed_this_thread(seed);
        let epoch = EpochClock::new(EPOCH_UNIX_SECS);
        let shared = Shared {
            clock: Clock::new(),
            trace: spec.trace,
            controller_state: spec.controller_state,
            qlog: spec.qlog,
            encrypt: spec.encrypt || spec.capture.is_some(),
            secrets: spec.capture.is_some().then(SecretLog::default),
            seed: (spec.seed, spec.run),
            time_limit: spec.time_limit,
            rtt_without_frames: spec.rtt_without_frames(),
            sharing: Sharing::of(spec),
            hosts: Hosts::new(epoch.clone(), (spec.seed, spec.run)),
            epoch,
            last_node,
        };
        let mut flows = Vec::with_capacity(spec.flows.len());
        for (index, flow) in spec.flows.iter().enumerate() {
            flows.push(Flow::new(flow.clone(), index, &shared)?);
        }
        let before_links = BEFORE_FLOWS + (usize::from(last_node) + 2) * flows.len();
        let components = before_links.saturating_add(max_links);
        if components > EventQueue::MAX {
            let reason = format!(
                "{components} links and nodes of flows are too many; allowed: {}",
                EventQueue::MAX
            );
            return Err(SimError::Spec(reason));
        }
        Ok(Self {
            shared,
            now: Time::ZERO,
            event_queue: EventQueue::new(before_links + links.len()),
            network,
            links,
            packet_arena: PacketArena::default(),
            flows,
            hop_ends: HopEnds::new(
                spec.capture.as_ref().map(|point| Capture::new(&point.hop)),
                nodes,
            ),
            base_rtt: spec.base_rtt,
            measured_from: None,
            events: 0,
        })
    }

    /// Components per flow: its nodes, and the flow itself, which starts and ends visits.
    fn components_per_flow(&self) -> usize {
        usize::from(self.shared.last_node) + 2
    }

    fn node(&self, flow: usize, node: u16) -> Component {
        (BEFORE_FLOWS + self.components_per_flow() * flow + usize::from(node)) as Component
    }

    fn actor(&self, flow: usize) -> Component {
        self.node(flow, self.shared.last_node + 1)
    }

    /// Schedules the next poll of link `index`.
    #[inline]
    fn schedule_link(&mut self, index: usize) {
        let component = BEFORE_FLOWS + self.components_per_flow() * self.flows.len() + index;
        let link = &self.links[index].link;
        let deadline = if N::LAZY { link.next_output() } else { link.next_deadline() };
        self.event_queue.schedule(component as Component, deadline);
    }

    fn run(mut self, stop: &AtomicBool) -> Result<(RunOutcome, Vec<NodeOutcome>), SimError> {
        self.advance_network()?;
        for flow in 0..self.flows.len() {
            self.event_queue.schedule(self.actor(flow), self.flows[flow].next_deadline());
        }
        let mut unfinished = self.flows.iter().filter(|flow| !flow.progress().is_over()).count();
        let per_flow = self.components_per_flow();
        let before_links = BEFORE_FLOWS + per_flow * self.flows.len();
        while unfinished > 0 {
            let Some((now, component)) = self.event_queue.pop() else { break };
            debug_assert!(now >= self.now, "time must not decrease");
            self.now = now;
            self.events += 1;
            if self.events.is_multiple_of(STOP_CHECK) && stop.load(Ordering::Relaxed) {
                return Err(SimError::Interrupted);
            }
            let component = component as usize;
            if component >= before_links {
                self.poll_link(component - before_links);
                continue;
            }
            if component == NETWORK {
                self.advance_network()?;
                continue;
            }
            if component == NODES {
                self.advance_nodes();
                continue;
            }
            let of_flows = component - BEFORE_FLOWS;
            let (flow, part) = (of_flows / per_flow, of_flows % per_flow);
            let is_actor = part > usize::from(self.shared.last_node);
            if !is_actor {
                let node = part as u16;
                self.flows[flow].wake(now, node);
                self.flush(flow, node);
            }
            if (is_actor || self.flows[flow].progress().visit_is_over()) && self.act(flow)? {
                unfinished -= 1;
            }
            self.event_queue.schedule(self.actor(flow), self.flows[flow].next_deadline());
        }
        self.finish()
    }

    /// Starts or ends a visit of a flow. Returns true if this ended the flow.
    fn act(&mut self, flow: usize) -> Result<bool, SimError> {
        let was_over = self.flows[flow].progress().is_over();
        self.shared.epoch.set(self.now);
        self.flows[flow].act(self.now, &self.shared)?;
        if self.measured_from.is_none() && self.flows[flow].progress().is_reporting() {
            self.measured_from = Some(self.now);
            for state in &mut self.links {
                state.busy_before = state.link.counters().busy;
            }
        }
        // Either end may start: a server may send datagrams without a request.
        self.flush(flow, 0);
        self.flush(flow, self.shared.last_node);
        Ok(!was_over && self.flows[flow].progress().is_over())
    }

    /// Advances the network and forwards the packets it releases.
    fn advance_network(&mut self) -> Result<(), SimError> {
        let mut update = NetworkUpdate::default();
        self.network.act(self.now, &mut self.flows, &mut self.links, &mut update)?;
        for index in update.links {
            self.links[index].last = self.now;
            self.schedule_link(index);
        }
        for (packet_id, lost) in update.lost {
            self.lost(packet_id, lost, self.now);
        }
        for (net_node, packet) in update.forward {
            self.packet_arena.get_mut(packet.payload).trip.release(self.now);
            self.forward(net_node, packet);
        }
        self.event_queue.schedule(NETWORK as Component, self.network.deadline());
        Ok(())
    }

    /// Polls a link and forwards the packets it delivers.
    fn poll_link(&mut self, index: usize) {
        while let Some(event) = self.links[index].link.poll(self.now) {
            let state = &mut self.links[index];
            match event {
                Event::Delivered { mut packet, port, service, .. } => {
                    packet.payload.count_serialised(service.serialised_ns);
                    let waited = !service.queued.is_zero() || !service.framed.is_zero();
                    if waited && !packet.payload.count_queued(service) {
                        let trip = &mut self.packet_arena.get_mut(packet.payload).trip;
                        trip.add(service, state.has_outages);
                    }
                    let net_node = state.count_delivered(self.now, port, &packet);
                    if self.hop_ends.is_some() {
                        self.behind_link(index, net_node, packet);
                    } else {
                        self.forward(net_node, packet);
                    }
                }
                Event::Lost { cause, at, mut packet, service, .. } => {
                    packet.payload.count_serialised(service.serialised_ns);
                    let lost = state.count_dropped(at, cause);
                    self.lost(packet.payload, lost, at);
                }
            }
        }
        self.links[index].polled(self.now);
        self.schedule_link(index);
    }

    fn lost(&mut self, packet_id: PacketId, lost: LossReason, at: Time) {
        let &Datagram { flow, toward, to, visit, position, .. } = self.packet_arena.get(packet_id);
        self.packet_arena.remove(packet_id);
        let carried = packet_id.serialised();
        let progress = self.flows[flow as usize].progress_mut();
        progress.count_lost(LostPacket { toward, to, visit, reason: lost, carried, position }, at);
    }

    /// Delivers a packet at `net_node` or passes it to the next link.
    // Inlined into the poll of a link, like all that lies between two links: a packet whose fields
    // have just been written waits in memory until all earlier writes have reached the cache.
    #[inline(always)]
    fn forward(&mut self, net_node: u32, packet: Packet<PacketId>) {
        match self.network.next(self.now, net_node, packet, &mut self.links) {
            NextHop::Link(link, port) => {
                if let Some(node) = self.network.passes(net_node) {
                    let flow = packet.payload.flow as usize;
                    let datagram = self.packet_arena.get(packet.payload);
                    if !self.flows[flow].pass(self.now, node, datagram) {
                        self.packet_arena.remove(packet.payload);
                        self.flush(flow, node);
                        return;
                    }
                }
                self.enter(link, port, packet);
            }
            next => self.stay(next, packet),
        }
    }

    /// Handles a packet that does not enter a link.
    fn stay(&mut self, next: NextHop, packet: Packet<PacketId>) {
        match next {
            NextHop::Link(link, port) => self.enter(link, port, packet),
            NextHop::Waits => {
                self.packet_arena.get_mut(packet.payload).trip.hold(self.now);
                self.event_queue.schedule(NETWORK as Component, self.network.deadline())
            }
            NextHop::Lost(lost) => self.lost(packet.payload, lost, self.now),
            NextHop::Arrived(node) => {
                let datagram = self.packet_arena.get_mut(packet.payload);
                datagram.trip.queued += packet.payload.queued();
                let index = packet.payload.flow as usize;
                let flow = &mut self.flows[index];
                flow.deliver(self.now, node, packet.ecn, datagram);
                let (trip, visit) = (&datagram.trip, datagram.visit);
                flow.progress_mut().delivered(self.now, node, visit, trip, &packet);
                self.packet_arena.remove(packet.payload);
                let over = flow.progress().visit_is_over();
                self.flush(index, node);
                // The flow acts after this link has been polled, because it may end the visit and
                // start the next.
                let deadline =
                    if over { Some(self.now) } else { self.flows[index].next_deadline() };
                self.event_queue.schedule(self.actor(index), deadline);
            }
        }
    }

    /// Lets a packet enter a link.
    #[inline(always)]
    fn enter(&mut self, index: usize, port: usize, packet: Packet<PacketId>) {
        if self.hop_ends.is_some() {
            self.before_link(index, port, packet);
        } else {
            self.offer(index, port, packet);
        }
    }

    /// Offers a packet to a link.
    #[inline(always)]
    fn offer(&mut self, index: usize, port: usize, mut packet: Packet<PacketId>) {
        packet.payload.count_hop();
        let now = self.now;
        let dropped = self.links[index].offer(now, port, packet);
        self.schedule_link(index);
        if let Some((lost, packet)) = dropped {
            self.lost(packet.payload, lost, now);
        }
    }

    /// Sends all packets that a flow has to send at `node`, and schedules its next timeout.
    fn flush(&mut self, flow: usize, node: u16) {
        while let Some(packet) =
            self.flows[flow].poll_transmit(self.now, node, &mut self.packet_arena)
        {
            let net_node = self.network.net_node(flow, node);
            let next = self.network.next(self.now, net_node, packet, &mut self.links);
            self.stay(next, packet);
        }
        let timeout = self.flows[flow].next_timeout(node);
        self.event_queue.schedule(self.node(flow, node), timeout);
    }

    fn finish(mut self) -> Result<(RunOutcome, Vec<NodeOutcome>), SimError> {
        let end = self.now;
        if N::LAZY {
            self.links.iter_mut().for_each(|state| state.link.advance_to(end));
        }
        let mut owners = Vec::new();
        let mut flows = Vec::new();
        let mut probes = Vec::new();
        let mut flow_traces = Vec::new();
        let mut qlog = Vec::new();
        for (index, flow) in std::mem::take(&mut self.flows).into_iter().enumerate() {
            let results = flow.into_results();
            owners.extend(results.outcomes.iter().map(|_| index));
            flows.extend(results.outcomes);
            probes.push((flows.len(), results.probes));
            flow_traces.extend(results.traces);
            qlog.extend(results.qlog);
        }
        let (capture, nodes) = match self.hop_ends {
            Some(ends) => (ends.capture, ends.nodes),
            None => (None, None),
        };
        let audits: Vec<LinkAudit<'_>> =
            self.links.iter().map(|state| state.account(end)).collect();
        let node_audits = nodes.as_ref().map(|nodes| nodes.audits(&audits)).unwrap_or_default();
        let mut visits = Vec::with_capacity(flows.len());
        for (flow, outcome) in owners.into_iter().zip(&flows) {
            let mut visit = self.network.account(flow, outcome, &audits);
            visit.nodes = nodes.as_ref().map(|nodes| nodes.effects(flow)).unwrap_or_default();
            visits.push(visit);
        }
        checks::run(&audits, &visits, end)?;
        checks::nodes(&node_audits)?;
        // Behind the flow whose connection they shared. They have no packets of their own to check.
        for (place, outcomes) in probes.into_iter().rev() {
            flows.splice(place..place, outcomes);
        }
        let links = self.links.iter().map(|state| state.outcome(self.measured_from, end)).collect();
        let links_by_number = self.links.into_iter().enumerate();
        let link_traces = links_by_number
            .flat_map(|(link, state)| {
                state.traces(self.base_rtt, end, || self.network.outages(link, end))
            })
            .collect();
        let capture = match capture {
            Some(capture) => {
                let secrets = self.shared.secrets.map(|secrets| secrets.text()).unwrap_or_default();
                Some(capture.finish(&secrets).map_err(SimError::Capture)?)
            }
            None => None,
        };
        let paths = self.network.into_paths();
        let outcome = RunOutcome {
            flows,
            links,
            trace: self.shared.trace.map(|_| RunSeries {
                flows: flow_traces,
                links: link_traces,
                paths,
            }),
            qlog,
            capture,
            events: self.events,
            end,
            emulation: None,
        };
        Ok((outcome, nodes.map(PathNodes::into_outcomes).unwrap_or_default()))
    }
}
