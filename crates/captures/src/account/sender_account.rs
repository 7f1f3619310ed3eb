//! The account of a transfer from its sender's trace.

use super::asks::{ACK_DELAY, Asks, EARLY, HELD, SAID};
use super::back_link::BackLink;
use super::exchange::exchanges;
use super::far_end::FarEnd;
use super::fluid_link::{FluidLink, FullLink};
use super::frames::Frames;
use super::handshake::{first_wait, handshake_wait};
use super::held_acks::{HELD_BACK, Hold, longest_hold};
use super::late_acks::LateAcks;
use super::losses::Losses;
use super::named_gaps::NamedGaps;
use super::outage::{is_held, outages, probed, within};
use super::path::{PathEstimate, SeenRate, rate_of};
use super::path_waits::{PathWaits, share_overtaken};
use super::reading::find_windows;
use super::sender_state::{Flight, SenderState};
use super::sent::{DataPacket, Sent};
use super::slots::has_slots;
use super::spending::{FlowLimit, LimitKind, Spending, Turn};
use super::steady::{COMPARED, COVERED, LONG, Pattern, Steady};
use super::transfer::{CapturedTransfer, Carried, divide_busy, hides_rate};
use super::waits::least;
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Transport};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Waits of up to this share of an RTT are pacing, if nothing else kept the sender from sending,
/// and it had sent no more than this before.
const PACING: f64 = 0.25;
const PACED_BYTES: u64 = 5000;
/// Waits of up to this are pacing whatever was sent before.
const PACING_TIME: Span = Span::from_millis(5);
/// Most packets among which a lost one is looked for.
const MOST: usize = 10_000;
/// Times the wait of an acknowledgement for which a request behind it may have waited.
const BEHIND: u64 = 3;
/// Longest wait of a request for capacity that is assigned on demand: it is asked for and assigned
/// over the same path, once a second or more often.
const ON_DEMAND: Span = Span::from_millis(1500);
/// Share by which a round trip may be shorter than that of the handshake, which has the time of a
/// signature in it.
const NEARLY: f64 = 0.1;
/// Round trips of an idle sender, without a loss, from which on no window explains it.
const IDLE: f64 = 1.5;

/// Divides the time of a transfer.
pub fn sender_account(
    trace: &CapturedConnection,
    sent: &Sent,
    rate: Option<Rate>,
    far: Option<&FarEnd>,
) -> Result<CapturedTransfer, CaptureError> {
    let Sent { packets, start, end, rtt, .. } = sent;
    let back_link = back_link(trace, far);
    let late = LateAcks::at_sender(trace, packets, *rtt, far);
    let passed = late.passed(packets, far, back_link.as_ref().map(|_| *rtt));
    let mut seen = rate_of(&passed, *rtt, late.common_share(), rate);
    let first = packets.first().map_or(*start, |packet| packet.at);
    // The other end's file says what arrived.
    let unacknowledged = if far.is_some() { 0 } else { sent.unacknowledged() };
    let data_end = match unacknowledged {
        0 => end.saturating_sub(*rtt).max(first),
        _ => last_left(trace, sent, rate.is_some(), &mut seen),
    };
    let end = &(data_end + *rtt);
    let mut spending = Spending::default();
    let frames = Frames::find(trace, true);
    let begin = opening(trace, sent, far, frames.as_ref(), &mut spending);
    let frame = frames.map_or(Span::ZERO, |frames| frames.period);
    let probed = if trace.is_encrypted { probed(packets, *rtt) } else { Vec::new() };
    let outages = outages(packets, *rtt, longest_hold(trace) + frame, probed);
    let losses = Losses::find(packets, *rtt, far, |packet| is_held(packet, &outages));
    let walk = Walk::new(trace, sent, seen.rate, &losses, &outages, far, frames);
    let walk = walk.run(data_end, &mut spending);
    let busy = data_end.since(first).saturating_sub(walk.idle).saturating_sub(walk.tail);
    let tail = end.saturating_sub(walk.tail + *rtt);
    spending.round_trips(TimePart::Request, tail, *end, frames.as_ref());
    divide_busy(&mut spending.budget, busy.as_secs_f64(), &walk.carried);
    // Without acknowledgements, that is the rate of sending.
    let is_queue = losses.queue >= least(*rtt);
    let by_path = seen.by_path || seen.is_sustained && is_queue;
    let is_shown = far.is_some()
        || !trace.is_encrypted && !hides_rate(&spending.budget, spending.evidence.reordered);
    let elsewhere = losses.lost - losses.lost_at_queue;
    spending.evidence.lost = losses.lost;
    spending.evidence.lost_at_queue = losses.lost_at_queue;
    spending.evidence.loss_episodes = losses.episodes;
    spending.evidence.frame = frames.map(|frames| frames.period);
    spending.evidence.reordered = far.map_or_else(|| share_overtaken(packets), |far| far.reordered);
    let is_covered = trace.is_encrypted && far.is_none();
    spending.evidence.hides_losses = is_covered && !walk.gaps.are_told();
    spending.evidence.names_gaps = is_covered && walk.gaps.are_some();
    spending.finish();
    find_windows(&mut spending, trace, true, *rtt);
    let last_sent = packets.last().map_or(first, |packet| packet.at);
    let exchanges = exchanges(trace, true, &walk.asks, &walk.turns, *rtt, &spending.intervals);
    Ok(CapturedTransfer {
        bytes: Bytes::new(sent.bytes),
        is_encrypted: trace.is_encrypted,
        is_sender: true,
        is_upload: false,
        completion: end.since(begin),
        budget: spending.budget,
        path: PathEstimate {
            rtt: *rtt,
            rate: seen.rate,
            proven: seen.proven,
            is_filled: rate.is_some() || by_path && is_shown,
            queue: losses.queue.saturating_sub(frame),
            is_full: losses.lost_at_queue > 0,
            loss: elsewhere as f64 / packets.len().max(1) as f64,
        },
        intervals: spending.intervals,
        both: far.map(|far| far.both),
        evidence: spending.evidence,
        exchanges,
        losses: packets
            .iter()
            .zip(&losses.at_queue)
            .filter(|(packet, _)| packet.is_lost())
            .map(|(packet, at_queue)| (packet.at, *at_queue))
            .collect(),
        notes: notes(walk.knows_window, unacknowledged, last_sent.since(begin)),
    })
}

/// Returns when the last data left the link, of which some is not acknowledged: when this has sent
/// it. If no rate shows, it is taken to be as fast as what sent it.
fn last_left(trace: &CapturedConnection, sent: &Sent, is_given: bool, seen: &mut SeenRate) -> Time {
    let (Some(first), Some(last)) = (sent.packets.first(), sent.packets.last()) else {
        return sent.end;
    };
    let acknowledged = sent.end.saturating_sub(sent.rtt).max(first.at);
    if !(trace.is_encrypted || is_given || seen.by_path) {
        seen.rate = seen.rate.max(sent.rate());
        return acknowledged.max(last.at);
    }
    // When data was acknowledged whose packets are not opened is an estimate.
    let rate = if trace.is_encrypted { seen.rate.max(sent.rate()) } else { seen.rate };
    let mut link = FluidLink::new(rate, first.at);
    for packet in sent.packets.iter().filter(|packet| !packet.is_lost()) {
        link.add(packet.at, packet.wire);
    }
    acknowledged.max(link.busy_until())
}

/// Returns what the file does not show. Its last data was sent `last` after the begin.
fn notes(knows_window: bool, unacknowledged: usize, last: Span) -> Vec<String> {
    let mut notes = Vec::new();
    if !knows_window {
        notes.push("the file has no congestion windows: they are inferred".to_owned());
    }
    if unacknowledged > 0 {
        let which = match unacknowledged {
            1 => "its last packet is acknowledged: its arrival is".to_owned(),
            count => format!("the last {count} packets are acknowledged: their arrival is"),
        };
        notes.push(format!(
            "the last data in the file was sent after {:.3} s, and it ends before {which} \
             estimated, and the transfer may have continued",
            last.as_secs_f64()
        ));
    }
    notes
}

/// Spends the time up to the first packet of data. Returns when the transfer began.
fn opening(
    trace: &CapturedConnection,
    sent: &Sent,
    far: Option<&FarEnd>,
    frames: Option<&Frames>,
    spending: &mut Spending,
) -> Time {
    let Sent { packets, start, handshake, request, rtt, .. } = sent;
    let first = packets.first().map_or(*start, |packet| packet.at);
    let mut begin = *start;
    if let Some((part, lead)) = far.and_then(|far| far.lead) {
        begin = start.saturating_sub(lead);
        spending.add(part, begin, *start);
    }
    let first_wait = match far {
        Some(far) => (!far.lost_handshake).then_some(Span::ZERO),
        None => first_wait(trace, *rtt),
    };
    let (part, wait) = handshake_wait(trace, (*start, *handshake), *rtt, first_wait);
    spending.add(part, *start, *start + wait);
    spending.round_trips(TimePart::Handshake, *start + wait, *handshake, frames);
    spending.add(TimePart::Request, *handshake, *request);
    spending.pause(true, *request, first);
    begin
}

/// Returns the slow link towards the sender that the times of arrivals show. TCP shows it by its
/// timestamps, and so does the file of the other end.
fn back_link(trace: &CapturedConnection, far: Option<&FarEnd>) -> Option<BackLink> {
    let is_told = trace.transport == Transport::Tcp || far.is_some();
    if is_told { None } else { BackLink::at_sender(trace) }
}

/// What following a sender found.
struct Walked {
    /// Time that the link was idle, all of which is spent.
    idle: Span,
    /// Time after the link's last packet.
    tail: Span,
    carried: Carried,
    knows_window: bool,
    asks: Asks,
    gaps: NamedGaps,
    /// Times at which the answer to a request began.
    turns: Vec<Time>,
}

/// Follows the sender with a link, and gives each idle time of the link to what held the sender
/// back.
struct Walk<'a> {
    trace: &'a CapturedConnection,
    sent: &'a Sent,
    losses: &'a Losses,
    outages: &'a [(Time, Time)],
    first: Time,
    link: FluidLink,
    state: SenderState,
    steady: Steady,
    asks: Asks,
    waits: PathWaits<'a>,
    frames: Option<Frames>,
    back_link: Option<BackLink>,
    has_slots: bool,
    /// Arrivals of packets that are not opened.
    arrivals: Vec<Time>,
    gaps: NamedGaps,
    /// Bytes that left since the last wait.
    burst: u64,
    has_lost: bool,
    /// True if the wait that is spent ended with an arrival.
    is_prompt: bool,
    /// Of the last packet: how much longer than a round trip its acknowledgement took, and whether
    /// it was held back.
    late: Span,
    is_held_back: bool,
    /// How the acknowledgement of the last packet was held back.
    hold: Option<Hold>,
    turns: Vec<Time>,
}

impl<'a> Walk<'a> {
    fn new(
        trace: &'a CapturedConnection,
        sent: &'a Sent,
        rate: Rate,
        losses: &'a Losses,
        outages: &'a [(Time, Time)],
        far: Option<&'a FarEnd>,
        frames: Option<Frames>,
    ) -> Self {
        let fills_queue = losses.lost_at_queue > 0;
        let first = sent.packets.first().map_or(Time::ZERO, |packet| packet.at);
        let arrivals = trace.events.iter().filter(|_| trace.is_encrypted);
        let arrivals = arrivals.filter(|(_, event)| matches!(event, Event::Received(_)));
        Self {
            trace,
            sent,
            losses,
            outages,
            first,
            link: FluidLink::new(rate, first),
            state: SenderState::new(trace.transport, trace.is_encrypted, first),
            steady: Steady::new(sent.rtt, trace.is_encrypted),
            asks: Asks::find(trace, true),
            waits: PathWaits::new(trace, &sent.packets, sent.rtt, far, fills_queue),
            frames,
            back_link: back_link(trace, far),
            has_slots: trace.is_encrypted && has_slots(trace, sent.rtt),
            arrivals: arrivals.map(|(at, _)| *at).collect(),
            gaps: NamedGaps::find(trace, true),
            burst: 0,
            has_lost: false,
            is_prompt: false,
            late: Span::ZERO,
            is_held_back: false,
            hold: None,
            turns: vec![first],
        }
    }

    fn run(mut self, until: Time, spending: &mut Spending) -> Walked {
        let mut full = FullLink::new(self.sent.rtt);
        let mut carried = Carried::default();
        let mut data_arrived = 0;
        let mut idle_time = Span::ZERO;
        let mut flight = Flight::default();
        for (now, event) in &self.trace.events {
            let Event::Sent(packet) = event else {
                self.has_lost |= matches!(event, Event::Lost(_));
                self.state.handle(*now, event, self.sent, &mut flight);
                continue;
            };
            if !packet.is_application {
                continue;
            }
            if self.gaps.are_some_until(*now) {
                self.state.slow_start = false;
                self.has_lost = true;
            }
            let index = self.sent.numbers.get(&packet.number).copied();
            let Some((index, data)) = index.and_then(|at| Some((at, self.sent.packets.get(at)?)))
            else {
                self.state.credit_was_used |= packet.is_blocked;
                continue;
            };
            let at_queue = self.losses.at_queue.get(index).copied().unwrap_or_default();
            if !at_queue {
                self.waits.waits_for_own(index, self.link.queue(*now));
                let (since, idle) = self.link.add(*now, data.wire);
                let idle = idle.min(until.since(since));
                if !idle.is_zero() {
                    self.waited(since, since + idle, *now, data, spending);
                    idle_time += idle;
                    full.idle(*now, idle);
                    self.burst = 0;
                }
                carried.total += data.wire;
                if data.is_lost() {
                    carried.lost += data.wire;
                } else {
                    data_arrived += data.data;
                }
            }
            let took = data.acknowledged.map_or(Span::ZERO, |at| at.since(data.at));
            self.late = took.saturating_sub(self.sent.rtt + data.held_back);
            self.is_held_back = !data.is_lost() && data.held_back >= least(self.sent.rtt);
            self.hold = Hold::find(data, self.sent.rtt).filter(|_| self.is_held_back);
            self.burst += data.wire;
            self.steady.add(*now, data.wire);
            self.state.slow_start &= !full.is_full(self.first, *now);
            self.state.sent(*now, packet);
            flight.add(packet.number, packet.bytes);
        }
        carried.data = self.sent.bytes.min(data_arrived);
        carried.repeated = data_arrived.saturating_sub(self.sent.bytes);
        Walked {
            idle: idle_time,
            tail: until.since(self.link.busy_until().max(self.first)),
            carried,
            knows_window: self.state.window.is_some(),
            asks: self.asks,
            gaps: self.gaps,
            turns: self.turns,
        }
    }

    /// Spends the idle time of the link from `from` to `to`, after which `data` leaves now.
    fn waited(
        &mut self,
        from: Time,
        to: Time,
        now: Time,
        data: &DataPacket,
        spending: &mut Spending,
    ) {
        let rtt = self.sent.rtt;
        let is_prompt =
            self.state.is_prompt(now, rtt) || self.state.is_paced_prompt(now, to.since(from));
        self.is_prompt = is_prompt;
        if !data.repeats
            && let Some((first, answered)) = self.answered(now, data)
        {
            self.steady.restart();
            self.turns.push(now);
            let trip = self.frames.map_or(rtt, |frames| frames.round_trip);
            let back = (self.state.previous + trip).max(from);
            let late = self.late_request(back, first);
            let late = late.max(self.frames.map_or(Span::ZERO, |frames| frames.period));
            let turn = Turn {
                late: (back + late).min(first),
                asked: first.saturating_sub(self.waits.of_arrival(first)),
                ..Turn::new(back, first, answered)
            };
            return spending.turn(from, turn, to);
        }
        self.steady.waited(now, to.since(from), is_prompt);
        if let Some((since, _)) = within(self.outages, from, to) {
            let since = since.max(from);
            self.held_back(from, since, now, data, spending);
            return spending.add(TimePart::Outage, since, to);
        }
        let mut to = to;
        if let Some(frames) = self.frames.filter(|_| is_prompt || data.repeats) {
            let wait = frames.wait(to.since(from));
            to = spending.add_at_end(TimePart::Capacity, wait, from, to);
        }
        if is_prompt && !data.repeats && self.state.flow_limit().is_none() {
            let arrival = self.state.last_arrival;
            to = self.waits.spend(&self.sent.packets, arrival, from, to, spending);
        }
        if let Some(link) = &self.back_link {
            to = link.spend(rtt, from, to, spending);
        }
        self.held_back(from, to, now, data, spending);
    }

    /// Returns how long a request waited on its way that came at `first` and not at `back`, as it
    /// could have, if what was sent before it had waited: where acknowledgements wait, what follows
    /// them does, too.
    fn late_request(&self, back: Time, first: Time) -> Span {
        if self.was_acknowledged_before(first) {
            return Span::ZERO;
        }
        let after = first.since(back);
        if self.has_slots && after <= ON_DEMAND {
            return after;
        }
        // TCP does not say for how long a receiver held an acknowledgement back.
        let is_said = self.trace.transport == Transport::Quic && !self.trace.is_encrypted;
        let tolerance = if is_said { SAID.max(least(self.sent.rtt)) } else { HELD };
        match self.late > tolerance {
            true => self.late.max(after.min(self.late * BEHIND)),
            false => Span::ZERO,
        }
    }

    /// Returns true if the packets are not opened and what came last before the request at `first`,
    /// and not together with it, came long before it and a round trip or more after the last data:
    /// had the request waited on its way, it would have come behind that.
    fn was_acknowledged_before(&self, first: Time) -> bool {
        let answered = self.state.previous + self.sent.rtt.mul_f64(1.0 - NEARLY);
        let near = least(self.sent.rtt);
        let index = self.arrivals.partition_point(|at| *at + near < first);
        let last = index.checked_sub(1).and_then(|index| self.arrivals.get(index));
        last.is_some_and(|at| *at >= answered && *at + HELD < first)
    }

    /// Returns when what asks for `data` began and ended to arrive. Without streams, a request
    /// comes a round trip after the data before at the soonest.
    fn answered(&mut self, now: Time, data: &DataPacket) -> Option<(Time, Time)> {
        let rtt = self.sent.rtt;
        let previous = self.state.previous;
        if data.begins
            && let Some(ask) = self.asks.on(data.stream)
        {
            // Asked before the data before it had left: this end was slow.
            return Some((ask.at.max(previous), ask.at.max(previous)));
        }
        let (first, last) = self.asks.between(previous, now, Span::ZERO)?;
        (first.at.since(previous) >= rtt.mul_f64(1.0 - EARLY)).then_some((first.at, last.at))
    }

    /// Returns true if a packet was lost of those that were sent within two round trips before the
    /// last arrival, or since.
    fn lacks_data(&self, now: Time) -> bool {
        let packets = &self.sent.packets;
        let from = self.state.last_arrival.saturating_sub(self.sent.rtt * 2);
        let from = packets.partition_point(|packet| packet.at < from);
        let after = packets.get(from..).unwrap_or_default().iter();
        after.take_while(|packet| packet.at < now).take(MOST).any(DataPacket::is_lost)
    }

    /// Spends the time from `from` to `to`, in which the sender itself waited.
    fn held_back(
        &mut self,
        from: Time,
        to: Time,
        now: Time,
        data: &DataPacket,
        spending: &mut Spending,
    ) {
        let rtt = self.sent.rtt;
        let to = if self.is_prompt { to } else { self.of_held_acknowledgement(from, to, spending) };
        let pattern = self.steady.pattern(now);
        let is_limited = matches!(pattern, Pattern::Constant(_) | Pattern::Capped(_));
        // Without keys, nothing else shows that a window stopped growing.
        let is_covered = self.trace.is_encrypted && self.shows_losses(now);
        self.state.slow_start &= !(is_covered && is_limited);
        let state = &self.state;
        let gap = now.since(state.previous);
        if let Some(limit) = state.flow_limit() {
            return spending.limited(limit, from, to);
        }
        if data.repeats && state.last_arrival <= state.previous && gap >= rtt {
            let part = match self.is_held_back {
                true => TimePart::HeldAcks,
                // All had arrived, and it is known that they had: acknowledgements were late.
                false if self.waits.is_known() && !self.lacks_data(now) => TimePart::ReturnLink,
                false => TimePart::Timeout,
            };
            return spending.add(part, from, to);
        }
        let hold = self.hold.filter(|_| !self.is_prompt && !self.trace.is_encrypted);
        if let Some((since, until)) = hold.and_then(|hold| hold.within(from, to)) {
            let is_first = state.slow_start && !matches!(pattern, Pattern::Slow);
            let trip = if is_first { TimePart::SlowStart } else { TimePart::CongestionWindow };
            spending.add(trip, from, since);
            spending.add(TimePart::HeldAcks, since, until);
            return spending.pause(true, until, to);
        }
        let is_prompt = self.is_prompt;
        let is_window = state.window.map_or(is_prompt, |_| state.window_was_full);
        if state.window.is_none() && !self.has_lost && !data.repeats {
            match pattern {
                Pattern::Constant(bytes) if is_covered => {
                    let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(bytes) };
                    let since = now.saturating_sub(rtt * COMPARED);
                    return spending.capped(limit, &COVERED, since, from, to);
                }
                Pattern::Constant(bytes) => {
                    let size = Bytes::new(bytes);
                    return spending.limited(FlowLimit { kind: LimitKind::Sender, size }, from, to);
                }
                Pattern::Capped(bytes) if self.shows_losses(now) => {
                    let limit = FlowLimit { kind: LimitKind::Sender, size: Bytes::new(bytes) };
                    let since = now.saturating_sub(rtt * LONG);
                    let parts = if is_covered { &COVERED[..] } else { &COVERED[..1] };
                    return spending.capped(limit, parts, since, from, to);
                }
                Pattern::Clocked if gap > PACING_TIME => return spending.pause(true, from, to),
                _ => {}
            }
        }
        let in_slow_start = state.slow_start && !matches!(pattern, Pattern::Slow);
        // No window lets a sender wait longer than a round trip and what waits in queues.
        let long = rtt.mul_f64(IDLE) + self.losses.queue;
        // What is left of a wait for an acknowledgement that was held back is its round trip.
        let is_trip = (self.trace.is_encrypted || self.is_held_back) && to.since(from) <= long;
        if is_window && (gap <= long || is_trip || data.repeats || self.has_lost) {
            let part = if in_slow_start { TimePart::SlowStart } else { TimePart::CongestionWindow };
            return spending.add(part, from, to);
        }
        let is_paced = self.burst <= PACED_BYTES || gap <= PACING_TIME;
        if gap <= rtt.mul_f64(PACING) && is_paced {
            let part = if in_slow_start { TimePart::SlowStart } else { TimePart::Pacing };
            return spending.add(part, from, to);
        }
        if data.repeats {
            return spending.add(TimePart::LossDetection, from, to);
        }
        if self.gaps.are_at(state.previous, now, rtt) {
            // Without keys, it is not known which data repeats what was lost.
            let part = if gap > long { TimePart::Timeout } else { TimePart::CongestionWindow };
            return spending.add(part, from, to);
        }
        spending.pause(true, from, to);
    }

    /// Spends the end of the time from `from` to `to`, between packets of a sender that spreads its
    /// window, in which an acknowledgement could have been there and was held back. Returns until
    /// when the time is left.
    fn of_held_acknowledgement(&self, from: Time, to: Time, spending: &mut Spending) -> Time {
        let is_short = to.since(from) <= self.sent.rtt.mul_f64(IDLE);
        if !self.trace.is_encrypted || self.frames.is_some() || !is_short {
            return to;
        }
        // Without keys, all that was sent before counts as acknowledged with each.
        let packets = &self.sent.packets;
        let known = |packet: &DataPacket| packet.acknowledged.is_some_and(|at| at <= from);
        let oldest = packets.get(packets.partition_point(known));
        let is_held = |one: &&DataPacket| {
            one.held_back >= HELD_BACK && one.acknowledged.is_some_and(|at| at >= to)
        };
        let Some(oldest) = oldest.filter(is_held) else { return to };
        let since = (oldest.at + self.sent.rtt + ACK_DELAY).clamp(from, to);
        spending.add(TimePart::HeldAcks, since, to);
        since
    }

    /// Returns true if the file would show losses until `now`.
    fn shows_losses(&self, now: Time) -> bool {
        !self.trace.is_encrypted || self.gaps.are_none_until(now)
    }
}
