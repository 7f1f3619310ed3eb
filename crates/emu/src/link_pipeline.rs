//! One direction of the path: its links in series, driven by a real clock.
//!
//! A state machine without a clock of its own. However late it is called, each link sees every
//! packet at the exact time at which the previous link released it. A late thread delays packets,
//! but changes neither losses nor rates.

use crate::delay_changes::DelayChange;
use crate::loss_cause::LossCause;
use crate::packet_log::PathService;
use crate::report::LinkReport;
use bentpipe_link::{
    DirectionModel, DropCause, Enqueue, Event, Link, LinkContext, LinkRecorder, Packet,
};
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::{LinearDelay, Span, Time};
use std::collections::VecDeque;

/// A payload with its terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addressed<P> {
    /// Index of the terminal.
    pub terminal: usize,
    /// The payload.
    pub payload: P,
    /// What the links have done with the packet so far.
    pub service: PathService,
}

/// A packet in a pipeline.
pub type PipelinePacket<P> = Packet<Addressed<P>>;

/// Outcome of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<P> {
    /// It passed all links.
    Out {
        /// Its deadline.
        at: Time,
        /// The packet, with its terminal.
        packet: PipelinePacket<P>,
    },
    /// A link lost it and counted it.
    Lost(LossCause, PipelinePacket<P>),
}

/// The links of one hop in one direction.
#[derive(Debug)]
struct HopLinks<P> {
    /// One link for all terminals, or one for each.
    links: Vec<Link<Addressed<P>>>,
    names: Vec<String>,
    shared: bool,
    has_outages: bool,
    has_delay_changes: bool,
    /// Delay changes with their terminal, in ascending order of time.
    delay_changes: VecDeque<(Time, usize, LinearDelay)>,
    /// Series of each link, if recorded.
    recorders: Vec<LinkRecorder>,
    /// Minimum delay from the end of transmission to the end of the hop, and to the end of the
    /// pipeline.
    min_delay: Span,
    min_delay_after: Span,
}

/// The links of one direction, in the order in which packets pass them.
#[derive(Debug)]
pub struct LinkPipeline<P> {
    stages: Vec<HopLinks<P>>,
    needs_flow: bool,
}

impl<P> LinkPipeline<P> {
    /// Creates a pipeline without hops, which passes packets at once.
    pub fn new() -> Self {
        Self { stages: Vec::new(), needs_flow: false }
    }

    /// Appends a hop.
    ///
    /// Links have the same names as in simulations (`name`, or `name#terminal` if terminals do not
    /// share it), so that they draw from the same random streams.
    pub fn push(
        &mut self,
        model: &DirectionModel,
        context: &LinkContext,
        terminals: usize,
        shared: bool,
    ) {
        let (copies, ports) = if shared { (1, terminals) } else { (terminals, 1) };
        let name =
            |copy| if shared { context.name.clone() } else { format!("{}#{copy}", context.name) };
        let names: Vec<String> = (0..copies).map(name).collect();
        let link = |name: &String| {
            Link::new(model, &LinkContext { name: name.clone(), ..context.clone() }, ports)
        };
        self.needs_flow |= model.needs_flow();
        let min_delay = model.least_delay();
        self.stages.iter_mut().for_each(|before| before.min_delay_after += min_delay);
        self.stages.push(HopLinks {
            links: names.iter().map(link).collect(),
            names,
            shared,
            has_outages: model.has_outages(),
            min_delay,
            min_delay_after: Span::ZERO,
            has_delay_changes: false,
            delay_changes: VecDeque::new(),
            recorders: Vec::new(),
        });
    }

    /// Appends a hop with `delay_changes` by terminal. Other terminals keep the model's delay.
    pub fn push_with_delay_changes(
        &mut self,
        model: &DirectionModel,
        context: &LinkContext,
        terminals: usize,
        shared: bool,
        delay_changes: &[(usize, &[DelayChange])],
    ) {
        if delay_changes.is_empty() {
            return self.push(model, context, terminals, shared);
        }
        self.push(&model.with_external_delay(), context, terminals, shared);
        let own = LinearDelay::new(Time::ZERO, model.base_delay(), 0);
        let mut min_delay = model.base_delay();
        let mut all: Vec<(Time, usize, LinearDelay)> =
            (0..terminals).map(|terminal| (Time::ZERO, terminal, own)).collect();
        for (terminal, changes) in delay_changes {
            for (index, (from, delay)) in changes.iter().enumerate() {
                all.push((*from, *terminal, *delay));
                // A linear delay is smallest at one of its ends. The last one applies forever.
                let until = changes
                    .get(index + 1)
                    .map_or(Time::from_nanos(u64::MAX / 2), |(next, _)| *next);
                min_delay = min_delay.min(delay.at(*from)).min(delay.at(until));
            }
        }
        all.sort_by_key(|(from, _, _)| *from);
        let before = self.stages.len().saturating_sub(1);
        self.stages.iter_mut().take(before).for_each(|stage| stage.min_delay_after += min_delay);
        if let Some(stage) = self.stages.last_mut() {
            stage.delay_changes = all.into();
            stage.has_delay_changes = true;
            stage.min_delay = min_delay;
            // Sets the first delay of each terminal, which adds its port.
            stage.apply_delay_changes(Time::ZERO);
        }
    }

    /// Returns true if a queue tells flows apart by [`Packet::flow`].
    pub fn needs_flow(&self) -> bool {
        self.needs_flow
    }

    /// Records series of every link from now on, of at most `limit` points.
    pub fn keep_series(&mut self, limit: SeriesLimit) {
        for stage in &mut self.stages {
            stage.recorders.resize_with(stage.links.len(), || LinkRecorder::new(limit));
            for link in &mut stage.links {
                link.record_rates();
            }
        }
    }

    /// Accepts a packet at `now`, which must not decrease. Returns the packet at once if the first
    /// link drops it.
    pub fn enqueue(&mut self, now: Time, packet: PipelinePacket<P>) -> Option<Outcome<P>> {
        self.enter(0, now, packet)
    }

    /// Returns the time at which the next packet leaves, or an earlier time. `None` if no packet
    /// can leave before another enters.
    ///
    /// Ignores losses, which the next [`Self::poll`] returns.
    pub fn next_output(&self) -> Option<Time> {
        let next = |stage: &HopLinks<P>| {
            let arrivals = stage.links.iter().filter_map(|link| link.next_arrival(stage.min_delay));
            arrivals.min().map(|at| at + stage.min_delay_after)
        };
        self.stages.iter().filter_map(next).min()
    }

    /// Returns the next packet that left or was lost by `now`, in order of time. Call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Outcome<P>> {
        loop {
            let (at, hop, index) = self.first_due().filter(|(at, _, _)| *at <= now)?;
            let stage = &mut self.stages[hop];
            stage.apply_delay_changes(at);
            let event = stage.links[index].poll(at);
            stage.record_queue(index, at);
            match event {
                None => {}
                Some(Event::Lost { cause, mut packet, service, .. }) => {
                    packet.payload.service.add(service, stage.has_outages);
                    stage.dropped(index, at, cause);
                    return Some(Outcome::Lost(LossCause::Link(cause), packet));
                }
                Some(Event::Delivered { mut packet, service, .. }) => {
                    packet.payload.service.add(service, stage.has_outages);
                    if let Some(recorder) = stage.recorders.get_mut(index) {
                        recorder.delivered(at, packet.bytes);
                    }
                    if let Some(outcome) = self.enter(hop + 1, at, packet) {
                        return Some(outcome);
                    }
                }
            }
        }
    }

    /// Packets and bytes in the queues of all links.
    pub fn waiting(&self) -> (u64, u64) {
        let links = self.stages.iter().flat_map(|stage| &stage.links);
        links.fold((0, 0), |(packets, bytes), link| {
            (packets + link.queue_packets(), bytes + link.queue_bytes())
        })
    }

    /// The counters of each link, advanced to `now`. [`Self::take_recorders`] returns the series.
    pub fn counters(&mut self, now: Time) -> Vec<LinkReport> {
        // The ports of links with external delays share one set of counters.
        let links = self.stages.iter_mut().flat_map(|stage| {
            let shared = stage.shared && !stage.has_delay_changes;
            stage.links.iter_mut().zip(&stage.names).map(move |(link, name)| (link, name, shared))
        });
        links
            .map(|(link, name, shared)| {
                link.advance_to(now);
                let waited = link.queue_time(now).waited_packets
                    / u128::from(link.counters().packets_in.max(1));
                let mean = Span::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX));
                let several = if shared && link.port_count() > 1 { link.port_count() } else { 0 };
                LinkReport {
                    name: name.clone(),
                    counters: *link.counters(),
                    terminals: (0..several).map(|port| *link.port_counters(port)).collect(),
                    queue_mean: mean,
                    recorder: None,
                }
            })
            .collect()
    }

    /// The series of each link up to `now`, in the order of [`Self::counters`]; empty if not
    /// recorded.
    pub fn take_recorders(&mut self, now: Time) -> Vec<LinkRecorder> {
        for stage in &mut self.stages {
            for (link, recorder) in stage.links.iter_mut().zip(&mut stage.recorders) {
                recorder.rates(link.take_rates(now));
            }
        }
        self.stages.iter_mut().flat_map(|stage| std::mem::take(&mut stage.recorders)).collect()
    }

    /// Returns the earliest deadline, with its hop and link.
    fn first_due(&self) -> Option<(Time, usize, usize)> {
        let links = self.stages.iter().enumerate().flat_map(|(hop, stage)| {
            stage.links.iter().enumerate().map(move |(index, link)| (hop, index, link))
        });
        links.filter_map(|(hop, index, link)| Some((link.next_deadline()?, hop, index))).min()
    }

    fn enter(&mut self, hop: usize, at: Time, packet: PipelinePacket<P>) -> Option<Outcome<P>> {
        let Some(stage) = self.stages.get_mut(hop) else {
            return Some(Outcome::Out { at, packet });
        };
        stage.apply_delay_changes(at);
        let terminal = packet.payload.terminal;
        let (index, port) = stage.link_of(terminal);
        let enqueued = stage.links[index].enqueue(at, port, packet);
        stage.record_queue(index, at);
        match enqueued {
            Enqueue::Queued => None,
            Enqueue::Dropped(cause, packet) => {
                stage.dropped(index, at, cause);
                Some(Outcome::Lost(LossCause::Link(cause), packet))
            }
        }
    }
}

impl<P> HopLinks<P> {
    /// Link and port of a terminal.
    fn link_of(&self, terminal: usize) -> (usize, usize) {
        if self.shared { (0, terminal) } else { (terminal, 0) }
    }

    /// Sets the delays in force at `at`. Packets that have left a transmitter keep their delay.
    fn apply_delay_changes(&mut self, at: Time) {
        while self.delay_changes.front().is_some_and(|(from, _, _)| *from <= at) {
            let Some((from, terminal, delay)) = self.delay_changes.pop_front() else { return };
            let (index, port) = self.link_of(terminal);
            self.links[index].advance_to(from);
            self.links[index].set_delay(port, delay);
        }
    }

    /// Records the queue of link `index`, and its rate if that depends on demand.
    fn record_queue(&mut self, index: usize, at: Time) {
        if let Some(recorder) = self.recorders.get_mut(index) {
            let link = &mut self.links[index];
            recorder.queue(at, link.queue_bytes());
            recorder.rates(link.take_rates(at));
        }
    }

    fn dropped(&mut self, index: usize, at: Time, cause: DropCause) {
        if let Some(recorder) = self.recorders.get_mut(index) {
            recorder.dropped(at, cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_link::{DirectionConfig, Ecn};
    use bentpipe_units::Rate;
    use proptest::prelude::*;
    use std::path::Path;

    /// Two hops. Terminals share the second.
    fn pipeline() -> LinkPipeline<u64> {
        let mut pipeline = LinkPipeline::new();
        for (name, mbps, delay_ms, shared) in [("near", 12, 3, false), ("far", 24, 300, true)] {
            let config = DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(delay_ms));
            let model = config.load(Path::new(".")).expect("valid direction");
            let context =
                LinkContext { rtt: Span::from_millis(606), seed: 1, run: 0, name: name.to_owned() };
            pipeline.push(&model, &context, 2, shared);
        }
        pipeline
    }

    fn packet(number: u64, terminal: usize) -> PipelinePacket<u64> {
        let payload = Addressed { terminal, payload: number, service: PathService::default() };
        Packet::new(1500, Ecn::NotEct, payload)
    }

    fn out(pipeline: &mut LinkPipeline<u64>, now: Time, all: &mut Vec<(Time, usize, u64)>) {
        while let Some(outcome) = pipeline.poll(now) {
            let Outcome::Out { at, packet } = outcome else { panic!("unexpected loss") };
            all.push((at, packet.payload.terminal, packet.payload.payload));
        }
    }

    #[test]
    fn a_packet_takes_the_sum_of_its_hops() {
        let mut pipeline = pipeline();
        assert!(pipeline.enqueue(Time::ZERO, packet(1, 1)).is_none());
        let mut all = Vec::new();
        while let Some(at) = pipeline.next_output() {
            out(&mut pipeline, at, &mut all);
        }
        // 1500 bytes: 1 ms at 12 Mbps, half of it at 24 Mbps.
        assert_eq!(all, [(Time::from_nanos(304_500_000), 1, 1)]);
        let counters = pipeline.counters(Time::from_millis(400));
        let names: Vec<&str> = counters.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(names, ["near#0", "near#1", "far"]);
        assert_eq!(
            counters.iter().map(|link| link.counters.packets_out).collect::<Vec<_>>(),
            [0, 1, 1]
        );
    }

    #[test]
    fn next_output_is_rarely_earlier_than_the_next_packet() {
        let (mut pipeline, mut all, mut wakes) = (pipeline(), Vec::new(), 0);
        for number in 0..100 {
            assert!(pipeline.enqueue(Time::ZERO, packet(number, 0)).is_none());
        }
        while let Some(now) = pipeline.next_output() {
            wakes += 1;
            let before = all.len();
            out(&mut pipeline, now, &mut all);
            assert!(all[before..].iter().all(|(at, _, _)| *at == now), "returned late");
        }
        assert_eq!(all.len(), 100);
        // One per packet, and a few before the first one, while its time is not yet known.
        assert!(wakes < 105, "{wakes}");
    }

    /// A delay of 10 ms; for terminal 1, 30 ms from 100 ms on, falling by 10 ms per 100 ms.
    fn changing_delay() -> LinkPipeline<u64> {
        let config = DirectionConfig::new(Rate::from_mbps(12), Span::from_millis(10));
        let model = config.load(Path::new(".")).expect("valid direction");
        let context = LinkContext {
            rtt: Span::from_millis(20),
            seed: 1,
            run: 0,
            name: "changing".to_owned(),
        };
        let mut pipeline = LinkPipeline::new();
        let delay =
            LinearDelay::new(Time::from_millis(100), Span::from_millis(30), -100_000_000_000);
        pipeline.push_with_delay_changes(
            &model,
            &context,
            2,
            true,
            &[(1, &[(Time::from_millis(100), delay)])],
        );
        pipeline.push(&model, &LinkContext { name: "near".to_owned(), ..context }, 2, false);
        pipeline
    }

    #[test]
    fn delay_changes_apply_per_terminal_even_if_polled_late() {
        for late_ms in [0, 500] {
            let (mut pipeline, mut all) = (changing_delay(), Vec::new());
            for (number, ms) in [0, 98, 99, 150, 200].into_iter().enumerate() {
                for terminal in [0, 1] {
                    let now = Time::from_millis(ms);
                    assert!(pipeline.enqueue(now, packet(number as u64, terminal)).is_none());
                    if late_ms == 0 {
                        out(&mut pipeline, now, &mut all);
                    }
                }
            }
            out(&mut pipeline, Time::from_millis(500), &mut all);
            // 1 ms for each transmission of the first hop; 1 ms and 10 ms for the second.
            let at = |wanted: u64, of: usize| {
                let found =
                    all.iter().find(|(_, terminal, number)| (*terminal, *number) == (of, wanted));
                found.map(|(at, _, _)| at.as_nanos() / 1000)
            };
            assert_eq!(
                [0, 1, 2, 3, 4].map(|number| at(number, 0)),
                [22_000, 120_000, 122_000, 172_000, 222_000].map(Some)
            );
            // Each packet is sent 1 ms after that of terminal 0. Packets sent before 100 ms have
            // the previous delay.
            assert_eq!(at(0, 1), Some(23_000));
            assert_eq!(at(1, 1), Some(100_000 + 10_000 + 11_000));
            assert_eq!(at(2, 1), Some(102_000 + 29_800 + 11_000));
            assert_eq!(at(3, 1), Some(152_000 + 24_800 + 11_000));
            assert_eq!(at(4, 1), Some(202_000 + 19_800 + 11_000));
        }
    }

    proptest! {
        /// Polling late does not change deadlines.
        #[test]
        fn deadlines_are_independent_of_polling_times(
            gaps_us in prop::collection::vec(0u64..3000, 1..60),
            naps_us in prop::collection::vec(1u64..50_000, 1..20),
        ) {
            let run = |naps: &mut dyn FnMut() -> u64| {
                let (mut pipeline, mut all) = (pipeline(), Vec::new());
                let (mut now_us, mut woken_us) = (0, 0);
                for (number, gap) in gaps_us.iter().enumerate() {
                    now_us += gap;
                    while woken_us < now_us {
                        out(&mut pipeline, Time::from_nanos(woken_us * 1000), &mut all);
                        woken_us += naps();
                    }
                    let number = number as u64;
                    let packet = packet(number, (number % 2) as usize);
                    assert!(pipeline.enqueue(Time::from_nanos(now_us * 1000), packet).is_none());
                    woken_us = woken_us.max(now_us);
                }
                out(&mut pipeline, Time::from_millis(10_000), &mut all);
                all
            };
            let mut naps = naps_us.iter().copied().cycle();
            prop_assert_eq!(run(&mut || 1000), run(&mut || naps.next().unwrap_or(1)));
        }
    }
}
