//! The links of a run, with their records.

use crate::checks::LinkAudit;
use crate::loss_reason::LossReason;
use crate::outcome::LinkOutcome;
use crate::packet_arena::PacketId;
use bentpipe_link::{DirectionModel, Enqueue, Link, LinkContext, LinkRecorder, LossCause, Packet};
use bentpipe_timeseries::{LinkSeries, SeriesLimit};
use bentpipe_units::{Span, Time};

/// A link and its records.
pub struct LinkState {
    pub name: String,
    pub model: Box<DirectionModel>,
    pub link: Link<PacketId>,
    /// The nodes at its far ends, by port.
    pub port_destinations: Vec<u32>,
    pub recorder: Option<Box<LinkRecorder>>,
    /// True if its rate may be zero, so that a packet that it does not send waits for the end of an
    /// outage and not for capacity.
    pub has_outages: bool,
    /// True if its recorder takes the shares of frames.
    records_frames: bool,
    /// True if its rate depends on demand and is recorded.
    records_rates: bool,
    /// Where its packets are captured, if they are.
    pub captured: Option<CapturedLink>,
    /// Bytes that have left it by flow, independent of the link's counters.
    pub carried: BytesByFlow,
    /// Transmission time before the first measured visit.
    pub busy_before: Span,
    pub last: Time,
    /// Arrival of its first packet.
    pub first_in: Option<Time>,
    /// Departure of its last packet.
    pub last_out: Time,
}

/// A link whose packets are captured.
#[derive(Debug, Clone, Copy)]
pub struct CapturedLink {
    /// Capture interface.
    pub interface: u32,
    /// The end of the link: true where packets enter it, false where they leave it.
    pub entrance: bool,
}

impl LinkState {
    /// Creates an unused link whose ports lead to the given nodes.
    pub fn new(
        name: String,
        model: DirectionModel,
        context: LinkContext,
        port_destinations: Vec<u32>,
    ) -> Self {
        Self {
            link: Link::new(&model, &context, port_destinations.len()),
            name,
            has_outages: model.has_outages(),
            model: Box::new(model),
            port_destinations,
            recorder: None,
            records_frames: false,
            records_rates: false,
            captured: None,
            carried: BytesByFlow::default(),
            busy_before: Span::ZERO,
            last: Time::ZERO,
            first_in: None,
            last_out: Time::ZERO,
        }
    }

    /// Returns its state for the checks at the end of the run.
    pub fn account(&self, end: Time) -> LinkAudit<'_> {
        LinkAudit {
            name: &self.name,
            model: &self.model,
            counters: *self.link.counters(),
            queue: self.link.queue_time(end),
            held: self.link.held(),
            first_in: self.first_in,
            last_out: self.last_out,
            crossed: self.carried.total(),
        }
    }

    /// Returns its outcome in a run that ended at `end` and whose first measured visit started at
    /// `measured_from`.
    pub fn outcome(&self, measured_from: Option<Time>, end: Time) -> LinkOutcome {
        let counters = *self.link.counters();
        // What it carried before the first measured visit does not count, nor does the time before
        // its own first packet.
        let from = measured_from.zip(self.first_in).map(|(from, first)| from.max(first));
        let active = from.map_or(Span::ZERO, |from| self.model.sending_time(from, self.last));
        let busy = counters.busy.saturating_sub(self.busy_before);
        // A packet or a frame may reach past either end.
        let utilisation = if active.is_zero() {
            0.0
        } else {
            (busy.as_secs_f64() / active.as_secs_f64()).min(1.0)
        };
        let waited =
            self.link.queue_time(end).waited_packets / u128::from(counters.packets_in.max(1));
        LinkOutcome {
            name: self.name.clone(),
            counters,
            utilisation,
            queue_mean: Span::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX)),
            carried: self.carried.by_flow(),
        }
    }

    /// Offers a packet to `port`. Returns it if the link drops it at once.
    #[inline(always)]
    pub fn offer(
        &mut self,
        now: Time,
        port: usize,
        packet: Packet<PacketId>,
    ) -> Option<(LossReason, Packet<PacketId>)> {
        self.last = now;
        self.first_in.get_or_insert(now);
        let enqueued = self.link.enqueue(now, port, packet);
        self.note(now);
        let Enqueue::Dropped(cause, packet) = enqueued else { return None };
        Some((self.count_dropped(now, cause), packet))
    }

    /// Counts a packet that left from `port`. Returns the node that it reaches.
    #[inline]
    pub fn count_delivered(&mut self, now: Time, port: usize, packet: &Packet<PacketId>) -> u32 {
        self.last_out = now;
        if let Some(recorder) = &mut self.recorder {
            recorder.delivered(now, packet.bytes);
        }
        self.carried.add(packet.payload.flow, packet.bytes);
        self.port_destinations[port]
    }

    /// Records that a packet was dropped at `at`.
    pub fn count_dropped(&mut self, at: Time, cause: LossCause) -> LossReason {
        let reason = LossReason::OnLink(cause);
        if let Some(recorder) = &mut self.recorder {
            recorder.dropped(at, reason);
        }
        reason
    }

    /// Notes that all of its events up to `now` were taken.
    pub fn polled(&mut self, now: Time) {
        self.last = now;
        self.note(now);
    }

    /// Records time series of at most `limit` points from now on.
    pub fn record(&mut self, limit: SeriesLimit) {
        self.records_frames = self.link.record_frame_shares();
        self.records_rates = self.link.record_rates();
        self.recorder = Some(Box::new(LinkRecorder::new(limit)));
    }

    /// Records the queue at `now` and the terminals' shares of frames.
    #[inline]
    fn note(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.queue(now, self.link.queue_bytes());
            if self.records_frames {
                self.note_frames(now);
            } else if self.records_rates {
                self.note_rates(now);
            }
        }
    }

    /// Records the terminals' shares of frames. Few links have any.
    #[cold]
    fn note_frames(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.frames(self.link.take_frame_shares(now));
        }
    }

    /// Records the rate that grows on demand. Few links have one.
    #[cold]
    fn note_rates(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.rates(self.link.take_rates(now));
        }
    }

    /// Returns its time series if recorded, followed by those of its terminals. `rtt` is the base
    /// RTT, from which queue sizes in BDP follow, and `outages` returns when the network took the
    /// link down.
    pub fn traces(
        mut self,
        rtt: Span,
        end: Time,
        outages: impl FnOnce() -> Vec<(Time, Time)>,
    ) -> Vec<LinkSeries> {
        let Some(mut recorder) = self.recorder else { return Vec::new() };
        recorder.frames(self.link.take_frame_shares(end));
        recorder.rates(self.link.take_rates(end));
        let (rate, queue_limit) = (self.model.constant_rate(), self.model.queue_limit_bytes(rtt));
        let terminals = recorder.take_terminals();
        let model = &self.model;
        let outages = |end| outages().into_iter().chain(model.total_losses(end)).collect();
        let series = recorder.series_with_rate(model, Some(end), outages);
        let whole = LinkSeries { name: self.name.clone(), rate, queue_limit, series };
        let terminals = terminals.into_iter().enumerate().map(|(terminal, series)| LinkSeries {
            name: format!("{}#{terminal}", self.name),
            rate,
            queue_limit,
            series,
        });
        [whole].into_iter().chain(terminals).collect()
    }
}

/// Number of flows up to which [`BytesByFlow`] searches a list.
const LISTED: usize = 16;

/// Bytes per flow.
#[derive(Default)]
pub struct BytesByFlow {
    /// Flows with their bytes, while there are few of them: most links of a mesh carry few of the
    /// flows.
    few: Vec<(u32, u64)>,
    /// Bytes by flow, once there are more.
    many: Vec<u64>,
}

impl BytesByFlow {
    /// Adds `bytes` of `flow`. The list is roughly ordered by bytes, so that the most active flows
    /// are found first, and seldom changes.
    #[inline]
    pub fn add(&mut self, flow: u32, bytes: u32) {
        if let Some(total) = self.many.get_mut(flow as usize) {
            *total += u64::from(bytes);
            return;
        }
        match self.few.iter().position(|&(other, _)| other == flow) {
            Some(index) => {
                self.few[index].1 += u64::from(bytes);
                if index > 0 && self.few[index].1 / 2 > self.few[index - 1].1 {
                    self.few.swap(index, index - 1);
                }
            }
            None => self.add_flow(flow, bytes),
        }
    }

    #[cold]
    fn add_flow(&mut self, flow: u32, bytes: u32) {
        if self.many.is_empty() && self.few.len() < LISTED {
            self.few.push((flow, bytes.into()));
            return;
        }
        for (flow, bytes) in self.few.drain(..).chain([(flow, bytes.into())]) {
            let flow = flow as usize;
            if flow >= self.many.len() {
                self.many.resize(flow + 1, 0);
            }
            self.many[flow] += bytes;
        }
    }

    /// The total of all flows.
    pub fn total(&self) -> u64 {
        self.few.iter().map(|&(_, bytes)| bytes).sum::<u64>() + self.many.iter().sum::<u64>()
    }

    /// The bytes of each flow, in the order of flows.
    pub fn by_flow(&self) -> Vec<(usize, u64)> {
        let few = self.few.iter().map(|&(flow, bytes)| (flow as usize, bytes));
        let many = self.many.iter().copied().enumerate().filter(|&(_, bytes)| bytes > 0);
        let mut flows: Vec<_> = few.chain(many).collect();
        flows.sort_unstable();
        flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_per_flow_in_any_order() {
        let mut carried = BytesByFlow::default();
        for (flow, bytes) in [(7, 100), (2, 10), (7, 1), (2, 1), (2, 1), (5, 1000)] {
            carried.add(flow, bytes);
        }
        assert_eq!(carried.by_flow(), [(2, 12), (5, 1000), (7, 101)]);
        assert_eq!(carried.total(), 1113);
    }

    #[test]
    fn bytes_are_counted_per_flow_for_any_number_of_flows() {
        let mut carried = BytesByFlow::default();
        for round in 1..4 {
            for flow in (0..100).rev() {
                carried.add(flow, flow + round);
            }
        }
        let expected: Vec<_> = (0..100).map(|flow| (flow, 3 * flow as u64 + 6)).collect();
        assert_eq!(carried.by_flow(), expected);
        let total: u64 = expected.iter().map(|&(_, bytes)| bytes).sum();
        assert_eq!(carried.total(), total);
    }
}
