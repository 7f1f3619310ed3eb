//! The TCP connections of one visit: both ends, and the proxies between them.

use super::log::TcpLog;
use super::pep::Pep;
use crate::datagram::{PathDirection, Role};
use crate::outcome::{PepOutcome, QlogFile};
use crate::spec::{Direction, TcpStack};
use bentpipe_link::Ecn;
use bentpipe_quic::congestion::{SendLimits, SenderMetrics};
use bentpipe_tcp::FailureMode;
use bentpipe_tcp::{AckFilter, Endpoint, Flags, Leg, MakeController, Relay, Segment, TcpSettings};
use bentpipe_units::{Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of HTTP's flow control among the senders that report limits. Connections follow.
pub const HTTP_LIMITS: u32 = 0;

/// A connection from client to server, split by proxies or not.
pub struct TcpConnection {
    pub client: Endpoint,
    pub server: Endpoint,
    /// Whether the client's and the server's application know that it is open.
    pub opened: [bool; 2],
    /// Proxies from the client's side on; empty once they have failed.
    relays: Vec<Relay>,
    /// Records the data's sender: with proxies, the one that sends across the proxies' hop.
    metrics: SenderMetrics,
    /// Traces of client and server.
    log: Option<TcpLog>,
}

impl TcpConnection {
    /// Returns the timeout of the endpoint or proxy number `end`, of which `last` is the server.
    #[inline]
    fn next_timeout(&self, end: usize, last: usize) -> Option<Time> {
        if end == 0 {
            self.client.next_timeout()
        } else if end == last {
            self.server.next_timeout()
        } else {
            self.relays.get(end - 1).and_then(Relay::next_timeout)
        }
    }
}

/// Where a segment that a node sends goes, and how.
#[derive(Debug, Clone, Copy)]
pub struct SegmentRoute {
    pub connection: u16,
    pub toward: PathDirection,
    /// Destination node.
    pub to: u16,
    pub ecn: Ecn,
    /// Time for which a filter has held it back.
    pub held: Span,
}

/// All connections of a visit.
pub struct TcpConnections {
    tcp_connections: Vec<TcpConnection>,
    /// The nodes where connections end: client, proxies, server.
    ends: Vec<u16>,
    /// Index of each node in `ends`, which is needed several times per packet.
    places: Vec<Option<usize>>,
    settings: Arc<TcpSettings>,
    pep: Option<Pep>,
    /// Receives the limits of the data's senders, if the visit keeps an account.
    limits: Option<SendLimits>,
    /// Resets of a proxy that has lost its state: node, connection, direction, segment.
    resets: VecDeque<(u16, u16, PathDirection, Segment)>,
}

impl TcpConnections {
    /// Creates an empty set of connections, on a path whose server is at `last_node`.
    ///
    /// # Errors
    /// A proxy would coincide with the client or the server.
    pub fn new(stack: &TcpStack, last_node: u16) -> Result<Self, String> {
        let mut ends = vec![0];
        let pep = stack
            .pep
            .as_ref()
            .map(|spec| Pep::new(spec, stack, last_node, &mut ends))
            .transpose()?;
        ends.push(last_node);
        let places = (0..=last_node).map(|node| ends.iter().position(|&end| end == node)).collect();
        let settings = Arc::new(stack.tcp.clone());
        Ok(Self {
            tcp_connections: Vec::new(),
            ends,
            places,
            settings,
            pep,
            limits: None,
            resets: VecDeque::new(),
        })
    }

    /// Starts a visit, whose senders of data report to `limits` what limits them.
    pub fn begin(&mut self, now: Time, limits: Option<SendLimits>) {
        self.limits = limits;
        if let Some(pep) = &mut self.pep {
            pep.fails = pep.failure.map(|failure| now + failure.at);
            pep.held_before = [0; 2];
        }
    }

    /// Ends the visit and forgets its connections on both sides.
    pub fn end(&mut self) {
        self.tcp_connections.clear();
        self.resets.clear();
        if let Some(pep) = &mut self.pep {
            pep.filter = pep.ack_filter.map(AckFilter::new);
        }
    }

    /// Opens a connection; `make` creates the controllers of client and server. The data's
    /// sender records in `metrics`; `log` receives the events of both ends.
    pub fn open(
        &mut self,
        now: Time,
        make: [MakeController; 2],
        direction: Direction,
        metrics: SenderMetrics,
        log: Option<TcpLog>,
    ) {
        if let Some(limits) = &self.limits {
            // Number 0 is the flow control above TCP.
            metrics
                .report_limits(limits.clone(), HTTP_LIMITS + 1 + self.tcp_connections.len() as u32);
        }
        let [client, server] = make;
        let toward = PathDirection::of(direction);
        // For downloads, the data's sender across the hop is at its server's side.
        let (middle, segments) =
            (self.pep.as_ref().map_or(0, |pep| pep.middle), self.ends.len() - 1);
        let watched = |end: usize| {
            let is = match toward {
                PathDirection::ToClient => end == middle + 1,
                PathDirection::ToServer => end == middle,
            };
            is.then(|| metrics.clone())
        };
        let relays = match &self.pep {
            Some(pep) => {
                (1..segments).map(|end| pep.relay(now, end, toward, watched(end))).collect()
            }
            None => Vec::new(),
        };
        let logged = |end: usize, side: Role| {
            let metrics = watched(end);
            let Some(log) = &log else { return metrics };
            let metrics = metrics.unwrap_or_else(|| SenderMetrics::new(None));
            metrics.set_qlog(log.sink(side).clone());
            Some(metrics)
        };
        let (to_client, to_server) = (logged(segments, Role::Server), logged(0, Role::Client));
        self.tcp_connections.push(TcpConnection {
            client: Endpoint::connect(now, self.settings.clone(), client, to_server),
            server: Endpoint::listen(now, self.settings.clone(), server, to_client),
            log,
            opened: [false; 2],
            relays,
            metrics,
        });
    }

    /// Returns the nodes of the data's sender and receiver across the proxies' hop; `None` without
    /// proxies.
    pub fn watched_nodes(&self, direction: Direction) -> Option<(u16, u16)> {
        let middle = self.pep.as_ref()?.middle;
        let (near, far) = (*self.ends.get(middle)?, *self.ends.get(middle + 1)?);
        Some(match direction {
            Direction::Download => (far, near),
            Direction::Upload => (near, far),
        })
    }

    /// Returns the number of segments of data that arrived twice at the data's receiver; zero with
    /// proxies.
    pub fn duplicates(&self, direction: Direction) -> u64 {
        if self.pep.is_some() {
            return 0;
        }
        let receiver = |connection: &TcpConnection| match direction {
            Direction::Download => connection.client.record().duplicates,
            Direction::Upload => connection.server.record().duplicates,
        };
        self.tcp_connections.iter().map(receiver).sum()
    }

    /// Returns true if proxies split the connections.
    pub fn has_proxies(&self) -> bool {
        self.ends.len() > 2
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.tcp_connections.len()
    }

    /// All connections in order.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, TcpConnection> {
        self.tcp_connections.iter_mut()
    }

    /// Returns the combined records of the data's senders, in the first one's record.
    pub fn record(&self) -> SenderMetrics {
        let Some((first, others)) = self.tcp_connections.split_first() else {
            return SenderMetrics::new(None);
        };
        for other in others {
            first.metrics.stats().absorb(&other.metrics.stats());
        }
        first.metrics.clone()
    }

    /// Returns for how long the peers' windows have blocked the data's senders by `now`: the sum
    /// over the connections.
    pub fn blocked_by_peer(&self, now: Time) -> Span {
        let blocked = |connection: &TcpConnection| connection.metrics.stats().blocked_by(now);
        self.tcp_connections.iter().map(blocked).fold(Span::ZERO, |sum, one| sum + one)
    }

    /// Returns the traces of all connections.
    pub fn qlog(&self) -> Vec<QlogFile> {
        self.tcp_connections
            .iter()
            .filter_map(|connection| connection.log.as_ref())
            .flat_map(TcpLog::files)
            .collect()
    }

    /// Counters of the proxies.
    pub fn pep_outcome(&self, direction: Direction) -> Option<PepOutcome> {
        let pep = self.pep.as_ref()?;
        let index = usize::from(PathDirection::of(direction) == PathDirection::ToServer);
        Some(PepOutcome {
            max_buffered: max_buffered(&self.tcp_connections)[index].max(pep.held_before[index]),
            acks_dropped: pep.filter.as_ref().map(AckFilter::dropped),
        })
    }

    /// Returns the bytes that the data's sender has sent on a connection, for time series.
    pub fn position(&self, connection: u16) -> f64 {
        self.tcp_connections
            .get(usize::from(connection))
            .map_or(0.0, |connection| connection.metrics.bytes_sent() as f64)
    }

    /// Returns the index of `node` among the nodes where connections end.
    #[inline]
    fn end_at(&self, node: u16) -> Option<usize> {
        self.places.get(usize::from(node)).copied().flatten()
    }

    /// Returns how the proxies have failed by `now`, if they have. They lose their buffers then.
    fn failure(&mut self, now: Time) -> Option<FailureMode> {
        let pep = self.pep.as_mut()?;
        pep.fails.filter(|&fails| fails <= now)?;
        for (before, held) in pep.held_before.iter_mut().zip(max_buffered(&self.tcp_connections)) {
            *before = held.max(*before);
        }
        for connection in &mut self.tcp_connections {
            connection.relays.clear();
        }
        pep.failure.map(|failure| failure.mode)
    }

    /// Delivers a segment of `connection` to `node`.
    pub fn deliver(
        &mut self,
        now: Time,
        node: u16,
        toward: PathDirection,
        connection: u16,
        segment: &Segment,
        ecn: Ecn,
    ) {
        let last = self.ends.len() - 1;
        let Some(end) = self.end_at(node) else { return };
        if end != 0
            && end != last
            && let Some(mode) = self.failure(now)
        {
            if mode == FailureMode::Reset && !segment.flags.rst {
                let flags = Flags { rst: true, ack: true, ..Flags::default() };
                let reset =
                    Segment { seq: segment.ack, ack: segment.end(), flags, ..Segment::default() };
                let back = if toward == PathDirection::ToServer {
                    PathDirection::ToClient
                } else {
                    PathDirection::ToServer
                };
                self.resets.push_back((node, connection, back, reset));
            }
            return;
        }
        let Some(connection) = self.tcp_connections.get_mut(usize::from(connection)) else {
            return;
        };
        if end == 0 {
            if let Some(log) = &connection.log {
                log.received(now, Role::Client, segment);
            }
            connection.client.handle_segment(now, segment, ecn);
        } else if end == last {
            if let Some(log) = &connection.log {
                log.received(now, Role::Server, segment);
            }
            connection.server.handle_segment(now, segment, ecn);
        } else if let Some(relay) = connection.relays.get_mut(end - 1) {
            let leg = if toward == PathDirection::ToServer { Leg::Client } else { Leg::Server };
            relay.handle_segment(now, leg, segment, ecn);
        }
    }

    /// Handles timers that are due at `node`.
    pub fn wake(&mut self, now: Time, node: u16) {
        let last = self.ends.len() - 1;
        let Some(end) = self.end_at(node) else { return };
        if end != 0 && end != last {
            self.failure(now);
        }
        for connection in self
            .tcp_connections
            .iter_mut()
            .filter(|connection| connection.next_timeout(end, last).is_some_and(|due| due <= now))
        {
            if end == 0 {
                connection.client.handle_timeout(now);
            } else if end == last {
                connection.server.handle_timeout(now);
            } else if let Some(relay) = connection.relays.get_mut(end - 1) {
                relay.handle_timeout(now);
            }
        }
    }

    /// Returns the time at which to call [`TcpConnections::wake`] for `node`.
    pub fn next_timeout(&self, node: u16) -> Option<Time> {
        let last = self.ends.len() - 1;
        let pep = self.pep.as_ref();
        let filter =
            pep.filter(|pep| pep.near == node).and_then(|pep| pep.filter.as_ref()?.next_timeout());
        let Some(end) = self.end_at(node) else { return filter };
        self.tcp_connections
            .iter()
            .fold(filter, |next, connection| earliest(next, connection.next_timeout(end, last)))
    }

    /// Returns true if [`Self::poll_transmit`] would return `None`. Only for flows without proxies.
    #[inline]
    pub fn is_quiet(&self, now: Time, node: u16) -> bool {
        self.pep.is_none()
            && self.tcp_connections.iter().all(|connection| match node {
                0 => connection.client.is_quiet(now),
                _ => connection.server.is_quiet(now),
            })
    }

    /// Writes the next segment that `node` sends to `segment`.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        node: u16,
        segment: &mut Segment,
    ) -> Option<SegmentRoute> {
        loop {
            let route = self.next_segment(now, node, segment)?;
            if !self.filters(node, route.toward)
                || self.filter(now, route.connection, *segment).is_some()
            {
                return Some(route);
            }
        }
    }

    fn next_segment(
        &mut self,
        now: Time,
        node: u16,
        segment: &mut Segment,
    ) -> Option<SegmentRoute> {
        if self.pep.is_some()
            && let Some(route) = self.released(now, node, segment)
        {
            return Some(route);
        }
        let end = self.end_at(node)?;
        let last = self.ends.len() - 1;
        if end != 0 && end != last && self.failure(now).is_some() {
            let index = self.resets.iter().position(|&(at, ..)| at == node)?;
            let (_, connection, toward, reset) = self.resets.remove(index)?;
            *segment = reset;
            let to = if toward == PathDirection::ToServer {
                self.ends[end + 1]
            } else {
                self.ends[end - 1]
            };
            let (ecn, held) = (Ecn::NotEct, Span::ZERO);
            return Some(SegmentRoute { connection, toward, to, ecn, held });
        }
        for (number, connection) in (0u16..).zip(&mut self.tcp_connections) {
            let (ecn, toward) = if end == 0 {
                let Some(ecn) = connection.client.poll_segment(now, segment) else { continue };
                if let Some(log) = &connection.log {
                    log.sent(now, Role::Client, segment);
                }
                (ecn, PathDirection::ToServer)
            } else if end == last {
                let Some(ecn) = connection.server.poll_segment(now, segment) else { continue };
                if let Some(log) = &connection.log {
                    log.sent(now, Role::Server, segment);
                }
                (ecn, PathDirection::ToClient)
            } else {
                let relay = connection.relays.get_mut(end - 1);
                let Some((leg, transmit)) = relay.and_then(|relay| relay.poll_transmit(now)) else {
                    continue;
                };
                *segment = transmit.segment;
                match leg {
                    Leg::Client => (transmit.ecn, PathDirection::ToClient),
                    Leg::Server => (transmit.ecn, PathDirection::ToServer),
                }
            };
            let to = match toward {
                PathDirection::ToClient => self.ends[end - 1],
                PathDirection::ToServer => self.ends[end + 1],
            };
            let held = Span::ZERO;
            return Some(SegmentRoute { connection: number, toward, to, ecn, held });
        }
        None
    }

    /// Writes an ACK that the filter at `node` has held back for long enough to `segment`.
    fn released(&mut self, now: Time, node: u16, segment: &mut Segment) -> Option<SegmentRoute> {
        let pep = self.pep.as_mut().filter(|pep| pep.near == node)?;
        let filter = pep.filter.as_mut()?;
        let since = filter.next_held_since()?;
        let (connection, acknowledgement) = filter.poll(now)?;
        let to = self.ends.iter().copied().find(|&end| end > node)?;
        *segment = acknowledgement;
        let (connection, toward) = (connection as u16, PathDirection::ToServer);
        let (ecn, held) = (Ecn::NotEct, now.since(since));
        Some(SegmentRoute { connection, toward, to, ecn, held })
    }

    /// Returns true if segments that leave `node` in direction `toward` are filtered.
    pub fn filters(&self, node: u16, toward: PathDirection) -> bool {
        toward == PathDirection::ToServer
            && self.pep.as_ref().is_some_and(|pep| pep.near == node && pep.filter.is_some())
    }

    /// Passes a segment to the filter. Returns `None` if the filter holds it back.
    pub fn filter(&mut self, now: Time, connection: u16, segment: Segment) -> Option<Segment> {
        match self.pep.as_mut().and_then(|pep| pep.filter.as_mut()) {
            Some(filter) => filter.offer(now, u32::from(connection), segment),
            None => Some(segment),
        }
    }
}

/// Returns the earlier of two optional times.
#[inline]
pub fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    let next = a.unwrap_or(Time::MAX).min(b.unwrap_or(Time::MAX));
    (next < Time::MAX).then_some(next)
}

/// Returns the maximum number of bytes that proxies have buffered for one connection, towards the
/// client and towards the server.
fn max_buffered(tcp_connections: &[TcpConnection]) -> [u64; 2] {
    [Leg::Client, Leg::Server].map(|leg| {
        tcp_connections
            .iter()
            .flat_map(|connection| &connection.relays)
            .map(|relay| relay.max_buffered(leg))
            .max()
            .unwrap_or_default()
    })
}
