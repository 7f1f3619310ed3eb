//! DualPI2: two queues with one controller, for L4S (RFC 9332).

use super::codel::CoDel;
use super::discipline::{Discipline, Effects, PacketQueue, QueueContext, Refused};
use super::fifo::Fifo;
use super::pi2::{Decision, Pi2};
pub use super::pi2::{DualPi2, Overload};
use super::pie::Pie;
use crate::counters::PacketTotals;
use crate::fields::{Field, Fields, Kind};
use crate::queue::accepted::Accepted;
use crate::queue::limit::ResolvedLimit;
use crate::random::Stream;
use crate::{ConfigError, DropCause, Ecn};
use bentpipe_units::{Span, Time};

const OVERLOADS: [(&str, Overload); 2] =
    [("drop", Overload::Drop), ("overflow", Overload::Overflow)];
/// A packet, for the first turn of the scheduler.
const PACKET: f64 = 1500.0;

impl Discipline for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const ABOUT: &'static str = "DualPI2 (RFC 9332): packets that are ECT(1) or CE have a queue \
        with a short delay, all others the classic one, and one controller of the delay marks in \
        both so that they share the link.";
    const FIELDS: &'static [Field] = &[
        CoDel::TARGET,
        Pie::TUPDATE,
        Pie::ALPHA,
        Pie::BETA,
        Field {
            name: "max_rtt",
            kind: Kind::Span,
            about: "DualPI2: longest RTT for which it is to be stable, instead of alpha and beta, \
                whose defaults are nearly those of \"100 ms\".",
        },
        Field {
            name: "coupling",
            kind: Kind::Number,
            about: "DualPI2: factor from the base probability to that of marks in the \
                low-latency queue. Default: 2.",
        },
        Field {
            name: "step",
            kind: Kind::Span,
            about: "DualPI2: wait above which packets of the low-latency queue are marked. \
                Default: \"1 ms\".",
        },
        Field {
            name: "ramp",
            kind: Kind::Span,
            about: "DualPI2: waits above the step over which the probability of its marks rises \
                to 1. Default: \"0 s\".",
        },
        Field {
            name: "classic_protection",
            kind: Kind::Ratio,
            about: "DualPI2: share of the link for the classic queue while both have packets. \
                Default: 0.1.",
        },
        Field {
            name: "overload",
            kind: Kind::Choice(&[OVERLOADS[0].0, OVERLOADS[1].0]),
            about: "DualPI2: \"drop\" packets of both queues when marks are not enough, or let \
                the queue \"overflow\". Default: \"drop\".",
        },
    ];
    type Queue<P> = DualQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        let tupdate = fields.span("tupdate").unwrap_or(default.tupdate);
        let (alpha, beta) = (fields.number("alpha"), fields.number("beta"));
        let gains = match fields.span("max_rtt") {
            None => (alpha.unwrap_or(default.alpha), beta.unwrap_or(default.beta)),
            Some(max_rtt) if alpha.is_some() || beta.is_some() => {
                let problem = "sets alpha and beta, which are given too";
                let allowed = "max_rtt, or alpha and beta";
                return Err(ConfigError::refused(format!("max_rtt = {max_rtt}"), problem, allowed));
            }
            Some(max_rtt) if max_rtt < Span::from_millis(1) => {
                let value = format!("max_rtt = {max_rtt}");
                return Err(ConfigError::refused(value, "is too short", "1 ms or longer"));
            }
            // RFC 9332, appendix A.1.
            Some(max_rtt) => {
                let rtt = max_rtt.as_secs_f64();
                (0.1 * tupdate.as_secs_f64() / (rtt * rtt), 0.3 / rtt)
            }
        };
        Ok(Self {
            target: fields.span("target").unwrap_or(default.target),
            tupdate,
            alpha: gains.0,
            beta: gains.1,
            coupling: fields.number("coupling").unwrap_or(default.coupling),
            step: fields.span("step").unwrap_or(default.step),
            ramp: fields.span("ramp").unwrap_or(default.ramp),
            classic_protection: fields
                .ratio("classic_protection")
                .unwrap_or(default.classic_protection),
            overload: fields.choice_of("overload", &OVERLOADS).unwrap_or(default.overload),
        })
    }

    fn to_fields(&self) -> Fields {
        let Self { target, tupdate, alpha, beta, .. } = *self;
        let fields = Fields::new(Self::NAME).with("target", target).with("tupdate", tupdate);
        let fields = fields.with("alpha", alpha).with("beta", beta);
        let fields = fields.with("coupling", self.coupling).with("step", self.step);
        let fields = fields.with("ramp", self.ramp);
        let fields = fields.with("classic_protection", self.classic_protection);
        fields.with_choice_of("overload", self.overload, &OVERLOADS)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Self { target, tupdate, alpha, beta, coupling, .. } = *self;
        Discipline::check(&Pie { target, tupdate, alpha, beta, ecn: true })?;
        if !(1.0..=100.0).contains(&coupling) {
            let value = format!("coupling = {coupling}");
            return Err(ConfigError::refused(value, "is out of range", "1 to 100"));
        }
        Ok(())
    }

    fn is_random(&self) -> bool {
        true
    }

    fn queue<P>(&self, context: QueueContext, random: impl FnOnce() -> Stream) -> DualQueue<P> {
        DualQueue(Box::new(Inner {
            low: Fifo::new(context.limit),
            classic: Fifo::new(context.limit),
            limit: context.limit,
            control: Pi2::new(*self, random()),
            credit: self.first_credit(),
        }))
    }
}

impl DualPi2 {
    /// Returns the credit with which the scheduler starts: with one packet of the low-latency queue
    /// first unless the classic one has more than half of the link.
    fn first_credit(&self) -> f64 {
        (2.0 * self.classic_protection.get() - 1.0) * PACKET
    }
}

/// The packets of a [`DualPi2`] queue.
// Boxed, since few of a network's many links have it.
#[derive(Debug, Clone)]
pub(crate) struct DualQueue<P>(Box<Inner<P>>);

#[derive(Debug, Clone)]
struct Inner<P> {
    low: Fifo<P>,
    classic: Fifo<P>,
    /// Of both together.
    limit: ResolvedLimit,
    control: Pi2,
    /// Bytes by which the classic queue is behind its share; above zero, it comes first.
    credit: f64,
}

impl<P> PacketQueue<P> for DualQueue<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Accepted<P>,
        _: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        let Self(inner) = self;
        inner.update_until(now);
        if !inner.limit.has_room(inner.waiting(), packet.packet.bytes) {
            return Err((DropCause::QueueFull, packet));
        }
        let is_low = matches!(packet.packet.ecn, Ecn::Ect1 | Ecn::Ce);
        let queue = if is_low { &mut inner.low } else { &mut inner.classic };
        queue.push(packet).map_err(|packet| (DropCause::QueueFull, packet))
    }

    fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>> {
        let Self(inner) = self;
        inner.update_until(now);
        while let Some((is_low, mut packet, credit)) = inner.next() {
            let waited = now.since(packet.sent);
            let (left, control) = (inner.waiting().bytes, &mut inner.control);
            let decision = if is_low {
                control.decide_low(waited, inner.low.waiting().packets, left)
            } else {
                control.decide_classic(packet.packet.ecn.is_capable(), left)
            };
            match decision {
                Decision::Drop => {
                    effects.drop(DropCause::Aqm, packet);
                    continue;
                }
                Decision::Mark => effects.mark(&mut packet),
                Decision::Pass => {}
            }
            inner.credit += credit;
            return Some(packet);
        }
        inner.credit = inner.control.config.first_credit();
        None
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        let mut all = self.0.low.withdraw(port);
        all.extend(self.0.classic.withdraw(port));
        all
    }

    fn for_each(&self, mut see: impl FnMut(&Accepted<P>)) {
        self.0.low.for_each(&mut see);
        self.0.classic.for_each(see);
    }
}

impl<P> Inner<P> {
    fn waiting(&self) -> PacketTotals {
        let (low, classic) = (self.low.waiting(), self.classic.waiting());
        PacketTotals { packets: low.packets + classic.packets, bytes: low.bytes + classic.bytes }
    }

    /// Removes the packet whose turn it is. Returns whether it is of the low-latency queue, and the
    /// credit for it if it is sent: only while both have packets.
    fn next(&mut self) -> Option<(bool, Accepted<P>, f64)> {
        let share = self.control.config.classic_protection.get();
        let is_low = self.low.waiting().packets > 0
            && (self.classic.waiting().packets == 0 || self.credit <= 0.0);
        let (queue, other, weight) = if is_low {
            (&mut self.low, &self.classic, share)
        } else {
            (&mut self.classic, &self.low, share - 1.0)
        };
        let packet = queue.pop()?;
        let bytes = f64::from(packet.packet.bytes);
        let credit = if other.waiting().packets > 0 { weight * bytes } else { 0.0 };
        Some((is_low, packet, credit))
    }

    /// Makes the updates that fell due by `now`, each with the waits at its time.
    fn update_until(&mut self, now: Time) {
        let (low, classic) = (&self.low, &self.classic);
        self.control.update_until(now, |at| {
            let wait = |queue: &Fifo<P>| queue.first().map(|packet| at.since(packet.sent));
            wait(low).max(wait(classic))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Packet;
    use crate::random::stream;
    use bentpipe_units::Rate;

    fn queue(config: DualPi2, packets: u64) -> DualQueue<()> {
        let limit = ResolvedLimit::Packets(packets);
        let context = QueueContext { limit, rate: Rate::from_mbps(12) };
        Discipline::queue(&config, context, || stream(1, 0, "test/queue"))
    }

    fn push(queue: &mut DualQueue<()>, now: Time, ecn: Ecn) -> bool {
        let packet = Accepted {
            sent: now,
            port: 0,
            packet: Packet::new(1500, ecn, ()),
            queued: Span::ZERO,
            blocked: Span::ZERO,
            serialised_ns: 0,
        };
        queue.enqueue(now, packet, &mut Effects::new()).is_ok()
    }

    /// A queue whose base probability is `probability`, and stays.
    fn fixed(probability: f64, config: DualPi2) -> DualQueue<()> {
        let (step, tupdate) = (Span::from_secs(10_000), Span::from_secs(10_000));
        let mut queue = queue(DualPi2 { step, tupdate, ..config }, 100_000);
        queue.0.control.probability = probability;
        queue
    }

    /// Sends 10,000 packets of `ecn` with more of the other kind behind them. Returns the shares
    /// that are marked and dropped.
    fn shares(queue: &mut DualQueue<()>, ecn: Ecn) -> (f64, f64) {
        for _ in 0..10_010 {
            assert!(push(queue, Time::ZERO, ecn));
        }
        let (mut effects, mut marked, mut sent) = (Effects::new(), 0.0, 0.0);
        while queue.0.waiting().packets > 10 {
            let packet = queue.dequeue(Time::ZERO, &mut effects).unwrap();
            sent += 1.0;
            marked += f64::from(packet.packet.ecn != ecn);
        }
        let dropped = effects.dropped().len() as f64;
        (marked / (sent + dropped), dropped / (sent + dropped))
    }

    #[test]
    fn the_probability_follows_the_longer_wait_as_calculated() {
        let mut queue = queue(DualPi2::default(), 100);
        assert!(push(&mut queue, Time::from_millis(24), Ecn::NotEct));
        for (n, expected) in [0.0, 0.02448, 0.07712, 0.13232, 0.19008, 0.2504].iter().enumerate() {
            queue.0.update_until(Time::from_millis(16 * (n as u64 + 1)));
            let control = &queue.0.control;
            assert!((control.probability - expected).abs() < 1e-12, "{}", control.probability);
        }
        let control = &queue.0.control;
        assert!((control.probability.powi(2) - 0.0627).abs() < 1e-6);
        assert!((control.coupled() - 0.5008).abs() < 1e-12);
    }

    #[test]
    fn updates_that_are_made_up_for_are_those_of_a_timer() {
        let mut late = queue(DualPi2::default(), 100);
        let mut timely = late.clone();
        for at in [30, 700] {
            for queue in [&mut late, &mut timely] {
                assert!(push(queue, Time::from_millis(at), Ecn::Ect1));
            }
            for ms in at..at + 200 {
                timely.0.update_until(Time::from_millis(ms));
            }
            for queue in [&mut late, &mut timely] {
                let now = Time::from_millis(at + 200);
                assert!(queue.dequeue(now, &mut Effects::new()).is_some());
            }
        }
        // Empty for so long that the probability is zero again.
        for queue in [&mut late, &mut timely] {
            queue.0.update_until(Time::from_secs(60));
        }
        let state = |queue: &DualQueue<()>| {
            let control = &queue.0.control;
            (control.probability, control.delay, control.next_update)
        };
        assert_eq!(state(&late), state(&timely));
        assert_eq!(state(&late), (0.0, Span::ZERO, Time::from_millis(16 * 3751)));
    }

    #[test]
    fn both_queues_are_marked_with_coupled_probabilities() {
        // Three standard errors of 10,000 draws.
        let near =
            |share: f64, p: f64| (share - p).abs() < 3.0 * (p * (1.0 - p) / 1e4).sqrt() + 1e-9;
        for (probability, low, classic) in [(0.2, 0.4, 0.04), (0.05, 0.1, 0.0025)] {
            let with = |ecn| shares(&mut fixed(probability, DualPi2::default()), ecn);
            let (marked, dropped) = with(Ecn::Ect1);
            assert!(near(marked, low) && dropped == 0.0, "{marked}, {dropped}");
            let (marked, dropped) = with(Ecn::Ect0);
            assert!(near(marked, classic) && dropped == 0.0, "{marked}, {dropped}");
            let (marked, dropped) = with(Ecn::NotEct);
            assert!(marked == 0.0 && near(dropped, classic), "{marked}, {dropped}");
        }
        // More than 100 %: drops with 0.36 in both, and marks of all others in the first.
        let with = |ecn| shares(&mut fixed(0.6, DualPi2::default()), ecn);
        let (marked, dropped) = with(Ecn::Ect1);
        assert!(near(dropped, 0.36) && marked + dropped == 1.0, "{marked}, {dropped}");
        let (marked, dropped) = with(Ecn::Ect0);
        assert!(marked == 0.0 && near(dropped, 0.36), "{marked}, {dropped}");
        // Or none: half is the most.
        let config = DualPi2 { overload: Overload::Overflow, ..DualPi2::default() };
        let mut queue = fixed(0.5, config);
        queue.0.control.update(Span::from_secs(9));
        assert_eq!(queue.0.control.probability, 0.5);
        assert_eq!(shares(&mut queue, Ecn::Ect1), (1.0, 0.0));
    }

    #[test]
    fn a_wait_beyond_the_step_is_marked_unless_the_packet_is_alone() {
        let marks = |config, packets: usize, waited: Span| {
            let mut queue = queue(DualPi2 { target: Span::from_secs(9), ..config }, 10_000);
            assert!((0..packets).all(|_| push(&mut queue, Time::ZERO, Ecn::Ect1)));
            let mut sent = Vec::new();
            while let Some(packet) = queue.dequeue(Time::ZERO + waited, &mut Effects::new()) {
                sent.push(packet.packet.ecn == Ecn::Ce);
            }
            sent
        };
        let us = Span::from_micros;
        let step = DualPi2::default();
        assert_eq!(marks(step, 3, us(1000)), [false, false, false]);
        assert_eq!(marks(step, 3, us(1001)), [true, true, false]);
        assert_eq!(marks(step, 1, us(6000)), [false]);
        // RFC 9332: from 0.8 to 1.2 ms.
        let ramp = DualPi2 { step: us(800), ramp: us(400), ..step };
        assert_eq!(marks(ramp, 3, us(1200)), [true, true, false]);
        assert_eq!(marks(ramp, 3, us(800)), [false, false, false]);
        let share = marks(ramp, 10_000, us(900)).iter().filter(|marked| **marked).count();
        assert!((share as f64 - 2500.0).abs() < 3.0 * 43.4, "{share}");
    }

    #[test]
    fn the_classic_queue_has_its_share_and_both_have_one_limit() {
        let mut queue = queue(DualPi2 { target: Span::from_secs(9), ..DualPi2::default() }, 2000);
        for index in 0..2000 {
            let ecn = if index % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            assert!(push(&mut queue, Time::ZERO, ecn));
        }
        assert!(
            !push(&mut queue, Time::ZERO, Ecn::Ect1) && !push(&mut queue, Time::ZERO, Ecn::Ect0)
        );
        let mut send =
            || queue.dequeue(Time::ZERO, &mut Effects::new()).map(|sent| sent.packet.ecn);
        let sent: Vec<_> = (0..1000).filter_map(|_| send()).collect();
        assert_eq!(sent[0], Ecn::Ect1, "the first");
        assert_eq!(sent.iter().filter(|ecn| **ecn == Ecn::NotEct).count(), 100);
        // Alone, it has all.
        assert_eq!((0..2000).filter(|_| send().is_some()).count(), 1000);
    }

    #[test]
    fn gains_follow_from_the_longest_rtt() {
        let gains = |max_rtt: u64| {
            let fields = Fields::new("dualpi2").with("max_rtt", Span::from_millis(max_rtt));
            let DualPi2 { alpha, beta, .. } = DualPi2::from_fields(&fields).unwrap();
            (alpha, beta)
        };
        for (max_rtt, expected) in
            [(100, (0.16, 3.0)), (250, (0.0256, 1.2)), (750, (0.002_844, 0.4))]
        {
            let (alpha, beta) = gains(max_rtt);
            assert!((alpha - expected.0).abs() < 1e-6 && (beta - expected.1).abs() < 1e-9);
        }
        let both = Fields::new("dualpi2").with("max_rtt", Span::from_millis(100)).with("beta", 1.0);
        assert!(DualPi2::from_fields(&both).is_err());
    }
}
