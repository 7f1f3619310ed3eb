//! One direction of one hop at run time.

mod framed;
mod frames;
mod lost_packets;
mod metered;
mod rates;
mod totals;

use crate::capacity_allocation::frames::Allocation;
use crate::counters::{Counters, PacketTotals};
use crate::delay::line::DelayLine;
use crate::flow_meter::meter::FlowMeter;
use crate::loss::process::LossProcess;
use crate::model::DirectionModel;
use crate::policer::Policer;
use crate::queue::accepted::Accepted;
use crate::queue::link_queue::Queue;
use crate::random::stream;
use crate::rate::transmitter::Transmitter;
use crate::{DropCause, Enqueue, Event, Packet, Service};
use bentpipe_units::{LinearDelay, Span, Time};
use frames::Frames;
use lost_packets::LostPackets;

/// Context of a link in its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkContext {
    /// Base RTT of the whole path. It sizes queues given in BDP.
    pub rtt: Span,
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the run.
    pub run: u64,
    /// Name of the link, unique in the run.
    ///
    /// With a purpose appended (`name/loss/0`, `name/delay`, `name/frame`, `name/queue`), it keys
    /// the link's random streams.
    pub name: String,
}

/// One direction of one hop: a pure state machine over packets with any payload.
///
/// The [crate root](crate) describes its stages and the order of calls.
#[derive(Debug, Clone)]
pub struct Link<P> {
    transmitter: Transmitter,
    state: TransmitterState,
    /// Terminals and their shares of frames, if capacity is allocated. `queue` then stays empty,
    /// since each terminal has its own queue.
    allocation: Option<Box<Allocation<P>>>,
    /// Next action of the transmitter; [`Time::MAX`] for none. Stored, like the other deadlines,
    /// because a run asks for them many times per packet.
    step_due: Time,
    policer: Option<Box<Policer>>,
    meter: Option<Box<FlowMeter<P>>>,
    /// When the class of the flow meter releases its next packet; [`Time::MAX`] for never.
    meter_due: Time,
    queue: Queue<P>,
    frames: Option<Frames>,
    losses: Vec<(LossProcess, PacketTotals)>,
    line: DelayLine<P>,
    /// Lost packets that [`Self::poll`] has not returned yet.
    lost_packets: LostPackets<P>,
    counters: Counters,
    /// Total of [`Service::blocked`] time. Includes the wait that has just begun, up to its end.
    blocked: Span,
    /// Counters per port. Empty with one port, which uses those of the link.
    ports: Vec<Counters>,
    /// Queue per port; empty with one port.
    waiting: Vec<PacketTotals>,
    /// Latest time seen.
    now: Time,
}

/// State of the transmitter.
#[derive(Debug, Clone, Copy)]
enum TransmitterState {
    /// Idle, with an empty queue.
    Idle,
    /// Waits to send a queued packet, until an outage ends or the next opportunity of a trace.
    Waiting,
    /// Sends a packet.
    Sending { begin: Time },
    /// Waits for the next frame with packets at a terminal.
    Framed,
}

impl<P> Link<P> {
    /// Creates an idle link with `ports` ports, at least one.
    ///
    /// A link with external delay has no ports until [`Self::set_delay`] adds them, and keeps no
    /// counters per port.
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
            meter: FlowMeter::new(model, *rtt, || random("meter")),
            meter_due: Time::MAX,
            allocation: model
                .allocation
                .as_ref()
                .map(|dama| {
                    Allocation::new(
                        model,
                        dama,
                        ports.max(1),
                        |port| model.new_queue(*rtt, || random(&format!("queue/{port}"))),
                        random("frame"),
                        random("sync"),
                    )
                })
                .map(Box::new),
            queue: model.new_queue(*rtt, || random("queue")),
            frames: model.frame.map(|length| Frames::new(length, &mut random("frame"))),
            losses: losses
                .map(|(index, loss)| {
                    (
                        LossProcess::new(loss, random(&format!("loss/{index}"))),
                        PacketTotals::default(),
                    )
                })
                .collect(),
            line,
            lost_packets: LostPackets::new(),
            counters: Counters::default(),
            blocked: Span::ZERO,
            ports: vec![Counters::default(); several],
            waiting: vec![PacketTotals::default(); several],
            now: Time::ZERO,
        }
    }

    /// Offers a packet at `now` on `port`. Returns it if the policer or a full queue drops it.
    ///
    /// # Panics
    ///
    /// If the link does not have this port.
    // Inlined, like `poll`: see `depart`.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, port: usize, packet: Packet<P>) -> Enqueue<P> {
        self.check_port(port);
        self.advance(now);
        let now = self.now;
        let bytes = packet.bytes;
        self.count(port as u32, |counters| counters.offered(bytes));
        if self.policer.as_mut().is_some_and(|policer| !policer.admits(now, bytes)) {
            self.count(port as u32, |counters| counters.refused(DropCause::Policer, bytes));
            return Enqueue::Dropped(DropCause::Policer, packet);
        }
        let mut held = Accepted {
            sent: now,
            port: port as u32,
            packet,
            queued: Span::ZERO,
            blocked: self.blocked_until(now),
            serialised_ns: 0,
        };
        if self.meter.is_some() {
            held = match self.metered(held) {
                Ok(held) => held,
                Err(enqueued) => return enqueued,
            };
        }
        if self.allocation.is_some() {
            return self.enqueue_framed(held);
        }
        let mut begin = None;
        if matches!(self.state, TransmitterState::Idle) {
            let soonest = self.transmitter.begin(now, true);
            if soonest == now {
                self.count(held.port, |counters| counters.in_flight.add(bytes));
                self.queue.pass(held);
                self.send(now, bytes);
                return Enqueue::Queued;
            }
            begin = Some(soonest);
        }
        let enqueued = self.wait(held);
        // The transmitter only starts waiting for a packet that the queue accepts.
        if let (Enqueue::Queued, Some(begin)) = (&enqueued, begin) {
            self.wait_until(now, begin);
        }
        enqueued
    }

    /// Sets the delay towards `port` from now on, and adds the port if it does not exist.
    ///
    /// A packet gets the delay in force when it leaves the transmitter.
    ///
    /// # Panics
    ///
    /// If the link has its own delay: see [`DirectionModel::with_external_delay`].
    pub fn set_delay(&mut self, port: usize, delay: LinearDelay) {
        assert!(self.line.set_delay(port, delay), "the link has its own delay");
    }

    /// Counts a packet of `bytes` that is dropped for lack of space before it reaches the queue.
    pub fn count_refused(&mut self, port: usize, bytes: u32) {
        self.count(port as u32, |counters| {
            counters.offered(bytes);
            counters.refused(DropCause::QueueFull, bytes);
        });
    }

    /// Removes the packets for `port` at `now`: those in the queue and, if `in_flight`, the one in
    /// transmission and those in propagation.
    ///
    /// Passes each to `taken`, starting with those in propagation; the packets of a flow in the
    /// order in which they were enqueued.
    pub fn withdraw(
        &mut self,
        now: Time,
        port: usize,
        in_flight: bool,
        mut taken: impl FnMut(Packet<P>),
    ) {
        self.advance(now);
        let port = port as u32;
        let mut all = Vec::new();
        if in_flight {
            self.line.withdraw(port, |held| all.push(held));
            if let (TransmitterState::Sending { begin }, true) =
                (self.state, self.queue.sending() == Some(port))
                && let Some(held) = self.queue.end()
            {
                let busy = self.transmitter.busy(begin, now, held.packet.bytes);
                self.count(port, |counters| counters.busy += busy);
                self.set(TransmitterState::Idle, Time::MAX);
                all.push(held);
            }
        }
        let Self { queue, waiting, .. } = self;
        for held in queue.withdraw(now, port) {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(held.packet.bytes);
            }
            all.push(held);
        }
        self.withdraw_metered(now, port, &mut all);
        self.withdraw_framed(now, port, in_flight, &mut all);
        if matches!(self.state, TransmitterState::Idle) {
            self.start_next(now);
        }
        for held in all {
            self.count(port, |counters| counters.withdrawn(held.packet.bytes));
            taken(held.packet);
        }
    }

    /// Advances the link to `now`. Only needed at the end of a run, by callers that use
    /// [`Self::next_output`].
    pub fn advance_to(&mut self, now: Time) {
        self.advance(now);
        self.catch_up(self.now);
    }

    /// Returns when to call [`Self::poll`] next. `None` if nothing happens until a packet is
    /// offered.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        let next = self.inner_due().min(self.line.due()).min(self.lost_packets.due());
        (next != Time::MAX).then_some(next)
    }

    /// Returns when [`Self::poll`] will return the next packet, unless the caller offers or
    /// withdraws one before; an earlier time if that is unknown.
    ///
    /// It is later than [`Self::next_deadline`] if a transmission ends without visible effect. This
    /// saves one event for most packets in simulations with external delays.
    #[inline]
    pub fn next_output(&self) -> Option<Time> {
        let told = self.line.due().min(self.lost_packets.due()).min(self.meter_due);
        let next = if told < self.step_due { told } else { told.min(self.first_visible()) };
        (next != Time::MAX).then_some(next)
    }

    /// Returns the earliest time at which a packet may arrive, given the packets inside and a
    /// propagation delay of `least` or longer ([`DirectionModel::least_delay`]).
    ///
    /// It ignores losses. For the real clock, where each deadline wakes a thread.
    #[inline]
    pub fn next_arrival(&self, least: Span) -> Option<Time> {
        let next = self.line.due().min(self.inner_due() + least);
        (next != Time::MAX).then_some(next)
    }

    /// Returns when the transmitter's next action may have a visible effect.
    #[inline]
    fn first_visible(&self) -> Time {
        let end = self.step_due;
        let hidden =
            self.losses.is_empty() && self.frames.is_none() && !self.queue.acts_on_dequeue();
        match self.queue.sending() {
            // With several ports, a packet that leaves later may arrive earlier.
            Some(port)
                if hidden
                    && end < Time::MAX
                    && (self.queue.waiting().packets == 0 || self.line.ports() == Some(1)) =>
            {
                end.max(self.line.predicted_arrival(port, end))
            }
            _ => end,
        }
    }

    /// Processes all events until `now` and returns the next packet delivered or lost, in order of
    /// time. Call it until it returns `None`.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Option<Event<P>> {
        loop {
            let (step, arrival, loss) =
                (self.inner_due(), self.line.due(), self.lost_packets.due());
            let next = step.min(arrival).min(loss);
            if next > now || next == Time::MAX {
                self.now = self.now.max(now);
                return None;
            }
            self.now = self.now.max(next);
            // The transmitter comes first, so that simultaneous events have the same order however
            // late the poll.
            if step == next {
                self.step(next);
            } else if loss == next {
                let (at, cause, held) = self.lost_packets.pop()?;
                self.count(held.port, |counters| counters.lost(cause, held.packet.bytes));
                return Some(Event::Lost {
                    cause,
                    at,
                    port: held.port as usize,
                    service: self.complete(held.sent, held.service()),
                    packet: held.packet,
                });
            } else {
                let Accepted { sent, port, packet, queued, blocked, serialised_ns } =
                    self.line.arrive()?;
                let service = Service { queued, blocked, serialised_ns, ..Service::default() };
                let service = self.complete(sent, service);
                self.count(port, |counters| counters.delivered(packet.bytes));
                return Some(Event::Delivered { port: port as usize, sent, service, packet });
            }
        }
    }

    #[inline]
    fn check_port(&self, port: usize) {
        let ports = self.port_count();
        assert!(port < ports, "port {port} does not exist: the link has {ports} ports");
    }

    fn count(&mut self, port: u32, mut what: impl FnMut(&mut Counters)) {
        what(&mut self.counters);
        if let Some(counters) = self.ports.get_mut(port as usize) {
            what(counters);
        }
    }

    /// Advances the transmitter to `now`, so that an offered packet finds the current queue,
    /// whether or not the caller has polled.
    fn advance(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time ran backwards on a link: {now} after {}", self.now);
        loop {
            let next = self.inner_due();
            if next > now || next == Time::MAX {
                break;
            }
            self.step(next);
        }
        self.now = self.now.max(now);
    }

    /// Returns when the transmitter or the flow meter acts next.
    #[inline]
    fn inner_due(&self) -> Time {
        self.step_due.min(self.meter_due)
    }

    /// Ends the current transmission and starts the next one, or lets the flow meter act if that is
    /// what is due at `at`: the transmitter comes first, as the space that it frees.
    fn step(&mut self, at: Time) {
        if at < self.step_due {
            return self.release_metered(at);
        }
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

    /// Starts the next packet at `at`, if one is queued.
    #[inline]
    fn start_next(&mut self, at: Time) {
        if self.queue.waiting().packets > 0 {
            match self.transmitter.begin(at, false) {
                begin if begin == at => self.send_next(at),
                begin => self.wait_until(at, begin),
            }
        }
    }

    /// Waits from `now` until `begin` to send a queued packet.
    fn wait_until(&mut self, now: Time, begin: Time) {
        if begin < Time::MAX {
            self.blocked += begin.since(now);
        }
        self.set(TransmitterState::Waiting, begin);
    }

    /// Returns the total of [`Service::blocked`] time up to `now`.
    #[inline]
    fn blocked_until(&self, now: Time) -> Span {
        match self.state {
            TransmitterState::Waiting if self.step_due < Time::MAX => {
                self.blocked.saturating_sub(self.step_due.since(now))
            }
            _ => self.blocked,
        }
    }

    fn set(&mut self, state: TransmitterState, due: Time) {
        self.state = state;
        self.step_due = due;
    }

    /// Starts the packet that the queue releases next.
    fn send_next(&mut self, now: Time) {
        let Self { queue, lost_packets, waiting, .. } = self;
        let mut left = |port: u32, bytes: u32| {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(bytes);
            }
        };
        let head = queue.begin(now);
        lost_packets.take_dropped(queue, now, &mut left);
        if let Some(head) = head {
            left(head.port, head.bytes);
            if head.marked {
                self.count(head.port, |counters| counters.marked_ce += 1);
            }
            self.send(now, head.bytes);
        }
    }

    /// Sends the packet of `bytes` that the queue has released.
    fn send(&mut self, begin: Time, bytes: u32) {
        let end = self.transmitter.finish(begin, bytes, self.queue.waiting().bytes);
        self.set(TransmitterState::Sending { begin }, end);
    }

    /// Offers a packet to the queue at the time at which it was sent.
    #[inline(always)]
    fn wait(&mut self, held: Accepted<P>) -> Enqueue<P> {
        let (now, port, bytes) = (held.sent, held.port, held.packet.bytes);
        let Self { queue, lost_packets, waiting, .. } = self;
        let enqueued = queue.enqueue(held);
        if let (Ok(_), Some(tally)) = (&enqueued, waiting.get_mut(port as usize)) {
            tally.add(bytes);
        }
        lost_packets.take_dropped(queue, now, |port, bytes| {
            if let Some(tally) = waiting.get_mut(port as usize) {
                tally.remove(bytes);
            }
        });
        match enqueued {
            Ok(marked) => {
                let all = self.waiting();
                self.counters.accepted(bytes, marked, all);
                if let (Some(counters), Some(tally)) =
                    (self.ports.get_mut(port as usize), self.waiting.get(port as usize))
                {
                    counters.accepted(bytes, marked, *tally);
                }
                Enqueue::Queued
            }
            Err((cause, held)) => {
                self.count(port, |counters| counters.refused(cause, bytes));
                Enqueue::Dropped(cause, held.packet)
            }
        }
    }

    /// Moves a packet from the transmitter into its frame.
    #[inline]
    fn leave(&mut self, begin: Time, end: Time, mut held: Accepted<P>) {
        let busy = self.transmitter.busy(begin, end, held.packet.bytes);
        self.count(held.port, |counters| counters.busy += busy);
        let suspended = self.transmitter.suspended(begin, end);
        let sending = busy.saturating_sub(suspended);
        let suspended = suspended + self.transmitter.growth_wait(sending, held.packet.bytes);
        self.blocked += suspended;
        let queued = begin.since(held.sent) + suspended;
        // A packet that was offered in the middle of a suspended transmission has waited for less
        // than the whole suspension.
        held.blocked = self.blocked.saturating_sub(held.blocked).min(queued);
        // It was offered before the flow meter held it.
        (held.sent, held.queued) = (held.sent.saturating_sub(held.queued), held.queued + queued);
        held.serialised_ns = nanos(busy.saturating_sub(suspended));
        let at = self.frames.as_ref().map_or(end, |frames| frames.end(end));
        self.depart(at, held);
    }

    /// Applies the loss processes, then propagation, to a packet that leaves the link at `at`.
    // A separate call moves the packet through memory: wider loads of fields that have just been
    // written wait for all earlier writes, many of them to memory that is not in the cache.
    #[inline(always)]
    fn depart(&mut self, at: Time, held: Accepted<P>) {
        // Every process sees every packet, so that no process depends on the losses of another.
        let mut cause = None;
        for (index, (process, _)) in self.losses.iter_mut().enumerate() {
            if process.loses(at) && cause.is_none() {
                cause = Some(index);
            }
        }
        let Accepted { sent, port, packet, queued, blocked, serialised_ns } = held;
        let held = Accepted { sent, port, packet, queued, blocked, serialised_ns };
        match cause {
            None => self.line.send(at, held),
            Some(index) => {
                self.losses[index].1.add(held.packet.bytes);
                self.lost_packets.insert(at, DropCause::Loss(index as u8), held);
            }
        }
    }
}

/// Returns a time in nanoseconds for [`Service::serialised_ns`].
#[inline]
fn nanos(span: Span) -> u32 {
    u32::try_from(span.as_nanos()).unwrap_or(u32::MAX)
}
