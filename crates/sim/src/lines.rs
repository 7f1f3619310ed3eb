//! The TCP connections of one visit: both ends, and the proxies between them, at their nodes.

use crate::datagram::Way;
use crate::outcome::PepOutcome;
use crate::spec::{Direction, Failure, FailureManner, PepSpec, TcpStack};
use bentpipe_link::Ecn;
use bentpipe_quic::congestion::{CongestionConfig, FastStart, SenderMetrics, SlowStartName};
use bentpipe_tcp::{AckFilter, Endpoint, Face, Flags, MakeController, Relay, Segment, Settings, Transmit};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// One connection from client to server, split or not.
pub struct Line {
    pub client: Endpoint,
    pub server: Endpoint,
    /// Whether the client's, and the server's, application knows it to be open.
    pub opened: [bool; 2],
    /// Proxies from the client's side on; none once they have failed.
    relays: Vec<Relay>,
    /// Watches the data's sender: with proxies, the one that sends over the proxies' hop.
    metrics: SenderMetrics,
}

impl Line {
    /// When what stands at the path's end number `end`, of which `last` is the server's, wants to be woken.
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

/// All connections of a visit.
pub struct Lines {
    lines: Vec<Line>,
    /// The nodes where connections end: the client's, those of proxies, the server's.
    ends: Vec<u16>,
    /// Which of them each node is: asked for several times with each packet.
    places: Vec<Option<usize>>,
    settings: Arc<Settings>,
    pep: Option<Pep>,
    /// Answers of a proxy that has forgotten everything: node, connection, way, segment.
    resets: VecDeque<(u16, u16, Way, Segment)>,
}

/// What the proxies of a flow are like.
struct Pep {
    /// Which of the segments between two ends crosses the proxies' hop.
    middle: usize,
    /// The node on the client's side of the hop.
    near: u16,
    /// Settings of proxies on that segment, and on others.
    settings: [Arc<Settings>; 2],
    /// Controllers on that segment, towards the client and towards the server.
    middle_make: [MakeController; 2],
    /// And on others.
    make: MakeController,
    buffer: Bytes,
    /// Interval of the filter, where there is one.
    thinned: Option<Span>,
    filter: Option<AckFilter>,
    failure: Option<Failure>,
    /// When it fails in this visit.
    fails: Option<Time>,
    /// The most that it held before it failed, towards the client and towards the server.
    held_before: [u64; 2],
}

impl Lines {
    /// No connections yet, on a path whose server is at `last_node`.
    ///
    /// # Errors
    /// A proxy that would have to be where client or server is, in words.
    pub fn new(stack: &TcpStack, last_node: u16) -> Result<Self, String> {
        let mut ends = vec![0];
        let pep = stack.pep.as_ref().map(|spec| Pep::new(spec, stack, last_node, &mut ends)).transpose()?;
        ends.push(last_node);
        let places = (0..=last_node).map(|node| ends.iter().position(|&end| end == node)).collect();
        let settings = Arc::new(stack.tcp.clone());
        Ok(Self { lines: Vec::new(), ends, places, settings, pep, resets: VecDeque::new() })
    }

    /// A visit begins.
    pub fn begin(&mut self, now: Time) {
        if let Some(pep) = &mut self.pep {
            pep.fails = pep.failure.map(|failure| now + failure.at);
            pep.held_before = [0; 2];
        }
    }

    /// The visit is over: its connections are forgotten on both sides.
    pub fn end(&mut self) {
        self.lines.clear();
        self.resets.clear();
        if let Some(pep) = &mut self.pep {
            pep.filter = pep.thinned.map(AckFilter::new);
        }
    }

    /// The client opens a connection; `make` are the controllers of its two ends.
    pub fn open(&mut self, now: Time, make: [MakeController; 2], direction: Direction, trace: bool) {
        let metrics = SenderMetrics::new(trace);
        let [client, server] = make;
        let way = Way::of(direction);
        // The data's sender on the segment of interest is at its server's end for downloads.
        let (middle, segments) = (self.pep.as_ref().map_or(0, |pep| pep.middle), self.ends.len() - 1);
        let watched = |end: usize| {
            let is = match way {
                Way::Down => end == middle + 1,
                Way::Up => end == middle,
            };
            is.then(|| metrics.clone())
        };
        let relays = match &self.pep {
            Some(pep) => (1..segments).map(|end| pep.relay(now, end, way, watched(end))).collect(),
            None => Vec::new(),
        };
        self.lines.push(Line {
            client: Endpoint::connect(now, self.settings.clone(), client, watched(0)),
            server: Endpoint::listen(now, self.settings.clone(), server, watched(segments)),
            opened: [false; 2],
            relays,
            metrics,
        });
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Every connection, in the order of their numbers.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Line> {
        self.lines.iter_mut()
    }

    /// What the senders of the data recorded, all in the first one's probe.
    pub fn record(&self) -> SenderMetrics {
        let Some((first, others)) = self.lines.split_first() else { return SenderMetrics::new(false) };
        for other in others {
            first.metrics.stats().absorb(&other.metrics.stats());
        }
        first.metrics.clone()
    }

    /// What proxies did.
    pub fn pep_outcome(&self, direction: Direction) -> Option<PepOutcome> {
        let pep = self.pep.as_ref()?;
        let place = usize::from(Way::of(direction) == Way::Up);
        Some(PepOutcome {
            most_held: most_held(&self.lines)[place].max(pep.held_before[place]),
            acks_dropped: pep.filter.as_ref().map(AckFilter::dropped),
        })
    }

    /// Bytes that the data's sender has sent on the connection, for the trace.
    pub fn position(&self, connection: u16) -> f64 {
        self.lines.get(usize::from(connection)).map_or(0.0, |line| line.metrics.stats().bytes_sent as f64)
    }

    /// The place of `node` among the nodes where connections end.
    #[inline]
    fn end_at(&self, node: u16) -> Option<usize> {
        self.places.get(usize::from(node)).copied().flatten()
    }

    /// How proxies have failed by `now`, where they have; what they held is gone then.
    fn failure(&mut self, now: Time) -> Option<FailureManner> {
        let pep = self.pep.as_mut()?;
        pep.fails.filter(|&fails| fails <= now)?;
        for (before, held) in pep.held_before.iter_mut().zip(most_held(&self.lines)) {
            *before = held.max(*before);
        }
        for line in &mut self.lines {
            line.relays.clear();
        }
        pep.failure.map(|failure| failure.manner)
    }

    /// A segment of `connection` has come to `node`, which it is for.
    pub fn deliver(&mut self, now: Time, node: u16, way: Way, connection: u16, segment: &Segment, ecn: Ecn) {
        let last = self.ends.len() - 1;
        let Some(end) = self.end_at(node) else { return };
        if end != 0
            && end != last
            && let Some(manner) = self.failure(now)
        {
            if manner == FailureManner::Reset && !segment.flags.rst {
                let flags = Flags { rst: true, ack: true, ..Flags::default() };
                let reset = Segment { seq: segment.ack, ack: segment.end(), flags, ..Segment::default() };
                let back = if way == Way::Up { Way::Down } else { Way::Up };
                self.resets.push_back((node, connection, back, reset));
            }
            return;
        }
        let Some(line) = self.lines.get_mut(usize::from(connection)) else { return };
        if end == 0 {
            line.client.handle_segment(now, segment, ecn);
        } else if end == last {
            line.server.handle_segment(now, segment, ecn);
        } else if let Some(relay) = line.relays.get_mut(end - 1) {
            let face = if way == Way::Up { Face::Client } else { Face::Server };
            relay.handle_segment(now, face, segment, ecn);
        }
    }

    /// What is due at `node` is done.
    pub fn wake(&mut self, now: Time, node: u16) {
        let last = self.ends.len() - 1;
        let Some(end) = self.end_at(node) else { return };
        if end != 0 && end != last {
            self.failure(now);
        }
        for line in self.lines.iter_mut().filter(|line| line.next_timeout(end, last).is_some_and(|due| due <= now)) {
            if end == 0 {
                line.client.handle_timeout(now);
            } else if end == last {
                line.server.handle_timeout(now);
            } else if let Some(relay) = line.relays.get_mut(end - 1) {
                relay.handle_timeout(now);
            }
        }
    }

    /// When [`Lines::wake`] is to be called for `node`.
    pub fn next_timeout(&self, node: u16) -> Option<Time> {
        let last = self.ends.len() - 1;
        let pep = self.pep.as_ref();
        let filter = pep.filter(|pep| pep.near == node).and_then(|pep| pep.filter.as_ref()?.next_timeout());
        let Some(end) = self.end_at(node) else { return filter };
        self.lines.iter().fold(filter, |next, line| earlier(next, line.next_timeout(end, last)))
    }

    /// Whether [`Self::poll_transmit`] would return `None`: told for the ends of a flow without proxies only.
    #[inline]
    pub fn is_quiet(&self, now: Time, node: u16) -> bool {
        self.pep.is_none()
            && self.lines.iter().all(|line| match node {
                0 => line.client.is_quiet(now),
                _ => line.server.is_quiet(now),
            })
    }

    /// The next segment that leaves `node`: its connection, its way, the node that it is for.
    pub fn poll_transmit(&mut self, now: Time, node: u16) -> Option<(u16, Way, u16, Transmit)> {
        if self.pep.is_none() {
            return self.next_segment(now, node);
        }
        loop {
            let (connection, way, to, transmit) = self.next_segment(now, node)?;
            if !self.filters(node, way) || self.filter(now, connection, transmit.segment).is_some() {
                return Some((connection, way, to, transmit));
            }
        }
    }

    fn next_segment(&mut self, now: Time, node: u16) -> Option<(u16, Way, u16, Transmit)> {
        if self.pep.is_some()
            && let Some(held) = self.released(now, node)
        {
            return Some(held);
        }
        let end = self.end_at(node)?;
        let last = self.ends.len() - 1;
        if end != 0 && end != last && self.failure(now).is_some() {
            let place = self.resets.iter().position(|&(at, ..)| at == node)?;
            let (_, connection, way, segment) = self.resets.remove(place)?;
            let to = if way == Way::Up { self.ends[end + 1] } else { self.ends[end - 1] };
            return Some((connection, way, to, Transmit { segment, ecn: Ecn::NotEct }));
        }
        for (number, line) in (0u16..).zip(&mut self.lines) {
            if end == 0 {
                if let Some(transmit) = line.client.poll_transmit(now) {
                    return Some((number, Way::Up, self.ends[1], transmit));
                }
            } else if end == last {
                if let Some(transmit) = line.server.poll_transmit(now) {
                    return Some((number, Way::Down, self.ends[end - 1], transmit));
                }
            } else if let Some((face, transmit)) =
                line.relays.get_mut(end - 1).and_then(|relay| relay.poll_transmit(now))
            {
                return Some(match face {
                    Face::Client => (number, Way::Down, self.ends[end - 1], transmit),
                    Face::Server => (number, Way::Up, self.ends[end + 1], transmit),
                });
            }
        }
        None
    }

    /// An acknowledgement that a filter at `node` has held back long enough.
    fn released(&mut self, now: Time, node: u16) -> Option<(u16, Way, u16, Transmit)> {
        let pep = self.pep.as_mut().filter(|pep| pep.near == node)?;
        let (connection, segment) = pep.filter.as_mut()?.poll(now)?;
        let to = self.ends.iter().copied().find(|&end| end > node)?;
        Some((connection as u16, Way::Up, to, Transmit { segment, ecn: Ecn::NotEct }))
    }

    /// Whether segments on `way` that leave `node` are filtered.
    pub fn filters(&self, node: u16, way: Way) -> bool {
        way == Way::Up && self.pep.as_ref().is_some_and(|pep| pep.near == node && pep.filter.is_some())
    }

    /// Shows a segment to the filter. `None` where it holds it back.
    pub fn filter(&mut self, now: Time, connection: u16, segment: Segment) -> Option<Segment> {
        match self.pep.as_mut().and_then(|pep| pep.filter.as_mut()) {
            Some(filter) => filter.offer(now, u32::from(connection), segment),
            None => Some(segment),
        }
    }
}

/// The earlier of two times, where there is one.
#[inline]
pub fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    let next = a.unwrap_or(Time::MAX).min(b.unwrap_or(Time::MAX));
    (next < Time::MAX).then_some(next)
}

/// The most that proxies of `lines` held for one of them, towards the client and towards the server.
fn most_held(lines: &[Line]) -> [u64; 2] {
    [Face::Client, Face::Server].map(|face| {
        lines.iter().flat_map(|line| &line.relays).map(|relay| relay.most_held(face)).max().unwrap_or_default()
    })
}

impl Pep {
    fn new(spec: &PepSpec, stack: &TcpStack, last_node: u16, ends: &mut Vec<u16>) -> Result<Self, String> {
        let near = u16::try_from(spec.hop).ok().filter(|&hop| hop < last_node);
        let near = near.ok_or_else(|| format!("hop {} of {last_node} for a proxy", spec.hop))?;
        if spec.terminal && near == 0 {
            return Err("a proxy at the terminal needs a hop between it and the client".to_owned());
        }
        if spec.gateway && near + 1 == last_node {
            return Err("a proxy at the gateway needs a hop between it and the server".to_owned());
        }
        let middle = usize::from(spec.terminal);
        ends.extend(spec.terminal.then_some(near));
        ends.extend(spec.gateway.then_some(near + 1));
        let make = |congestion: &CongestionConfig| -> Result<MakeController, String> {
            let factory = congestion.factory().map_err(|error| error.to_string())?;
            Ok(Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None)))
        };
        let middle_make = [make(&spec.downward)?, make(&spec.upward)?];
        let make = make(&CongestionConfig { slow_start: SlowStartName::STANDARD, ..CongestionConfig::default() })?;
        let others = Settings { segment: stack.tcp.segment, ack: spec.ack, ecn: stack.tcp.ecn, ..Settings::default() };
        let settings = [Settings { initial_window: spec.initial_window, ..others.clone() }, others].map(Arc::new);
        Ok(Self {
            middle,
            near,
            settings,
            middle_make,
            make,
            buffer: spec.buffer,
            thinned: spec.ack_filter,
            filter: spec.ack_filter.map(AckFilter::new),
            failure: spec.failure,
            fails: None,
            held_before: [0; 2],
        })
    }

    /// The proxy at the path's end number `end`; `probe` is for its sender on `way`.
    fn relay(&self, now: Time, end: usize, way: Way, metrics: Option<SenderMetrics>) -> Relay {
        // Its face towards the client is on segment `end` - 1, the other on segment `end`.
        let in_middle = [end - 1, end].map(|segment| segment == self.middle);
        let settings = in_middle.map(|inside| self.settings[usize::from(!inside)].clone());
        let mut make = self.middle_make.clone();
        for (make, _) in make.iter_mut().zip(in_middle).filter(|(_, inside)| !inside) {
            *make = self.make.clone();
        }
        let probes = match way {
            Way::Down => [metrics, None],
            Way::Up => [None, metrics],
        };
        Relay::new(now, settings, make, probes, self.buffer)
    }
}
