//! A subset of CAKE: tins, isolation of terminals and flows, and Cobalt.

use super::cobalt::{CobaltState, Decision};
use super::codel::CoDel;
use super::control_law::ControlLaw;
use super::discipline::{Discipline, Effects, PacketQueue, QueueContext, Refused};
use super::flow_queues::FlowQueues;
use super::packet_lists::PacketLists;
use crate::counters::PacketTotals;
use crate::fields::{Field, Fields, Kind};
use crate::queue::accepted::Accepted;
use crate::queue::limit::{QueueLimit, ResolvedLimit};
use crate::random::Stream;
use crate::{ConfigError, DropCause, Dscp};
use bentpipe_units::{Bytes, Span, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// A subset of Linux's CAKE: terminals share each tin alike, and the flows of a terminal its share.
/// Without its shaper, as the link has a rate, and without its filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cake {
    /// How packets are divided by their DSCP.
    pub tins: Tins,
    /// Acceptable wait; a twentieth of the interval in Linux.
    pub target: Span,
    /// About the longest usual RTT.
    pub interval: Span,
}

/// The classes of CAKE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tins {
    /// One for all packets.
    BestEffort,
    /// Best effort, bulk, video and voice.
    Diffserv4,
}

impl Default for Cake {
    /// The values of Linux.
    fn default() -> Self {
        let CoDel { target, interval, .. } = CoDel::default();
        Self { tins: Tins::BestEffort, target, interval }
    }
}

const TINS: [(&str, Tins); 2] = [("besteffort", Tins::BestEffort), ("diffserv4", Tins::Diffserv4)];
/// Bytes that the tins best effort, bulk, video and voice send in their turns, as in Linux without
/// a shaper. A tin goes on until it has used them up, and repays what it sent too much.
const WEIGHTS: [i64; 4] = [1024, 64, 512, 256];
/// The part of the link's rate for which the times of each tin are meant, as divisors.
const PARTS: [u64; 4] = [1, 16, 2, 4];
/// Bytes that a flow of a terminal with no other flow sends in its turn.
const QUANTUM: u64 = 1500;
/// Most flows of a terminal that divide its quantum: Linux has no more queues.
const MAX_LOAD: u64 = 1024;

impl Tins {
    /// Returns the tin of a packet, by the table of Linux.
    fn of(self, dscp: Dscp) -> usize {
        if self == Self::BestEffort {
            return 0;
        }
        match dscp.get() {
            // LE and CS1.
            1 | 8 => 1,
            // The former TOS 4, CS2, AF2x, CS3, AF3x, AF4x.
            4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
            // CS4, CS5, VA, EF, CS6, CS7.
            32 | 40 | 44 | 46 | 48 | 56 => 3,
            _ => 0,
        }
    }
}

impl Discipline for Cake {
    const NAME: &'static str = "cake";
    const ABOUT: &'static str = "A subset of CAKE: classes by DSCP, in each of them equal shares \
        for terminals and for the flows of a terminal, and CoDel with BLUE in each flow's queue.";
    const FIELDS: &'static [Field] = &[
        Field {
            name: "tins",
            kind: Kind::Choice(&[TINS[0].0, TINS[1].0]),
            about: "CAKE: \"besteffort\", one class for all packets, or \"diffserv4\", four by \
                DSCP. Default: \"besteffort\".",
        },
        CoDel::TARGET,
        CoDel::INTERVAL,
    ];
    const NEEDS_FLOW: bool = true;
    type Queue<P> = CakeQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        Ok(Self {
            tins: fields.choice_of("tins", &TINS).unwrap_or(default.tins),
            target: fields.span("target").unwrap_or(default.target),
            interval: fields.span("interval").unwrap_or(default.interval),
        })
    }

    fn to_fields(&self) -> Fields {
        let fields = Fields::new(Self::NAME).with_choice_of("tins", self.tins, &TINS);
        fields.with("target", self.target).with("interval", self.interval)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { target, interval, .. } = *self;
        Discipline::check(&CoDel { target, interval, ecn: true })
    }

    /// That of Linux. With less, a flow that overshoots once fills it, and BLUE then drops packets
    /// of it for many seconds, since its queue is seldom empty.
    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Cake(self.interval)
    }

    fn is_random(&self) -> bool {
        true
    }

    fn queue<P>(&self, context: QueueContext, random: impl FnOnce() -> Stream) -> CakeQueue<P> {
        let parts = if self.tins == Tins::BestEffort { &PARTS[..1] } else { &PARTS };
        let packet_time = context.rate.time_for(Bytes::new(1500));
        CakeQueue(Box::new(Inner {
            kind: self.tins,
            packets: PacketLists::new(),
            tins: parts.iter().map(|part| Tin::new(self, packet_time * *part)).collect(),
            turn: 0,
            waiting: PacketTotals::default(),
            limit: context.limit,
            random: random(),
        }))
    }
}

/// The packets of a [`Cake`] queue.
#[derive(Debug, Clone)]
pub(crate) struct CakeQueue<P>(Box<Inner<P>>);

#[derive(Debug, Clone)]
struct Inner<P> {
    kind: Tins,
    packets: PacketLists<P>,
    tins: Vec<Tin>,
    /// The tin whose turn it is.
    turn: usize,
    waiting: PacketTotals,
    limit: ResolvedLimit,
    random: Stream,
}

/// A class.
#[derive(Debug, Clone)]
struct Tin {
    law: ControlLaw,
    /// Wait below which nothing is signalled: packets of this tin cannot avoid it.
    least: Span,
    flows: FlowQueues<FlowState>,
    /// Flows with their first packets, and those that have sent a quantum. By their numbers.
    sparse: VecDeque<u32>,
    bulk: VecDeque<u32>,
    /// How many of the latter have had packets since, by terminal.
    bulk_flows: BTreeMap<u32, u64>,
    /// Bytes that it may send before it is another's turn.
    deficit: i64,
}

/// What CAKE keeps of a flow.
#[derive(Debug, Clone, Default)]
struct FlowState {
    cobalt: CobaltState,
    terminal: u32,
    share: Share,
}

/// How a flow counts among those of its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Share {
    /// It has not sent more than its first quantum.
    #[default]
    Sparse,
    /// It has, but had no packet left then: it waits for its turn, and does not count.
    Paused,
    /// It has a part of what its terminal may send.
    Bulk,
}

impl<P> PacketQueue<P> for CakeQueue<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Accepted<P>,
        effects: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        let Self(inner) = self;
        let full = |packet| (DropCause::QueueFull, packet);
        if !inner.limit.has_room(PacketTotals::default(), packet.packet.bytes) {
            return Err(full(packet));
        }
        inner.push(now, packet).map_err(full)?;
        while inner.limit.is_exceeded(inner.waiting) {
            inner.make_room(now, effects);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        let Self(inner) = self;
        while inner.waiting.packets > 0 {
            let turn = inner.turn;
            let tin = &mut inner.tins[turn];
            if tin.sparse.is_empty() && tin.bulk.is_empty() {
                tin.deficit = 0;
            } else if tin.deficit > 0 {
                if let Some(packet) = inner.take(now, turn, effects) {
                    inner.tins[turn].deficit -= i64::from(packet.packet.bytes);
                    return Some(packet);
                }
                continue;
            }
            inner.turn = (turn + 1) % inner.tins.len();
            let next = &mut inner.tins[inner.turn];
            next.deficit += WEIGHTS[inner.turn];
        }
        None
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        let Inner { packets, tins, waiting, .. } = &mut *self.0;
        let mut removed = Vec::new();
        for tin in tins {
            removed.extend(tin.flows.withdraw(packets, port));
        }
        removed.iter().for_each(|packet| waiting.remove(packet.packet.bytes));
        removed
    }

    fn for_each(&self, see: impl FnMut(&Accepted<P>)) {
        self.0.packets.for_each(see);
    }
}

impl<P> Inner<P> {
    /// Appends a packet to the queue of its flow.
    fn push(&mut self, now: Time, packet: Accepted<P>) -> Result<(), Accepted<P>> {
        let (bytes, port) = (packet.packet.bytes, packet.port);
        let tin = &mut self.tins[self.kind.of(packet.packet.dscp)];
        let number = tin.flows.number(now, packet.packet.flow);
        self.packets.push(&mut tin.flows.queues[number].packets, packet)?;
        self.waiting.add(bytes);
        tin.flows.bytes[number] += u64::from(bytes);
        if !tin.flows.queues[number].listed {
            let load = tin.load(port);
            let queue = &mut tin.flows.queues[number];
            (queue.state.terminal, queue.state.share) = (port, Share::Sparse);
            queue.state.cobalt.resumed(tin.law, now);
            queue.deficit = (QUANTUM / load) as i64;
            tin.flows.enter(number);
            tin.sparse.push_back(number as u32);
        } else if tin.flows.queues[number].state.share == Share::Paused {
            tin.count_bulk(number);
        }
        Ok(())
    }

    /// Removes the first packet of a queue.
    fn pop(&mut self, tin: usize, number: usize) -> Option<Accepted<P>> {
        let Tin { flows, .. } = &mut self.tins[tin];
        let packet = self.packets.pop(&mut flows.queues[number].packets)?;
        self.waiting.remove(packet.packet.bytes);
        flows.bytes[number] -= u64::from(packet.packet.bytes);
        Some(packet)
    }

    /// Drops the first packet of the flow with most bytes in any tin.
    fn make_room(&mut self, now: Time, effects: &mut Effects<P>) {
        let fattest = self.tins.iter().enumerate().filter_map(|(tin, class)| {
            class.flows.fattest().map(|(bytes, number)| (bytes, Reverse(tin), number))
        });
        let Some((_, Reverse(tin), number)) = fattest.max() else { return };
        if let Some(packet) = self.pop(tin, number) {
            effects.drop(DropCause::QueueFull, packet);
        }
        let Tin { law, flows, .. } = &mut self.tins[tin];
        flows.queues[number].state.cobalt.overflowed(*law, now);
    }

    /// Takes the packet whose turn it is in a tin; `None` if the tin has none.
    fn take(&mut self, now: Time, tin: usize, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        loop {
            let class = &mut self.tins[tin];
            let is_sparse = !class.sparse.is_empty();
            let list = if is_sparse { &mut class.sparse } else { &mut class.bulk };
            let number = *list.front()? as usize;
            let queue = &mut class.flows.queues[number];
            if queue.deficit <= 0 {
                list.pop_front();
                class.bulk.push_back(number as u32);
                let terminal = queue.state.terminal;
                if queue.state.share == Share::Sparse {
                    if class.flows.bytes[number] > 0 {
                        class.count_bulk(number);
                    } else {
                        queue.state.share = Share::Paused;
                    }
                }
                // The rest of the division by chance, as in Linux.
                let load = class.load(terminal);
                let quantum = (QUANTUM + self.random.below(load)) / load;
                class.flows.queues[number].deficit += quantum as i64;
                continue;
            }
            if let Some(packet) = self.next_of(now, tin, number, effects) {
                let queue = &mut self.tins[tin].flows.queues[number];
                queue.deficit -= i64::from(packet.packet.bytes);
                return Some(packet);
            }
            self.tins[tin].leave(now, number, is_sparse);
        }
    }

    /// Takes the next packet of a queue that Cobalt leaves.
    fn next_of(
        &mut self,
        now: Time,
        tin: usize,
        number: usize,
        effects: &mut Effects<P>,
    ) -> Option<Accepted<P>> {
        while let Some(mut packet) = self.pop(tin, number) {
            let Self { random, tins, .. } = self;
            let Tin { law, least, flows, .. } = &mut tins[tin];
            let cobalt = &mut flows.queues[number].state.cobalt;
            let decision = cobalt.decide(*law, now, now.since(packet.sent), *least, random);
            let marks = decision == Decision::Signal && packet.packet.ecn.is_capable();
            if marks {
                effects.mark(&mut packet);
            }
            // The last packet of a flow is never dropped.
            if decision == Decision::Pass || marks || flows.bytes[number] == 0 {
                return Some(packet);
            }
            effects.drop(DropCause::Aqm, packet);
        }
        let Tin { law, flows, .. } = &mut self.tins[tin];
        flows.queues[number].state.cobalt.emptied(*law, now);
        None
    }
}

impl Tin {
    /// Creates an empty tin in whose share of the rate 1500 bytes take `packet_time`. A target of
    /// less than one and a half of that cannot be held, so Linux raises it.
    fn new(config: &Cake, packet_time: Span) -> Self {
        let target = config.target.max(packet_time * 3 / 2);
        let interval = (config.interval + (target - config.target)).max(target * 2);
        let law = ControlLaw { target, interval };
        Self {
            law,
            least: packet_time * 4,
            flows: FlowQueues::exact(law.memory().max(CobaltState::memory(law))),
            sparse: VecDeque::new(),
            bulk: VecDeque::new(),
            bulk_flows: BTreeMap::new(),
            deficit: 0,
        }
    }

    /// Returns by how much the quanta of a terminal's flows are divided.
    fn load(&self, terminal: u32) -> u64 {
        self.bulk_flows.get(&terminal).map_or(1, |flows| (*flows).clamp(1, MAX_LOAD))
    }

    /// Counts a flow among those that share what their terminal may send.
    fn count_bulk(&mut self, number: usize) {
        let state = &mut self.flows.queues[number].state;
        state.share = Share::Bulk;
        *self.bulk_flows.entry(state.terminal).or_default() += 1;
    }

    /// Removes the first flow of a list, which has no packets.
    fn leave(&mut self, now: Time, number: usize, is_sparse: bool) {
        if is_sparse {
            self.sparse.pop_front();
        } else {
            self.bulk.pop_front();
        }
        let state = &mut self.flows.queues[number].state;
        if std::mem::take(&mut state.share) == Share::Bulk
            && let Some(flows) = self.bulk_flows.get_mut(&state.terminal)
        {
            *flows -= 1;
            if *flows == 0 {
                self.bulk_flows.remove(&state.terminal);
            }
        }
        self.flows.leave(now, number);
    }
}
