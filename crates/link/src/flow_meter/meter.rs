//! A flow meter at run time.

use super::config::{FlowMeterConfig, PACKET};
use crate::model::DirectionModel;
use crate::policer::Policer;
use crate::queue::accepted::Accepted;
use crate::queue::disciplines::{HeadDrop, QueueContext, QueueDiscipline};
use crate::queue::link_queue::Queue;
use crate::random::Stream;
use crate::{FlowKey, PacketTotals};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// Most flows that are metered, as in a dynamic set of nftables. The packets of others pass.
const MAX_FLOWS: usize = 65_535;
/// Shortest time between two searches for flows that have expired.
const SEARCH_INTERVAL: Span = Span::from_secs(1);

/// A token bucket for each flow, and the class of those that have emptied theirs.
#[derive(Debug, Clone)]
pub(crate) struct FlowMeter<P> {
    rate: Rate,
    burst: Bytes,
    expires: Span,
    flows: BTreeMap<FlowKey, Flow>,
    /// Time of the last search for flows that have expired.
    searched: Time,
    /// The packets of the class.
    pub class: Queue<P>,
    /// When the class may release its next packet.
    free: Time,
}

/// A flow that has sent within `expires`.
#[derive(Debug, Clone)]
struct Flow {
    bucket: Policer,
    /// Time of its latest packet.
    seen: Time,
    /// True once the bucket was empty.
    exceeded: bool,
}

impl<P> FlowMeter<P> {
    /// Creates the meter of `model`, if it has one; `rtt` sizes a queue in BDP.
    pub fn new(
        model: &DirectionModel,
        rtt: Span,
        random: impl FnOnce() -> Stream,
    ) -> Option<Box<Self>> {
        let FlowMeterConfig::PerFlow { rate, burst, queue, expires } = model.flow_meter else {
            return None;
        };
        let context = QueueContext { limit: queue.resolve(rate, rtt), rate };
        let discipline = QueueDiscipline::HeadDrop(HeadDrop);
        let class = Queue::new(discipline.queue(context, random), discipline.acts_on_dequeue());
        let (searched, free) = (Time::ZERO, Time::ZERO);
        Some(Box::new(Self { rate, burst, expires, flows: BTreeMap::new(), searched, class, free }))
    }

    /// Counts a packet of `flow` at `now`. Returns true if the flow belongs to the class: its
    /// bucket is empty, or was since the flow has begun.
    pub fn exceeds(&mut self, now: Time, flow: FlowKey) -> bool {
        let new =
            Flow { bucket: Policer::full(self.rate, self.burst, now), seen: now, exceeded: false };
        let room = self.flows.contains_key(&flow) || self.has_room(now);
        if !room {
            return false;
        }
        let expires = self.expires;
        let flow = self.flows.entry(flow).or_insert_with(|| new.clone());
        if now.since(flow.seen) > expires {
            *flow = new;
        }
        flow.seen = now;
        flow.exceeded = flow.exceeded || !flow.bucket.admits(now, PACKET.get() as u32);
        flow.exceeded
    }

    /// Returns true if one more flow can be metered. Forgets flows that have expired.
    fn has_room(&mut self, now: Time) -> bool {
        if self.flows.len() >= MAX_FLOWS && now.since(self.searched) >= SEARCH_INTERVAL {
            self.searched = now;
            let expires = self.expires;
            self.flows.retain(|_, flow| now.since(flow.seen) <= expires);
        }
        self.flows.len() < MAX_FLOWS
    }

    /// Lets a packet of `bytes` through the class without a wait, if it is idle at `now`.
    pub fn passes(&mut self, now: Time, bytes: u32) -> bool {
        let idle = self.class.waiting() == PacketTotals::default() && self.free <= now;
        if idle {
            self.occupy(now, bytes);
        }
        idle
    }

    /// Returns when the class releases its next packet; [`Time::MAX`] if none waits.
    pub fn due(&self) -> Time {
        if self.class.waiting().packets > 0 { self.free } else { Time::MAX }
    }

    /// Releases the oldest packet of the class at `now`.
    pub fn release(&mut self, now: Time) -> Option<Accepted<P>> {
        let head = self.class.begin(now)?;
        self.occupy(now, head.bytes);
        self.class.end()
    }

    fn occupy(&mut self, now: Time, bytes: u32) {
        self.free = now + self.rate.time_for(Bytes::new(bytes.into()));
    }
}
