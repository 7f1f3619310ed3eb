//! A flow that speaks TCP: for each visit, the connections that its exchanges want, and the proxies that split them.

use super::course::Told;
use super::segments::Segments;
use super::{Course, Flow, FlowResults, Shared};
use crate::datagram::{Body, Datagram, Side, Way, socket};
use crate::error::SimError;
use crate::lines::{Line, Lines, earlier};
use crate::outcome::{PathOutcome, ReturnBytes};
use crate::parcels::{Parcel, Parcels};
use crate::spec::{Direction, FlowSpec, TcpStack, Visit};
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::congestion::{ControllerFactory, FastStart, ResumeHandle};
use bentpipe_quic::memory::Holder;
use bentpipe_quic::{Handshake, PathLease, StartTicket};
use bentpipe_tcp::http::{self, Exchange, Note, Opening};
use bentpipe_tcp::{End, MakeController};
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// A flow that speaks TCP.
pub struct TcpFlow {
    course: Course,
    stack: TcpStack,
    controller: ControllerFactory,
    lines: Lines,
    running: Option<Running>,
    /// A visit has left a TLS ticket with the client.
    has_ticket: bool,
    last_node: u16,
}

/// The visit under way.
struct Running {
    exchange: Exchange,
    /// When TLS was ready at the client.
    ready: Option<Time>,
    /// What the data's sender has to do with the memory of paths: one for each connection.
    remembered: Vec<PathLease>,
    tickets: Vec<StartTicket>,
    /// HTTP's own windows hold data back since then.
    blocked_since: Option<Time>,
    blocked: Span,
    starting: Starting,
    segments: Segments,
}

/// What a connection that begins later in the visit needs.
struct Starting {
    hosts: crate::hosts::Host,
    peer: std::net::IpAddr,
    trace: bool,
    direction: Direction,
}

impl TcpFlow {
    /// A flow that has not begun; `index` gives its addresses and random streams.
    pub fn new(spec: FlowSpec, stack: TcpStack, index: usize, shared: &Shared) -> Result<Self, SimError> {
        let wrong = |reason: String| SimError::Spec(format!("flow `{}`: {reason}", spec.name));
        let controller = stack.congestion.factory().map_err(|error| wrong(error.to_string()))?;
        let lines = Lines::new(&stack, shared.last_node).map_err(wrong)?;
        Ok(Self {
            course: Course::new(spec, index),
            stack,
            controller,
            lines,
            running: None,
            has_ticket: false,
            last_node: shared.last_node,
        })
    }

    /// The controller of a connection that begins now, at the data's sender, and of the other end.
    fn controllers(&mut self, now: Time, number: usize) -> [MakeController; 2] {
        let Self { running, controller, course, .. } = self;
        let factory = controller.clone();
        let plain: MakeController = Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None));
        let Some(running) = running else { return [plain.clone(), plain] };
        let Starting { hosts, peer, direction, .. } = &running.starting;
        let mut notes: Option<ResumeHandle> = None;
        if controller.resumes() {
            // One of a kind in the run: flow, visit, connection; QUIC flows use the lowest bit for the side.
            let holder =
                Holder((course.index as u64) << 32 | u64::from(course.visit()) << 12 | (number as u64) << 1 | 1);
            // A memory that fails is no reason not to connect.
            if let Ok(remembered) = hosts.memory.begin(*peer, holder, now) {
                notes = Some(remembered.notes());
                running.remembered.push(remembered);
            }
        }
        // A client that sends knows nothing of other clients behind its address.
        let needs_start_slot = *direction == Direction::Download && controller.needs_start_slot();
        let ticket = needs_start_slot.then(|| hosts.gate.ticket(*peer));
        running.tickets.extend(ticket.clone());
        let factory = controller.with_path_changes(course.hints.clone());
        let sender: MakeController = Arc::new(move |setup| {
            let fast = ticket.as_ref().map_or(FastStart::Allowed(None), |ticket| ticket.enter(setup.now));
            factory.make(setup, fast, notes.clone())
        });
        match direction {
            Direction::Download => [plain, sender],
            Direction::Upload => [sender, plain],
        }
    }

    /// Opens a connection.
    fn open(&mut self, now: Time, number: usize) {
        let make = self.controllers(now, number);
        let Some(running) = &self.running else { return };
        self.lines.open(now, make, running.starting.direction, running.starting.trace && number == 0);
    }

    /// Lets the applications of one side act on what has happened there.
    fn drive(&mut self, now: Time, side: Side) {
        let at = http_side(side);
        loop {
            while let Some(number) = self.running.as_mut().and_then(|running| running.exchange.poll_open(now)) {
                self.open(now, number);
            }
            let alone = self.lines.len() == 1;
            let mut again = false;
            let (Some(running), Some(progress)) = (&mut self.running, self.course.progress()) else { return };
            let mut blocked = false;
            for (number, line) in self.lines.iter_mut().enumerate() {
                let Line { client, server, opened, .. } = line;
                let (end, opened) = match side {
                    Side::Client => (client, &mut opened[0]),
                    Side::Server => (server, &mut opened[1]),
                };
                if !*opened && end.is_open() {
                    *opened = true;
                    running.exchange.on_open(now, number, at);
                    again = true;
                }
                let (received, consumed) = (end.received(), end.consumed());
                if received > consumed {
                    running.exchange.on_received(now, number, at, received);
                    end.consume(now, received - consumed);
                    // What arrives here may let another connection write.
                    again |= !alone;
                }
                match end.end() {
                    Some(End::Reset) => progress.failed(format!("connection {number} was reset")),
                    Some(End::TimedOut) => progress.failed(format!("connection {number} timed out")),
                    Some(End::Closed) | None => {}
                }
                loop {
                    let room = end.room();
                    let bytes = if room == 0 { 0 } else { running.exchange.to_write(now, number, at, room) };
                    if bytes == 0 {
                        break;
                    }
                    end.write(now, bytes);
                }
                blocked |= running.exchange.is_blocked(number, at);
            }
            if side == Way::of(running.starting.direction).source() {
                match (blocked, running.blocked_since) {
                    (true, None) => running.blocked_since = Some(now),
                    (false, Some(since)) => {
                        running.blocked += now.since(since);
                        running.blocked_since = None;
                    }
                    _ => {}
                }
            }
            while let Some(note) = running.exchange.poll_note() {
                again |= !matches!(note, Note::Received(..));
                match note {
                    Note::Ready => running.ready = Some(now),
                    Note::Started(index) => progress.started(index, now),
                    Note::Received(index, bytes) => progress.received(index, bytes as usize, now),
                    Note::Ended(index) => progress.ended(index, now),
                }
            }
            if !again {
                return;
            }
        }
    }

    fn side(&self, node: u16) -> Option<Side> {
        match node {
            0 => Some(Side::Client),
            node if node == self.last_node => Some(Side::Server),
            _ => None,
        }
    }
}

impl Flow for TcpFlow {
    fn course(&self) -> &Course {
        &self.course
    }

    fn course_mut(&mut self) -> &mut Course {
        &mut self.course
    }

    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        let (visit, progress) = self.course.begin(now, shared);
        let opening = match (visit.handshake, self.has_ticket) {
            (Handshake::ZeroRtt, true) => Opening::EarlyData,
            (Handshake::OneRtt, true) => Opening::Resumed,
            (Handshake::OneRtt, false) => Opening::Full,
            (Handshake::ZeroRtt, false) => {
                progress.failed("early data was asked for, but no ticket of an earlier visit allows it".to_owned());
                Opening::Full
            }
        };
        let side = Way::of(visit.direction).source();
        let host = match side {
            Side::Server => &self.course.spec.server,
            Side::Client => &self.course.spec.name,
        };
        self.running = Some(Running {
            exchange: exchange(&self.stack.http, opening, &visit),
            ready: None,
            remembered: Vec::new(),
            tickets: Vec::new(),
            blocked_since: None,
            blocked: Span::ZERO,
            segments: Segments::new(shared.trace && visit.reported),
            starting: Starting {
                hosts: shared.hosts.get(host)?,
                peer: socket(self.course.index, side.peer(), self.course.terminal()).ip(),
                trace: shared.trace && visit.reported,
                direction: visit.direction,
            },
        });
        self.lines.begin(now);
        self.drive(now, Side::Client);
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let Some(running) = self.running.take() else { return };
        running.tickets.iter().for_each(StartTicket::leave);
        for remembered in &running.remembered {
            // As with a server: a store that fails is no reason to end anything.
            let _ = remembered.settle(true);
        }
        let known = running.remembered.first().map(|first| first.notes().resume_state()).unwrap_or_default();
        let metrics = self.lines.record();
        let mut record = metrics.stats();
        let blocked_since = running.blocked_since.map_or(Span::ZERO, |since| now.since(since));
        record.window_blocked += running.blocked + blocked_since;
        self.has_ticket |= running.ready.is_some();
        let returned = running.segments.returned(record.series.as_ref());
        let told = Told {
            transport: "tcp",
            connections: self.lines.len(),
            handshake: running.ready,
            record: &mut record,
            path: PathOutcome {
                saved: known.offered,
                observed: known.observed,
                receiver: None,
                retreated: known.offered.map(|_| known.retreated),
                token: None,
            },
            pep: self.lines.pep_outcome(running.starting.direction),
            returned,
            credit: None,
            qlog: Vec::new(),
        };
        self.course.end(now, shared, told);
        self.lines.end();
    }

    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Tcp { connection, segment } = &datagram.body else { return };
        // What is left of an earlier visit finds nobody.
        if datagram.visit != self.course.visit() {
            return;
        }
        self.lines.deliver(now, node, datagram.way, *connection, segment, ecn);
        if let Some(side) = self.side(node) {
            if let (Some(running), true) = (&mut self.running, self.course.data_way() == Some(datagram.way)) {
                running.segments.arrived(now, segment);
            }
            self.drive(now, side);
        }
    }

    fn wake(&mut self, now: Time, node: u16) {
        self.lines.wake(now, node);
        if let Some(side) = self.side(node) {
            if let (Side::Client, Some(running)) = (side, &mut self.running) {
                running.exchange.handle_timeout(now);
            }
            self.drive(now, side);
        }
    }

    fn next_timeout(&self, node: u16) -> Option<Time> {
        let lines = self.lines.next_timeout(node);
        match &self.running {
            Some(running) if node == 0 => earlier(lines, running.exchange.next_timeout()),
            _ => lines,
        }
    }

    fn poll_transmit(&mut self, now: Time, node: u16, parcels: &mut Parcels) -> Option<(Way, Packet<Parcel>)> {
        // Asked after each segment, and a receiver that holds its acknowledgement back has nothing to say half of the time.
        if self.lines.is_quiet(now, node) {
            return None;
        }
        let (connection, way, to, transmit) = self.lines.poll_transmit(now, node)?;
        let segment = transmit.segment;
        let bytes = segment.bytes();
        let mut position = 0.0;
        if self.side(node).is_some() {
            if let (Some(running), true) = (&mut self.running, self.course.data_way() != Some(way)) {
                running.segments.sent(now, &segment);
            }
            self.course.count_sent(
                now,
                way,
                ReturnBytes {
                    ip: u64::from(segment.ip_bytes()),
                    tcp: u64::from(segment.tcp_bytes()),
                    options: u64::from(segment.option_bytes()),
                    payload: u64::from(segment.len),
                    total: u64::from(bytes),
                    ..ReturnBytes::default()
                },
            );
        }
        if self.running.as_ref().is_some_and(|running| running.starting.trace) && self.course.data_way() == Some(way) {
            position = self.lines.position(connection);
        }
        let (flow, visit) = (self.course.index as u32, self.course.visit());
        let payload = parcels.put(Datagram { flow, visit, way, to, position, body: Body::Tcp { connection, segment } });
        Some((way, Packet { bytes, ecn: transmit.ecn, payload }))
    }

    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        if !self.lines.filters(node, datagram.way) || datagram.visit != self.course.visit() {
            return true;
        }
        let Body::Tcp { connection, segment } = &datagram.body else { return true };
        self.lines.filter(now, *connection, *segment).is_some()
    }

    fn into_results(self: Box<Self>) -> FlowResults {
        self.course.into_results()
    }
}

fn exchange(settings: &http::Settings, opening: Opening, visit: &Visit) -> Exchange {
    let objects = visit.objects.iter().map(|object| http::Object {
        bytes: object.bytes,
        after: object.after.clone(),
        delay: object.delay,
    });
    Exchange::new(settings, opening, visit.direction == Direction::Upload, objects.collect())
}

fn http_side(side: Side) -> http::Side {
    match side {
        Side::Client => http::Side::Client,
        Side::Server => http::Side::Server,
    }
}
