//! The account of a transfer from its sender's trace.

use super::fluid_link::{FluidLink, FullLink};
use super::path::{PathEstimate, highest_rate};
use super::sent::{DataPacket, Sent, handshake_timeouts};
use super::transfer::{CapturedTransfer, Carried, divide_busy};
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Event, Metrics, Packet};
use bentpipe_timeseries::{TimeBudget, TimePart};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::collections::BTreeMap;

/// A packet that leaves within this time of an arrival was waiting for it.
const PROMPT: Span = Span::from_millis(3);
/// Waits of up to this share of an RTT are pacing, if nothing else kept the sender from sending.
const PACING: f64 = 0.25;
/// Share of the longest queue from which a loss is that queue's.
const FULL: f64 = 0.8;
/// Room in a window that counts as none.
const PACKET: u64 = 1500;

/// Why a sender did not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Window,
    Pacing,
    FlowControl,
    LossDetection,
    Timeout,
    Application,
}

/// What a sender was allowed to do, as far as its trace says.
#[derive(Debug)]
pub struct SenderState {
    window: Option<Bytes>,
    ssthresh: Option<Bytes>,
    /// Bytes of data packets that are neither acknowledged nor declared lost.
    in_flight: u64,
    pub slow_start: bool,
    /// True if the file names the states of the controller: losses then do not end slow start, as
    /// in BBR's Startup.
    names_states: bool,
    last_arrival: Time,
    /// Flow control: limits of the connection and of streams, and what was sent.
    connection_limit: Option<u64>,
    stream_limit: Option<u64>,
    stream_limits: BTreeMap<u64, u64>,
    pub offsets: BTreeMap<u64, u64>,
    /// Sum of `offsets`.
    sent_bytes: u64,
    /// After the previous data packet: its time, whether the window was full, and whether flow
    /// control left no room.
    previous: Time,
    pub window_was_full: bool,
    pub credit_was_used: bool,
}

impl SenderState {
    pub fn new(start: Time) -> Self {
        Self {
            window: None,
            ssthresh: None,
            in_flight: 0,
            slow_start: true,
            names_states: false,
            last_arrival: start,
            connection_limit: None,
            stream_limit: None,
            stream_limits: BTreeMap::new(),
            offsets: BTreeMap::new(),
            sent_bytes: 0,
            previous: start,
            window_was_full: false,
            credit_was_used: false,
        }
    }

    /// Handles an event other than a packet that was sent.
    pub fn handle(&mut self, now: Time, event: &Event, sent: &Sent, flight: &mut Flight) {
        match event {
            Event::Metrics(metrics) => self.update(metrics),
            Event::State(name) => self.enter(name),
            Event::Lost(number) if sent.numbers.contains_key(number) => {
                self.slow_start &= self.names_states;
                self.in_flight -= flight.leave(*number).min(self.in_flight);
            }
            Event::PeerLimits { connection, stream } => {
                self.connection_limit = self.connection_limit.max(Some(*connection));
                self.stream_limit = Some(*stream);
            }
            Event::Received(packet) if packet.is_application => {
                self.arrived(now, packet);
                for range in &packet.acknowledged {
                    self.in_flight -= flight.leave_range(*range).min(self.in_flight);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, name: &str) {
        self.names_states |= name.contains("start") || is_later_state(name);
        self.slow_start &= !is_later_state(name);
    }

    fn update(&mut self, metrics: &Metrics) {
        self.window = metrics.window.or(self.window);
        self.ssthresh = metrics.ssthresh.or(self.ssthresh);
        // A threshold of the size of the window at the start is none.
        self.slow_start &= self.window.zip(self.ssthresh).is_none_or(|(a, b)| a < b);
    }

    /// Returns why nothing was sent before `packet`, which leaves now.
    fn wait(&self, now: Time, packet: &DataPacket, rtt: Span) -> Wait {
        let since_arrival = now.since(self.last_arrival);
        let gap = now.since(self.previous);
        let is_prompt = since_arrival <= PROMPT;
        if self.credit_was_used {
            return Wait::FlowControl;
        }
        if packet.repeats && self.last_arrival <= self.previous && gap >= rtt {
            return Wait::Timeout;
        }
        let was_full = self.window.map_or(is_prompt, |_| self.window_was_full);
        if was_full {
            return Wait::Window;
        }
        if gap <= rtt.mul_f64(PACING) {
            return Wait::Pacing;
        }
        if packet.repeats { Wait::LossDetection } else { Wait::Application }
    }

    /// Handles that a data packet has left.
    pub fn sent(&mut self, now: Time, packet: &Packet) {
        self.in_flight = self.in_flight.saturating_add(packet.bytes);
        for part in &packet.data {
            let end = self.offsets.entry(part.stream).or_default();
            let before =
                std::mem::replace(end, (*end).max(part.offset.saturating_add(part.length)));
            self.sent_bytes = self.sent_bytes.saturating_add(*end - before);
        }
        self.previous = now;
        self.window_was_full =
            self.window.is_some_and(|window| self.in_flight.saturating_add(PACKET) > window.get());
        self.credit_was_used = packet.is_blocked || self.has_no_credit(packet);
    }

    fn has_no_credit(&self, packet: &Packet) -> bool {
        let is_short = |limit: u64, sent: u64| sent.saturating_add(PACKET) > limit;
        let stream_short = packet.data.iter().any(|part| {
            let limit = self.stream_limits.get(&part.stream).copied().or(self.stream_limit);
            let sent = self.offsets.get(&part.stream).copied().unwrap_or_default();
            limit.is_some_and(|limit| is_short(limit, sent))
        });
        let limit = self.connection_limit;
        stream_short || limit.is_some_and(|limit| is_short(limit, self.sent_bytes))
    }

    fn arrived(&mut self, now: Time, packet: &Packet) {
        self.last_arrival = now;
        self.connection_limit = packet.max_data.max(self.connection_limit);
        for &(stream, limit) in &packet.max_stream_data {
            let known = self.stream_limits.entry(stream).or_default();
            *known = (*known).max(limit);
        }
    }
}

/// Returns true if a controller in this state is no longer in slow start.
fn is_later_state(name: &str) -> bool {
    ["avoidance", "recovery", "drain", "probe"].iter().any(|part| name.contains(part))
}

/// Divides the time of a transfer.
pub fn sender_account(
    trace: &CapturedConnection,
    sent: &Sent,
    rate: Option<Rate>,
) -> Result<CapturedTransfer, CaptureError> {
    let Sent { packets, start, handshake, request, end, rtt, .. } = sent;
    let mut passed: Vec<_> = packets
        .iter()
        .filter_map(|packet| Some((Some(packet.at), packet.acknowledged?, packet.wire)))
        .collect();
    passed.sort_by_key(|(_, arrival, _)| *arrival);
    let (seen, by_path) =
        highest_rate(&passed).ok_or(CaptureError::Empty("it has too few acknowledgements"))?;
    let rate = rate.unwrap_or(seen);
    let first = packets.first().map_or(*start, |packet| packet.at);
    let unacknowledged = sent.unacknowledged();
    // What is not acknowledged has left the link when the link has sent it.
    let mut data_end = end.saturating_sub(*rtt);
    if unacknowledged > 0 {
        let mut link = FluidLink::new(rate, first);
        for packet in packets.iter().filter(|packet| !packet.is_lost()) {
            link.add(packet.at, packet.wire);
        }
        data_end = data_end.max(link.busy_until());
    }
    let data_end = data_end.max(first);
    let end = &(data_end + *rtt);
    let timeouts = handshake_timeouts(trace, *start, *handshake);
    let mut budget = TimeBudget::from_iter([
        (TimePart::Handshake, handshake.since(*start).saturating_sub(timeouts)),
        (TimePart::Timeout, timeouts),
        (TimePart::Request, request.since(*handshake) + end.since(data_end)),
        (TimePart::Application, first.since(*request)),
    ])
    .seconds();
    let walk = walk(trace, sent, rate, data_end, &mut budget);
    let busy = data_end.since(first).saturating_sub(walk.idle).saturating_sub(walk.tail);
    budget.add(TimePart::Request, walk.tail.as_secs_f64());
    divide_busy(&mut budget, busy.as_secs_f64(), &walk.carried);
    let mut notes = Vec::new();
    if !by_path {
        notes.push(format!(
            "no data waited at the highest rate seen, {:.1} Mbps: the link may be faster",
            seen.as_mbps_f64()
        ));
    }
    if !walk.knows_window {
        notes.push(
            "the file has no congestion windows: packets that leave with an acknowledgement count \
             as held back by the window, and those that leave soon after one as paced, although \
             such pacing may follow from the window"
                .to_owned(),
        );
    }
    if unacknowledged > 0 {
        notes.push(format!(
            "the file ends before the last {unacknowledged} packets are acknowledged: their \
             arrival is estimated, and the transfer may have continued"
        ));
    }
    Ok(CapturedTransfer {
        bytes: Bytes::new(sent.bytes),
        is_sender: true,
        is_upload: false,
        completion: end.since(*start),
        budget,
        path: PathEstimate {
            rtt: *rtt,
            rate,
            is_filled: by_path,
            queue: sent.longest_rtt.saturating_sub(*rtt),
            is_full: walk.overflows,
            loss: walk.lost_elsewhere as f64 / packets.len().max(1) as f64,
        },
        notes,
    })
}

/// The result of following a sender.
struct Walk {
    /// Time that the link was idle, all of which is in the budget.
    idle: Span,
    /// Time after the link's last packet.
    tail: Span,
    carried: Carried,
    lost_elsewhere: usize,
    /// True if packets were lost while the queue was full.
    overflows: bool,
    knows_window: bool,
}

/// Follows the sender until `until` with a link of `rate`, and adds each idle time of the link to
/// the part that held the sender back.
fn walk(
    trace: &CapturedConnection,
    sent: &Sent,
    rate: Rate,
    until: Time,
    budget: &mut TimeBudget<f64>,
) -> Walk {
    let first = sent.packets.first().map_or(Time::ZERO, |packet| packet.at);
    let longest_queue = sent.longest_rtt.saturating_sub(sent.rtt).mul_f64(FULL);
    let mut link = FluidLink::new(rate, first);
    let mut state = SenderState::new(first);
    let mut full = FullLink::new(sent.rtt);
    let mut carried = Carried::default();
    let mut data_arrived = 0;
    let (mut lost_elsewhere, mut overflows) = (0, false);
    let mut idle_time = Span::ZERO;
    let mut flight = Flight::default();
    for (now, event) in &trace.events {
        match event {
            Event::Sent(packet) if packet.is_application => {
                let data = sent.numbers.get(&packet.number).and_then(|at| sent.packets.get(*at));
                let Some(data) = data else {
                    state.credit_was_used |= packet.is_blocked;
                    continue;
                };
                let was_lost = data.is_lost();
                let queue = link.queue(*now);
                let is_overflow = was_lost && !longest_queue.is_zero() && queue >= longest_queue;
                overflows |= is_overflow;
                if was_lost && !is_overflow {
                    lost_elsewhere += 1;
                }
                if !is_overflow {
                    let (since, idle) = link.add(*now, data.wire);
                    let idle = idle.min(until.since(since));
                    if !idle.is_zero() {
                        let wait = state.wait(*now, data, sent.rtt);
                        spend(budget, wait, state.slow_start, idle.as_secs_f64());
                        idle_time += idle;
                        full.idle(*now, idle);
                    }
                    carried.total += data.wire;
                    if was_lost {
                        carried.lost += data.wire;
                    } else {
                        data_arrived += data.data;
                    }
                }
                state.slow_start &= !full.is_full(first, *now);
                state.sent(*now, packet);
                flight.add(packet.number, packet.bytes);
            }
            event => state.handle(*now, event, sent, &mut flight),
        }
    }
    carried.data = sent.bytes.min(data_arrived);
    carried.repeated = data_arrived.saturating_sub(sent.bytes);
    Walk {
        idle: idle_time,
        tail: until.since(link.busy_until().max(first)),
        carried,
        lost_elsewhere,
        overflows,
        knows_window: state.window.is_some(),
    }
}

fn spend(budget: &mut TimeBudget<f64>, wait: Wait, slow_start: bool, seconds: f64) {
    let part = match (wait, slow_start) {
        (Wait::Window | Wait::Pacing, true) => TimePart::SlowStart,
        (Wait::Window, false) => TimePart::CongestionWindow,
        (Wait::Pacing, false) => TimePart::Pacing,
        (Wait::FlowControl, _) => TimePart::FlowControl,
        (Wait::LossDetection, _) => TimePart::LossDetection,
        (Wait::Timeout, _) => TimePart::Timeout,
        (Wait::Application, _) => TimePart::Application,
    };
    budget.add(part, seconds);
}

/// The sizes of packets in flight.
#[derive(Debug, Default)]
pub struct Flight {
    sizes: BTreeMap<u64, u64>,
}

impl Flight {
    pub fn add(&mut self, number: u64, bytes: u64) {
        self.sizes.insert(number, bytes);
    }

    pub fn leave(&mut self, number: u64) -> u64 {
        self.sizes.remove(&number).unwrap_or_default()
    }

    pub fn leave_range(&mut self, (first, last): (u64, u64)) -> u64 {
        let found: Vec<u64> = self.sizes.range(first..=last).map(|(at, _)| *at).collect();
        found.into_iter().map(|number| self.leave(number)).sum()
    }
}
