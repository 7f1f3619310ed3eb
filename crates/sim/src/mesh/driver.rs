//! A satellite network that carries packets from outside, on any clock.

use super::Mesh;
use crate::error::SimError;
use crate::link_state::LinkState;
use crate::loss_reason::LossReason;
use crate::outcome::LinkOutcome;
use crate::packet_arena::PacketId;
use crate::packet_network::{NetworkUpdate, NextHop, PacketNetwork};
use crate::spec::{MeshSpec, RunSpec};
use bentpipe_link::{Ecn, Event, Packet};
use bentpipe_timeseries::{LinkSeries, RouteChange};
use bentpipe_units::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Component of the network itself. Links follow.
const NETWORK: usize = 0;
/// Least time from a satellite to the ground: 150 km at the speed of light. No orbit is lower.
const LEAST_DESCENT: Span = Span::from_micros(500);

/// What becomes of a packet in a [`MeshDriver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFate {
    /// It has arrived at the other end of its flow, with this ECN field.
    Arrived(Ecn),
    /// It is lost.
    Lost(LossReason),
}

/// Records of the links and routes of a [`MeshDriver`].
#[derive(Debug)]
pub struct MeshRecords {
    /// The links in use.
    pub links: Vec<LinkOutcome>,
    /// Their time series, if recorded.
    pub traces: Vec<LinkSeries>,
    /// The paths of the flows' data, if recorded.
    pub paths: Vec<RouteChange>,
}

/// The satellite network of a run without its flows: packets enter and leave by their numbers.
///
/// Links, routes, outages and random draws are those of a simulation of the same [`RunSpec`]. Time
/// never runs backwards; an earlier one is taken for the latest.
pub struct MeshDriver {
    mesh: Mesh,
    links: Vec<LinkState>,
    base_rtt: Span,
    now: Time,
    /// Deadlines of the network and of links, in order; and the deadline of each.
    deadlines: BTreeSet<(Time, usize)>,
    scheduled: Vec<Option<Time>>,
    /// Those of links to stations, from which packets leave the network.
    descents: BTreeSet<(Time, usize)>,
    /// Packets that have left.
    left: VecDeque<(Time, u32, PacketFate)>,
    error: Option<SimError>,
}

impl MeshDriver {
    /// Creates the network of `spec` at time zero. Path changes are not announced.
    ///
    /// # Errors
    /// `spec` has no satellite network, or one that cannot carry its flows.
    pub fn new(spec: &RunSpec) -> Result<Self, SimError> {
        let Some(mesh) = &spec.mesh else {
            return Err(SimError::Spec("the path has no satellite network".to_owned()));
        };
        let mesh = MeshSpec { path_change_notice: None, ..MeshSpec::clone(mesh) };
        let mut driver = Self {
            mesh: Mesh::new(spec, &mesh)?,
            links: Vec::new(),
            base_rtt: spec.base_rtt,
            now: Time::ZERO,
            deadlines: BTreeSet::new(),
            scheduled: Vec::new(),
            descents: BTreeSet::new(),
            left: VecDeque::new(),
            error: None,
        };
        driver.advance_network();
        Ok(driver)
    }

    /// Returns true if a queue tells flows apart by [`Packet::flow`].
    pub fn needs_flow(&self) -> bool {
        self.mesh.needs_flow()
    }

    /// Accepts packet `number` of flow `flow` at its client, or at its server if not `to_server`.
    pub fn enqueue(
        &mut self,
        now: Time,
        (number, flow, to_server): (u32, usize, bool),
        header: Packet<()>,
    ) {
        self.advance(now);
        let (from, to) = if to_server { (0, 1) } else { (1, 0) };
        let payload = PacketId::outside(number, flow as u32, to);
        let net_node = self.mesh.net_node(flow, from);
        self.forward(net_node, header.with_payload(payload));
    }

    /// Returns the time at which the next packet leaves, or an earlier time. `None` if none can
    /// leave before another enters, and routes never change.
    ///
    /// A packet at a satellite still has to reach the ground, so what happens there can be
    /// processed later, at the time when it happened. On the real clock, each deadline wakes a
    /// thread.
    pub fn next_deadline(&self) -> Option<Time> {
        if let Some((at, _, _)) = self.left.front() {
            return Some(*at);
        }
        let any = self.deadlines.first().map(|(at, _)| *at + LEAST_DESCENT);
        let descent = self.descents.first().map(|(at, _)| *at);
        any.into_iter().chain(descent).min()
    }

    /// Returns the next packet that left by `now`, with its time and number.
    pub fn poll(&mut self, now: Time) -> Option<(Time, u32, PacketFate)> {
        if self.left.is_empty() {
            self.advance(now);
        }
        self.left.pop_front()
    }

    /// Returns the packets and bytes in the queues of all links.
    pub fn waiting(&self) -> (u64, u64) {
        self.links.iter().fold((0, 0), |(packets, bytes), state| {
            (packets + state.link.queue_packets(), bytes + state.link.queue_bytes())
        })
    }

    /// Ends the run at `end`. `measured_from` is the start of the first measured visit.
    ///
    /// # Errors
    /// A satellite could not be propagated. Routes have not changed since.
    pub fn finish(
        mut self,
        measured_from: Option<Time>,
        end: Time,
    ) -> Result<MeshRecords, SimError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let end = end.max(self.now);
        self.links.iter_mut().for_each(|state| state.link.advance_to(end));
        let links = self.links.iter().map(|state| state.outcome(measured_from, end)).collect();
        let rtt = self.base_rtt;
        let traces = self
            .links
            .into_iter()
            .enumerate()
            .flat_map(|(link, state)| state.traces(rtt, end, || self.mesh.outages(link, end)));
        let traces = traces.collect();
        Ok(MeshRecords { links, traces, paths: self.mesh.into_paths() })
    }

    /// Processes all events up to `now`.
    fn advance(&mut self, now: Time) {
        while let Some(&(at, component)) = self.deadlines.first().filter(|(at, _)| *at <= now) {
            self.schedule(component, None);
            self.now = self.now.max(at);
            match component.checked_sub(1) {
                None => self.advance_network(),
                Some(link) => self.poll_link(link),
            }
        }
        self.now = self.now.max(now);
    }

    fn schedule(&mut self, component: usize, deadline: Option<Time>) {
        if component >= self.scheduled.len() {
            self.scheduled.resize(component + 1, None);
        }
        if self.scheduled[component] == deadline {
            return;
        }
        if let Some(before) = self.scheduled[component] {
            self.deadlines.remove(&(before, component));
            self.descents.remove(&(before, component));
        }
        self.scheduled[component] = deadline;
        let entry = deadline.map(|at| (at, component));
        self.deadlines.extend(entry);
        if self.descends(component) {
            self.descents.extend(entry);
        }
    }

    /// Returns true if `component` is a link to stations.
    fn descends(&self, component: usize) -> bool {
        let link = component.checked_sub(1).and_then(|index| self.links.get(index));
        let destination = link.and_then(|state| state.port_destinations.first());
        destination.is_some_and(|&node| self.mesh.is_station(node))
    }

    fn schedule_link(&mut self, index: usize) {
        let deadline = self.links[index].link.next_output();
        self.schedule(1 + index, deadline);
    }

    fn advance_network(&mut self) {
        let mut update = NetworkUpdate::default();
        if let Err(error) = self.mesh.act(self.now, &mut [], &mut self.links, &mut update) {
            self.error.get_or_insert(error);
            self.schedule(NETWORK, None);
            return;
        }
        for index in update.links {
            self.links[index].last = self.now;
            self.schedule_link(index);
        }
        for (packet_id, reason) in update.lost {
            self.lost(packet_id, reason, self.now);
        }
        for (net_node, packet) in update.forward {
            self.forward(net_node, packet);
        }
        self.schedule(NETWORK, self.mesh.deadline());
    }

    fn poll_link(&mut self, index: usize) {
        while let Some(event) = self.links[index].link.poll(self.now) {
            let state = &mut self.links[index];
            match event {
                Event::Delivered { packet, port, .. } => {
                    let net_node = state.count_delivered(self.now, port, &packet);
                    self.forward(net_node, packet);
                }
                Event::Lost { cause, at, packet, .. } => {
                    let reason = state.count_dropped(at, cause);
                    self.lost(packet.payload, reason, at);
                }
            }
        }
        self.links[index].polled(self.now);
        self.schedule_link(index);
    }

    fn forward(&mut self, net_node: u32, packet: Packet<PacketId>) {
        match self.mesh.next(self.now, net_node, packet, &mut self.links) {
            NextHop::Link(link, port) => self.enter(link, port, packet),
            NextHop::Waits => self.schedule(NETWORK, self.mesh.deadline()),
            NextHop::Lost(reason) => self.lost(packet.payload, reason, self.now),
            NextHop::Arrived(_) => {
                let fate = PacketFate::Arrived(packet.ecn);
                self.left.push_back((self.now, packet.payload.place(), fate));
            }
        }
    }

    fn enter(&mut self, index: usize, port: usize, mut packet: Packet<PacketId>) {
        packet.payload.count_hop();
        let dropped = self.links[index].offer(self.now, port, packet);
        self.schedule_link(index);
        if let Some((reason, packet)) = dropped {
            self.lost(packet.payload, reason, self.now);
        }
    }

    fn lost(&mut self, packet_id: PacketId, reason: LossReason, at: Time) {
        self.left.push_back((at, packet_id.place(), PacketFate::Lost(reason)));
    }
}
