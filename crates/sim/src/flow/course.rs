//! The visits of a flow, and what is counted of each, whatever it speaks.

use super::Shared;
use crate::datagram::Way;
use crate::lost::Lost;
use crate::outcome::{
    Acknowledgements, FlowOutcome, FlowTrace, ObjectOutcome, PathOutcome, PepOutcome, QlogFile, ReturnBytes, Series,
};
use crate::progress::Progress;
use crate::spec::{Datagrams, FlowSpec, Stack, Visit};
use bentpipe_link::DropCause;
use bentpipe_quic::CreditReport;
use bentpipe_quic::account::Layers;
use bentpipe_quic::congestion::{PathChangeFeed, SenderStats};
use bentpipe_units::{Span, Time};

/// Width of a bin of the rate against the data: a few return frames, and a fraction of a long path's round trip.
const RETURN_BIN: Span = Span::from_millis(100);

/// The visits of a flow.
pub struct Course {
    pub spec: FlowSpec,
    /// The flow's place in the run.
    pub index: usize,
    /// What is announced of the changes of its path, to who sends its data.
    pub hints: PathChangeFeed,
    next_visit: usize,
    /// When the next visit begins.
    begins: Option<Time>,
    under_way: Option<UnderWay>,
    results: FlowResults,
}

/// What the flow's finished visits left.
#[derive(Default)]
pub struct FlowResults {
    /// Reported visits.
    pub outcomes: Vec<FlowOutcome>,
    /// Their series.
    pub traces: Vec<FlowTrace>,
    /// Their qlog.
    pub qlog: Vec<QlogFile>,
}

/// The visit under way.
struct UnderWay {
    number: usize,
    /// Which way its data goes.
    data_way: Way,
    progress: Progress,
    start: Time,
    gives_up: Time,
    /// When it is complete, where it lasts for a time.
    ends: Option<Time>,
    counts: Counts,
}

/// Packets of the visit under way, as the network sees them.
#[derive(Default)]
struct Counts {
    data_packets: u64,
    data_bytes: u64,
    lost_policer: u64,
    lost_queue: u64,
    lost_random: u64,
    lost_route: u64,
    /// Packets of both ways that nobody could forward.
    no_route: u64,
    return_packets: u64,
    return_bytes: ReturnBytes,
    /// IP bytes against the data in each bin from the run's beginning, where recorded.
    return_bins: Option<Vec<u64>>,
    dropped_policer: Vec<(Time, f64)>,
    dropped_queue: Vec<(Time, f64)>,
    dropped_loss: Vec<(Time, f64)>,
    dropped_route: Vec<(Time, f64)>,
}

/// What only the protocol knows of a visit that ends.
pub struct Told<'a> {
    /// `quic`, `tcp`, or the kind of datagrams.
    pub transport: &'static str,
    /// Connections that the visit took.
    pub connections: usize,
    /// When the handshake was complete at the client.
    pub handshake: Option<Time>,
    /// What the data's senders recorded, all of them.
    pub record: &'a mut SenderStats,
    /// What was known of the path.
    pub path: PathOutcome,
    /// What a proxy did.
    pub pep: Option<PepOutcome>,
    /// How the data's receiver acknowledged.
    pub returned: Returned,
    /// Notes of the credit that the data's receiver gave.
    pub credit: Option<CreditReport>,
    /// Its qlog.
    pub qlog: Vec<QlogFile>,
}

/// What the protocol knows of the way against the data.
#[derive(Default)]
pub struct Returned {
    /// How the data's receiver acknowledged.
    pub acknowledgements: Option<Acknowledgements>,
    /// What its QUIC packets held.
    pub layers: Option<Layers>,
    /// Series of it, where recorded.
    pub series: Vec<Series>,
}

impl Course {
    /// Visits that have not begun.
    pub fn new(spec: FlowSpec, index: usize) -> Self {
        let begins = spec.visits.first().map(|visit| Time::ZERO + spec.start + visit.wait + visit.think);
        Self {
            spec,
            index,
            hints: PathChangeFeed::new(),
            next_visit: 0,
            begins,
            under_way: None,
            results: FlowResults::default(),
        }
    }

    /// The terminal its client sits behind.
    pub fn terminal(&self) -> usize {
        self.spec.terminal
    }

    /// True once every visit has ended.
    pub fn is_over(&self) -> bool {
        self.under_way.is_none() && self.begins.is_none()
    }

    /// True where the visit under way has nothing more to do.
    pub fn visit_is_over(&self) -> bool {
        self.under_way.as_ref().is_some_and(|visit| visit.progress.is_over())
    }

    /// True while a visit that the results tell of is under way.
    pub fn is_reporting(&self) -> bool {
        self.visit_under_way().is_some_and(|visit| visit.reported)
    }

    /// When the next visit begins, or the one under way is given up.
    pub fn next_deadline(&self) -> Option<Time> {
        let ends = |visit: &UnderWay| visit.ends.map_or(visit.gives_up, |ends| ends.min(visit.gives_up));
        self.under_way.as_ref().map(ends).or(self.begins)
    }

    /// True where the visit under way is to be ended at `now`.
    pub fn must_end(&self, now: Time) -> bool {
        self.under_way.as_ref().is_some_and(|visit| {
            visit.progress.is_over() || visit.gives_up <= now || visit.ends.is_some_and(|ends| ends <= now)
        })
    }

    /// True where a visit is to begin at `now`.
    pub fn must_begin(&self, now: Time) -> bool {
        self.under_way.is_none() && self.begins.is_some_and(|begins| begins <= now)
    }

    /// When the visit under way is complete, where it lasts for a time.
    pub fn ends(&self) -> Option<Time> {
        self.under_way.as_ref().and_then(|visit| visit.ends)
    }

    /// The number of the visit under way, or of the last one: from 1. Packets are tagged with it.
    pub fn visit(&self) -> u32 {
        self.next_visit as u32
    }

    /// The visit under way, as it was asked for.
    pub fn visit_under_way(&self) -> Option<&Visit> {
        self.under_way.as_ref().map(|visit| &self.spec.visits[visit.number - 1])
    }

    /// What the visit under way has achieved.
    pub fn progress(&self) -> Option<&Progress> {
        self.under_way.as_ref().map(|visit| &visit.progress)
    }

    /// Which way the data of the visit under way goes.
    pub fn data_way(&self) -> Option<Way> {
        self.under_way.as_ref().map(|visit| visit.data_way)
    }

    /// Begins the next visit: what it is, and where its applications note what they achieve.
    pub fn begin(&mut self, now: Time, shared: &Shared) -> (Visit, Progress) {
        let visit = self.spec.visits[self.next_visit].clone();
        let progress = Progress::new(&visit, now, shared.trace && visit.reported);
        self.next_visit += 1;
        self.begins = None;
        self.under_way = Some(UnderWay {
            number: self.next_visit,
            data_way: Way::of(visit.direction),
            progress: progress.clone(),
            start: now,
            gives_up: now + shared.time_limit,
            ends: visit.lasts.map(|lasts| now + lasts),
            counts: Counts { return_bins: (shared.trace && visit.reported).then(Vec::new), ..Counts::default() },
        });
        (visit, progress)
    }

    /// Ends the visit under way.
    pub fn end(&mut self, now: Time, shared: &Shared, mut told: Told<'_>) {
        let Some(mut visit) = self.under_way.take() else { return };
        if let Some(layers) = &told.returned.layers {
            visit.counts.return_bytes.split(layers);
        }
        self.begins = self.spec.visits.get(self.next_visit).map(|next| now + next.wait + next.think);
        if !self.spec.visits[visit.number - 1].reported {
            return;
        }
        if shared.trace {
            self.results.traces.push(trace(&self.spec.name, &visit, now, &mut told));
        }
        let outcome = self.outcome(&visit, now, shared, &told);
        self.results.outcomes.push(outcome);
        self.results.qlog.extend(told.qlog);
    }

    /// What the finished visits left.
    pub fn into_results(self) -> FlowResults {
        self.results
    }

    fn outcome(&self, under_way: &UnderWay, now: Time, shared: &Shared, told: &Told<'_>) -> FlowOutcome {
        let visit = &self.spec.visits[under_way.number - 1];
        let since = |at: Time| at.since(under_way.start);
        let completed_at = under_way.completion(now);
        let progress = under_way.progress.state();
        let mut error = progress.error.clone();
        if completed_at.is_none() && error.is_none() {
            let limit = shared.time_limit;
            let mut reason = format!("given up after {}, the time limit of {limit}", since(now));
            if under_way.counts.no_route > 0 {
                reason += &format!("; {} of its packets found no way to the other end", under_way.counts.no_route);
            }
            error = Some(reason);
        }
        let (counts, record) = (&under_way.counts, &told.record);
        FlowOutcome {
            name: self.spec.name.clone(),
            visit: under_way.number,
            transport: told.transport,
            congestion: self.spec.stack.congestion().map_or("none", |recipe| recipe.controller.as_str()).to_owned(),
            connections: told.connections,
            direction: visit.direction,
            bytes: match visit.lasts {
                Some(_) => progress.received,
                None => visit.objects.iter().map(|object| object.bytes.get()).sum(),
            },
            received: progress.received,
            received_by_tenth: progress.received_by_tenth.clone(),
            completed: completed_at.is_some(),
            start: under_way.start,
            handshake: told.handshake.map(since),
            first_byte: progress.first_byte.map(since),
            completion: completed_at.map(since),
            packets_sent: counts.data_packets,
            bytes_sent: counts.data_bytes,
            packets_lost_policer: counts.lost_policer,
            packets_lost_queue: counts.lost_queue,
            packets_lost_random: counts.lost_random,
            packets_lost_route: counts.lost_route,
            packets_declared_lost: Some(record.packets_declared_lost),
            flow_control_blocked: Some(record.window_blocked),
            flow_control_blocked_longest: Some(record.window_blocked_longest),
            credit: told.credit.as_ref().map(CreditReport::figures),
            return_packets: counts.return_packets,
            return_bytes: counts.return_bytes,
            acknowledgements: told.returned.acknowledgements.clone(),
            rtt_min: record.rtt_min(),
            rtt_mean: record.rtt_mean(),
            rtt_p99: record.rtt_p99(),
            path: told.path,
            pep: told.pep,
            objects: visit
                .objects
                .iter()
                .zip(&progress.objects)
                // What only has to be larger than what fits is nobody's object.
                .filter(|_| visit.lasts.is_none())
                .map(|(object, state)| ObjectOutcome {
                    name: object.name.clone(),
                    bytes: state.bytes,
                    received: state.received,
                    start: state.start.map_or(Span::ZERO, since),
                    completion: state.completion.map(since),
                })
                .collect(),
            error: error.filter(|_| completed_at.is_none()),
        }
    }

    /// One of the two ends sent a packet on `way`; `layers` are its bytes.
    pub fn count_sent(&mut self, now: Time, way: Way, layers: ReturnBytes) {
        let Some(visit) = &mut self.under_way else { return };
        let counts = &mut visit.counts;
        if way == visit.data_way {
            counts.data_packets += 1;
            counts.data_bytes += layers.total;
            return;
        }
        counts.return_packets += 1;
        counts.return_bytes += layers;
        if let Some(bins) = &mut counts.return_bins {
            let bin = (now.as_nanos() / RETURN_BIN.as_nanos()) as usize;
            if bins.len() <= bin {
                bins.resize(bin + 1, 0);
            }
            bins[bin] += layers.total;
        }
    }

    /// A packet that was sent on `way` during visit number `visit` was lost.
    pub fn count_lost(&mut self, way: Way, visit: u32, lost: Lost, position: f64, now: Time, trace: bool) {
        let is_current = visit == self.visit();
        // An echo is lost with its answer too.
        let both_ways = matches!(self.spec.stack, Stack::Datagrams(Datagrams::Ping { .. }));
        let Some(under_way) = self.under_way.as_mut().filter(|_| is_current) else { return };
        let counts = &mut under_way.counts;
        counts.no_route += u64::from(lost == Lost::NoRoute);
        if way != under_way.data_way && !both_ways {
            return;
        }
        let (count, series) = match lost {
            Lost::OnLink(DropCause::Policer) => (&mut counts.lost_policer, &mut counts.dropped_policer),
            Lost::OnLink(DropCause::QueueFull | DropCause::Aqm) => (&mut counts.lost_queue, &mut counts.dropped_queue),
            Lost::OnLink(DropCause::Loss(_)) => (&mut counts.lost_random, &mut counts.dropped_loss),
            Lost::Handover | Lost::NoRoute | Lost::HopLimit => (&mut counts.lost_route, &mut counts.dropped_route),
        };
        *count += 1;
        if trace {
            series.push((now, position));
        }
    }
}

impl UnderWay {
    /// When it was complete, if it ends `now`: with its last object, or once it has lasted for its time.
    fn completion(&self, now: Time) -> Option<Time> {
        match self.ends {
            None => self.progress.completion(),
            Some(ends) => (ends <= now && self.progress.state().error.is_none()).then_some(ends),
        }
    }
}

/// The rate against the data, kbps, in each bin from `start` on.
fn return_rate(bins: &[u64], start: Time) -> Vec<(Time, f64)> {
    let first = (start.as_nanos() / RETURN_BIN.as_nanos()) as usize;
    let rate = |&bytes: &u64| (bytes * 8) as f64 / RETURN_BIN.as_millis_f64();
    let bins = bins.iter().enumerate().skip(first);
    bins.map(|(bin, bytes)| (Time::ZERO + RETURN_BIN * bin as u64, rate(bytes))).collect()
}

/// The series of a visit that ends.
fn trace(name: &str, visit: &UnderWay, now: Time, told: &mut Told<'_>) -> FlowTrace {
    let sender = told.record.series.take().unwrap_or_default();
    let credit = told.credit.as_ref().and_then(CreditReport::take_series).unwrap_or_default();
    let returned = std::mem::take(&mut told.returned.series);
    let counts = &visit.counts;
    let received = visit.progress.state().series.take().unwrap_or_default();
    let mut series = Vec::new();
    let mut add = |name, unit, points: Vec<(Time, f64)>| {
        if !points.is_empty() {
            series.push(Series { name, unit, points });
        }
    };
    add("sent", "bytes", sender.sent);
    add("acked", "bytes", sender.acked);
    add("lost", "bytes", sender.lost);
    add("dropped_policer", "bytes", counts.dropped_policer.clone());
    add("dropped_queue", "bytes", counts.dropped_queue.clone());
    add("dropped_loss", "bytes", counts.dropped_loss.clone());
    add("dropped_route", "bytes", counts.dropped_route.clone());
    add("received", "bytes", received);
    add("cwnd", "bytes", sender.cwnd);
    add("ssthresh", "bytes", sender.ssthresh);
    add("bytes_in_flight", "bytes", sender.bytes_in_flight);
    add("pacing_rate", "Mbps", sender.pacing_rate);
    add("rtt", "ms", sender.rtt);
    add("smoothed_rtt", "ms", sender.smoothed_rtt);
    add(
        "return_rate",
        "kbps",
        counts.return_bins.as_ref().map(|bins| return_rate(bins, visit.start)).unwrap_or_default(),
    );
    add("credit", "bytes", credit.announced);
    add("credit_at_sender", "bytes", credit.heard);
    add("consumed", "bytes", credit.consumed);
    series.extend(returned.into_iter().filter(|series| !series.points.is_empty()));
    let mut marks = Vec::new();
    if let Some(at) = told.handshake {
        marks.push((at, "handshake complete".to_owned()));
    }
    if let Some(at) = visit.progress.state().first_byte {
        marks.push((at, "first byte".to_owned()));
    }
    if let Some(at) = visit.completion(now) {
        marks.push((at, "complete".to_owned()));
    }
    FlowTrace { name: name.to_owned(), visit: visit.number, start: visit.start, series, marks, phases: sender.phases }
}
