//! The applications at both ends of a TCP visit, which one exchange object plays.

use super::acks::TcpAckCounter;
use super::connections::{HTTP_LIMITS, TcpConnection, TcpConnections};
use crate::datagram::{PathDirection, Role};
use crate::spec::{Direction, Visit};
use crate::visit_progress::VisitProgress;
use bentpipe_quic::congestion::{SendLimit, SendLimits};
use bentpipe_tcp::http::{self, Exchange, ExchangeEvent, Opening};
use bentpipe_tcp::{CloseReason, Endpoint};
use bentpipe_units::{Span, Time};

/// The applications of the active visit.
pub struct Applications {
    exchange: Exchange,
    progress: VisitProgress,
    data_direction: PathDirection,
    /// Time at which TLS was ready at the client.
    ready: Option<Time>,
    /// Connections whose handshakes the page does not know yet: number, origin, and number among
    /// those of the origin.
    connecting: Vec<(usize, usize, usize)>,
    /// Start of the interval in which HTTP flow control blocks the data, and for how long the
    /// peers' windows had blocked it by then.
    blocked_since: Option<(Time, Span)>,
    /// Time for which only HTTP flow control has blocked the data.
    blocked: Span,
    /// True while HTTP's flow control or the send buffer limits the data's sender.
    flow_control_limited: bool,
    /// Receives what limits the senders of data, if the visit keeps an account.
    limits: Option<SendLimits>,
    /// Counts what the data's receiver receives and sends.
    pub acks: TcpAckCounter,
}

/// What the applications of one side did on all connections.
#[derive(Default)]
struct Round {
    /// Something may be possible now that was not before.
    again: bool,
    arrived: bool,
    wrote: bool,
    /// HTTP flow control blocks data.
    blocked: bool,
    /// HTTP flow control or the send buffer limits the sender.
    limited: bool,
}

impl Applications {
    /// Creates the applications of `visit`; `opening` returns how connections to an origin open.
    pub fn new(
        settings: &http::HttpSettings,
        opening: impl Fn(usize) -> Opening,
        visit: &Visit,
        progress: VisitProgress,
        limits: Option<SendLimits>,
        acks: TcpAckCounter,
    ) -> Self {
        let mut objects: Vec<http::Object> = Vec::new();
        let probes = visit.probes.iter().map(|probe| &probe.objects);
        for list in std::iter::once(&visit.objects).chain(probes) {
            let before = objects.len();
            let page = visit.page.as_ref().filter(|_| before == 0);
            let source = |index: usize| page.and_then(|page| page.objects.get(index));
            objects.extend(list.iter().enumerate().map(|(index, object)| http::Object {
                source: source(index).map(|one| one.object.source).unwrap_or_default(),
                bytes: object.bytes,
                after: object.after.iter().map(|other| before + other).collect(),
                delay: object.delay,
            }));
        }
        let upload = visit.direction == Direction::Upload;
        let settings = http::HttpSettings { priorities: visit.priorities, ..*settings };
        let mut exchange = Exchange::new(&settings, opening(0), upload, objects);
        if let Some(page) = &progress.state().page {
            for origin in 1..page.page().origins.len() {
                exchange.set_opening(origin, opening(origin));
                if page.known_at(origin).is_none() {
                    exchange.hold_origin(origin);
                }
            }
        }
        if visit.player.is_some() {
            // The player requests the others.
            (1..visit.objects.len()).for_each(|index| exchange.hold(index));
        }
        Self {
            exchange,
            progress,
            data_direction: PathDirection::of(visit.direction),
            ready: None,
            connecting: Vec::new(),
            blocked_since: None,
            blocked: Span::ZERO,
            flow_control_limited: false,
            limits,
            acks,
        }
    }

    /// Returns the time at which TLS was ready at the client.
    pub fn ready(&self) -> Option<Time> {
        self.ready
    }

    /// Returns how long HTTP flow control has blocked the data by `now`, without the time in which
    /// the peer's window did too: by now, that has blocked it for `by_peer`.
    pub fn blocked(&self, now: Time, by_peer: Span) -> Span {
        let current = self.blocked_since.map_or(Span::ZERO, |(since, before)| {
            now.since(since).saturating_sub(by_peer.saturating_sub(before))
        });
        self.blocked + current
    }

    /// Returns the number of the next connection to open.
    pub fn poll_open(&mut self, now: Time) -> Option<usize> {
        let number = self.exchange.poll_open(now)?;
        if let Some(page) = &mut self.progress.state().page {
            let origin = self.exchange.origin(number);
            self.connecting.push((number, origin, page.opened(origin, now)));
        }
        Some(number)
    }

    /// Returns the origin of a connection.
    pub fn origin(&self, number: usize) -> usize {
        self.exchange.origin(number)
    }

    /// Returns the names of the origins from which the client has a ticket.
    pub fn tickets(&self) -> Vec<String> {
        let state = self.progress.state();
        let names = state.page.iter().flat_map(|page| page.page().origins.iter().enumerate());
        names
            .filter(|(origin, _)| self.exchange.has_ticket(*origin))
            .map(|(_, name)| name.clone())
            .collect()
    }

    /// Handles that the client knows the address of an origin.
    pub fn resolved(&mut self, now: Time, origin: usize) {
        self.exchange.release_origin(now, origin);
    }

    /// Handles timers of one side that are due.
    pub fn handle_timeout(&mut self, now: Time, side: Role) {
        match side {
            Role::Client => self.exchange.handle_timeout(now),
            Role::Server => self.exchange.release_answers(now),
        }
    }

    /// Returns the time at which to call [`Self::handle_timeout`] of one side.
    pub fn next_timeout(&self, side: Role) -> Option<Time> {
        match side {
            Role::Client => self.exchange.next_timeout(),
            Role::Server => self.exchange.next_answer(),
        }
    }

    /// Lets the applications at one side read and write. Returns true if they must open connections
    /// or react once more.
    pub fn drive(&mut self, now: Time, side: Role, connections: &mut TcpConnections) -> bool {
        let mut round = Round::default();
        let alone = connections.len() == 1;
        let behind_proxy = connections.has_proxies();
        for (number, connection) in connections.iter_mut().enumerate() {
            let TcpConnection { client, server, opened, .. } = connection;
            let (end, opened) = match side {
                Role::Client => (client, &mut opened[0]),
                Role::Server => (server, &mut opened[1]),
            };
            if !*opened && end.is_open() {
                *opened = true;
                self.exchange.on_open(now, number, http_role(side));
                round.again = true;
            }
            if self.read(now, number, side, end) {
                round.arrived = true;
                // Data that arrives here may let another connection write.
                round.again |= !alone;
            }
            self.check_end(number, end);
            self.write(now, number, side, end, behind_proxy, &mut round);
        }
        if side == Role::Server && round.arrived && round.wrote && self.progress.is_requested() {
            self.progress.answered(now);
        }
        if side == self.data_direction.source() {
            self.update_limits(now, &round, connections);
        }
        self.note_handshakes(now);
        round.again | self.take_events(now)
    }

    /// Tells the page which handshakes have ended.
    fn note_handshakes(&mut self, now: Time) {
        if self.connecting.is_empty() {
            return;
        }
        let mut state = self.progress.state();
        let Some(page) = &mut state.page else { return };
        self.connecting.retain(|&(number, origin, index)| {
            let is_ready = self.exchange.is_ready(number);
            if is_ready {
                page.connected(origin, index, now);
            }
            !is_ready
        });
    }

    /// Reads what has arrived at `end`. Returns false if nothing has.
    fn read(&mut self, now: Time, number: usize, side: Role, end: &mut Endpoint) -> bool {
        let (received, consumed) = (end.received(), end.consumed());
        if received <= consumed {
            return false;
        }
        self.exchange.on_received(now, number, http_role(side), received);
        end.consume(now, received - consumed);
        true
    }

    /// Ends the visit if a connection has failed.
    fn check_end(&self, number: usize, end: &Endpoint) {
        let how = match end.end() {
            Some(CloseReason::Reset) => "was reset",
            Some(CloseReason::TimedOut) => "timed out",
            Some(CloseReason::Closed) | None => return,
        };
        self.progress.failed(format!("connection {number} {how}"));
    }

    /// Writes to `end` what it takes.
    fn write(
        &mut self,
        now: Time,
        number: usize,
        side: Role,
        end: &mut Endpoint,
        behind_proxy: bool,
        round: &mut Round,
    ) {
        let mut room = end.room();
        while room > 0 {
            let bytes = self.exchange.to_write(now, number, http_role(side), room);
            if bytes == 0 {
                break;
            }
            round.wrote = true;
            end.write(now, bytes);
            room = end.room();
        }
        let blocked = self.exchange.is_blocked(number, http_role(side));
        round.blocked |= blocked;
        round.limited |= if behind_proxy {
            // While data is on its way to the proxy, the proxy waits for that.
            blocked && end.written() == end.acknowledged()
        } else {
            blocked || (room == 0 && end.takes_data())
        };
    }

    /// Updates what limits the data's sender.
    fn update_limits(&mut self, now: Time, round: &Round, connections: &TcpConnections) {
        if round.limited != self.flow_control_limited {
            self.flow_control_limited = round.limited;
            if let Some(limits) = &self.limits {
                let limited = round.limited;
                let limit = if limited { SendLimit::FlowControl } else { SendLimit::Application };
                limits.set(HTTP_LIMITS, now, limit);
            }
        }
        match (round.blocked, self.blocked_since) {
            (true, None) => self.blocked_since = Some((now, connections.blocked_by_peer(now))),
            (false, Some(_)) => {
                self.blocked = self.blocked(now, connections.blocked_by_peer(now));
                self.blocked_since = None;
            }
            _ => {}
        }
    }

    /// Returns the progress to which object `number` of the exchange belongs, and its index there.
    fn object(&self, number: usize) -> (&VisitProgress, usize) {
        if self.progress.probes().is_empty() {
            return (&self.progress, number);
        }
        let mut index = number;
        for progress in self.progress.all() {
            let objects = progress.state().objects.len();
            if index < objects {
                return (progress, index);
            }
            index -= objects;
        }
        (&self.progress, number)
    }

    /// Takes the events of the exchange. Returns true if the applications may react to one.
    fn take_events(&mut self, now: Time) -> bool {
        let mut again = false;
        while let Some(event) = self.exchange.poll_event() {
            again |= !matches!(event, ExchangeEvent::Received(..));
            match event {
                ExchangeEvent::Ready => self.ready = Some(now),
                ExchangeEvent::Started(number) => {
                    let (progress, index) = self.object(number);
                    let bytes = progress.started(index, now);
                    self.exchange.set_size(number, bytes);
                }
                ExchangeEvent::Received(number, bytes) => {
                    let (progress, index) = self.object(number);
                    progress.received(index, bytes as usize, now);
                }
                ExchangeEvent::Ended(number) => {
                    let (progress, index) = self.object(number);
                    progress.ended(index, now);
                    // The objects of probes, which stand behind, are no player's.
                    if number == index
                        && let Some((next, due)) = self.progress.next_request()
                    {
                        self.exchange.request(next, due);
                    }
                }
            }
        }
        again
    }
}

fn http_role(side: Role) -> http::Role {
    match side {
        Role::Client => http::Role::Client,
        Role::Server => http::Role::Server,
    }
}
