//! One direction of one hop at work.

mod framed;

use crate::capacity_allocation::frames::Allocation;
use crate::counters::{Counters, PacketTotals};
use crate::delay::line::DelayLine;
use crate::loss::process::LossProcess;
use crate::model::DirectionModel;
use crate::policer::Policer;
use crate::queue::fifo::{Accepted, Queue};
use crate::random::stream;
use crate::rate::transmitter::Transmitter;
use crate::{DropCause, Enqueue, Event, Packet, QueueTime};
use bentpipe_units::{LinearDelay, Rate, Span, Time};
use std::collections::VecDeque;

/// What a link needs to know of the run it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkContext {
    /// Base round trip of the whole path, which sizes queues in BDP.
    pub rtt: Span,
    /// The experiment's seed.
    pub seed: u64,
    /// The run's number.
    pub run: u64,
    /// The link's name, unique in the run: with a purpose after it (`name/loss/0`, `name/delay`, `name/frame`) it
    /// keys the link's random streams.
    pub name: String,
}

/// One direction of one hop: a pure state machine over packets with any payload.
///
/// The stages and the order of calls are described at the [crate root](crate).
#[derive(Debug, Clone)]
pub struct Link<P> {
    transmitter: Transmitter,
    state: TransmitterState,
    /// Terminals and their shares of frames, where capacity is allocated: then the queue below stays empty, each terminal having one of its own.
    allocation: Option<Box<Allocation<P>>>,
    /// When the transmitter has something to do; [`Time::MAX`] for never. Kept, as are the other times of next events,
    /// since a run asks for them many times per packet.
    step_due: Time,
    policer: Option<Box<Policer>>,
    queue: Queue<P>,
    frames: Option<Frames>,
    losses: Vec<(LossProcess, PacketTotals)>,
    line: DelayLine<P>,
    /// Packets that are gone and not yet told of, by when they went.
    lost_packets: VecDeque<(Time, DropCause, Accepted<P>)>,
    /// When the first of these went.
    next_loss: Time,
    counters: Counters,
    /// Per port; empty with one port, whose counters are the link's.
    ports: Vec<Counters>,
    /// Per port, what waits in the queue; empty with one port.
    waiting: Vec<PacketTotals>,
    /// The latest time seen.
    now: Time,
}

/// What the transmitter does.
#[derive(Debug, Clone, Copy)]
enum TransmitterState {
    /// Nothing, and nothing waits.
    Idle,
    /// It will begin with the queue's front: after an outage, or at the next opportunity of a trace.
    Waiting,
    /// It sends the packet at the queue's front.
    Sending { begin: Time },
    /// It waits for the next frame: something waits at a terminal.
    Framed,
}

/// Frames of one length, in which packets leave together.
#[derive(Debug, Clone)]
struct Frames {
    length: Span,
    /// When the first one ends.
    phase: Span,
}

impl Frames {
    /// The end of the frame in which a transmission ended at `at`.
    fn end(&self, at: Time) -> Time {
        let first = Time::ZERO + self.phase;
        let into = at.since(first).as_nanos() % self.length.as_nanos();
        if at <= first {
            first
        } else if into == 0 {
            at
        } else {
            at + (self.length - Span::from_nanos(into))
        }
    }
}

impl<P> Link<P> {
    /// A link that nothing has passed yet, with so many ports (at least one). A steered link has none until [`Self::set_delay`] adds them, and keeps no
    /// counters by port.
    pub fn new(model: &DirectionModel, context: &LinkContext, ports: usize) -> Self {
        let LinkContext { rtt, seed, run, name } = context;
        let random = |purpose: &str| stream(*seed, *run, &format!("{name}/{purpose}"));
        let losses = model.losses.iter().enumerate();
        let line = DelayLine::new(&model.delay, || random("delay"));
        let several = if ports > 1 && line.ports().is_none() { ports } else { 0 };
        Self {
            transmitter: Transmitter::new(&model.rate),
            state: TransmitterState::Idle,
            step_due: Time::MAX,
            policer: Policer::new(&model.policer).map(Box::new),
            allocation: model
                .allocation
                .as_ref()
                .map(|dama| Allocation::new(model, dama, *rtt, ports.max(1), random("frame"), random("sync")))
                .map(Box::new),
            queue: Queue::new(model.queue_limit(*rtt), model.codel()),
            frames: model
                .frame
                .map(|length| Frames { length, phase: Span::from_nanos(random("frame").below(length.as_nanos())) }),
            losses: losses
                .map(|(index, loss)| {
                    (LossProcess::new(loss, random(&format!("loss/{index}"))), PacketTotals::default())
                })
                .collect(),
            line,
            lost_packets: VecDeque::new(),
            next_loss: Time::MAX,
            counters: Counters::default(),
            ports: vec![Counters::default(); several],
            waiting: vec![PacketTotals::default(); several],
            now: Time::ZERO,
        }
    }

    /// Takes a packet at `now` on `port`, or hands it back where the policer or a full queue refuses it.
    ///
    /// # Panics
    /// On a port that the link does not have.
    pub fn enqueue(&mut self, now: Time, port: usize, packet: Packet<P>) -> Enqueue<P> {
        assert!(port < self.port_count(), "port {port} of a link with {} ports", self.port_count());
        self.advance(now);
        let now = self.now;
        let bytes = packet.bytes;
        self.count(port as u32, |counters| counters.offered(bytes));
        if self.policer.as_mut().is_some_and(|policer| !policer.admits(now, bytes)) {
            self.count(port as u32, |counters| counters.dropped(DropCause::Policer, bytes));
            return Enqueue::Dropped(DropCause::Policer, packet);
        }
        let held = Accepted { sent: now, port: port as u32, packet };
        if self.allocation.is_some() {
            return self.enqueue_framed(held);
        }
        if matches!(self.state, TransmitterState::Idle) {
            let begin = self.transmitter.begin(now, true);
            if begin == now {
                self.count(held.port, |counters| counters.in_flight.add(bytes));
                self.queue.pass(held);
                self.send(now, bytes);
                return Enqueue::Queued;
            }
            // Only what the queue has room for makes the transmitter wait.
            if self.queue.has_room(bytes) {
                self.set(TransmitterState::Waiting, begin);
            }
        }
        if !self.queue.has_room(bytes) {
            self.count(held.port, |counters| counters.dropped(DropCause::QueueFull, bytes));
            return Enqueue::Dropped(DropCause::QueueFull, held.packet);
        }
        self.count(held.port, |counters| counters.in_flight.add(bytes));
        self.wait(held);
        Enqueue::Queued
    }

    /// Sets the delay of a steered link's port from now on; the port is added where the link does not have it. Packets get the delay in force when they leave
    /// the transmitter.
    ///
    /// # Panics
    /// On a link that is not steered.
    pub fn set_delay(&mut self, port: usize, delay: LinearDelay) {
        assert!(self.line.set_delay(port, delay), "a link whose delay is its own is steered");
    }

    /// Counts a packet of `bytes` that finds no room before it even reaches the queue.
    pub fn count_refused(&mut self, port: usize, bytes: u32) {
        self.count(port as u32, |counters| {
            counters.offered(bytes);
            counters.dropped(DropCause::QueueFull, bytes);
        });
    }

    /// Takes the packets for `port` back at `now`: those that wait, and where `in_flight` the one being sent, if it is one, and those on the way. Each is handed to
    /// `taken` in the order in which they were enqueued, those on the way first.
    pub fn withdraw(&mut self, now: Time, port: usize, in_flight: bool, mut taken: impl FnMut(Packet<P>)) {
        self.advance(now);
        let port = port as u32;
        let mut all = Vec::new();
        if in_flight {
            self.line.withdraw(port, |held| all.push(held));
            if let (TransmitterState::Sending { begin }, true) = (self.state, self.queue.sending() == Some(port))
                && let Some(held) = self.queue.end()
            {
                let busy = self.transmitter.busy(begin, now, held.packet.bytes);
                self.count(port, |counters| counters.busy += busy);
                self.set(TransmitterState::Idle, Time::MAX);
                all.push(held);
            }
        }
        let Self { queue, waiting, .. } = self;
        queue.withdraw(now, port, |held| {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(held.packet.bytes);
            }
            all.push(held);
        });
        self.withdraw_framed(now, port, in_flight, &mut all);
        if matches!(self.state, TransmitterState::Idle) {
            self.start_next(now);
        }
        for held in all {
            self.count(port, |counters| counters.withdrawn(held.packet.bytes));
            taken(held.packet);
        }
    }

    /// Brings the link's books up to `now`, for one that is asked for [`Self::next_output`] only: the end of a run.
    pub fn advance_to(&mut self, now: Time) {
        self.advance(now);
        self.catch_up(self.now);
    }

    /// When to call [`Self::poll`] next; `None` while nothing will happen unless a packet comes.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        let next = self.step_due.min(self.line.due()).min(self.next_loss);
        (next != Time::MAX).then_some(next)
    }

    /// When [`Self::poll`] next tells of a packet, unless something is handed in or taken back before; or an earlier time where that is not known. It is later than
    /// [`Self::next_deadline`] where a transmission ends that nobody sees: a simulation of steered links has one event less for most packets.
    #[inline]
    pub fn next_output(&self) -> Option<Time> {
        let told = self.line.due().min(self.next_loss);
        let next = if told < self.step_due { told } else { told.min(self.first_visible()) };
        (next != Time::MAX).then_some(next)
    }

    /// The earliest time at which a packet may arrive by what is inside now, where each is on its way for `least` at least
    /// ([`DirectionModel::least_delay`]); losses are told of later. For a wall clock, where each time costs a thread that is woken.
    #[inline]
    pub fn next_arrival(&self, least: Span) -> Option<Time> {
        let next = self.line.due().min(self.step_due + least);
        (next != Time::MAX).then_some(next)
    }

    /// When something of what the transmitter does next may be seen.
    #[inline]
    fn first_visible(&self) -> Time {
        let end = self.step_due;
        let hidden = self.losses.is_empty() && self.frames.is_none() && !self.queue.is_managed();
        match self.queue.sending() {
            // With several ends, one that leaves later may arrive before.
            Some(port)
                if hidden && end < Time::MAX && (self.queue.waiting().packets == 0 || self.line.ports() == Some(1)) =>
            {
                end.max(self.line.predicted_arrival(port, end))
            }
            _ => end,
        }
    }

    /// Does what is due by `now` and tells of the next packet that is delivered or lost, in order of time. Call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Event<P>> {
        loop {
            let (step, arrival, lost_packets) = (self.step_due, self.line.due(), self.next_loss);
            let next = step.min(arrival).min(lost_packets);
            if next > now || next == Time::MAX {
                self.now = self.now.max(now);
                return None;
            }
            self.now = self.now.max(next);
            // The transmitter goes first, so that what is told of one instant comes in the same order however late the poll.
            if step == next {
                self.step(next);
            } else if lost_packets == next {
                let (at, cause, held) = self.lost_packets.pop_front()?;
                self.next_loss = first(&self.lost_packets);
                self.count(held.port, |counters| counters.dropped(cause, held.packet.bytes));
                return Some(Event::Lost { cause, at, port: held.port as usize, packet: held.packet });
            } else {
                let Accepted { sent, port, packet } = self.line.arrive()?;
                self.count(port, |counters| counters.delivered(packet.bytes));
                return Some(Event::Delivered { port: port as usize, sent, packet });
            }
        }
    }

    /// What the whole link has counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What one port has counted; its queue maxima are those of its own packets. The ports of a steered link share the link's.
    ///
    /// # Panics
    /// On a port that the link does not have.
    pub fn port_counters(&self, port: usize) -> &Counters {
        assert!(port < self.port_count(), "port {port} of a link with {} ports", self.port_count());
        self.ports.get(port).unwrap_or(&self.counters)
    }

    /// How many ports there are.
    pub fn port_count(&self) -> usize {
        self.line.ports().unwrap_or(self.ports.len().max(1))
    }

    /// What each loss process has lost, in the scenario's order.
    pub fn loss_tallies(&self) -> impl Iterator<Item = PacketTotals> {
        self.losses.iter().map(|(_, tally)| *tally)
    }

    /// Bytes that wait, the packet being sent excluded.
    pub fn queue_bytes(&self) -> u64 {
        self.waiting().bytes
    }

    /// Packets that wait, the one being sent excluded.
    pub fn queue_packets(&self) -> u64 {
        self.waiting().packets
    }

    #[inline]
    fn waiting(&self) -> PacketTotals {
        self.framed_waiting().unwrap_or_else(|| self.queue.waiting())
    }

    /// What waits of one port's packets.
    ///
    /// # Panics
    /// On a port that the link does not have.
    pub fn port_queue(&self, port: usize) -> PacketTotals {
        assert!(port < self.port_count(), "port {port} of a link with {} ports", self.port_count());
        if let Some(allocation) = &self.allocation {
            return allocation.terminals.get(port).map(|terminal| terminal.queue.waiting()).unwrap_or_default();
        }
        self.waiting.get(port).copied().unwrap_or(self.queue.waiting())
    }

    /// Both sides of Little's law for the queue from the beginning of the run to `now`, no earlier than the last call with a
    /// time: what still waits has waited until then. Ports share the queue and have no books of their own; where each has a queue, both sides are
    /// sums over them.
    pub fn queue_time(&self, now: Time) -> QueueTime {
        let now = now.max(self.now);
        self.framed_time(now).unwrap_or_else(|| self.queue.time(now))
    }

    /// Packets inside, counted where they lie: waiting, being sent, on the way, or gone and not yet told of. It should be
    /// [`Counters::in_flight`].
    pub fn held(&self) -> u64 {
        let terminals = self.allocation.as_ref().map_or(0, |allocation| allocation.held());
        self.queue.held() + terminals + self.lost_packets.len() as u64 + self.line.held()
    }

    /// The rate in force at `now`; for a trace, that of the opportunities in the 100 ms that begin then.
    pub fn rate_at(&self, now: Time) -> Rate {
        self.transmitter.rate_at(now)
    }

    #[inline]
    fn count(&mut self, port: u32, mut what: impl FnMut(&mut Counters)) {
        what(&mut self.counters);
        if let Some(counters) = self.ports.get_mut(port as usize) {
            what(counters);
        }
    }

    /// Brings the transmitter up to `now`, so that a packet that arrives finds the queue as it is then, whether or not the
    /// caller has polled.
    fn advance(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time ran backwards on a link: {now} after {}", self.now);
        loop {
            let next = self.step_due;
            if next > now || next == Time::MAX {
                break;
            }
            self.step(next);
        }
        self.now = self.now.max(now);
    }

    /// The transmitter ends a packet and begins the next one.
    fn step(&mut self, at: Time) {
        let state = self.state;
        self.set(TransmitterState::Idle, Time::MAX);
        match state {
            TransmitterState::Idle => {}
            TransmitterState::Framed => self.frame(at),
            TransmitterState::Waiting => self.send_next(at),
            TransmitterState::Sending { begin } => {
                if let Some(held) = self.queue.end() {
                    self.leave(begin, at, held);
                }
                self.start_next(at);
            }
        }
    }

    /// The transmitter is free at `at`: the next packet's turn, if there is one.
    #[inline]
    fn start_next(&mut self, at: Time) {
        if self.queue.waiting().packets > 0 {
            match self.transmitter.begin(at, false) {
                begin if begin == at => self.send_next(at),
                begin => self.set(TransmitterState::Waiting, begin),
            }
        }
    }

    fn set(&mut self, state: TransmitterState, due: Time) {
        self.state = state;
        self.step_due = due;
    }

    /// Begins with the first packet in the queue that CoDel lets pass.
    fn send_next(&mut self, now: Time) {
        let Self { queue, lost_packets, waiting, .. } = self;
        let mut left = |port: u32, bytes: u32| {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(bytes);
            }
        };
        let head = queue.begin(now, |held| {
            left(held.port, held.packet.bytes);
            insert_loss(lost_packets, now, DropCause::Aqm, held);
        });
        self.next_loss = first(&self.lost_packets);
        if let Some(head) = head {
            left(head.port, head.bytes);
            if head.marked {
                self.count(head.port, |counters| counters.marked_ce += 1);
            }
            self.send(now, head.bytes);
        }
    }

    /// Sends the packet of `bytes` at the queue's front.
    fn send(&mut self, begin: Time, bytes: u32) {
        let end = self.transmitter.finish(begin, bytes);
        self.set(TransmitterState::Sending { begin }, end);
    }

    fn wait(&mut self, held: Accepted<P>) {
        let (port, bytes) = (held.port as usize, held.packet.bytes);
        self.queue.push(held);
        self.counters.waiting(self.queue.waiting());
        if let (Some(counters), Some(tally)) = (self.ports.get_mut(port), self.waiting.get_mut(port)) {
            tally.add(bytes);
            counters.waiting(*tally);
        }
    }

    /// A packet leaves the transmitter: into its frame, and on.
    #[inline]
    fn leave(&mut self, begin: Time, end: Time, held: Accepted<P>) {
        let busy = self.transmitter.busy(begin, end, held.packet.bytes);
        self.count(held.port, |counters| counters.busy += busy);
        let at = self.frames.as_ref().map_or(end, |frames| frames.end(end));
        self.depart(at, held);
    }

    /// A packet leaves the link's transmitting end at `at`: past the loss processes, onto its way.
    // A call of its own costs plain links 18 instructions a packet, one in forty.
    #[inline(always)]
    fn depart(&mut self, at: Time, held: Accepted<P>) {
        // Every process sees every packet, so that none depends on what others lose.
        let mut cause = None;
        for (index, (process, _)) in self.losses.iter_mut().enumerate() {
            if process.loses(at) && cause.is_none() {
                cause = Some(index);
            }
        }
        match cause {
            None => self.line.send(at, held),
            Some(index) => {
                self.losses[index].1.add(held.packet.bytes);
                insert_loss(&mut self.lost_packets, at, DropCause::Loss(index as u8), held);
                self.next_loss = first(&self.lost_packets);
            }
        }
    }
}

/// Puts a packet that goes at `at` where its time falls: behind a frame's end, CoDel may drop before an earlier loss is told.
fn insert_loss<P>(
    lost_packets: &mut VecDeque<(Time, DropCause, Accepted<P>)>,
    at: Time,
    cause: DropCause,
    held: Accepted<P>,
) {
    let later = lost_packets.iter().rev().take_while(|(other, _, _)| *other > at).count();
    lost_packets.insert(lost_packets.len() - later, (at, cause, held));
}

fn first<P>(lost_packets: &VecDeque<(Time, DropCause, Accepted<P>)>) -> Time {
    lost_packets.front().map_or(Time::MAX, |(at, _, _)| *at)
}
