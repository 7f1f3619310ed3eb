//! The links of a run, with their records.

use crate::checks::LinkAudit;
use crate::outcome::LinkOutcome;
use crate::packet_arena::PacketId;
use bentpipe_link::{DirectionModel, Link, LinkContext};
use bentpipe_recorder::{LinkRecorder, LinkTrace};
use bentpipe_series::SeriesLimit;
use bentpipe_units::{Span, Time};

/// A link and its records.
pub struct LinkState {
    pub name: String,
    pub model: Box<DirectionModel>,
    pub link: Link<PacketId>,
    /// The nodes at its far ends, by port.
    pub port_destinations: Vec<u32>,
    pub recorder: Option<Box<LinkRecorder>>,
    /// True if its recorder takes the shares of frames.
    records_frames: bool,
    /// Capture interface for packets that enter this link.
    pub captured: Option<u32>,
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
            model: Box::new(model),
            port_destinations,
            recorder: None,
            records_frames: false,
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
        let active = measured_from.map_or(Span::ZERO, |from| self.last.since(from));
        let busy = counters.busy.saturating_sub(self.busy_before);
        let utilisation =
            if active.is_zero() { 0.0 } else { busy.as_secs_f64() / active.as_secs_f64() };
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

    /// Records time series of at most `limit` points from now on.
    pub fn record(&mut self, limit: SeriesLimit) {
        self.records_frames = self.link.record_frame_shares();
        self.recorder = Some(Box::new(LinkRecorder::new(limit)));
    }

    /// Records the queue at `now` and the terminals' shares of frames.
    pub fn note(&mut self, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.queue(now, self.link.queue_bytes());
            if self.records_frames {
                recorder.frames(self.link.take_frame_shares(now));
            }
        }
    }

    /// Returns its time series if recorded, followed by those of its terminals. `rtt` is the base
    /// RTT, from which queue sizes in BDP follow.
    pub fn traces(mut self, rtt: Span, end: Time) -> Vec<LinkTrace> {
        let Some(mut recorder) = self.recorder else { return Vec::new() };
        recorder.frames(self.link.take_frame_shares(end));
        let (rate, queue_limit) = (self.model.constant_rate(), self.model.queue_limit_bytes(rtt));
        let terminals = recorder.take_terminals();
        let whole =
            LinkTrace { name: self.name.clone(), rate, queue_limit, series: recorder.series() };
        let terminals = terminals.into_iter().enumerate().map(|(terminal, series)| LinkTrace {
            name: format!("{}#{terminal}", self.name),
            rate,
            queue_limit,
            series,
        });
        [whole].into_iter().chain(terminals).collect()
    }
}

/// Bytes per flow.
#[derive(Default)]
pub struct BytesByFlow(Vec<(u32, u64)>);

impl BytesByFlow {
    /// Adds `bytes` of `flow`. Flows move to the front with each packet, so that the most active
    /// are found first.
    #[inline]
    pub fn add(&mut self, flow: u32, bytes: u32) {
        match self.0.iter().position(|&(other, _)| other == flow) {
            Some(index) => {
                self.0[index].1 += u64::from(bytes);
                self.0.swap(index, index.saturating_sub(1));
            }
            None => self.0.push((flow, bytes.into())),
        }
    }

    /// The total of all flows.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&(_, bytes)| bytes).sum()
    }

    /// The bytes of each flow, in the order of flows.
    pub fn by_flow(&self) -> Vec<(usize, u64)> {
        let mut flows: Vec<_> =
            self.0.iter().map(|&(flow, bytes)| (flow as usize, bytes)).collect();
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
}
