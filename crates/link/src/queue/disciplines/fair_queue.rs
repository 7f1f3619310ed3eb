//! Flow queueing: deficit round robin over flows, those with their first packets first (RFC 8290
//! §4.2), with or without CoDel in each queue.

use super::control_law::{ControlLaw, ControlState};
use super::discipline::{Effects, PacketQueue, Refused};
use super::flow_queues::{FlowHash, FlowQueues, MIN_QUANTUM};
use super::packet_lists::PacketLists;
use crate::counters::PacketTotals;
use crate::fields::{Field, Fields, Kind};
use crate::queue::accepted::Accepted;
use crate::queue::limit::ResolvedLimit;
use crate::random::Stream;
use crate::{ConfigError, DropCause};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Which packets are dropped for one that arrives at a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The first ones of the flow with most bytes, as in RFC 8290 §4.1.3.
    Fattest,
    /// The one that has waited longest, of any flow: losses hit all flows.
    Oldest,
    /// The first ones of the arriving packet's own flow, and the packet itself if there are none:
    /// losses hit flows in proportion to their rates.
    Arriving,
}

/// How flow queues tell flows apart and share the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowQueueing {
    /// How packets are told apart.
    pub hash: FlowHash,
    /// Bytes of IP packets that a flow may send before it is another's turn.
    pub quantum: Bytes,
    /// Which packets are dropped if the queue is full.
    pub overflow: Overflow,
}

impl Default for FlowQueueing {
    /// 1024 queues and a quantum of 1500 bytes, as in RFC 8290 §5.2 and Linux, where it is a whole
    /// Ethernet frame.
    fn default() -> Self {
        Self {
            hash: FlowHash::Stochastic(1024),
            quantum: Bytes::new(1500),
            overflow: Overflow::Fattest,
        }
    }
}

const STOCHASTIC: &str = "stochastic";
const EXACT: &str = "exact";
/// The most queues of a hash, as in Linux.
const MAX_FLOWS: u64 = 1 << 16;
const OVERFLOWS: [(&str, Overflow); 3] = [
    ("fattest", Overflow::Fattest),
    ("oldest", Overflow::Oldest),
    ("arriving", Overflow::Arriving),
];

impl FlowQueueing {
    pub(super) const FLOWS: Field = Field {
        name: "flows",
        kind: Kind::Count,
        about: "Flow queueing: queues that the hash selects from. Default: 1024.",
    };
    pub(super) const HASH: Field = Field {
        name: "hash",
        kind: Kind::Choice(&[STOCHASTIC, EXACT]),
        about: "Flow queueing: \"stochastic\", so that flows share a queue by chance, or \
            \"exact\", a queue for each flow. Default: \"stochastic\".",
    };
    pub(super) const QUANTUM: Field = Field {
        name: "quantum",
        kind: Kind::Bytes,
        about: "Flow queueing: bytes that a flow sends in its turn. Default: \"1500 B\".",
    };
    pub(super) const OVERFLOW: Field = Field {
        name: "overflow",
        kind: Kind::Choice(&[OVERFLOWS[0].0, OVERFLOWS[1].0, OVERFLOWS[2].0]),
        about: "Flow queueing: what a full queue drops: of the flow with most bytes, the \
            packet that has waited longest, or of the arriving packet's flow. Default: \
            \"fattest\".",
    };

    /// Reads the keys.
    ///
    /// # Errors
    ///
    /// If a number of queues is given for an exact hash, or is out of range.
    pub(super) fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        let exact = fields.choice("hash") == Some(EXACT);
        let hash = match fields.count("flows") {
            None if exact => FlowHash::Exact,
            None => default.hash,
            Some(flows) if exact => {
                let value = format!("flows = {flows}");
                let problem = "has no effect with hash = \"exact\"";
                return Err(ConfigError::refused(value, problem, "only hash = \"stochastic\""));
            }
            Some(flows) => {
                let count = u32::try_from(flows).ok();
                let count = count.filter(|_| (1..=MAX_FLOWS).contains(&flows));
                FlowHash::Stochastic(count.ok_or_else(|| {
                    let value = format!("flows = {flows}");
                    ConfigError::refused(value, "is not a number of queues", "1 to 65536")
                })?)
            }
        };
        Ok(Self {
            hash,
            quantum: fields.bytes("quantum").unwrap_or(default.quantum),
            overflow: fields.choice_of("overflow", &OVERFLOWS).unwrap_or(default.overflow),
        })
    }

    /// Adds the keys to `fields`.
    pub(super) fn add_fields(&self, fields: Fields) -> Fields {
        let fields = match self.hash {
            FlowHash::Stochastic(flows) => fields.with("flows", u64::from(flows)),
            FlowHash::Exact => fields.with("hash", EXACT),
        };
        let fields = fields.with("quantum", self.quantum);
        fields.with_choice_of("overflow", self.overflow, &OVERFLOWS)
    }

    /// # Errors
    ///
    /// If the quantum is out of range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let Self { quantum, .. } = self;
        if !(MIN_QUANTUM..=Bytes::from_mb(1)).contains(quantum) {
            let value = format!("quantum = {quantum}");
            let problem = "is out of range";
            return Err(ConfigError::refused(value, problem, format!("{MIN_QUANTUM} to 1 MB")));
        }
        Ok(())
    }

    /// Returns true if the hash is keyed at random.
    pub(super) fn is_random(&self) -> bool {
        self.hash != FlowHash::Exact
    }
}

/// CoDel in each queue of a flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowCoDel {
    pub law: ControlLaw,
    pub ecn: bool,
    /// Wait above which ECN-capable packets are marked.
    pub ce_threshold: Option<Span>,
    /// Largest packet seen. If no more than that is queued on the whole link, no flow causes the
    /// delay.
    pub max_packet: u64,
}

/// The packets of flow queueing.
#[derive(Debug, Clone)]
pub(crate) struct FairQueue<P>(Box<Inner<P>>);

#[derive(Debug, Clone)]
struct Inner<P> {
    packets: PacketLists<P>,
    flows: FlowQueues<ControlState>,
    /// Flows with their first packets, and the others that have packets. By their numbers.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    codel: Option<FlowCoDel>,
    waiting: PacketTotals,
    limit: ResolvedLimit,
    overflow: Overflow,
    /// Most packets that are dropped at once of the flow with most bytes.
    drop_batch: u32,
}

impl<P> FairQueue<P> {
    /// Creates an empty queue.
    pub(super) fn new(
        config: &FlowQueueing,
        codel: Option<FlowCoDel>,
        drop_batch: u32,
        limit: ResolvedLimit,
        random: impl FnOnce() -> Stream,
    ) -> Self {
        let FlowQueueing { hash, quantum, overflow } = *config;
        let memory = codel.map_or(Span::ZERO, |codel| codel.law.memory());
        Self(Box::new(Inner {
            packets: PacketLists::new(),
            flows: FlowQueues::new(hash, memory, random),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::try_from(quantum.get()).unwrap_or(i64::MAX),
            codel,
            waiting: PacketTotals::default(),
            limit,
            overflow,
            drop_batch,
        }))
    }
}

impl<P> PacketQueue<P> for FairQueue<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Accepted<P>,
        effects: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        let Self(inner) = self;
        let bytes = packet.packet.bytes;
        let full = |packet| (DropCause::QueueFull, packet);
        if !inner.limit.has_room(PacketTotals::default(), bytes) {
            return Err(full(packet));
        }
        let number = inner.flows.number(now, packet.packet.flow);
        if inner.overflow == Overflow::Arriving {
            while !inner.limit.has_room(inner.waiting, bytes) {
                let Some(first) = inner.pop(number) else { return Err(full(packet)) };
                effects.drop(DropCause::QueueFull, first);
            }
        }
        inner.push(number, packet).map_err(full)?;
        while inner.limit.is_exceeded(inner.waiting) {
            inner.make_room(effects);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        self.0.dequeue(now, effects)
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        let Inner { packets, flows, waiting, .. } = &mut *self.0;
        let removed = flows.withdraw(packets, port);
        removed.iter().for_each(|packet| waiting.remove(packet.packet.bytes));
        removed
    }

    fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.0.packets.for_each(see);
    }
}

impl<P> Inner<P> {
    /// Appends a packet to the queue `number`, which joins the new ones if it was empty.
    #[inline]
    fn push(&mut self, number: usize, packet: Accepted<P>) -> Result<(), Accepted<P>> {
        let bytes = packet.packet.bytes;
        let queue = &mut self.flows.queues[number];
        self.packets.push(&mut queue.packets, packet)?;
        self.waiting.add(bytes);
        self.flows.bytes[number] += u64::from(bytes);
        if !queue.listed {
            queue.deficit = self.quantum;
            self.flows.enter(number);
            self.new.push_back(number as u32);
        }
        Ok(())
    }

    /// Removes the first packet of the queue `number`.
    #[inline]
    fn pop(&mut self, number: usize) -> Option<Accepted<P>> {
        let packet = self.packets.pop(&mut self.flows.queues[number].packets)?;
        self.waiting.remove(packet.packet.bytes);
        self.flows.bytes[number] -= u64::from(packet.packet.bytes);
        Some(packet)
    }

    /// Drops packets of a queue that has more than its limit.
    #[cold]
    fn make_room(&mut self, effects: &mut Effects<P>) {
        if self.overflow == Overflow::Oldest {
            let oldest = (0..self.flows.queues.len())
                .filter_map(|number| {
                    let first = self.packets.first(&self.flows.queues[number].packets)?;
                    Some((first.sent, number))
                })
                .min();
            if let Some(packet) = oldest.and_then(|(_, number)| self.pop(number)) {
                effects.drop(DropCause::QueueFull, packet);
            }
            return;
        }
        let Some((most, number)) = self.flows.fattest() else { return };
        let mut drops = 0;
        while let Some(packet) = self.pop(number) {
            effects.drop(DropCause::QueueFull, packet);
            drops += 1;
            if drops >= self.drop_batch || self.flows.bytes[number] <= most - most / 2 {
                break;
            }
        }
        self.flows.queues[number].state.count_overflow(drops);
    }

    /// Takes the packet whose turn it is.
    #[inline]
    fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.flows.queues[number as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            if let Some(packet) = self.take(now, number as usize, effects) {
                let queue = &mut self.flows.queues[number as usize];
                queue.deficit -= i64::from(packet.packet.bytes);
                return Some(packet);
            }
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.pop_front();
            // A new queue that is empty waits for its turn among the old ones, so that it cannot
            // come before them again by pausing (RFC 8290 §4.2).
            if is_new && !self.old.is_empty() {
                self.old.push_back(number);
            } else {
                self.flows.leave(now, number as usize);
            }
        }
    }

    /// Takes the next packet of the queue `number` that CoDel leaves.
    #[inline]
    fn take(&mut self, now: Time, number: usize, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        let Some(FlowCoDel { law, ecn, ce_threshold, .. }) = self.codel else {
            return self.pop(number);
        };
        while let Some(mut packet) = self.pop(number) {
            let waited = now.since(packet.sent);
            let few = self.is_few(packet.packet.bytes);
            let signals = self.flows.queues[number].state.signals(law, now, waited, few);
            let capable = packet.packet.ecn.is_capable();
            if signals && !(ecn && capable) {
                effects.drop(DropCause::Aqm, packet);
                continue;
            }
            let above = ce_threshold.is_some_and(|threshold| waited > threshold) && capable;
            if signals || above {
                effects.mark(&mut packet);
            }
            return Some(packet);
        }
        self.flows.queues[number].state.emptied();
        None
    }

    /// Records the size of a packet that has left a queue. Returns true if no more than the
    /// largest packet is left on the whole link, as in Linux: then no queue causes a delay.
    #[inline]
    fn is_few(&mut self, bytes: u32) -> bool {
        let Some(codel) = &mut self.codel else { return false };
        codel.max_packet = codel.max_packet.max(u64::from(bytes));
        self.waiting.bytes <= codel.max_packet
    }
}
