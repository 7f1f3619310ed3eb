//! A path of hops one after the other: a chain that all flows share, or branches of it by terminal.

use crate::checks::{self, LinkAccount, VisitAccount};
use crate::datagram::Way;
use crate::error::SimError;
use crate::flow::Flow;
use crate::links::LinkState;
use crate::lost::Lost;
use crate::net::{Moved, Net, Next};
use crate::outcome::{FlowOutcome, PathTrace};
use crate::parcels::{Parcel, Parcels};
use crate::recorder::LinkRecorder;
use crate::spec::RunSpec;
use bentpipe_link::{LinkContext, Packet};
use bentpipe_units::{Span, Time};
use std::ops::Range;

/// The hops of a run.
pub struct Chain {
    /// The links of each terminal's path.
    routes: Vec<Routes>,
    /// The terminal of each flow, and the hops over which it samples round trips.
    flows: Vec<(usize, Range<usize>)>,
}

/// The links of one terminal's path by hop, each with the port it uses.
#[derive(Default)]
struct Routes {
    up: Vec<(usize, usize)>,
    down: Vec<(usize, usize)>,
}

impl Routes {
    /// The link that leaves `node` on `way`.
    fn from(&self, node: u32, way: Way) -> Option<(usize, usize)> {
        match way {
            Way::Up => self.up.get(node as usize).copied(),
            Way::Down => self.down.get((node as usize).checked_sub(1)?).copied(),
        }
    }
}

impl Chain {
    /// The hops of `spec`, and their links.
    pub fn new(spec: &RunSpec) -> Result<(Self, Vec<LinkState>), SimError> {
        if spec.hops.is_empty() {
            return Err(SimError::Spec("a path needs at least one hop".to_owned()));
        }
        if u16::try_from(spec.hops.len()).is_err() {
            return Err(SimError::Spec(format!("{} hops; allowed: 65,535", spec.hops.len())));
        }
        if let Some(hop) = &spec.capture
            && !spec.hops.iter().any(|candidate| &candidate.name == hop)
        {
            let names: Vec<&str> = spec.hops.iter().map(|hop| hop.name.as_str()).collect();
            return Err(SimError::Spec(format!("no hop `{hop}` to capture; allowed: {}", names.join(", "))));
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
        let mut routes: Vec<Routes> = (0..terminals).map(|_| Routes::default()).collect();
        for (place, hop) in (0u32..).zip(&spec.hops) {
            let captured = spec.capture.as_deref() == Some(&hop.name);
            let copies = if hop.shared { 1 } else { terminals };
            let ports = if hop.shared { terminals } else { 1 };
            for copy in 0..copies {
                for (direction, model, interface) in [("forward", &hop.forward, 0), ("return", &hop.reverse, 1)] {
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
                    let context =
                        LinkContext { rtt: spec.base_rtt, seed: spec.seed, run: spec.run, name: name.clone() };
                    let end = if direction == "forward" { place } else { place + 1 };
                    let mut state = LinkState::new(name, model.clone(), context, vec![end; ports]);
                    state.recorder = spec.trace.then(LinkRecorder::default);
                    state.captured = captured.then_some(interface);
                    links.push(state);
                }
            }
        }
        let sampled = |flow: &crate::spec::FlowSpec| checks::sampled_hops(&flow.stack, spec.hops.len());
        let flows = spec.flows.iter().map(|flow| (flow.terminal, sampled(flow))).collect();
        Ok((Self { routes, flows }, links))
    }
}

impl Net for Chain {
    /// Links are woken whenever a transmission ends: results of old are in that order where times are equal.
    const LAZY: bool = false;

    fn place(&self, _flow: usize, node: u16) -> u32 {
        node.into()
    }

    fn passes(&self, place: u32) -> Option<u16> {
        Some(place as u16)
    }

    fn next(
        &mut self,
        _now: Time,
        place: u32,
        packet: &Packet<Parcel>,
        parcels: &mut Parcels,
        _links: &mut Vec<LinkState>,
    ) -> Next {
        let datagram = parcels.get(packet.payload);
        if u32::from(datagram.to) == place {
            return Next::Arrived(datagram.to);
        }
        let (terminal, _) = self.flows[datagram.flow as usize];
        match self.routes[terminal].from(place, datagram.way) {
            Some((link, port)) => Next::Link(link, port),
            None => Next::Lost(Lost::NoRoute),
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn act(
        &mut self,
        _now: Time,
        _flows: &mut [Box<dyn Flow>],
        _links: &mut [LinkState],
        _moved: &mut Moved,
    ) -> Result<(), SimError> {
        Ok(())
    }

    fn account<'a>(&self, flow: usize, outcome: &'a FlowOutcome, links: &'a [LinkAccount<'a>]) -> VisitAccount<'a> {
        let (terminal, sampled) = &self.flows[flow];
        let Routes { up, down } = &self.routes[*terminal];
        let of = |route: &[(usize, usize)]| route.iter().map(|&(link, _)| &links[link]).collect();
        VisitAccount { outcome, up: of(up), down: of(down), sampled: sampled.clone(), beeline: Span::ZERO }
    }

    fn into_paths(self) -> Vec<PathTrace> {
        Vec::new()
    }
}
