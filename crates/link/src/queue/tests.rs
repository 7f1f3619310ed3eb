//! Properties of the queues of every discipline in the registry.

use crate::fields::{Fields, Value};
use crate::queue::accepted::Accepted;
use crate::queue::disciplines::{QueueContext, QueueDiscipline};
use crate::queue::limit::ResolvedLimit;
use crate::queue::link_queue::Queue;
use crate::random::stream;
use crate::{DropCause, Ecn, FlowKey, Packet};
use bentpipe_units::{Rate, Span, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What happens to a queue after a pause of nanoseconds.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Enqueue { port: u32, flow: u32, bytes: u32, ecn: Ecn },
    Send,
    Withdraw { port: u32 },
}

/// What has become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waits,
    Sent,
    Refused(DropCause),
    Dropped(DropCause),
    Withdrawn,
}

/// A queue, with every packet that was offered and its fate.
struct Observed {
    queue: Queue<usize>,
    acts_on_dequeue: bool,
    packets: Vec<(Packet<usize>, Fate)>,
}

/// Every discipline with its defaults and, if it can mark, with marks.
fn disciplines() -> Vec<QueueDiscipline> {
    let mut all = Vec::new();
    for row in QueueDiscipline::ROWS {
        let fields = Fields::new(row.name);
        let read = |fields: &Fields| QueueDiscipline::from_fields(fields).expect("has defaults");
        all.push(read(&fields));
        if row.fields.iter().any(|field| field.name == "ecn") {
            all.push(read(&fields.with("ecn", Value::Flag(true))));
        }
    }
    all
}

impl Observed {
    fn new(discipline: &QueueDiscipline, limit: ResolvedLimit) -> Self {
        let context = QueueContext { limit, rate: Rate::from_mbps(12) };
        let packets = discipline.queue(context, || stream(1, 0, "test/queue"));
        let acts_on_dequeue = discipline.acts_on_dequeue();
        let queue = Queue::new(packets, acts_on_dequeue);
        Self { queue, acts_on_dequeue, packets: Vec::new() }
    }

    /// Changes the fate of a packet, which can happen once.
    fn ends(&mut self, packet: &Packet<usize>, fate: Fate) {
        let (offered, before) = &mut self.packets[packet.payload];
        assert_eq!(*before, Fate::Waits, "packet {} has two fates", packet.payload);
        assert_eq!((offered.bytes, offered.flow), (packet.bytes, packet.flow));
        *before = fate;
    }

    fn end_dropped(&mut self) -> usize {
        let dropped: Vec<_> = self.queue.take_dropped().collect();
        for (cause, held) in &dropped {
            assert!(matches!(cause, DropCause::QueueFull | DropCause::Aqm), "{cause:?}");
            self.ends(&held.packet, Fate::Dropped(*cause));
        }
        dropped.len()
    }

    fn apply(&mut self, now: Time, operation: Operation) {
        match operation {
            Operation::Enqueue { port, flow, bytes, ecn } => {
                let flow = FlowKey(flow);
                let packet = Packet { flow, ..Packet::new(bytes, ecn, self.packets.len()) };
                self.packets.push((packet, Fate::Waits));
                let held = Accepted {
                    sent: now,
                    port,
                    packet,
                    queued: Span::ZERO,
                    blocked: Span::ZERO,
                    serialised_ns: 0,
                };
                match self.queue.enqueue(held) {
                    Err((cause, held)) => self.ends(&held.packet, Fate::Refused(cause)),
                    Ok(false) => {}
                    Ok(true) => {
                        assert!(ecn.is_capable() && ecn != Ecn::Ce, "{ecn:?} was marked");
                        self.packets[packet.payload].0.ecn = Ecn::Ce;
                    }
                }
                self.end_dropped();
            }
            Operation::Send => {
                let head = self.queue.begin(now);
                let dropped = self.end_dropped();
                let sent = self.queue.end();
                assert_eq!(head.is_some(), sent.is_some());
                assert!(head.is_some() || self.queue.waiting().packets == 0, "packets are left");
                let marked = head.is_some_and(|head| head.marked);
                assert!(self.acts_on_dequeue || (dropped, marked) == (0, false));
                let Some(held) = sent else { return };
                let before = self.packets[held.packet.payload].0.ecn;
                assert_eq!(marked, held.packet.ecn != before);
                assert!(!marked || (held.packet.ecn == Ecn::Ce && before.is_capable()));
                self.ends(&held.packet, Fate::Sent);
            }
            Operation::Withdraw { port } => {
                for held in self.queue.withdraw(now, port) {
                    assert_eq!(held.port, port);
                    self.ends(&held.packet, Fate::Withdrawn);
                }
            }
        }
    }

    /// Checks that what was offered is what was sent, dropped and withdrawn, and what waits; and
    /// that Little's law holds.
    fn balances(&self, now: Time, limit: ResolvedLimit) {
        let waiting = self.packets.iter().filter(|(_, fate)| *fate == Fate::Waits);
        let (packets, bytes) = waiting.fold((0, 0), |(packets, bytes), (packet, _)| {
            (packets + 1, bytes + u64::from(packet.bytes))
        });
        let queued = self.queue.waiting();
        assert_eq!((queued.packets, queued.bytes), (packets, bytes));
        assert_eq!(self.queue.held(), packets, "counted where they are");
        assert!(match limit {
            ResolvedLimit::Bytes(limit) => bytes <= limit,
            ResolvedLimit::Packets(limit) => packets <= limit,
        });
        let time = self.queue.time(now);
        assert_eq!(time.occupied_packets, time.waited_packets);
        assert_eq!(time.occupied_bytes, time.waited_bytes);
    }
}

fn any_operation() -> impl Strategy<Value = (u64, Operation)> {
    let ecn = proptest::sample::select(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][..]);
    let enqueue = (0u32..3, 0u32..5, 20u32..3000, ecn)
        .prop_map(|(port, flow, bytes, ecn)| Operation::Enqueue { port, flow, bytes, ecn });
    let operation = prop_oneof![
        20 => enqueue,
        15 => Just(Operation::Send),
        1 => (0u32..3).prop_map(|port| Operation::Withdraw { port }),
    ];
    (prop_oneof![1 => Just(0), 4 => 0u64..20_000_000], operation)
}

fn any_limit() -> impl Strategy<Value = ResolvedLimit> {
    prop_oneof![
        (1u64..60_000).prop_map(ResolvedLimit::Bytes),
        (1u64..40).prop_map(ResolvedLimit::Packets),
    ]
}

proptest! {
    #[test]
    fn every_discipline_accounts_for_every_packet(
        limit in any_limit(),
        operations in proptest::collection::vec(any_operation(), 1..400),
    ) {
        for discipline in disciplines() {
            let mut observed = Observed::new(&discipline, limit);
            let mut now = Time::ZERO;
            for (pause, operation) in &operations {
                now += Span::from_nanos(*pause);
                observed.apply(now, *operation);
                observed.balances(now, limit);
            }
            while observed.queue.waiting().packets > 0 {
                observed.apply(now, Operation::Send);
            }
            observed.balances(now, limit);
        }
    }

    #[test]
    fn every_discipline_keeps_the_packets_of_a_flow_in_order(
        operations in proptest::collection::vec(any_operation(), 1..400),
    ) {
        for discipline in disciplines() {
            let mut observed = Observed::new(&discipline, ResolvedLimit::Packets(30));
            let (mut now, mut last) = (Time::ZERO, BTreeMap::new());
            for (pause, operation) in &operations {
                now += Span::from_nanos(*pause);
                // A flow has one port and one code point: with two, DualPI2 sends it in two queues.
                let operation = match *operation {
                    Operation::Enqueue { flow, bytes, .. } => {
                        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][flow as usize % 4];
                        Operation::Enqueue { port: flow % 3, flow, bytes, ecn }
                    }
                    other => other,
                };
                let before: Vec<Fate> = observed.packets.iter().map(|(_, fate)| *fate).collect();
                observed.apply(now, operation);
                let sent = before.iter().zip(&observed.packets).enumerate().find(
                    |(_, (before, (_, fate)))| **before == Fate::Waits && *fate == Fate::Sent,
                );
                if let Some((number, (_, (packet, _)))) = sent {
                    let previous = last.insert(packet.flow.0, number);
                    prop_assert!(previous < Some(number), "{number} after {previous:?}");
                }
            }
        }
    }
}

#[test]
fn the_operations_make_every_discipline_drop_and_mark() {
    let mut causes = Vec::new();
    for discipline in disciplines() {
        let mut observed = Observed::new(&discipline, ResolvedLimit::Packets(20));
        for number in 0..2000u64 {
            let now = Time::from_millis(number);
            let arrival = Operation::Enqueue { port: 0, flow: 0, bytes: 1500, ecn: Ecn::Ect0 };
            observed.apply(now, arrival);
            if number % 2 == 0 {
                observed.apply(now, Operation::Send);
            }
        }
        let fates = observed.packets.iter().map(|(_, fate)| *fate);
        let mut gone: Vec<Fate> = Vec::new();
        for fate in fates.filter(|fate| matches!(fate, Fate::Refused(_) | Fate::Dropped(_))) {
            if !gone.contains(&fate) {
                gone.push(fate);
            }
        }
        assert!(!gone.is_empty(), "{} drops at twice its rate", discipline.name());
        causes.extend(gone);
    }
    // The properties above are empty unless some discipline drops packets that have waited.
    for cause in [DropCause::QueueFull, DropCause::Aqm] {
        assert!(causes.contains(&Fate::Dropped(cause)), "{cause:?}: {causes:?}");
    }
}
