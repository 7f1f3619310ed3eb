//! The network of a run and the loop that moves it from event to event.

use crate::agenda::{Agenda, Component};
use crate::capture::Capture;
use crate::datagram::{Address, Datagram, Side, ecn_from_link, ecn_to_link};
use crate::error::SimError;
use crate::flow::{Flow, Shared};
use crate::hosts::Hosts;
use crate::outcome::{LinkOutcome, LinkTrace, RunOutcome, RunTrace};
use crate::recorder::LinkRecorder;
use crate::spec::RunSpec;
use bentpipe_link::{DirectionModel, Enqueue, Event, Link, LinkContext, Packet, random};
use bentpipe_quic::tls::{self, SecretLog};
use bentpipe_quic::{Clock, EpochClock, IP_UDP_HEADER};
use bentpipe_units::{Span, Time};
use bytes::BytesMut;
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
    flows: Vec<Flow>,
    /// Links from client to server and back, for each terminal.
    routes: Vec<Routes>,
    capture: Option<Capture>,
    buffer: Vec<u8>,
    base_rtt: Span,
    /// When the first reported visit began: utilisation counts from there, not from visits that only prime.
    measured_from: Option<Time>,
    events: u64,
}

struct LinkState {
    name: String,
    model: DirectionModel,
    link: Link<Datagram>,
    recorder: Option<LinkRecorder>,
    /// Which interface of the capture sees what enters this link.
    captured: Option<u32>,
    /// Time spent transmitting before the first reported visit began.
    busy_before: Span,
    last: Time,
}

/// The links that one terminal's packets pass, in order, each with the port they use.
struct Routes {
    up: Vec<(usize, usize)>,
    down: Vec<(usize, usize)>,
}

impl World {
    fn new(spec: &RunSpec) -> Result<Self, SimError> {
        if spec.hops.is_empty() {
            return Err(SimError::Spec("a path needs at least one hop".to_owned()));
        }
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
        };
        let terminals = spec.terminals.max(1);
        let mut links: Vec<LinkState> = Vec::new();
        let mut routes: Vec<Routes> = (0..terminals).map(|_| Routes { up: Vec::new(), down: Vec::new() }).collect();
        for hop in &spec.hops {
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
                            "forward" => route.down.insert(0, (index, port)),
                            _ => route.up.push((index, port)),
                        }
                    }
                    let context =
                        LinkContext { rtt: spec.base_rtt, seed: spec.seed, run: spec.run, name: name.clone() };
                    links.push(LinkState {
                        link: Link::new(model, &context, ports),
                        model: model.clone(),
                        recorder: spec.trace.then(LinkRecorder::default),
                        captured: captured.then_some(interface),
                        name,
                        busy_before: Span::ZERO,
                        last: Time::ZERO,
                    });
                }
            }
        }
        let mut flows = Vec::with_capacity(spec.flows.len());
        for (index, flow) in spec.flows.iter().enumerate() {
            if flow.terminal >= terminals {
                return Err(SimError::Spec(format!(
                    "flow `{}` is at terminal {}; allowed: 0 to {}",
                    flow.name,
                    flow.terminal,
                    terminals - 1
                )));
            }
            flows.push(Flow::new(flow.clone(), index, &shared)?);
        }
        let capture = spec.capture.as_ref().map(|hop| Capture::new(hop));
        let agenda = Agenda::new(links.len() + 3 * flows.len());
        Ok(Self {
            shared,
            now: Time::ZERO,
            agenda,
            links,
            flows,
            routes,
            capture,
            buffer: Vec::new(),
            base_rtt: spec.base_rtt,
            measured_from: None,
            events: 0,
        })
    }

    fn host(&self, address: Address) -> Component {
        (self.links.len() + 3 * address.flow + usize::from(address.side == Side::Server)) as Component
    }

    fn actor(&self, flow: usize) -> Component {
        (self.links.len() + 3 * flow + 2) as Component
    }

    fn run(mut self, stop: &AtomicBool) -> Result<RunOutcome, SimError> {
        for flow in 0..self.flows.len() {
            self.agenda.schedule(self.actor(flow), self.flows[flow].next_deadline());
        }
        let mut unfinished = self.flows.iter().filter(|flow| !flow.is_over()).count();
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
            let (flow, part) = ((component - self.links.len()) / 3, (component - self.links.len()) % 3);
            match part {
                0 | 1 => {
                    let side = if part == 0 { Side::Client } else { Side::Server };
                    self.shared.epoch.set(now);
                    self.flows[flow].endpoint(side).handle_timeout(now);
                    self.flush(Address { flow, side });
                }
                _ => {}
            }
            if self.act(flow)? {
                unfinished -= 1;
            }
            if part == 2 {
                self.agenda.schedule(component as Component, self.flows[flow].next_deadline());
            }
        }
        self.finish()
    }

    /// Lets a flow begin or end a visit. True where the flow is over now and was not before.
    fn act(&mut self, flow: usize) -> Result<bool, SimError> {
        let was_over = self.flows[flow].is_over();
        let before = self.flows[flow].next_deadline();
        self.shared.epoch.set(self.now);
        self.flows[flow].act(self.now, &self.shared)?;
        if self.measured_from.is_none() && self.flows[flow].is_reporting() {
            self.measured_from = Some(self.now);
            for state in &mut self.links {
                state.busy_before = state.link.counters().busy;
            }
        }
        if self.flows[flow].next_deadline() != before {
            self.agenda.schedule(self.actor(flow), self.flows[flow].next_deadline());
            self.flush(Address { flow, side: Side::Client });
        }
        Ok(!was_over && self.flows[flow].is_over())
    }

    /// Moves on what is due at a link: to the next link, or to the host at the end.
    fn poll_link(&mut self, index: usize) {
        while let Some(event) = self.links[index].link.poll(self.now) {
            match event {
                Event::Delivered { packet, .. } => {
                    if let Some(recorder) = &mut self.links[index].recorder {
                        recorder.delivered(self.now, packet.bytes);
                    }
                    self.forward(index, packet);
                }
                Event::Lost { cause, at, packet, .. } => {
                    if let Some(recorder) = &mut self.links[index].recorder {
                        recorder.dropped(at, cause);
                    }
                    self.lost(&packet.payload, cause, at);
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

    /// The links, each with its port, that packets from `from` pass, in order.
    fn way(&self, from: Address) -> &[(usize, usize)] {
        let route = &self.routes[self.flows[from.flow].terminal()];
        match from.side {
            Side::Client => &route.up,
            Side::Server => &route.down,
        }
    }

    fn lost(&mut self, datagram: &Datagram, cause: bentpipe_link::DropCause, at: Time) {
        let flow = &mut self.flows[datagram.from.flow];
        let trace = self.shared.trace;
        flow.count_lost(datagram.from.side, datagram.visit, cause, datagram.position, at, trace);
    }

    /// Hands a packet that has left link `index` to the next one on its way, or to its host.
    fn forward(&mut self, index: usize, packet: Packet<Datagram>) {
        let from = packet.payload.from;
        let way = self.way(from);
        let place = way.iter().position(|&(link, _)| link == index);
        if let Some(&(next, port)) = place.and_then(|place| way.get(place + 1)) {
            self.enter(next, port, packet);
            return;
        }
        let to = Address { flow: from.flow, side: from.side.peer() };
        self.shared.epoch.set(self.now);
        let ecn = ecn_from_link(packet.ecn);
        let source = from.socket(self.flows[from.flow].terminal());
        self.flows[to.flow].endpoint(to.side).handle_datagram(self.now, source, ecn, packet.payload.data);
        self.flush(to);
        // The flow acts once this link has been polled: it may end the visit and begin the next.
        if self.flows[to.flow].visit_is_over() {
            self.agenda.schedule(self.actor(to.flow), Some(self.now));
        }
    }

    /// Puts a packet into a link.
    fn enter(&mut self, index: usize, port: usize, packet: Packet<Datagram>) {
        let now = self.now;
        let terminal = self.flows[packet.payload.from.flow].terminal();
        let state = &mut self.links[index];
        state.last = now;
        if let (Some(capture), Some(interface)) = (&mut self.capture, state.captured) {
            capture.packet(now, interface, terminal, &packet);
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
            self.lost(&packet.payload, cause, now);
        }
    }

    /// Sends what a host wants to send, and notes when it wants to be woken.
    fn flush(&mut self, from: Address) {
        let (first, port) = self.way(from)[0];
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let transmit = self.flows[from.flow].endpoint(from.side).poll_transmit(self.now, &mut buffer);
            let Some(transmit) = transmit else {
                self.buffer = buffer;
                break;
            };
            let position = self.flows[from.flow].sender_position(from.side).filter(|_| self.shared.trace);
            let mut data = BytesMut::from(&buffer[..]);
            self.buffer = buffer;
            while !data.is_empty() {
                let segment = data.split_to(transmit.segment_size.min(data.len()));
                let bytes = segment.len() as u32 + IP_UDP_HEADER;
                let flow = &mut self.flows[from.flow];
                flow.count_sent(from.side, bytes);
                let datagram = Datagram {
                    from,
                    visit: flow.visit(),
                    position: position.unwrap_or_default() - data.len() as f64,
                    data: segment,
                };
                self.enter(first, port, Packet { bytes, ecn: ecn_to_link(transmit.ecn), payload: datagram });
            }
        }
        let timeout = self.flows[from.flow].endpoint(from.side).next_timeout();
        self.agenda.schedule(self.host(from), timeout);
    }

    fn finish(self) -> Result<RunOutcome, SimError> {
        let mut flows = Vec::new();
        let mut flow_traces = Vec::new();
        let mut qlog = Vec::new();
        for flow in self.flows {
            flows.extend(flow.results.outcomes);
            flow_traces.extend(flow.results.traces);
            qlog.extend(flow.results.qlog);
        }
        let mut links = Vec::with_capacity(self.links.len());
        let mut link_traces = Vec::new();
        for state in self.links {
            let counters = *state.link.counters();
            let active = self.measured_from.map_or(Span::ZERO, |from| state.last.since(from));
            let busy = counters.busy.saturating_sub(state.busy_before);
            let utilisation = if active.is_zero() { 0.0 } else { busy.as_secs_f64() / active.as_secs_f64() };
            links.push(LinkOutcome { name: state.name.clone(), counters, utilisation });
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
            trace: self.shared.trace.then_some(RunTrace { flows: flow_traces, links: link_traces }),
            qlog,
            capture,
            events: self.events,
            end: self.now,
        })
    }
}
