//! Progress and counters of a flow's visits, for any transport.

use super::shared::Shared;
use crate::datagram::PathDirection;
use crate::loss_reason::LossReason;
use crate::outcome::{
    Acknowledgements, Arrivals, FlowOutcome, ObjectOutcome, PathOutcome, PepOutcome, QlogFile,
    ReverseBytes,
};
use crate::packet_arena::PacketId;
use crate::spec::{DatagramTraffic, Direction, FlowSpec, Stack, Visit};
use crate::time_budget::{Account, AccountEnd, AckWait, ClosedAccount, Trip};
use crate::visit_progress::VisitProgress;
use bentpipe_link::{DropCause, Ecn, Packet};
use bentpipe_quic::FlowControlReport;
use bentpipe_quic::congestion::{PathChangeFeed, SendLimits, SenderStats};
use bentpipe_quic::observer::Layers;
use bentpipe_timeseries::{
    BinnedSum, BoundedSeries, Series, SeriesLimit, SpanHistogram, VisitSeries,
};
use bentpipe_units::{Span, Time};

/// Width of a bin of the reverse rate: a few return frames, and a fraction of a satellite RTT.
const RETURN_BIN: Span = Span::from_millis(100);

/// Progress of a flow's visits.
pub struct FlowProgress {
    pub spec: FlowSpec,
    /// Index of the flow in the run.
    pub index: usize,
    /// Notices of path changes for the data's sender.
    pub path_changes: PathChangeFeed,
    next_visit: usize,
    /// Start of the next visit.
    begins: Option<Time>,
    current: Option<CurrentVisit>,
    results: FlowResults,
}

/// Results of a flow's finished visits.
#[derive(Default)]
pub struct FlowResults {
    /// Outcomes of measured visits.
    pub outcomes: Vec<FlowOutcome>,
    /// Their time series.
    pub traces: Vec<VisitSeries>,
    /// Their qlog.
    pub qlog: Vec<QlogFile>,
}

/// The active visit.
struct CurrentVisit {
    number: usize,
    /// Direction of its data.
    data_direction: PathDirection,
    /// The node of its receiver.
    receiver: u16,
    progress: VisitProgress,
    start: Time,
    gives_up: Time,
    /// End of a visit with a fixed duration.
    ends: Option<Time>,
    counters: VisitCounters,
    /// What its time is spent on, if it is measured and has an end of its own.
    account: Option<Box<VisitAccount>>,
}

/// The account of a visit, and where it is kept.
struct VisitAccount {
    account: Account,
    limits: SendLimits,
    /// The nodes of the data's sender and receiver.
    sender: u16,
    receiver: u16,
}

/// Packet counters of the active visit, as the network sees them.
#[derive(Default)]
struct VisitCounters {
    data_packets: u64,
    data_bytes: u64,
    lost_policer: u64,
    lost_queue: u64,
    lost_random: u64,
    lost_route: u64,
    /// Packets of both directions without a route.
    no_route: u64,
    arrivals: Arrivals,
    delays: SpanHistogram,
    reverse_packets: u64,
    reverse_lost: u64,
    reverse_bytes: ReverseBytes,
    series: Option<CounterSeries>,
}

/// Time series of a visit, as the network sees it.
struct CounterSeries {
    /// IP bytes of the reverse direction, in kbps.
    reverse_rate: BinnedSum,
    dropped_policer: BoundedSeries,
    dropped_queue: BoundedSeries,
    dropped_loss: BoundedSeries,
    dropped_route: BoundedSeries,
}

impl CounterSeries {
    /// Creates empty series of at most `limit` points for a visit that starts at `start`.
    fn new(start: Time, limit: SeriesLimit) -> Self {
        // Bits per millisecond are kilobits per second.
        let kbps = 8.0 / RETURN_BIN.as_millis_f64();
        let dropped = || BoundedSeries::new(limit);
        Self {
            reverse_rate: BinnedSum::new(RETURN_BIN, kbps, limit).starting_at(start),
            dropped_policer: dropped(),
            dropped_queue: dropped(),
            dropped_loss: dropped(),
            dropped_route: dropped(),
        }
    }
}

/// What only the transport knows about a visit that ends.
pub struct VisitReport<'a> {
    /// `quic`, `tcp`, or the kind of datagrams.
    pub transport: &'static str,
    /// Number of connections.
    pub connections: usize,
    /// Time at which the client completed the handshake.
    pub handshake: Option<Time>,
    /// Combined records of the data's senders.
    pub record: &'a mut SenderStats,
    /// Bytes of packets of data that arrived for the second time.
    pub duplicate_bytes: u64,
    /// Knowledge about the path.
    pub path: PathOutcome,
    /// Counters of the proxies.
    pub pep: Option<PepOutcome>,
    /// ACK statistics of the data's receiver.
    pub reverse: ReverseReport,
    /// Flow-control record of the data's receiver.
    pub flow_control: Option<FlowControlReport>,
    /// Its qlog.
    pub qlog: Vec<QlogFile>,
}

/// Statistics of the transport about the reverse direction.
#[derive(Default)]
pub struct ReverseReport {
    /// ACK statistics of the data's receiver.
    pub acknowledgements: Option<Acknowledgements>,
    /// Contents of its QUIC packets by layer.
    pub layers: Option<Layers>,
    /// Its time series, if recorded.
    pub series: Vec<Series>,
}

impl FlowProgress {
    /// Creates the progress of a flow whose visits have not started.
    pub fn new(spec: FlowSpec, index: usize) -> Self {
        let start = Time::ZERO + spec.start;
        let begins =
            spec.visits.first().map(|visit| visit.begins(start, start) + visit.start_jitter);
        Self {
            spec,
            index,
            path_changes: PathChangeFeed::new(),
            next_visit: 0,
            begins,
            current: None,
            results: FlowResults::default(),
        }
    }

    /// Returns true if the flow is one of the users of a population.
    pub fn in_population(&self) -> bool {
        self.spec.in_population
    }

    /// Returns true if the flow records time series.
    pub fn recorded(&self) -> bool {
        !self.spec.in_population && self.index < SeriesLimit::MAX_FLOWS
    }

    /// Returns the terminal of the client.
    pub fn terminal(&self) -> usize {
        self.spec.terminal
    }

    /// True once every visit has ended.
    pub fn is_over(&self) -> bool {
        self.current.is_none() && self.begins.is_none()
    }

    /// True if the active visit has nothing left to do.
    pub fn visit_is_over(&self) -> bool {
        self.current.as_ref().is_some_and(|visit| visit.progress.is_over())
    }

    /// True while a measured visit is active.
    pub fn is_reporting(&self) -> bool {
        self.current_visit().is_some_and(|visit| visit.measured)
    }

    /// Returns the time at which the next visit starts, or the active one is given up.
    pub fn next_deadline(&self) -> Option<Time> {
        let ends = |visit: &CurrentVisit| {
            visit.ends.map_or(visit.gives_up, |ends| ends.min(visit.gives_up))
        };
        self.current.as_ref().map(ends).or(self.begins)
    }

    /// True if the active visit must end at `now`.
    pub fn must_end(&self, now: Time) -> bool {
        self.current.as_ref().is_some_and(|visit| {
            visit.progress.is_over()
                || visit.gives_up <= now
                || visit.ends.is_some_and(|ends| ends <= now)
        })
    }

    /// True if a visit must start at `now`.
    pub fn must_begin(&self, now: Time) -> bool {
        self.current.is_none() && self.begins.is_some_and(|begins| begins <= now)
    }

    /// End of the active visit, if its duration is fixed.
    pub fn ends(&self) -> Option<Time> {
        self.current.as_ref().and_then(|visit| visit.ends)
    }

    /// Number of the active or last visit, from 1. Packets are tagged with it.
    pub fn visit(&self) -> u32 {
        self.next_visit as u32
    }

    /// Specification of the active visit.
    pub fn current_visit(&self) -> Option<&Visit> {
        self.current.as_ref().map(|visit| &self.spec.visits[visit.number - 1])
    }

    /// Progress of the active visit.
    pub fn progress(&self) -> Option<&VisitProgress> {
        self.current.as_ref().map(|visit| &visit.progress)
    }

    /// Direction of the data of the active visit.
    pub fn data_direction(&self) -> Option<PathDirection> {
        self.current.as_ref().map(|visit| visit.data_direction)
    }

    /// Starts the next visit. Returns its specification, and the progress that its applications
    /// update.
    pub fn begin(&mut self, now: Time, shared: &Shared) -> (Visit, VisitProgress) {
        let visit = self.spec.visits[self.next_visit].clone();
        let series = shared.series_of(self.recorded(), &visit);
        let progress = VisitProgress::new(&visit, now, series);
        self.next_visit += 1;
        self.begins = None;
        self.current = Some(CurrentVisit {
            number: self.next_visit,
            data_direction: PathDirection::of(visit.direction),
            receiver: ends(visit.direction, shared).1,
            progress: progress.clone(),
            start: now,
            gives_up: now + shared.time_limit,
            ends: visit.duration.map(|duration| now + duration),
            counters: VisitCounters {
                series: series.map(|limit| CounterSeries::new(now, limit)),
                ..VisitCounters::default()
            },
            account: self.account(&visit, now, shared),
        });
        (visit, progress)
    }

    /// Opens the account of a visit, if it is measured and not of datagrams.
    fn account(&self, visit: &Visit, now: Time, shared: &Shared) -> Option<Box<VisitAccount>> {
        let handshake = self.spec.stack.handshake_round_trips(visit)?;
        let (sender, receiver) = ends(visit.direction, shared);
        let limits = SendLimits::default();
        let mut account =
            Account::new(now, shared.base_rtt, handshake, limits.clone(), shared.sharing);
        if shared.series_of(self.recorded(), visit).is_some() {
            account.record_strip();
        }
        visit.measured.then(|| Box::new(VisitAccount { account, limits, sender, receiver }))
    }

    /// Keeps the account of the active visit between these two nodes, the first of which is a
    /// proxy's or the data's sender's.
    pub fn keep_account_between(&mut self, sender: u16, receiver: u16) {
        let Some(kept) = self.current.as_mut().and_then(|visit| visit.account.as_mut()) else {
            return;
        };
        if sender != kept.sender {
            kept.account.set_behind_proxy();
        }
        (kept.sender, kept.receiver) = (sender, receiver);
    }

    /// Returns where the data's senders report their limits, if the active visit has an account.
    pub fn limits(&self) -> Option<SendLimits> {
        let visit = self.current.as_ref()?;
        visit.account.as_ref().map(|kept| kept.limits.clone())
    }

    /// Returns the start of the trip of a packet that `node` sends.
    pub fn trip(&self, now: Time, node: u16) -> Trip {
        match self.current.as_ref().and_then(|visit| visit.account.as_ref()) {
            Some(kept) if kept.sender == node => kept.account.trip(now),
            _ => Trip::start(now, AckWait::default()),
        }
    }

    /// Handles the arrival at `node` of a packet that was sent during visit number `visit`.
    pub fn delivered(
        &mut self,
        now: Time,
        node: u16,
        visit: u32,
        trip: &Trip,
        packet: &Packet<PacketId>,
    ) {
        if visit != self.visit() {
            return;
        }
        let Some(current) = &mut self.current else { return };
        let toward = packet.payload.toward;
        if toward == current.data_direction {
            let arrivals = &mut current.counters.arrivals;
            arrivals.marked_ce += u64::from(packet.ecn == Ecn::Ce);
            arrivals.queued += trip.queued;
            // Nodes between the ends are proxies.
            if node == current.receiver {
                arrivals.packets += 1;
                current.counters.delays.record(now.since(trip.sent));
            }
        }
        let Some(kept) = &mut current.account else { return };
        if node == kept.sender && toward != current.data_direction {
            kept.account.ack_arrived(now, trip);
        } else if node == kept.receiver && toward == current.data_direction {
            let progress = &current.progress;
            if kept.account.needs_data_begin()
                && let Some(from) = progress.state().data_from
            {
                kept.account.data_begins(from);
            }
            let requests = || progress.requests(now);
            let serialised = packet.payload.serialised();
            kept.account.arrived(now, trip, serialised, packet.bytes, requests);
        }
    }

    /// Returns the bytes of the packets that `sender` has declared lost although they arrived.
    pub fn spuriously_lost_bytes(&self, sender: &SenderStats) -> u64 {
        let Some(visit) = &self.current else { return 0 };
        let VisitCounters { lost_policer, lost_queue, lost_random, lost_route, .. } =
            visit.counters;
        let lost = lost_policer + lost_queue + lost_random + lost_route;
        let VisitCounters { data_packets, data_bytes, .. } = visit.counters;
        sender.packets_declared_lost.saturating_sub(lost) * (data_bytes / data_packets.max(1))
    }

    /// Ends the active visit.
    pub fn end(&mut self, now: Time, shared: &Shared, mut report: VisitReport<'_>) {
        let Some(mut visit) = self.current.take() else { return };
        if let Some(layers) = &report.reverse.layers {
            visit.counters.reverse_bytes.split(layers);
        }
        let start = Time::ZERO + self.spec.start;
        let next = self.spec.visits.get(self.next_visit);
        self.begins = next.map(|next| next.begins(start, now) + next.start_jitter);
        if !self.spec.visits[visit.number - 1].measured {
            return;
        }
        let mut account = self.close_account(&mut visit, now, &report);
        if let Some(series) = visit.counters.series.take() {
            let mut trace = trace(&self.spec.name, &visit, series, now, &mut report);
            let strip = account.as_mut().map(|account| std::mem::take(&mut account.strip));
            for (part, points) in strip.into_iter().flatten() {
                trace.series.push(Series::new(part.metric(), "%", points));
            }
            self.results.traces.push(trace);
        }
        let outcome = self.outcome(&visit, now, shared, &report, account);
        if self.results.outcomes.is_empty() {
            // Thousands of flows have one visit each: no spare room for three more.
            let measured = self.spec.visits.iter().filter(|visit| visit.measured).count();
            self.results.outcomes.reserve_exact(measured);
        }
        self.results.outcomes.push(outcome);
        self.results.qlog.extend(report.qlog);
    }

    /// Closes the account of a visit that ends `now`.
    fn close_account(
        &self,
        current: &mut CurrentVisit,
        now: Time,
        report: &VisitReport<'_>,
    ) -> Option<ClosedAccount> {
        let kept = current.account.take()?;
        let completed_at = current.completion(now);
        let timed = self.spec.visits[current.number - 1].duration.is_some();
        Some(kept.account.finish(AccountEnd {
            at: completed_at.unwrap_or(now),
            completed: completed_at.is_some() && !timed,
            handshake: report.handshake,
            received: current.progress.state().received,
            duplicates: report.duplicate_bytes,
        }))
    }

    /// Results of the finished visits.
    pub fn into_results(self) -> FlowResults {
        self.results
    }

    fn outcome(
        &self,
        current: &CurrentVisit,
        now: Time,
        shared: &Shared,
        report: &VisitReport<'_>,
        account: Option<ClosedAccount>,
    ) -> FlowOutcome {
        let visit = &self.spec.visits[current.number - 1];
        let since = |at: Time| at.since(current.start);
        let completed_at = current.completion(now);
        let progress = current.progress.state();
        let mut error = progress.error.clone();
        if completed_at.is_none() && error.is_none() {
            let limit = shared.time_limit;
            let mut reason = format!("given up after {}, the time limit of {limit}", since(now));
            if current.counters.no_route > 0 {
                reason += &format!(
                    "; {} of its packets found no route to the other end",
                    current.counters.no_route
                );
            }
            error = Some(reason);
        }
        let (counters, record) = (&current.counters, &report.record);
        FlowOutcome {
            name: self.spec.name.clone(),
            visit: current.number,
            transport: report.transport,
            congestion: self
                .spec
                .stack
                .congestion()
                .map_or("none", |recipe| recipe.controller.as_str())
                .to_owned(),
            connections: report.connections,
            direction: visit.direction,
            bytes: match visit.duration {
                Some(_) => progress.received,
                None => visit.objects.iter().map(|object| object.bytes.get()).sum(),
            },
            received: progress.received,
            received_by_tenth: progress.received_by_tenth.clone(),
            completed: completed_at.is_some(),
            start: current.start,
            handshake: report.handshake.map(since),
            first_byte: progress.first_byte.map(since),
            completion: completed_at.map(since),
            time_budget: account.as_ref().map(|account| account.budget),
            episodes: account.map(|account| account.episodes).unwrap_or_default(),
            packets_sent: counters.data_packets,
            bytes_sent: counters.data_bytes,
            packets_lost_policer: counters.lost_policer,
            packets_lost_queue: counters.lost_queue,
            packets_lost_channel: counters.lost_random,
            packets_lost_routing: counters.lost_route,
            arrivals: Some(counters.arrivals),
            delays: counters.delays.clone(),
            // Nobody waits for an acknowledgement of a datagram.
            packets_declared_lost: self
                .spec
                .stack
                .congestion()
                .map(|_| record.packets_declared_lost),
            flow_control_blocked: Some(record.window_blocked),
            flow_control_blocked_longest: Some(record.window_blocked_longest),
            flow_control: report.flow_control.as_ref().map(FlowControlReport::stats),
            reverse_packets: counters.reverse_packets,
            reverse_packets_lost: counters.reverse_lost,
            reverse_bytes: counters.reverse_bytes,
            acknowledgements: report.reverse.acknowledgements.clone(),
            rtt_min: record.rtt_min(),
            rtt_mean: record.rtt_mean(),
            rtt_p99: record.rtt_p99(),
            path: report.path,
            pep: report.pep,
            objects: visit
                .objects
                .iter()
                .zip(&progress.objects)
                // With a fixed duration, objects only need to exceed the capacity.
                .filter(|_| visit.duration.is_none())
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

    /// Counts a packet of `bytes` sent by one end. `layers` divides them.
    pub fn count_sent(
        &mut self,
        now: Time,
        toward: PathDirection,
        bytes: u32,
        layers: impl FnOnce() -> ReverseBytes,
    ) {
        let Some(visit) = &mut self.current else { return };
        let counters = &mut visit.counters;
        if toward == visit.data_direction {
            counters.data_packets += 1;
            counters.data_bytes += u64::from(bytes);
            return;
        }
        counters.reverse_packets += 1;
        counters.reverse_bytes += layers();
        if let Some(series) = &mut counters.series {
            series.reverse_rate.add(now, bytes.into());
        }
    }

    /// Counts the loss of a packet that was sent during visit number `visit`.
    pub fn count_lost(
        &mut self,
        toward: PathDirection,
        visit: u32,
        lost: LossReason,
        carried: Span,
        position: f64,
        now: Time,
    ) {
        let is_current = visit == self.visit();
        // A lost reply also counts as a lost echo.
        let both_directions =
            matches!(self.spec.stack, Stack::DatagramTraffic(DatagramTraffic::Ping { .. }));
        let Some(current) = self.current.as_mut().filter(|_| is_current) else { return };
        let counters = &mut current.counters;
        counters.no_route += u64::from(lost == LossReason::NoRoute);
        if let Some(kept) = &mut current.account {
            match lost {
                _ if toward != current.data_direction => kept.account.ack_lost(now),
                LossReason::OnLink(DropCause::Loss(_)) => kept.account.lost(now, carried, false),
                LossReason::OnLink(_) => kept.account.lost(now, Span::ZERO, false),
                LossReason::Handover | LossReason::NoRoute | LossReason::HopLimit => {
                    kept.account.lost(now, Span::ZERO, true)
                }
            }
        }
        if toward != current.data_direction {
            counters.reverse_lost += 1;
            if !both_directions {
                return;
            }
        }
        let series = counters.series.as_mut();
        let (count, series) = match lost {
            LossReason::OnLink(DropCause::Policer) => {
                (&mut counters.lost_policer, series.map(|all| &mut all.dropped_policer))
            }
            LossReason::OnLink(DropCause::QueueFull | DropCause::Aqm) => {
                (&mut counters.lost_queue, series.map(|all| &mut all.dropped_queue))
            }
            LossReason::OnLink(DropCause::Loss(_)) => {
                (&mut counters.lost_random, series.map(|all| &mut all.dropped_loss))
            }
            LossReason::Handover | LossReason::NoRoute | LossReason::HopLimit => {
                (&mut counters.lost_route, series.map(|all| &mut all.dropped_route))
            }
        };
        *count += 1;
        if let Some(series) = series {
            series.push(now, position);
        }
    }
}

/// Returns the nodes of the data's sender and receiver.
fn ends(direction: Direction, shared: &Shared) -> (u16, u16) {
    match direction {
        Direction::Download => (shared.last_node, 0),
        Direction::Upload => (0, shared.last_node),
    }
}

impl CurrentVisit {
    /// Returns the completion time of the visit if it ends `now`: that of its last object, or the
    /// end of its fixed duration.
    fn completion(&self, now: Time) -> Option<Time> {
        match self.ends {
            None => self.progress.completion(),
            Some(ends) => (ends <= now && self.progress.state().error.is_none()).then_some(ends),
        }
    }
}

/// Returns the time series of a visit that ends.
fn trace(
    name: &str,
    visit: &CurrentVisit,
    counted: CounterSeries,
    now: Time,
    report: &mut VisitReport<'_>,
) -> VisitSeries {
    let mut series = Vec::new();
    let mut add = |name, unit, points: BoundedSeries| {
        if !points.is_empty() {
            series.push(Series::new(name, unit, points.into_points()));
        }
    };
    let mut phases = Vec::new();
    let sender = report.record.series.take();
    if let Some(sender) = sender {
        phases = sender.phases;
        add("sent", "bytes", sender.sent);
        add("acked", "bytes", sender.acked);
        add("lost", "bytes", sender.lost);
        add("cwnd", "bytes", sender.cwnd);
        add("ssthresh", "bytes", sender.ssthresh);
        add("bytes_in_flight", "bytes", sender.bytes_in_flight);
        add("pacing_rate", "Mbps", sender.pacing_rate);
        add("rtt", "ms", sender.rtt);
        add("smoothed_rtt", "ms", sender.smoothed_rtt);
    }
    add("dropped_policer", "bytes", counted.dropped_policer);
    add("dropped_queue", "bytes", counted.dropped_queue);
    add("dropped_channel", "bytes", counted.dropped_loss);
    add("dropped_routing", "bytes", counted.dropped_route);
    if let Some(received) = visit.progress.state().series.take() {
        add("received", "bytes", received);
    }
    add("response_time", "ms", visit.progress.response_times());
    let flow_control = report.flow_control.as_ref().and_then(FlowControlReport::take_series);
    if let Some(flow_control) = flow_control {
        add("flow_control_limit", "bytes", flow_control.announced);
        add("flow_control_limit_at_sender", "bytes", flow_control.received);
        add("consumed", "bytes", flow_control.consumed);
    }
    series.push(Series::new("reverse_rate", "kbps", counted.reverse_rate.into_points()));
    series.append(&mut report.reverse.series);
    series.retain(|series| !series.points.is_empty());
    let mut marks = Vec::new();
    if let Some(at) = report.handshake {
        marks.push((at, "handshake complete".to_owned()));
    }
    if let Some(at) = visit.progress.state().first_byte {
        marks.push((at, "first byte".to_owned()));
    }
    if let Some(at) = visit.completion(now) {
        marks.push((at, "complete".to_owned()));
    }
    VisitSeries {
        name: name.to_owned(),
        visit: visit.number,
        start: visit.start,
        series,
        marks,
        phases,
    }
}
