//! Progress of a flow's visits, for any transport.

use super::current_visit::{CurrentVisit, VisitStart};
use super::outcome;
use super::report::{FlowResults, VisitReport};
use super::series;
use super::shared::Shared;
use crate::datagram::{PathDirection, Role, socket};
use crate::loss_reason::LossReason;
use crate::outcome::ReverseBytes;
use crate::packet_arena::PacketId;
use crate::spec::{DatagramTraffic, FlowSpec, Stack, Visit};
use crate::time_budget::{AckWait, Trip};
use crate::visit_progress::VisitProgress;
use bentpipe_link::{Ecn, Packet};
use bentpipe_quic::congestion::{PathChangeFeed, SendLimits, SenderStats};
use bentpipe_quic::qlog::Forms;
use bentpipe_timeseries::{Series, SeriesLimit};
use bentpipe_units::{Span, Time};
use std::net::SocketAddr;

/// A packet that the network has lost.
pub struct LostPacket {
    /// Its direction.
    pub toward: PathDirection,
    /// The node that it was for: an end, or a proxy.
    pub to: u16,
    /// Number of the visit during which it was sent.
    pub visit: u32,
    /// Why it was lost.
    pub reason: LossReason,
    /// Time for which it had occupied the slowest link.
    pub carried: Span,
    /// Position in the sent bytes, for time series.
    pub position: f64,
}

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

    /// Returns the terminal of the client.
    pub fn terminal(&self) -> usize {
        self.spec.terminal
    }

    /// Returns the address of one end in the active or last visit.
    pub fn address(&self, side: Role) -> SocketAddr {
        self.address_in(self.next_visit, side)
    }

    /// Returns the address of one end in a visit, by its number from 1.
    pub fn address_in(&self, visit: usize, side: Role) -> SocketAddr {
        let moves = self.spec.visits.iter().take(visit).filter(|visit| visit.new_address).count();
        socket(self.index, side, self.spec.terminal, moves)
    }

    /// Returns the name of the host at one end.
    pub fn host(&self, side: Role) -> &str {
        match side {
            Role::Server => &self.spec.server,
            Role::Client => &self.spec.name,
        }
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
        let visit = self.current.as_ref().map(|visit| &self.spec.visits[visit.number - 1]);
        visit.is_some_and(|visit| visit.measured)
    }

    /// Returns the time at which the next visit starts, or the active one is given up.
    pub fn next_deadline(&self) -> Option<Time> {
        self.current.as_ref().map(CurrentVisit::deadline).or(self.begins)
    }

    /// True if the active visit must end at `now`.
    pub fn must_end(&self, now: Time) -> bool {
        self.current
            .as_ref()
            .is_some_and(|visit| visit.progress.is_over() || visit.deadline() <= now)
    }

    /// True if a visit must start at `now`.
    pub fn must_begin(&self, now: Time) -> bool {
        self.current.is_none() && self.begins.is_some_and(|begins| begins <= now)
    }

    /// True if the active visit has a fixed duration.
    pub fn is_timed(&self) -> bool {
        self.current.as_ref().is_some_and(|visit| visit.ends.is_some())
    }

    /// Number of the active or last visit, from 1. Packets are tagged with it.
    pub fn visit(&self) -> u32 {
        self.next_visit as u32
    }

    /// Returns the visit that starts next.
    pub fn next_visit(&self) -> Option<&Visit> {
        self.spec.visits.get(self.next_visit)
    }

    /// Starts the next visit, whose client knows its server's address after `round_trips_before`.
    pub fn begin(&mut self, now: Time, round_trips_before: u32, shared: &Shared) -> VisitStart {
        let visit = self.spec.visits[self.next_visit].clone();
        let recorded = !self.spec.in_population && self.index < SeriesLimit::MAX_FLOWS;
        let series = shared.trace.filter(|_| visit.measured && recorded);
        self.next_visit += 1;
        self.begins = None;
        let start = VisitStart {
            now,
            number: self.visit(),
            data_direction: PathDirection::of(visit.direction),
            progress: VisitProgress::new(&visit, now, series),
            series,
            controller_state: shared.controller_state,
            qlog: self.qlog(&visit, shared),
            ends: visit.duration.map(|duration| now + duration),
            visit,
        };
        self.current = Some(CurrentVisit::new(&self.spec, &start, round_trips_before, shared));
        start
    }

    fn qlog(&self, visit: &Visit, shared: &Shared) -> Forms {
        let writes = visit.measured && !self.spec.in_population;
        if writes { shared.qlog } else { Forms::NONE }
    }

    /// Keeps the account of the active visit between these two nodes, the first of which is a
    /// proxy's or the data's sender's.
    pub fn keep_account_between(&mut self, sender: u16, receiver: u16) {
        if let Some(account) = self.current.as_mut().and_then(|visit| visit.account.as_mut()) {
            account.keep_between(sender, receiver);
        }
    }

    /// Returns where the data's senders report their limits, if the active visit has an account.
    pub fn limits(&self) -> Option<SendLimits> {
        let visit = self.current.as_ref()?;
        visit.account.as_ref().map(|account| account.limits())
    }

    /// Returns the start of the trip of a packet that `node` sends in a direction. It `answers`
    /// data if it acknowledges it.
    pub fn trip(&mut self, now: Time, node: u16, toward: PathDirection, answers: bool) -> Trip {
        match self.current.as_mut() {
            Some(CurrentVisit { account: Some(account), data_direction, .. }) => {
                account.trip(now, node, answers && toward != *data_direction)
            }
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
        let is_data = packet.payload.toward == current.data_direction;
        if is_data {
            let arrivals = &mut current.counters.arrivals;
            arrivals.marked_ce += u64::from(packet.ecn == Ecn::Ce);
            arrivals.queued += trip.queued;
            // Nodes between the ends are proxies.
            if node == current.receiver {
                arrivals.packets += 1;
                current.counters.delays.record(now.since(trip.sent));
            }
        }
        if let Some(account) = &mut current.account {
            account.arrived(now, node, is_data, trip, packet, &current.progress);
        }
    }

    /// Returns the bytes of the packets that `sender` has declared lost although they arrived.
    pub fn spuriously_lost_bytes(&self, sender: &SenderStats) -> u64 {
        let Some(visit) = &self.current else { return 0 };
        let counters = &visit.counters;
        let spurious = sender.packets_declared_lost.saturating_sub(counters.data_lost());
        spurious * (counters.data_bytes / counters.data_packets.max(1))
    }

    /// Counts a packet of `bytes` sent by one end. `layers` divides them.
    #[inline]
    pub fn count_sent(
        &mut self,
        now: Time,
        toward: PathDirection,
        bytes: u32,
        layers: impl FnOnce() -> ReverseBytes,
    ) {
        let Some(visit) = &mut self.current else { return };
        if toward == visit.data_direction {
            visit.counters.count_data_sent(bytes);
        } else {
            visit.counters.count_reverse_sent(now, bytes, layers());
        }
    }

    /// Counts a packet sent by a node between the ends.
    pub fn count_forwarded(&mut self, toward: PathDirection) {
        if let Some(visit) = &mut self.current {
            visit.counters.forwarded += u64::from(toward == visit.data_direction);
        }
    }

    /// Counts the loss of a packet.
    pub fn count_lost(&mut self, packet: LostPacket, now: Time) {
        let LostPacket { toward, to, visit, reason: lost, carried, position } = packet;
        let is_current = visit == self.visit();
        // A lost reply also counts as a lost echo.
        let is_ping =
            matches!(self.spec.stack, Stack::DatagramTraffic(DatagramTraffic::Ping { .. }));
        let Some(current) = self.current.as_mut().filter(|_| is_current) else { return };
        let is_data = toward == current.data_direction;
        if let Some(account) = &mut current.account {
            account.lost(now, to, is_data, lost, carried);
        }
        let counters = &mut current.counters;
        counters.no_route += u64::from(lost == LossReason::NoRoute);
        counters.reverse_lost += u64::from(!is_data);
        if is_data || is_ping {
            counters.count_data_lost(now, lost, position);
        }
    }

    /// Ends the active visit.
    pub fn end(&mut self, now: Time, shared: &Shared, mut report: VisitReport) {
        let Some(mut visit) = self.current.take() else { return };
        if let Some(layers) = &report.reverse.layers {
            visit.counters.reverse_bytes.split(layers);
        }
        let start = Time::ZERO + self.spec.start;
        let next = self.spec.visits.get(self.next_visit);
        self.begins = next.map(|next| next.begins(start, now) + next.start_jitter);
        let spec = &self.spec.visits[visit.number - 1];
        if !spec.measured {
            return;
        }
        let completed_at = visit.completion(now);
        let received = visit.progress.state().received;
        let mut account = visit.account.take().map(|account| {
            account.close(now, completed_at, spec.duration.is_some(), received, &report)
        });
        if let Some(counted) = visit.counters.series.take() {
            let mut trace = series::flow_trace(&self.spec.name, &visit, counted, now, &mut report);
            let strip = account.as_mut().map(|account| std::mem::take(&mut account.strip));
            for (part, points) in strip.into_iter().flatten() {
                trace.series.push(Series::new(part.metric(), "%", points));
            }
            self.results.traces.push(trace);
            let probes = spec.probes.iter().zip(visit.progress.probes());
            let traces = probes.map(|(probe, progress)| {
                series::probe_trace(&probe.name, &visit, progress.response_times())
            });
            self.results.traces.extend(traces);
        }
        let outcome =
            outcome::flow_outcome(&self.spec, &visit, now, shared.time_limit, &report, account);
        for (probe, progress) in spec.probes.iter().zip(visit.progress.probes()) {
            self.results.probes.push(outcome::probe_outcome(&outcome, probe, progress));
        }
        if self.results.outcomes.is_empty() {
            // Thousands of flows have one visit each: no spare room for three more.
            let measured = self.spec.visits.iter().filter(|visit| visit.measured).count();
            self.results.outcomes.reserve_exact(measured);
        }
        self.results.outcomes.push(outcome);
        self.results.qlog.extend(report.qlog);
    }

    /// Results of the finished visits.
    pub fn into_results(self) -> FlowResults {
        self.results
    }
}

/// Returns the name of the host of an origin of a page: 0 is the flow's server, and each other one
/// a host of its own.
pub fn server_of(progress: &FlowProgress, start: &VisitStart, origin: usize) -> String {
    let page = start.visit.page.as_ref();
    let server = &progress.spec.server;
    match page.and_then(|page| page.origins.get(origin)).filter(|_| origin > 0) {
        Some(name) => format!("{server}/{name}"),
        None => server.clone(),
    }
}
