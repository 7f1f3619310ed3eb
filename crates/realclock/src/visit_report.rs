//! The outcome of one visit for the results, from what its ends and the emulator observed.

use super::visit_outcome::{ApplicationOutcome, ClientTimes};
use bentpipe_captures::LimitChange;
use bentpipe_emu::{PortCounters, SocketState, TransferOutcome};
use bentpipe_quic::ResumeVia;
use bentpipe_quic::observer::Sizes;
use bentpipe_sim::time_budget::ClosedAccount;
use bentpipe_sim::{
    Acknowledgements, Direction, FlowOutcome, FlowSpec, ObjectOutcome, PathOutcome, ReverseBytes,
    Stack, Visit,
};
use bentpipe_timeseries::{BoundedSeries, Series, SeriesLimit, VisitSeries};
use bentpipe_units::{Span, Time};

/// One visit, as its ends and the emulator observed it.
pub(super) struct VisitReport<'a> {
    pub flow: &'a FlowSpec,
    /// Index of the flow in the run.
    pub flow_index: usize,
    pub visit: &'a Visit,
    /// Number of the visit in its flow, from 1.
    pub number: usize,
    pub ends: TransferOutcome,
    pub client_times: Option<ClientTimes>,
    /// What its application measured.
    pub application: ApplicationOutcome,
    /// What limited the sender of QUIC, if it says.
    pub limits: &'a [LimitChange],
    /// Packets in the direction of the data.
    pub data: PortCounters,
    /// Packets in the opposite direction.
    pub reverse: PortCounters,
}

impl VisitReport<'_> {
    /// Returns the time of the client's first packet.
    pub fn start(&self) -> Time {
        let client = match self.visit.direction {
            Direction::Download => &self.reverse,
            Direction::Upload => &self.data,
        };
        client.first.unwrap_or(self.ends.begin)
    }

    /// Returns the time until the handshake was complete.
    pub fn handshake(&self) -> Option<Span> {
        match self.client_times {
            Some(client) => client.handshake,
            None => self.ends.open.map(|at| at.since(self.start())),
        }
    }

    /// Returns the time until all data had arrived, or the fixed duration had passed.
    pub fn completion(&self) -> Option<Span> {
        let ends = &self.ends;
        let full_duration = self
            .visit
            .duration
            .filter(|duration| ends.end >= ends.begin + *duration && ends.error.is_none());
        if full_duration.is_some() {
            return full_duration;
        }
        let all =
            ends.objects.iter().all(|object| object.completed.is_some()) && ends.error.is_none();
        let last = ends.objects.iter().filter_map(|object| object.completed).max();
        let completion = last.filter(|_| all).map(|at| at.since(self.start()));
        completion.map(|at| self.client_times.map_or(at, |client| client.completion))
    }

    /// Returns the outcome for the results, with what its time was spent on if that is known.
    pub fn outcome(&self, account: Option<&ClosedAccount>) -> FlowOutcome {
        let (ends, data, reverse) = (&self.ends, &self.data, &self.reverse);
        let start = self.start();
        let since = |at: Time| at.since(start);
        let received: u64 = ends.objects.iter().map(|object| object.received).sum();
        let requested: u64 = (0..self.visit.objects.len()).map(|index| self.size(index)).sum();
        let completion = self.completion();
        let rtts = sorted_rtts(ends);
        let at_end = ends.samples.last().map(|(_, state)| state);
        let stack = self.flow.stack.congestion();
        let datagrams = matches!(self.flow.stack, Stack::DatagramTraffic(_) | Stack::Call(_));
        let without_congestion = if datagrams { "none" } else { "unknown" };
        // A lost reply also counts as a lost echo.
        let lost = |count: fn(&PortCounters) -> u64| {
            count(data) + if ends.rtts.is_empty() { 0 } else { count(reverse) }
        };
        FlowOutcome {
            time_budget: account.map(|account| account.budget),
            loss_times: account.map(|account| account.loss_times).unwrap_or_default(),
            episodes: account.map(|account| account.episodes.clone()).unwrap_or_default(),
            name: self.flow.name.clone(),
            visit: self.number,
            transport: self.flow.stack.name(),
            congestion: stack
                .map_or(without_congestion, |congestion| congestion.controller.as_str())
                .to_owned(),
            connections: if datagrams { 0 } else { 1 },
            direction: self.visit.direction,
            bytes: if self.visit.duration.is_some() { received } else { requested },
            received,
            received_by_tenth: ends.received_by_tenth.clone(),
            completed: completion.is_some(),
            start,
            handshake: self.handshake(),
            first_byte: self
                .client_times
                .map(|client| client.first_byte)
                .or(ends.first_byte.map(since)),
            completion,
            packets_sent: data.packets,
            bytes_sent: data.bytes,
            packets_lost_policer: lost(|counters| counters.lost_policer),
            packets_lost_queue: lost(|counters| counters.lost_queue),
            packets_lost_channel: lost(|counters| counters.lost_random),
            packets_lost_routing: lost(|counters| counters.lost_routing),
            delays: ends.delays.clone(),
            packets_declared_lost: at_end.map(|state| state.retransmitted),
            flow_control_blocked: at_end.map(|state| state.blocked),
            reverse_packets: reverse.packets,
            reverse_packets_lost: reverse.lost(),
            reverse_bytes: reverse_bytes(reverse),
            // Acknowledgements of QUIC are encrypted.
            acknowledgements: (reverse.layers.tcp > 0).then(|| Acknowledgements {
                packets: reverse.acknowledging,
                only: reverse.only_acknowledging,
                data: data.delivered_data,
                sizes: sizes(reverse),
            }),
            rtt_min: at_end
                .and_then(|state| state.min_rtt)
                .or_else(|| rtts.first().copied().filter(|_| !ends.rtts.is_empty())),
            rtt_mean: mean(&rtts),
            rtt_p99: rtts.get((rtts.len() * 99).div_ceil(100).saturating_sub(1)).copied(),
            rtt_max: rtts.last().copied(),
            path: self.path(),
            call: self.application.call.clone(),
            player: self.application.player.clone(),
            objects: self.objects(start),
            error: ends.error.clone(),
            ..FlowOutcome::default()
        }
    }

    /// Returns the server's knowledge of the path. Without a store, it can only come from a token
    /// that the server accepted.
    fn path(&self) -> PathOutcome {
        let retreated = self.client_times.and_then(|client| client.retreated);
        let via_token = match &self.flow.stack {
            Stack::Quic(settings) => settings.resume_via == ResumeVia::Token,
            _ => false,
        };
        let token = (via_token && retreated.is_some()).then_some("accepted");
        PathOutcome { retreated, token, ..PathOutcome::default() }
    }

    /// Returns the bytes of an object, which a player may have decided on.
    fn size(&self, index: usize) -> u64 {
        let planned = || self.visit.objects.get(index).map_or(0, |object| object.bytes.get());
        self.application.sizes.get(index).copied().unwrap_or_else(planned)
    }

    fn objects(&self, start: Time) -> Vec<ObjectOutcome> {
        if self.visit.duration.is_some() {
            return Vec::new();
        }
        let each = self.visit.objects.iter().zip(&self.ends.objects).enumerate();
        each.map(|(index, (object, observed))| ObjectOutcome {
            name: object.name.clone(),
            bytes: self.size(index),
            received: observed.received,
            start: observed.requested.map_or(Span::ZERO, |at| at.since(start)),
            completion: observed.completed.map(|at| at.since(start)),
        })
        .collect()
    }

    /// Returns the time series for the results, of at most `limit` points each.
    pub fn trace(&self, limit: SeriesLimit, account: Option<&ClosedAccount>) -> VisitSeries {
        let start = self.start();
        let mut series = Vec::new();
        let mut add = |name, unit, points: BoundedSeries| {
            if !points.is_empty() {
                series.push(Series::new(name, unit, points.into_points()));
            }
        };
        // Points only where the value changes.
        let of = |read: &dyn Fn(&SocketState) -> Option<f64>| {
            let mut changes = BoundedSeries::new(limit);
            for (at, state) in &self.ends.samples {
                if let Some(value) = read(state) {
                    changes.push_change(*at, value);
                }
            }
            changes
        };
        add("received", "bytes", self.received(limit));
        add("cwnd", "bytes", of(&|state| Some(state.cwnd.get() as f64)));
        add("ssthresh", "bytes", of(&|state| state.ssthresh.map(|bytes| bytes.get() as f64)));
        add("bytes_in_flight", "bytes", of(&|state| Some(state.in_flight.get() as f64)));
        add("pacing_rate", "Mbps", of(&|state| state.pacing.map(|rate| rate as f64 * 8.0 / 1e6)));
        add("smoothed_rtt", "ms", of(&|state| known(state.smoothed_rtt).map(Span::as_millis_f64)));
        let mut rtts = BoundedSeries::new(limit);
        self.ends.rtts.iter().for_each(|(at, rtt)| rtts.push(*at, rtt.as_millis_f64()));
        add("rtt", "ms", rtts);
        series.extend(self.application.series.iter().cloned());
        for (part, points) in account.iter().flat_map(|account| &account.strip) {
            series.push(Series::new(part.metric(), "%", points.clone()));
        }
        let last = self.ends.objects.iter().filter_map(|object| object.completed).max();
        let marks = [
            (self.ends.open, "handshake complete"),
            (self.ends.first_byte, "first byte"),
            (last, "complete"),
        ];
        VisitSeries {
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

    /// Returns the total of received bytes at the end of each tenth of a second in which some
    /// arrived.
    fn received(&self, limit: SeriesLimit) -> BoundedSeries {
        let (mut sum, mut series) = (0, BoundedSeries::new(limit));
        let tenths = self.ends.received_by_tenth.iter();
        for (tenth, bytes) in tenths.filter(|(_, bytes)| *bytes > 0) {
            sum += bytes;
            let end = Time::from_millis(100 * (tenth as u64 + 1)).min(self.ends.end);
            series.push(end, sum as f64);
        }
        series
    }
}

fn reverse_bytes(reverse: &PortCounters) -> ReverseBytes {
    ReverseBytes {
        ip: reverse.layers.ip,
        udp: reverse.layers.udp,
        tcp: reverse.layers.tcp,
        options: reverse.layers.options,
        payload: reverse.layers.payload,
        total: reverse.bytes,
        ..ReverseBytes::default()
    }
}

/// Returns `None` for zero, which stands for an unknown RTT.
fn known(span: Span) -> Option<Span> {
    (!span.is_zero()).then_some(span)
}

/// Returns the smoothed RTTs that the kernel reported, or those of echoed datagrams, in ascending
/// order.
fn sorted_rtts(ends: &TransferOutcome) -> Vec<Span> {
    let smoothed = ends.samples.iter().filter_map(|(_, state)| known(state.smoothed_rtt));
    let mut all: Vec<Span> = smoothed.chain(ends.rtts.iter().map(|(_, rtt)| *rtt)).collect();
    all.sort_unstable();
    all
}

fn mean(spans: &[Span]) -> Option<Span> {
    let sum: u128 = spans.iter().map(|span| u128::from(span.as_nanos())).sum();
    let mean = sum.checked_div(spans.len() as u128)?;
    Some(Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
}

/// Returns the distribution of the size of acknowledgement options.
fn sizes(counters: &PortCounters) -> Sizes {
    let mut sizes = Sizes::default();
    for (&bytes, &count) in &counters.option_bytes {
        (0..count).for_each(|_| sizes.add(bytes));
    }
    sizes
}
