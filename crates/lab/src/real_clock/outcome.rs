//! What came of a run under the wall clock, in the simulator's words.

use bentpipe_emu::{
    DirectionReport, LinkReport, PortCounters, Report, SocketState, TransferOutcome,
};
use bentpipe_quic::ResumeVia;
use bentpipe_quic::account::Sizes;
use bentpipe_recorder::{FlowTrace, LinkTrace, RunTrace, Series};
use bentpipe_sim::{
    Acknowledgements, Direction, FlowOutcome, FlowSpec, LinkOutcome, ObjectOutcome, PathOutcome,
    QlogFile, ReturnBytes, RunOutcome, RunSpec, Stack, Visit,
};
use bentpipe_units::{Span, Time};

/// What became of one visit at its ends.
pub struct VisitOutcome {
    /// The server's port, by which the emulator knows its packets.
    pub port: u16,
    /// What the ends noted.
    pub outcome: TransferOutcome,
    /// What a client of ours says, by its own clock.
    pub told: Option<ClientTimes>,
    /// What endpoints of ours have traced: of the first visit, of all.
    pub qlog: Vec<QlogFile>,
}

/// What a client measured: times since its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientTimes {
    /// The handshake was complete.
    pub handshake: Option<Span>,
    /// The first byte had come.
    pub first_byte: Span,
    /// The last one had.
    pub completion: Span,
    /// Whether what the server knew of the path met congestion; nothing where it knew nothing.
    pub retreated: Option<bool>,
}

/// A reported visit with what the emulator saw of it.
struct VisitReport<'a> {
    flow: &'a FlowSpec,
    /// The flow's place in the run.
    place: usize,
    visit: &'a Visit,
    /// From 1.
    number: usize,
    ends: TransferOutcome,
    client: Option<ClientTimes>,
    /// With the data, and against it.
    data: PortCounters,
    back: PortCounters,
}

/// The outcome of `spec`, whose visits are in the order of flows and visits; of a flow that was cut
/// short the last are missing.
pub fn outcome(spec: &RunSpec, visits: Vec<VisitOutcome>, report: Report) -> RunOutcome {
    let (mut told, mut qlog) = (Vec::new(), Vec::new());
    let mut left = visits.into_iter().peekable();
    let ports = super::ports(spec);
    let mut index = 0;
    for (place, flow) in spec.flows.iter().enumerate() {
        for (number, visit) in flow.visits.iter().enumerate() {
            let port = ports[index];
            let (forward, reverse) = (&report.forward.ports[index], &report.reverse.ports[index]);
            index += 1;
            let Some(VisitOutcome { outcome: ends, told: client, qlog: traced, .. }) =
                left.next_if(|next| next.port == port)
            else {
                continue;
            };
            qlog.extend(traced);
            let (data, back) = match visit.direction {
                Direction::Download => (forward.clone(), reverse.clone()),
                Direction::Upload => (reverse.clone(), forward.clone()),
            };
            told.push(VisitReport {
                flow,
                place,
                visit,
                number: number + 1,
                ends,
                client,
                data,
                back,
            });
        }
    }
    let end = Time::ZERO + report.length;
    let measured_from =
        told.iter().filter(|told| told.visit.measured).map(VisitReport::start).min();
    let links: Vec<LinkOutcome> = report
        .directions()
        .into_iter()
        .flat_map(|direction| direction.links.iter().map(move |link| (direction, link)))
        .map(|(direction, link)| link_outcome(direction, link, &told, measured_from))
        .collect();
    let trace = spec.trace.then(|| RunTrace {
        flows: told.iter().filter(|told| told.visit.measured).map(VisitReport::trace).collect(),
        links: link_traces(spec, &report),
        paths: Vec::new(),
    });
    RunOutcome {
        flows: told.iter().filter(|told| told.visit.measured).map(VisitReport::outcome).collect(),
        links,
        trace,
        qlog,
        capture: None,
        events: report.directions().iter().map(|direction| direction.packets_read).sum(),
        end: told.iter().map(|told| told.ends.end).max().unwrap_or(end),
    }
}

impl VisitReport<'_> {
    /// The client's first packet.
    fn start(&self) -> Time {
        let client = match self.visit.direction {
            Direction::Download => &self.back,
            Direction::Upload => &self.data,
        };
        client.first.unwrap_or(self.ends.begin)
    }

    fn outcome(&self) -> FlowOutcome {
        let (ends, data, back) = (&self.ends, &self.data, &self.back);
        let start = self.start();
        let since = |at: Time| at.since(start);
        let received: u64 = ends.objects.iter().map(|object| object.received).sum();
        let lasted = self
            .visit
            .duration
            .filter(|lasts| ends.end >= ends.begin + *lasts && ends.error.is_none());
        let all =
            ends.objects.iter().all(|object| object.completed.is_some()) && ends.error.is_none();
        let last = ends.objects.iter().filter_map(|object| object.completed).max();
        let asked: u64 = self.visit.objects.iter().map(|object| object.bytes.get()).sum();
        let completion = match lasted {
            Some(lasts) => Some(lasts),
            None => {
                let whole = last.filter(|_| all).map(since);
                whole.map(|whole| self.client.map_or(whole, |client| client.completion))
            }
        };
        let rtts = round_trips(&ends.samples);
        let at_end = ends.samples.last().map(|(_, state)| state);
        let stack = self.flow.stack.congestion();
        FlowOutcome {
            name: self.flow.name.clone(),
            visit: self.number,
            transport: match &self.flow.stack {
                Stack::Quic(_) => "quic",
                Stack::Tcp(_) => "tcp",
                Stack::Program(_) | Stack::DatagramTraffic(_) => "program",
            },
            congestion: stack
                .map_or("unknown", |congestion| congestion.controller.as_str())
                .to_owned(),
            connections: 1,
            direction: self.visit.direction,
            bytes: if self.visit.duration.is_some() { received } else { asked },
            received,
            received_by_tenth: ends.received_by_tenth.clone(),
            completed: completion.is_some(),
            start,
            handshake: self.client.map_or(ends.open.map(since), |client| client.handshake),
            first_byte: self.client.map(|client| client.first_byte).or(ends.first_byte.map(since)),
            completion,
            packets_sent: data.packets,
            bytes_sent: data.bytes,
            packets_lost_policer: data.lost_policer,
            packets_lost_queue: data.lost_queue,
            packets_lost_random: data.lost_random,
            packets_lost_route: 0,
            packets_declared_lost: at_end.map(|state| state.retransmitted),
            flow_control_blocked: at_end.map(|state| state.blocked),
            flow_control_blocked_longest: None,
            credit: None,
            return_packets: back.packets,
            return_bytes: ReturnBytes {
                ip: back.layers.ip,
                udp: back.layers.udp,
                tcp: back.layers.tcp,
                options: back.layers.options,
                payload: back.layers.payload,
                total: back.bytes,
                ..ReturnBytes::default()
            },
            // What UDP carries is sealed.
            acknowledgements: (back.layers.tcp > 0).then(|| Acknowledgements {
                packets: back.acknowledging,
                only: back.only_acknowledging,
                data: data.delivered_data,
                sizes: sizes(back),
            }),
            rtt_min: at_end.and_then(|state| state.min_rtt),
            rtt_mean: mean(&rtts),
            rtt_p99: rtts.get((rtts.len() * 99).div_ceil(100).saturating_sub(1)).copied(),
            path: self.path(),
            pep: None,
            objects: self.objects(start),
            error: ends.error.clone(),
        }
    }

    /// What a server of ours says of the path. Only one that accepted a token knows of it where it
    /// keeps no store.
    fn path(&self) -> PathOutcome {
        let retreated = self.client.and_then(|client| client.retreated);
        let by_token = matches!(&self.flow.stack, Stack::Quic(settings) if settings.resume_via == ResumeVia::Token);
        let token = (by_token && retreated.is_some()).then_some("accepted");
        PathOutcome { retreated, token, ..PathOutcome::default() }
    }

    fn objects(&self, start: Time) -> Vec<ObjectOutcome> {
        if self.visit.duration.is_some() {
            return Vec::new();
        }
        let each = self.visit.objects.iter().zip(&self.ends.objects);
        each.map(|(object, became)| ObjectOutcome {
            name: object.name.clone(),
            bytes: object.bytes.get(),
            received: became.received,
            start: became.requested.map_or(Span::ZERO, |at| at.since(start)),
            completion: became.completed.map(|at| at.since(start)),
        })
        .collect()
    }

    fn trace(&self) -> FlowTrace {
        let start = self.start();
        let mut series = Vec::new();
        let mut add = |name, unit, points: Vec<(Time, f64)>| {
            if !points.is_empty() {
                series.push(Series { name, unit, points });
            }
        };
        let of = |read: &dyn Fn(&SocketState) -> Option<f64>| -> Vec<(Time, f64)> {
            let points =
                self.ends.samples.iter().filter_map(|(at, state)| Some((*at, read(state)?)));
            changes(points)
        };
        add("received", "bytes", self.received());
        add("cwnd", "bytes", of(&|state| Some(state.cwnd.get() as f64)));
        add("ssthresh", "bytes", of(&|state| state.ssthresh.map(|bytes| bytes.get() as f64)));
        add("bytes_in_flight", "bytes", of(&|state| Some(state.in_flight.get() as f64)));
        add("pacing_rate", "Mbps", of(&|state| state.pacing.map(|rate| rate as f64 * 8.0 / 1e6)));
        add("smoothed_rtt", "ms", of(&|state| known(state.smoothed_rtt).map(Span::as_millis_f64)));
        let last = self.ends.objects.iter().filter_map(|object| object.completed).max();
        let marks = [
            (self.ends.open, "handshake complete"),
            (self.ends.first_byte, "first byte"),
            (last, "complete"),
        ];
        FlowTrace {
            name: self.flow.name.clone(),
            visit: self.number,
            start,
            series,
            marks: marks
                .into_iter()
                .filter_map(|(at, what)| Some((at?, what.to_owned())))
                .collect(),
            phases: Vec::new(),
        }
    }

    /// Bytes that have reached the application, at the end of each tenth of a second in which some
    /// did.
    fn received(&self) -> Vec<(Time, f64)> {
        let mut sum = 0;
        let tenths =
            self.ends.received_by_tenth.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
        tenths
            .map(|(tenth, bytes)| {
                sum += bytes;
                (Time::from_millis(100 * (tenth as u64 + 1)).min(self.ends.end), sum as f64)
            })
            .collect()
    }
}

/// Each point that differs from the one before it.
fn changes(points: impl Iterator<Item = (Time, f64)>) -> Vec<(Time, f64)> {
    let mut kept: Vec<(Time, f64)> = Vec::new();
    for (at, value) in points {
        if kept.last().is_none_or(|(_, last)| *last != value) {
            kept.push((at, value));
        }
    }
    kept
}

fn known(span: Span) -> Option<Span> {
    (!span.is_zero()).then_some(span)
}

/// The kernel's smoothed round trips, in order of their length.
fn round_trips(samples: &[(Time, SocketState)]) -> Vec<Span> {
    let mut all: Vec<Span> =
        samples.iter().filter_map(|(_, state)| known(state.smoothed_rtt)).collect();
    all.sort_unstable();
    all
}

fn mean(spans: &[Span]) -> Option<Span> {
    let sum: u128 = spans.iter().map(|span| u128::from(span.as_nanos())).sum();
    let mean = sum.checked_div(spans.len() as u128)?;
    Some(Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
}

fn sizes(passage: &PortCounters) -> Sizes {
    let mut sizes = Sizes::default();
    for (&bytes, &count) in &passage.option_bytes {
        (0..count).for_each(|_| sizes.add(bytes));
    }
    sizes
}

fn link_outcome(
    direction: &DirectionReport,
    link: &LinkReport,
    told: &[VisitReport<'_>],
    measured_from: Option<Time>,
) -> LinkOutcome {
    let forward = direction.name == "forward";
    let passages = told.iter().map(|told| {
        let down = told.visit.direction == Direction::Download;
        (told.place, if down == forward { &told.data } else { &told.back })
    });
    // Where terminals have links of their own, what they carried follows from who is behind them.
    let of_terminal =
        link.name.rsplit_once('#').and_then(|(_, number)| number.parse::<usize>().ok());
    let mut carried: Vec<(usize, u64)> = Vec::new();
    for (told, (place, passage)) in told.iter().zip(passages.clone()) {
        if of_terminal.is_some_and(|terminal| terminal != told.flow.terminal)
            || passage.delivered_bytes == 0
        {
            continue;
        }
        match carried.iter_mut().find(|(known, _)| *known == place) {
            Some((_, bytes)) => *bytes += passage.delivered_bytes,
            None => carried.push((place, passage.delivered_bytes)),
        }
    }
    let last = passages.filter_map(|(_, passage)| passage.last).max();
    let active = measured_from.zip(last).map_or(Span::ZERO, |(from, last)| last.since(from));
    let busy = link.counters.busy.as_secs_f64();
    LinkOutcome {
        name: link.name.clone(),
        counters: link.counters,
        queue_mean: link.queue_mean,
        carried,
        utilisation: if active.is_zero() { 0.0 } else { (busy / active.as_secs_f64()).min(1.0) },
    }
}

fn link_traces(spec: &RunSpec, report: &Report) -> Vec<LinkTrace> {
    let model = |name: &str| {
        let (hop, way) = name.split_once('/')?;
        let hop = spec.hops.iter().find(|candidate| candidate.name == hop)?;
        Some(if way.starts_with("forward") { &hop.forward } else { &hop.reverse })
    };
    let links = report.directions().into_iter().flat_map(|direction| &direction.links);
    links
        .filter_map(|link| {
            let model = model(&link.name)?;
            Some(LinkTrace {
                name: link.name.clone(),
                rate: model.constant_rate(),
                queue_limit: model.queue_limit_bytes(spec.base_rtt),
                series: link.recorder.clone()?.series(),
            })
        })
        .collect()
}
