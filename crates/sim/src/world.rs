//! The network of a run and the loop that moves it from event to event.

use crate::agenda::{Agenda, Component};
use crate::capture::Capture;
use crate::checks::{self, Crossings, LinkAccount, VisitAccount};
use crate::datagram::{Datagram, Way};
use crate::error::SimError;
use crate::flow::{self, Flow, Shared};
use crate::hosts::Hosts;
use crate::outcome::{FlowOutcome, LinkOutcome, LinkTrace, RunOutcome, RunTrace};
use crate::parcels::{Parcel, Parcels};
use crate::recorder::LinkRecorder;
use crate::spec::{FlowSpec, RunSpec, Stack};
use bentpipe_link::{DirectionModel, Enqueue, Event, Link, LinkContext, Packet, random};
use bentpipe_quic::tls::{self, SecretLog};
use bentpipe_quic::{Clock, EpochClock};
use bentpipe_units::{Span, Time};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wall time at which simulated runs begin, seconds after 1970: 1 January 2026. Tickets and tokens are dated with it.
const EPOCH_UNIX_SECS: u64 = 1_767_225_600;
/// Events between two looks at the stop flag.
const STOP_CHECK: u64 = 4096;

/// Runs `spec` to its end.
///
/// Deterministic: the outcome depends on `spec` alone. Does no I/O.
///
/// # Errors
/// Settings that cannot be, or `stop` was set ([`SimError::Interrupted`]).
pub fn run(spec: &RunSpec, stop: &AtomicBool) -> Result<RunOutcome, SimError> {
    World::new(spec)?.run(stop)
}

struct World {
    shared: Shared,
    now: Time,
    agenda: Agenda,
    links: Vec<LinkState>,
    parcels: Parcels,
    flows: Vec<Box<dyn Flow>>,
    /// The links of each terminal's path.
    routes: Vec<Routes>,
    /// The nodes of the path at which each flow's client and server are.
    ends: Vec<(u16, u16)>,
    /// What has crossed the links, counted for the checks at the end.
    crossings: Crossings,
    capture: Option<Capture>,
    base_rtt: Span,
    /// When the first reported visit began: utilisation counts from there, not from visits that only prime.
    measured_from: Option<Time>,
    events: u64,
}

struct LinkState {
    name: String,
    model: DirectionModel,
    link: Link<Parcel>,
    /// The node at its end.
    leads_to: u16,
    recorder: Option<LinkRecorder>,
    /// Which interface of the capture sees what enters this link.
    captured: Option<u32>,
    /// Time spent transmitting before the first reported visit began.
    busy_before: Span,
    last: Time,
    /// When its first packet came.
    first_in: Option<Time>,
    /// When its last packet left.
    last_out: Time,
}

impl LinkState {
    /// What the checks want to know of it when the run ends; `crossed`: bytes that have left it, by flows.
    fn account(&self, crossed: u64, end: Time) -> LinkAccount<'_> {
        LinkAccount {
            name: &self.name,
            model: &self.model,
            counters: *self.link.counters(),
            queue: self.link.queue_time(end),
            held: self.link.held(),
            first_in: self.first_in,
            last_out: self.last_out,
            crossed,
        }
    }
}

/// The links of one terminal's path by hop, each with the port it uses.
#[derive(Default)]
struct Routes {
    up: Vec<(usize, usize)>,
    down: Vec<(usize, usize)>,
}

impl Routes {
    /// The link that leaves `node` on `way`.
    fn from(&self, node: u16, way: Way) -> Option<(usize, usize)> {
        match way {
            Way::Up => self.up.get(usize::from(node)).copied(),
            Way::Down => self.down.get(usize::from(node).checked_sub(1)?).copied(),
        }
    }
}

/// The nodes of a path at which the ends of `flow` are: those of the path, or others between them.
fn path_ends(flow: &FlowSpec, last_node: u16) -> Result<(u16, u16), SimError> {
    let Some((client, server)) = flow.ends else { return Ok((0, last_node)) };
    let wrong = |what: &str| {
        let FlowSpec { name, .. } = flow;
        SimError::Spec(format!("flow `{name}` goes from node {client} to {server}; {what}"))
    };
    if matches!(&flow.stack, Stack::Tcp(stack) if stack.pep.is_some()) {
        return Err(wrong("allowed with a proxy: the whole path"));
    }
    match (u16::try_from(client), u16::try_from(server)) {
        (Ok(client), Ok(server)) if client < server && server <= last_node => Ok((client, server)),
        _ => Err(wrong(&format!("allowed: from a node to a later one, 0 to {last_node}"))),
    }
}

impl World {
    fn new(spec: &RunSpec) -> Result<Self, SimError> {
        if spec.hops.is_empty() {
            return Err(SimError::Spec("a path needs at least one hop".to_owned()));
        }
        let last_node = u16::try_from(spec.hops.len())
            .map_err(|_| SimError::Spec(format!("{} hops; allowed: 65,535", spec.hops.len())))?;
        if let Some(hop) = &spec.capture
            && !spec.hops.iter().any(|candidate| &candidate.name == hop)
        {
            let names: Vec<&str> = spec.hops.iter().map(|hop| hop.name.as_str()).collect();
            return Err(SimError::Spec(format!("no hop `{hop}` to capture; allowed: {}", names.join(", "))));
        }
        let mut seed = [0; 16];
        rand_core::Rng::fill_bytes(&mut random::stream(spec.seed, spec.run, "tls"), &mut seed);
        tls::seed_this_thread(seed);
        let epoch = EpochClock::new(EPOCH_UNIX_SECS);
        let shared = Shared {
            clock: Clock::new(),
            trace: spec.trace,
            qlog: spec.qlog,
            secrets: spec.capture.is_some().then(SecretLog::default),
            seed: (spec.seed, spec.run),
            time_limit: spec.time_limit,
            hosts: Hosts::new(epoch.clone(), (spec.seed, spec.run)),
            epoch,
            last_node,
        };
        let terminals = spec.terminals.max(1);
        let mut links: Vec<LinkState> = Vec::new();
        let mut routes: Vec<Routes> = (0..terminals).map(|_| Routes::default()).collect();
        for (place, hop) in (0u16..).zip(&spec.hops) {
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
                    links.push(LinkState {
                        link: Link::new(model, &context, ports),
                        model: model.clone(),
                        leads_to: if direction == "forward" { place } else { place + 1 },
                        recorder: spec.trace.then(LinkRecorder::default),
                        captured: captured.then_some(interface),
                        name,
                        busy_before: Span::ZERO,
                        last: Time::ZERO,
                        first_in: None,
                        last_out: Time::ZERO,
                    });
                }
            }
        }
        let mut flows = Vec::with_capacity(spec.flows.len());
        let mut ends = Vec::with_capacity(spec.flows.len());
        for (index, flow) in spec.flows.iter().enumerate() {
            if flow.terminal >= terminals {
                return Err(SimError::Spec(format!(
                    "flow `{}` is at terminal {}; allowed: 0 to {}",
                    flow.name,
                    flow.terminal,
                    terminals - 1
                )));
            }
            ends.push(path_ends(flow, last_node)?);
            flows.push(flow::new(flow.clone(), index, &shared)?);
        }
        let capture = spec.capture.as_ref().map(|hop| Capture::new(hop));
        let components = links.len() + (usize::from(last_node) + 2) * flows.len();
        if components > Agenda::MOST {
            let reason = format!("{components} links and nodes of flows; allowed: {}", Agenda::MOST);
            return Err(SimError::Spec(reason));
        }
        let agenda = Agenda::new(components);
        Ok(Self {
            shared,
            now: Time::ZERO,
            agenda,
            links,
            parcels: Parcels::default(),
            flows,
            routes,
            ends,
            crossings: Crossings::new(spec.flows.len(), spec.hops.len()),
            capture,
            base_rtt: spec.base_rtt,
            measured_from: None,
            events: 0,
        })
    }

    /// Components of one flow: its nodes, and the flow itself, which begins and ends visits.
    fn components_per_flow(&self) -> usize {
        usize::from(self.shared.last_node) + 2
    }

    fn node(&self, flow: usize, node: u16) -> Component {
        (self.links.len() + self.components_per_flow() * flow + usize::from(node)) as Component
    }

    fn actor(&self, flow: usize) -> Component {
        self.node(flow, self.shared.last_node + 1)
    }

    fn run(mut self, stop: &AtomicBool) -> Result<RunOutcome, SimError> {
        for flow in 0..self.flows.len() {
            self.agenda.schedule(self.actor(flow), self.flows[flow].next_deadline());
        }
        let mut unfinished = self.flows.iter().filter(|flow| !flow.course().is_over()).count();
        while unfinished > 0 {
            let Some((now, component)) = self.agenda.pop() else { break };
            debug_assert!(now >= self.now, "time ran backwards");
            self.now = now;
            self.events += 1;
            if self.events.is_multiple_of(STOP_CHECK) && stop.load(Ordering::Relaxed) {
                return Err(SimError::Interrupted);
            }
            let component = component as usize;
            if component < self.links.len() {
                self.poll_link(component);
                continue;
            }
            let per_flow = self.components_per_flow();
            let (flow, part) = ((component - self.links.len()) / per_flow, (component - self.links.len()) % per_flow);
            let is_actor = part > usize::from(self.shared.last_node);
            if !is_actor {
                let node = part as u16;
                self.flows[flow].wake(now, node);
                self.flush(flow, node);
            }
            if (is_actor || self.flows[flow].course().visit_is_over()) && self.act(flow)? {
                unfinished -= 1;
            }
            self.agenda.schedule(self.actor(flow), self.flows[flow].next_deadline());
        }
        self.finish()
    }

    /// Lets a flow begin or end a visit. True where the flow is over now and was not before.
    fn act(&mut self, flow: usize) -> Result<bool, SimError> {
        let was_over = self.flows[flow].course().is_over();
        self.shared.epoch.set(self.now);
        self.flows[flow].act(self.now, &self.shared)?;
        if self.measured_from.is_none() && self.flows[flow].course().is_reporting() {
            self.measured_from = Some(self.now);
            for state in &mut self.links {
                state.busy_before = state.link.counters().busy;
            }
        }
        // Either end may begin: a server that sends datagrams is asked by nobody.
        self.flush(flow, 0);
        self.flush(flow, self.shared.last_node);
        Ok(!was_over && self.flows[flow].course().is_over())
    }

    /// Moves on what is due at a link: to the next link, or to the host at the end.
    fn poll_link(&mut self, index: usize) {
        while let Some(event) = self.links[index].link.poll(self.now) {
            match event {
                Event::Delivered { packet, .. } => {
                    let state = &mut self.links[index];
                    state.last_out = self.now;
                    if let Some(recorder) = &mut state.recorder {
                        recorder.delivered(self.now, packet.bytes);
                    }
                    let &Datagram { flow, way, .. } = self.parcels.get(packet.payload);
                    let hop = usize::from(state.leads_to) - usize::from(way == Way::Up);
                    self.crossings.add(flow as usize, hop, way, packet.bytes);
                    self.forward(index, packet);
                }
                Event::Lost { cause, at, packet, .. } => {
                    if let Some(recorder) = &mut self.links[index].recorder {
                        recorder.dropped(at, cause);
                    }
                    self.lost(packet.payload, cause, at);
                }
            }
        }
        let state = &mut self.links[index];
        state.last = self.now;
        if let Some(recorder) = &mut state.recorder {
            recorder.queue(self.now, state.link.queue_bytes());
        }
        self.agenda.schedule(index as Component, state.link.next_deadline());
    }

    fn lost(&mut self, parcel: Parcel, cause: bentpipe_link::DropCause, at: Time) {
        let &Datagram { flow, way, visit, position, .. } = self.parcels.get(parcel);
        self.parcels.remove(parcel);
        self.flows[flow as usize].course_mut().count_lost(way, visit, cause, position, at, self.shared.trace);
    }

    /// Hands a packet that has left link `index` to whom it is for, or to the next link.
    fn forward(&mut self, index: usize, packet: Packet<Parcel>) {
        let node = self.links[index].leads_to;
        let datagram = self.parcels.get_mut(packet.payload);
        let index = datagram.flow as usize;
        let flow = &mut self.flows[index];
        let (client, server) = self.ends[index];
        let last_node = self.shared.last_node;
        // A flow knows its ends as the first and the last node, wherever on the path they are.
        let node = match datagram.way {
            Way::Down if node == client && datagram.to == 0 => 0,
            Way::Up if node == server && datagram.to == last_node => last_node,
            _ => node,
        };
        if datagram.to != node {
            let route = &self.routes[flow.course().terminal()];
            match route.from(node, datagram.way).filter(|_| flow.pass(self.now, node, datagram)) {
                Some((link, port)) => self.enter(link, port, packet),
                None => {
                    self.parcels.remove(packet.payload);
                    self.flush(index, node);
                }
            }
            return;
        }
        flow.deliver(self.now, node, packet.ecn, datagram);
        self.parcels.remove(packet.payload);
        let over = flow.course().visit_is_over();
        self.flush(index, node);
        // The flow acts once this link has been polled: it may end the visit and begin the next.
        let deadline = if over { Some(self.now) } else { self.flows[index].next_deadline() };
        self.agenda.schedule(self.actor(index), deadline);
    }

    /// Puts a packet into a link.
    fn enter(&mut self, index: usize, port: usize, packet: Packet<Parcel>) {
        let now = self.now;
        let state = &mut self.links[index];
        state.last = now;
        state.first_in.get_or_insert(now);
        if let (Some(capture), Some(interface)) = (&mut self.capture, state.captured) {
            let datagram = self.parcels.get(packet.payload);
            let terminal = self.flows[datagram.flow as usize].course().terminal();
            capture.packet(
                now,
                interface,
                terminal,
                &Packet { bytes: packet.bytes, ecn: packet.ecn, payload: datagram },
            );
        }
        let dropped = state.link.enqueue(now, port, packet);
        if let Some(recorder) = &mut state.recorder {
            recorder.queue(now, state.link.queue_bytes());
        }
        self.agenda.schedule(index as Component, state.link.next_deadline());
        if let Enqueue::Dropped(cause, packet) = dropped {
            if let Some(recorder) = &mut self.links[index].recorder {
                recorder.dropped(now, cause);
            }
            self.lost(packet.payload, cause, now);
        }
    }

    /// Sends what a flow wants to send at `node`, and notes when it wants to be woken there.
    fn flush(&mut self, flow: usize, node: u16) {
        while let Some((way, packet)) = self.flows[flow].poll_transmit(self.now, node, &mut self.parcels) {
            let route = &self.routes[self.flows[flow].course().terminal()];
            let (client, server) = self.ends[flow];
            let place = match node {
                0 => client,
                node if node == self.shared.last_node => server,
                node => node,
            };
            match route.from(place, way) {
                Some((link, port)) => self.enter(link, port, packet),
                None => self.parcels.remove(packet.payload),
            }
        }
        let timeout = self.flows[flow].next_timeout(node);
        self.agenda.schedule(self.node(flow, node), timeout);
    }

    /// Fails where what was found cannot be. `paths` has each visit's terminal, the hops that it crosses, and of those the ones over which it sampled round trips.
    fn check(
        &self,
        crossed: &[u64],
        visits: &[FlowOutcome],
        paths: Vec<(usize, Range<usize>, Range<usize>)>,
    ) -> Result<(), SimError> {
        let end = self.now;
        let links: Vec<LinkAccount<'_>> =
            self.links.iter().zip(crossed).map(|(state, &crossed)| state.account(crossed, end)).collect();
        let of = |route: &[(usize, usize)], crossed: &Range<usize>| {
            route.get(crossed.clone()).unwrap_or_default().iter().map(|&(link, _)| &links[link]).collect()
        };
        let visits: Vec<VisitAccount<'_>> = visits
            .iter()
            .zip(paths)
            .map(|(outcome, (terminal, crossed, sampled))| {
                let Routes { up, down } = &self.routes[terminal];
                VisitAccount { outcome, up: of(up, &crossed), down: of(down, &crossed), sampled }
            })
            .collect();
        checks::run(&links, &visits, end)
    }

    fn finish(mut self) -> Result<RunOutcome, SimError> {
        let mut crossed = vec![0; self.links.len()];
        let mut carried: Vec<Vec<(usize, u64)>> = vec![Vec::new(); self.links.len()];
        let mut paths = Vec::new();
        let mut flows = Vec::new();
        let mut flow_traces = Vec::new();
        let mut qlog = Vec::new();
        for (index, flow) in std::mem::take(&mut self.flows).into_iter().enumerate() {
            let terminal = flow.course().terminal();
            let Routes { up, down } = &self.routes[terminal];
            for (hop, (up, down)) in up.iter().zip(down).enumerate() {
                for (link, way) in [(up.0, Way::Up), (down.0, Way::Down)] {
                    let bytes = self.crossings.of(index, hop, way);
                    crossed[link] += bytes;
                    carried[link].extend((bytes > 0).then_some((index, bytes)));
                }
            }
            let hops = usize::from(self.ends[index].0)..usize::from(self.ends[index].1);
            let sampled = checks::sampled_hops(&flow.course().spec.stack, hops.len());
            let results = flow.into_results();
            paths.extend(results.outcomes.iter().map(|_| (terminal, hops.clone(), sampled.clone())));
            flows.extend(results.outcomes);
            flow_traces.extend(results.traces);
            qlog.extend(results.qlog);
        }
        self.check(&crossed, &flows, paths)?;
        let mut links = Vec::with_capacity(self.links.len());
        let mut link_traces = Vec::new();
        for (index, state) in self.links.into_iter().enumerate() {
            let counters = *state.link.counters();
            let active = self.measured_from.map_or(Span::ZERO, |from| state.last.since(from));
            let busy = counters.busy.saturating_sub(state.busy_before);
            let utilisation = if active.is_zero() { 0.0 } else { busy.as_secs_f64() / active.as_secs_f64() };
            let waits = state.link.queue_time(self.now);
            let waited = waits.waited_packets / u128::from(counters.packets_in.max(1));
            links.push(LinkOutcome {
                name: state.name.clone(),
                counters,
                utilisation,
                queue_mean: Span::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX)),
                carried: carried[index].clone(),
            });
            if let Some(recorder) = state.recorder {
                link_traces.push(LinkTrace {
                    name: state.name,
                    rate: state.model.constant_rate(),
                    queue_limit: state.model.queue_limit_bytes(self.base_rtt),
                    series: recorder.series(),
                });
            }
        }
        let capture = match self.capture {
            Some(capture) => {
                let secrets = self.shared.secrets.map(|secrets| secrets.text()).unwrap_or_default();
                Some(capture.finish(&secrets).map_err(SimError::Capture)?)
            }
            None => None,
        };
        Ok(RunOutcome {
            flows,
            links,
            trace: self.shared.trace.then_some(RunTrace { flows: flow_traces, links: link_traces, paths: Vec::new() }),
            qlog,
            capture,
            events: self.events,
            end: self.now,
        })
    }
}
