//! TCP flows: the connections of a visit's exchanges, and the proxies that split them.

use super::interface::Flow;
use super::progress::{FlowProgress, FlowResults, VisitReport};
use super::shared::Shared;
use super::tcp_acks::TcpAckCounter;
use crate::datagram::{Body, Datagram, PathDirection, Role, socket};
use crate::error::SimError;
use crate::outcome::{PathOutcome, ReverseBytes};
use crate::packet_arena::{PacketArena, PacketId};
use crate::spec::{Direction, FlowSpec, TcpStack, Visit};
use crate::tcp_connections::{HTTP_LIMITS, SegmentRoute, TcpConnection, TcpConnections, earliest};
use crate::tcp_log::TcpLog;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::congestion::{
    ControllerFactory, FastStart, ResumeHandle, SendLimit, SendLimits,
};
use bentpipe_quic::path_memory::Holder;
use bentpipe_quic::qlog::{Forms, QlogSink};
use bentpipe_quic::{Handshake, PathLease, StartLease};
use bentpipe_tcp::http::{self, Exchange, ExchangeEvent, Opening};
use bentpipe_tcp::{CloseReason, MakeController, Segment};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{Span, Time};
use std::sync::Arc;

/// A flow over TCP.
pub struct TcpFlow {
    progress: FlowProgress,
    stack: TcpStack,
    controller: ControllerFactory,
    tcp_connections: TcpConnections,
    running: Option<Running>,
    /// True if the client has a TLS ticket from an earlier visit.
    has_ticket: bool,
    last_node: u16,
}

/// The active visit.
struct Running {
    exchange: Exchange,
    /// Time at which TLS was ready at the client.
    ready: Option<Time>,
    /// Path leases of the data's sender: one per connection.
    remembered: Vec<PathLease>,
    tickets: Vec<StartLease>,
    /// Start of the interval in which HTTP flow control blocks the data.
    blocked_since: Option<Time>,
    blocked: Span,
    /// Whether HTTP's flow control or the send buffer holds the data's sender back.
    held_back: bool,
    starting: Starting,
    segments: TcpAckCounter,
    /// Receives what limits the senders of data, if the visit keeps an account.
    limits: Option<SendLimits>,
}

/// Parameters of connections that open later in the visit.
struct Starting {
    hosts: crate::hosts::Host,
    peer: std::net::IpAddr,
    /// Limit of the time series, if recorded.
    series: Option<SeriesLimit>,
    qlog: Forms,
    direction: Direction,
}

impl Running {
    /// Reports whether HTTP's flow control or the send buffer holds the data's sender back.
    fn set_held_back(&mut self, now: Time, held_back: bool) {
        if held_back == self.held_back {
            return;
        }
        self.held_back = held_back;
        if let Some(limits) = &self.limits {
            let limit = if held_back { SendLimit::FlowControl } else { SendLimit::Application };
            limits.set(HTTP_LIMITS, now, limit);
        }
    }
}

impl TcpFlow {
    /// Creates a flow that has not started. `index` determines its addresses and random streams.
    pub fn new(
        spec: FlowSpec,
        stack: TcpStack,
        index: usize,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let wrong = |reason: String| SimError::Spec(format!("flow `{}`: {reason}", spec.name));
        let controller = stack.congestion.factory().map_err(|error| wrong(error.to_string()))?;
        let tcp_connections = TcpConnections::new(&stack, shared.last_node).map_err(wrong)?;
        Ok(Self {
            progress: FlowProgress::new(spec, index),
            stack,
            controller,
            tcp_connections,
            running: None,
            has_ticket: false,
            last_node: shared.last_node,
        })
    }

    /// Returns the controllers of a new connection: client, then server. `sink` receives the events
    /// of the data's sender.
    fn controllers(
        &mut self,
        now: Time,
        number: usize,
        sink: Option<&QlogSink>,
    ) -> [MakeController; 2] {
        let Self { running, controller, progress, .. } = self;
        let factory = controller.clone();
        let plain: MakeController =
            Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None));
        let Some(running) = running else { return [plain.clone(), plain] };
        let Starting { hosts, peer, direction, .. } = &running.starting;
        let mut notes: Option<ResumeHandle> = None;
        if controller.resumes() {
            // Unique in the run: flow, visit, connection. QUIC flows use the lowest bit for the
            // side.
            let holder = Holder(
                (progress.index as u64) << 32
                    | u64::from(progress.visit()) << 12
                    | (number as u64) << 1
                    | 1,
            );
            // A failing store must not prevent a connection.
            if let Ok(remembered) = hosts.memory.begin(*peer, holder, now) {
                let handle = remembered.resume_handle();
                if let Some(sink) = sink {
                    handle.set_qlog(sink.clone());
                }
                notes = Some(handle);
                running.remembered.push(remembered);
            }
        }
        // A sending client does not know other clients behind its address.
        let needs_start_slot = *direction == Direction::Download && controller.needs_start_slot();
        let ticket = needs_start_slot.then(|| hosts.start_lease(*peer));
        running.tickets.extend(ticket.clone());
        let factory = controller.with_path_changes(progress.path_changes.clone());
        let sender: MakeController = Arc::new(move |setup| {
            let fast =
                ticket.as_ref().map_or(FastStart::Allowed(None), |ticket| ticket.enter(setup.now));
            factory.make(setup, fast, notes.clone())
        });
        match direction {
            Direction::Download => [plain, sender],
            Direction::Upload => [sender, plain],
        }
    }

    /// Opens a connection.
    fn open(&mut self, now: Time, number: usize) {
        let Some(running) = &self.running else { return };
        let Starting { qlog, direction, .. } = running.starting;
        let log = qlog.any().then(|| {
            let Self { progress, .. } = self;
            let visit = format!("{}-visit{}", progress.spec.name, progress.visit());
            TcpLog::new(&visit, number, qlog)
        });
        let sender = PathDirection::of(direction).source();
        let make = self.controllers(now, number, log.as_ref().map(|log| log.sink(sender)));
        let Some(running) = &self.running else { return };
        self.tcp_connections.open(
            now,
            make,
            running.starting.direction,
            running.starting.series.filter(|_| number == 0),
            log,
        );
    }

    /// Lets the applications at one side react.
    fn drive(&mut self, now: Time, side: Role) {
        let at = http_side(side);
        loop {
            while let Some(number) =
                self.running.as_mut().and_then(|running| running.exchange.poll_open(now))
            {
                self.open(now, number);
            }
            let alone = self.tcp_connections.len() == 1;
            let behind_proxy = self.tcp_connections.has_proxies();
            let mut again = false;
            let (Some(running), Some(progress)) = (&mut self.running, self.progress.progress())
            else {
                return;
            };
            let (mut blocked, mut held_back) = (false, false);
            let (mut arrived, mut wrote) = (false, false);
            for (number, line) in self.tcp_connections.iter_mut().enumerate() {
                let TcpConnection { client, server, opened, .. } = line;
                let (end, opened) = match side {
                    Role::Client => (client, &mut opened[0]),
                    Role::Server => (server, &mut opened[1]),
                };
                if !*opened && end.is_open() {
                    *opened = true;
                    running.exchange.on_open(now, number, at);
                    again = true;
                }
                let (received, consumed) = (end.received(), end.consumed());
                if received > consumed {
                    arrived = true;
                    running.exchange.on_received(now, number, at, received);
                    end.consume(now, received - consumed);
                    // Data that arrives here may let another connection write.
                    again |= !alone;
                }
                match end.end() {
                    Some(CloseReason::Reset) => {
                        progress.failed(format!("connection {number} was reset"))
                    }
                    Some(CloseReason::TimedOut) => {
                        progress.failed(format!("connection {number} timed out"))
                    }
                    Some(CloseReason::Closed) | None => {}
                }
                let mut room = end.room();
                while room > 0 {
                    let bytes = running.exchange.to_write(now, number, at, room);
                    if bytes == 0 {
                        break;
                    }
                    wrote = true;
                    end.write(now, bytes);
                    room = end.room();
                }
                let is_blocked = running.exchange.is_blocked(number, at);
                blocked |= is_blocked;
                held_back |= if behind_proxy {
                    // While data is on its way to the proxy, the proxy waits for that.
                    is_blocked && end.written() == end.acknowledged()
                } else {
                    is_blocked || (room == 0 && end.takes_data())
                };
            }
            if side == Role::Server && arrived && wrote && progress.is_requested() {
                progress.answered(now);
            }
            if side == PathDirection::of(running.starting.direction).source() {
                running.set_held_back(now, held_back);
                match (blocked, running.blocked_since) {
                    (true, None) => running.blocked_since = Some(now),
                    (false, Some(since)) => {
                        running.blocked += now.since(since);
                        running.blocked_since = None;
                    }
                    _ => {}
                }
            }
            while let Some(note) = running.exchange.poll_event() {
                again |= !matches!(note, ExchangeEvent::Received(..));
                match note {
                    ExchangeEvent::Ready => running.ready = Some(now),
                    ExchangeEvent::Started(index) => progress.started(index, now),
                    ExchangeEvent::Received(index, bytes) => {
                        progress.received(index, bytes as usize, now)
                    }
                    ExchangeEvent::Ended(index) => progress.ended(index, now),
                }
            }
            if !again {
                return;
            }
        }
    }

    fn side(&self, node: u16) -> Option<Role> {
        match node {
            0 => Some(Role::Client),
            node if node == self.last_node => Some(Role::Server),
            _ => None,
        }
    }
}

impl Flow for TcpFlow {
    fn progress(&self) -> &FlowProgress {
        &self.progress
    }

    fn progress_mut(&mut self) -> &mut FlowProgress {
        &mut self.progress
    }

    fn begin_visit(&mut self, now: Time, shared: &Shared) -> Result<(), SimError> {
        let (visit, progress) = self.progress.begin(now, shared);
        let opening = match (visit.handshake, self.has_ticket) {
            (Handshake::ZeroRtt, true) => Opening::EarlyData,
            (Handshake::OneRtt, true) => Opening::Resumed,
            (Handshake::OneRtt, false) => Opening::Full,
            (Handshake::ZeroRtt, false) => {
                progress.failed(
                    "early data was requested, but there is no ticket from an earlier visit"
                        .to_owned(),
                );
                Opening::Full
            }
        };
        let side = PathDirection::of(visit.direction).source();
        let host = match side {
            Role::Server => &self.progress.spec.server,
            Role::Client => &self.progress.spec.name,
        };
        let series = shared.series_of(self.progress.recorded(), &visit);
        self.running = Some(Running {
            exchange: exchange(&self.stack.http, opening, &visit),
            ready: None,
            remembered: Vec::new(),
            tickets: Vec::new(),
            blocked_since: None,
            blocked: Span::ZERO,
            held_back: false,
            segments: TcpAckCounter::new(series),
            limits: self.progress.limits(),
            starting: Starting {
                hosts: shared.hosts.get(host)?,
                peer: socket(self.progress.index, side.peer(), self.progress.terminal()).ip(),
                series,
                qlog: match visit.measured && !self.progress.in_population() {
                    true => shared.qlog,
                    false => Forms::NONE,
                },
                direction: visit.direction,
            },
        });
        self.tcp_connections.begin(now, self.progress.limits());
        if let Some((sender, receiver)) = self.tcp_connections.watched_nodes(visit.direction) {
            self.progress.keep_account_between(sender, receiver);
        }
        self.drive(now, Role::Client);
        Ok(())
    }

    fn end_visit(&mut self, now: Time, shared: &Shared) {
        let Some(running) = self.running.take() else { return };
        running.tickets.iter().for_each(StartLease::leave);
        for remembered in &running.remembered {
            // As on a server, a failing store does not end the visit.
            let _ = remembered.flush(true);
        }
        let known = running
            .remembered
            .first()
            .map(|first| first.resume_handle().resume_state())
            .unwrap_or_default();
        let metrics = self.tcp_connections.record();
        let mut record = metrics.stats();
        let blocked_since = running.blocked_since.map_or(Span::ZERO, |since| now.since(since));
        record.window_blocked += running.blocked + blocked_since;
        self.has_ticket |= running.ready.is_some();
        let reverse = running.segments.reverse(record.series.as_mut());
        let duplicates = self.tcp_connections.duplicates(running.starting.direction);
        let full = Segment { len: self.stack.tcp.segment, ..Segment::default() };
        let report = VisitReport {
            transport: "tcp",
            duplicate_bytes: duplicates * u64::from(full.bytes()),
            connections: self.tcp_connections.len(),
            handshake: running.ready,
            record: &mut record,
            path: PathOutcome {
                saved: known.offered,
                observed: known.observed,
                receiver: None,
                retreated: known.offered.map(|_| known.retreated),
                token: None,
            },
            pep: self.tcp_connections.pep_outcome(running.starting.direction),
            reverse,
            flow_control: None,
            qlog: self.tcp_connections.qlog(),
        };
        self.progress.end(now, shared, report);
        self.tcp_connections.end();
    }

    fn deliver(&mut self, now: Time, node: u16, ecn: Ecn, datagram: &mut Datagram) {
        let Body::Tcp { connection, segment } = &datagram.body else { return };
        // Packets of an earlier visit have no receiver.
        if datagram.visit != self.progress.visit() {
            return;
        }
        self.tcp_connections.deliver(now, node, datagram.toward, *connection, segment, ecn);
        if let Some(side) = self.side(node) {
            if let (Some(running), true) =
                (&mut self.running, self.progress.data_direction() == Some(datagram.toward))
            {
                running.segments.arrived(now, segment);
            }
            self.drive(now, side);
        }
    }

    fn wake(&mut self, now: Time, node: u16) {
        self.tcp_connections.wake(now, node);
        if let Some(side) = self.side(node) {
            if let (Role::Client, Some(running)) = (side, &mut self.running) {
                running.exchange.handle_timeout(now);
            }
            self.drive(now, side);
        }
    }

    fn next_timeout(&self, node: u16) -> Option<Time> {
        let tcp_connections = self.tcp_connections.next_timeout(node);
        match &self.running {
            Some(running) if node == 0 => {
                earliest(tcp_connections, running.exchange.next_timeout())
            }
            _ => tcp_connections,
        }
    }

    fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        packet_arena: &mut PacketArena,
    ) -> Option<Packet<PacketId>> {
        // Called after each segment, although a receiver that delays its ACK often has nothing to
        // send.
        if self.tcp_connections.is_quiet(now, node) {
            return None;
        }
        let mut segment = Segment::default();
        let SegmentRoute { connection, toward, to, ecn } =
            self.tcp_connections.poll_transmit(now, node, &mut segment)?;
        let bytes = segment.bytes();
        let mut position = 0.0;
        if self.side(node).is_some() {
            if let (Some(running), true) =
                (&mut self.running, self.progress.data_direction() != Some(toward))
            {
                running.segments.sent(now, &segment);
            }
            self.progress.count_sent(now, toward, bytes, || ReverseBytes {
                ip: u64::from(segment.ip_bytes()),
                tcp: u64::from(segment.tcp_bytes()),
                options: u64::from(segment.option_bytes()),
                payload: u64::from(segment.len),
                total: u64::from(bytes),
                ..ReverseBytes::default()
            });
        }
        if self.running.as_ref().is_some_and(|running| running.starting.series.is_some())
            && self.progress.data_direction() == Some(toward)
        {
            position = self.tcp_connections.position(connection);
        }
        let (flow, visit) = (self.progress.index as u32, self.progress.visit());
        let trip = self.progress.trip(now, node);
        let datagram = Datagram {
            flow,
            visit,
            toward,
            to,
            position,
            trip,
            body: Body::Tcp { connection, segment },
        };
        Some(packet_arena.send(bytes, ecn, datagram))
    }

    fn pass(&mut self, now: Time, node: u16, datagram: &Datagram) -> bool {
        if !self.tcp_connections.filters(node, datagram.toward)
            || datagram.visit != self.progress.visit()
        {
            return true;
        }
        let Body::Tcp { connection, segment } = &datagram.body else { return true };
        self.tcp_connections.filter(now, *connection, *segment).is_some()
    }

    fn into_results(self: Box<Self>) -> FlowResults {
        self.progress.into_results()
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

fn http_side(side: Role) -> http::Role {
    match side {
        Role::Client => http::Role::Client,
        Role::Server => http::Role::Server,
    }
}
