//! A path of hops in series, shared by all flows or branching by terminal.

use crate::checks::{self, LinkAudit, NodeEffects, VisitAudit};
use crate::datagram::PathDirection;
use crate::error::SimError;
use crate::flow::Flow;
use crate::link_state::{CapturedLink, LinkState};
use crate::loss_reason::LossReason;
use crate::outcome::FlowOutcome;
use crate::packet_arena::PacketId;
use crate::packet_network::{NetworkUpdate, NextHop, PacketNetwork};
use crate::spec::{CapturePoint, FlowSpec, HopEnd, RunSpec};
use bentpipe_link::{LinkContext, Packet};
use bentpipe_quic::congestion::PathChangeNotice;
use bentpipe_timeseries::RouteChange;
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// The hops of a run.
pub struct HopPath {
    /// The links of each terminal's path.
    routes: Vec<TerminalLinks>,
    flows: Vec<FlowLocation>,
    /// Number by which flows address the server's node.
    last_node: u16,
    /// Notices that senders have not got yet.
    path_changes: VecDeque<(Time, PathChangeNotice)>,
}

/// Location of a flow on the path.
struct FlowLocation {
    terminal: usize,
    /// Nodes of its client and its server.
    client: u32,
    server: u32,
    /// Hops over which it samples RTTs.
    sampled: Range<usize>,
}

/// The links of one terminal's path by hop, each with its port.
#[derive(Default)]
struct TerminalLinks {
    up: Vec<(usize, usize)>,
    down: Vec<(usize, usize)>,
}

impl TerminalLinks {
    /// Returns the link that leaves `node` in direction `toward`.
    fn from(&self, node: u32, toward: PathDirection) -> Option<(usize, usize)> {
        match toward {
            PathDirection::ToServer => self.up.get(node as usize).copied(),
            PathDirection::ToClient => self.down.get((node as usize).checked_sub(1)?).copied(),
        }
    }
}

impl HopPath {
    /// Builds the hops of `spec` and their links.
    pub fn new(spec: &RunSpec) -> Result<(Self, Vec<LinkState>), SimError> {
        if spec.hops.is_empty() {
            return Err(SimError::Spec("the path has no hops; allowed: at least one".to_owned()));
        }
        if u16::try_from(spec.hops.len()).is_err() {
            return Err(SimError::Spec(format!("{} hops; allowed: 65,535", spec.hops.len())));
        }
        if let Some(CapturePoint { hop, .. }) = &spec.capture
            && !spec.hops.iter().any(|candidate| &candidate.name == hop)
        {
            let names: Vec<&str> = spec.hops.iter().map(|hop| hop.name.as_str()).collect();
            return Err(SimError::Spec(format!(
                "no hop is named `{hop}`, which is to be captured; allowed: {}",
                names.join(", ")
            )));
        }
        let terminals = spec.terminals.max(1);
        if let Some(flow) = spec.flows.iter().find(|flow| flow.terminal >= terminals) {
            return Err(SimError::Spec(format!(
                "flow `{}` is at terminal {}; allowed: 0 to {}",
                flow.name,
                flow.terminal,
                terminals - 1
            )));
        }
        let mut links: Vec<LinkState> = Vec::new();
        let mut routes: Vec<TerminalLinks> =
            (0..terminals).map(|_| TerminalLinks::default()).collect();
        for (net_node, hop) in (0u32..).zip(&spec.hops) {
            let captured = spec.capture.as_ref().filter(|point| point.hop == hop.name);
            let copies = if hop.shared { 1 } else { terminals };
            let ports = if hop.shared { terminals } else { 1 };
            for copy in 0..copies {
                for (direction, model, interface) in
                    [("forward", &hop.forward, 0), ("return", &hop.reverse, 1)]
                {
                    let mut name = format!("{}/{direction}", hop.name);
                    if !hop.shared {
                        name = format!("{name}#{copy}");
                    }
                    let index = links.len();
                    for (terminal, route) in routes.iter_mut().enumerate() {
                        let port = if hop.shared { terminal } else { 0 };
                        match direction {
                            _ if !hop.shared && terminal != copy => {}
                            "forward" => route.down.push((index, port)),
                            _ => route.up.push((index, port)),
                        }
                    }
                    let context = LinkContext {
                        rtt: spec.base_rtt,
                        seed: spec.seed,
                        run: spec.run,
                        name: name.clone(),
                    };
                    let end = if direction == "forward" { net_node } else { net_node + 1 };
                    let mut state = LinkState::new(name, model.clone(), context, vec![end; ports]);
                    if let Some(limit) = spec.trace {
                        state.record(limit);
                    }
                    state.captured = captured.map(|point| CapturedLink {
                        interface,
                        entrance: (direction == "forward") == (point.end == HopEnd::Server),
                    });
                    links.push(state);
                }
            }
        }
        let last_node = spec.hops.len() as u16;
        let flows = spec
            .flows
            .iter()
            .map(|flow| flow_location(flow, last_node))
            .collect::<Result<_, _>>()?;
        let path_changes = spec.path_changes.iter().copied().collect();
        Ok((Self { routes, flows, last_node, path_changes }, links))
    }
}

impl HopPath {
    /// Returns the links of a hop by terminal: towards the server and towards the client, each with
    /// the terminal's port.
    pub fn links_of_hop(&self, hop: usize) -> Vec<[(usize, usize); 2]> {
        self.routes.iter().map(|route| [route.up[hop], route.down[hop]]).collect()
    }
}

/// Returns the location of `flow`: at the ends of the path, or between them.
fn flow_location(flow: &FlowSpec, last_node: u16) -> Result<FlowLocation, SimError> {
    let (client, server) = flow.ends.unwrap_or((0, last_node.into()));
    let wrong = |what: &str| {
        SimError::Spec(format!("flow `{}` goes from node {client} to {server}; {what}", flow.name))
    };
    if flow.ends.is_some() && flow.stack.pep().is_some() {
        return Err(wrong("allowed with a proxy: the whole path"));
    }
    if client >= server || server > usize::from(last_node) {
        return Err(wrong(&format!("allowed: from a node to a later one, 0 to {last_node}")));
    }
    let sampled = checks::sampled_hops(&flow.stack, server - client);
    Ok(FlowLocation {
        terminal: flow.terminal,
        client: client as u32,
        server: server as u32,
        sampled,
    })
}

impl PacketNetwork for HopPath {
    /// Wakes links at the end of each transmission, because the order of events at equal times is
    /// part of the results.
    const LAZY: bool = false;

    fn net_node(&self, flow: usize, node: u16) -> u32 {
        let net_node = &self.flows[flow];
        match node {
            0 => net_node.client,
            node if node == self.last_node => net_node.server,
            node => node.into(),
        }
    }

    fn passes(&self, net_node: u32) -> Option<u16> {
        Some(net_node as u16)
    }

    fn next(
        &mut self,
        _now: Time,
        net_node: u32,
        packet: Packet<PacketId>,
        _links: &mut Vec<LinkState>,
    ) -> NextHop {
        let PacketId { flow, to, toward, .. } = packet.payload;
        let flow = flow as usize;
        if self.net_node(flow, to) == net_node {
            return NextHop::Arrived(to);
        }
        match self.routes[self.flows[flow].terminal].from(net_node, toward) {
            Some((link, port)) => NextHop::Link(link, port),
            None => NextHop::Lost(LossReason::NoRoute),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.path_changes.front().map(|(known, _)| *known)
    }

    fn act(
        &mut self,
        now: Time,
        flows: &mut [Flow],
        _links: &mut [LinkState],
        _moved: &mut NetworkUpdate,
    ) -> Result<(), SimError> {
        while let Some((known, notice)) = self.path_changes.front()
            && *known <= now
        {
            for flow in flows.iter() {
                flow.progress().path_changes.announce(*notice);
            }
            self.path_changes.pop_front();
        }
        Ok(())
    }

    fn account<'a>(
        &self,
        flow: usize,
        outcome: &'a FlowOutcome,
        links: &'a [LinkAudit<'a>],
    ) -> VisitAudit<'a> {
        let FlowLocation { terminal, client, server, sampled } = &self.flows[flow];
        let TerminalLinks { up, down } = &self.routes[*terminal];
        let crossed = *client as usize..*server as usize;
        let of = |route: &[(usize, usize)]| {
            route
                .get(crossed.clone())
                .unwrap_or_default()
                .iter()
                .map(|&(link, _)| &links[link])
                .collect()
        };
        VisitAudit {
            outcome,
            up: of(up),
            down: of(down),
            sampled: sampled.clone(),
            light_time: Span::ZERO,
            nodes: NodeEffects::default(),
        }
    }

    fn outages(&self, _link: usize, _end: Time) -> Vec<(Time, Time)> {
        Vec::new()
    }

    fn into_paths(self) -> Vec<RouteChange> {
        Vec::new()
    }
}
