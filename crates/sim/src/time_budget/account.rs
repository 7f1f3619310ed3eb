//! The account of one visit, from which its time budget follows.

mod idle;

use super::early::{DOWN, Early, LostInARow, PacketCounts, UP};
use super::episodes::Episodes;
use super::losses::Losses;
use super::receiver::Unanswered;
use super::round::Round;
use super::spending::{Spending, move_share};
use super::strip::Strip;
use super::transit::LongestTransit;
use super::{AckWait, Episode, Sharing, Trip};
use bentpipe_quic::congestion::SendLimits;
use bentpipe_timeseries::{LossPlace, LossTimes, Points, TimeBudget, TimePart};
use bentpipe_units::{Span, Time};

/// Packets in a row whose loss makes an outage of the time between the first and the last of them,
/// if that is a round trip at least. Our choice: at 1 % of random loss, ten in a row do not happen,
/// and probes after a timeout are fewer.
const OUTAGE_PACKETS: u32 = 10;

/// The account of the active visit. See the [module](super).
///
/// # Order of calls
///
/// [`Account::data_begins`] before the first data packet arrives; then [`Account::arrived`],
/// [`Account::lost`] and [`Account::ack_arrived`] as they happen; [`Account::finish`] once.
#[derive(Debug)]
pub struct Account {
    limits: SendLimits,
    start: Time,
    spending: Spending,
    episodes: Episodes,
    /// The parts over time, if recorded.
    strip: Option<Strip>,
    /// True if a proxy is between the sender and the server's application.
    behind_proxy: bool,
    /// Everything up to here is divided.
    until: Time,
    /// Time at which the data's sender began to send data.
    data_from: Option<Time>,
    /// Round trips of the handshake on a path without losses, and the RTT of the empty path,
    /// without waits for frames.
    handshake_round_trips: u32,
    rtt: Span,
    /// What packets met before the first data packet arrived.
    early: Early,
    /// Packets of both directions.
    packets: [PacketCounts; 2],
    /// Whose packets share the path.
    sharing: Sharing,
    /// Transmission time of packets that have arrived and of packets that were lost, not yet taken
    /// from a gap.
    unaccounted: Span,
    unaccounted_lost: Span,
    /// Transit times without waits and without the time on the slowest link.
    transit: LongestTransit,
    /// The gap before the first data packet, with that packet's trip. It is divided at the end,
    /// when the handshake is known.
    opening: Option<(Gap, Trip)>,
    /// Times of the first and the last packet since the last arrival that the path has lost as a
    /// whole.
    outage: Option<(Time, Time)>,
    /// Packets lost on the channel since the last arrival.
    lost_in_a_row: LostInARow,
    /// The current round trip of the sender.
    round: Round,
    /// What the receiver has not acknowledged.
    unanswered: Unanswered,
    /// Losses, and what they cost.
    losses: Losses,
    /// How long the latest acknowledgement or request has waited on its way.
    ack: AckWait,
    /// The latest of these that an outage had held.
    ack_of_outage: AckWait,
    /// Intervals since the latest acknowledgement in which the sender was idle with data to send,
    /// with what limited it.
    idle_since_ack: Vec<(TimePart, Time, Time)>,
    /// Bytes of the packets that have arrived, headers included.
    bytes: u64,
}

/// The requests of a visit so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Requests {
    /// Time of the client's latest request, or of the latest begin of an upload.
    pub latest: Option<Time>,
    /// True if it was an upload, whose data needs no round trip of a request.
    pub is_upload: bool,
    /// True if the client has requested everything, or has begun to send everything.
    pub all_made: bool,
    /// Time at which senders that write in pieces have written the last one, if there are any.
    pub written: Option<Time>,
}

/// The results of an account.
#[derive(Debug)]
pub struct ClosedAccount {
    /// The budget.
    pub budget: TimeBudget,
    /// The longest episodes, in the order in which they began.
    pub episodes: Vec<Episode>,
    /// What losses cost, by place.
    pub loss_times: LossTimes,
    /// The share of each part over time in percent, if recorded.
    pub strip: Vec<(TimePart, Points)>,
}

/// What is known at the end of a visit.
#[derive(Debug, Clone, Copy)]
pub struct AccountEnd {
    /// Completion, or the time at which the visit was given up.
    pub at: Time,
    /// True if all data has arrived.
    pub completed: bool,
    /// Completion of the handshake at the client.
    pub handshake: Option<Time>,
    /// Application bytes received.
    pub received: u64,
    /// Bytes of packets that arrived for the second time.
    pub duplicates: u64,
}

impl Account {
    /// Opens the account of a visit that starts at `start` over a path of round-trip time `rtt`,
    /// with a handshake of `handshake_round_trips`. `limits` receives the limits of its senders.
    /// `sharing` says whose packets share the path.
    pub fn new(
        start: Time,
        rtt: Span,
        handshake_round_trips: u32,
        limits: SendLimits,
        sharing: Sharing,
    ) -> Self {
        Self {
            limits,
            start,
            spending: Spending::default(),
            episodes: Episodes::default(),
            strip: None,
            behind_proxy: false,
            until: start,
            data_from: None,
            handshake_round_trips,
            rtt,
            early: Early::default(),
            packets: [PacketCounts::default(); 2],
            sharing,
            unaccounted: Span::ZERO,
            unaccounted_lost: Span::ZERO,
            transit: LongestTransit::default(),
            opening: None,
            outage: None,
            lost_in_a_row: LostInARow::default(),
            round: Round::default(),
            unanswered: Unanswered::default(),
            losses: Losses::default(),
            ack: AckWait::default(),
            ack_of_outage: AckWait::default(),
            idle_since_ack: Vec::new(),
            bytes: 0,
        }
    }

    /// Records the parts over time.
    pub fn record_strip(&mut self) {
        self.strip = Some(Strip::new());
    }

    /// Sets that the data comes from a proxy.
    pub fn set_behind_proxy(&mut self) {
        self.behind_proxy = true;
    }

    /// Returns true until [`Account::data_begins`] is called.
    pub fn needs_data_begin(&self) -> bool {
        self.data_from.is_none()
    }

    /// Handles that the data's sender begins to send data. Only the first call counts.
    pub fn data_begins(&mut self, now: Time) {
        self.data_from.get_or_insert(now);
    }

    /// Returns the start of the trip of a packet that the data's sender sends now.
    pub fn trip(&self, now: Time) -> Trip {
        Trip::start(now, self.ack)
    }

    /// Returns the start of the trip of an acknowledgement that the data's receiver sends now.
    pub fn ack_trip(&mut self, now: Time) -> Trip {
        let held = self.unanswered.answered(now);
        let mut trip = Trip::start(now, AckWait::default());
        trip.held = held;
        trip
    }

    /// Handles the arrival of a packet at the data's sender.
    pub fn ack_arrived(&mut self, now: Time, trip: &Trip) {
        self.packets[UP].arrived += 1;
        let Trip { outage, framed, held, .. } = *trip;
        self.ack = AckWait { whole: trip.waited(), outage, framed, held, arrival: now };
        if !trip.outage.is_zero() {
            self.ack_of_outage = self.ack;
        }
        if self.opening.is_none() {
            self.early.arrived(UP, trip, self.rtt);
        }
        if !self.idle_since_ack.is_empty() {
            self.reassign_idle();
        }
    }

    /// Handles the arrival of an acknowledgement after idle time: what an outage that held it has
    /// cost so far, with probes in between, is the outage's; timeouts while it was held back are
    /// those that did so.
    fn reassign_idle(&mut self) {
        for (old, from, to) in self.idle_since_ack.drain(..) {
            let (new, span) = self.ack.absence(old, from, to);
            let span = span.min(self.spending.budget.get(old));
            if span.is_zero() {
                continue;
            }
            self.spending.budget.transfer(old, new, span);
            let times = (self.start, from, to);
            self.episodes.rename(old, new, span, times);
            if let Some(strip) = &mut self.strip {
                strip.rename(old, new, times);
            }
        }
    }

    /// Handles the loss of a packet of the data's sender that had occupied the slowest link so far
    /// for `carried`; nothing if it was dropped before. The path has lost it as a whole at
    /// [`LossPlace::Routing`]; `None` if the place is not known.
    pub fn lost(&mut self, now: Time, carried: Span, place: Option<LossPlace>) {
        self.packets[DOWN].lost += 1;
        if let Some(place) = place {
            self.losses.data(now, place);
        }
        if self.opening.is_none() {
            self.early.lost(DOWN, now);
        } else if place == Some(LossPlace::Routing) {
            let first = self.outage.map_or(now, |(first, _)| first);
            self.outage = Some((first, now));
        } else {
            self.unaccounted_lost += carried;
            self.lost_in_a_row.add(now, carried);
        }
    }

    /// Handles the loss of a packet towards the data's sender; `None` if the place is not known.
    pub fn ack_lost(&mut self, now: Time, place: Option<LossPlace>) {
        self.packets[UP].lost += 1;
        if let Some(place) = place {
            self.losses.reverse(now, place);
        }
        if self.opening.is_none() {
            self.early.lost(UP, now);
        }
    }

    /// Handles the arrival of a packet of `bytes` that has occupied the slowest link for
    /// `serialised`.
    pub fn arrived(
        &mut self,
        now: Time,
        trip: &Trip,
        serialised: Span,
        bytes: u32,
        requests: impl Fn() -> Requests,
    ) {
        self.packets[DOWN].arrived += 1;
        if self.data_from.is_none_or(|from| trip.sent < from) {
            if self.opening.is_none() {
                self.early.arrived(DOWN, trip, self.rtt);
            }
            return;
        }
        self.bytes += u64::from(bytes);
        self.unanswered.arrived(now, bytes);
        let transit = now.since(trip.sent).saturating_sub(trip.waited()).saturating_sub(serialised);
        self.unaccounted += serialised;
        let begin = self.until;
        let whole = now.since(begin);
        self.until = now;
        if whole <= self.unaccounted && self.opening.is_some() {
            // The usual case: the link was not idle.
            self.unaccounted -= whole;
            self.spending.budget.add(TimePart::Serialisation, whole);
            self.transit.add(now, self.rtt, transit);
            self.lost_in_a_row.count = 0;
            if let Some(strip) = &mut self.strip {
                strip.add_one(TimePart::Serialisation, whole, (self.start, begin, now));
            }
            return;
        }
        self.spending.next_gap();
        let mut gap = Gap { begin, left: whole };
        self.unaccounted -= gap.take(&mut self.spending, TimePart::Serialisation, self.unaccounted);
        if let Some((first, last, carried)) =
            self.lost_in_a_row.take_outage(OUTAGE_PACKETS, self.rtt)
        {
            self.unaccounted_lost = self.unaccounted_lost.saturating_sub(carried);
            let known = self.outage.unwrap_or((first, last));
            self.outage = Some((known.0.min(first), known.1.max(last)));
        }
        let lost = gap.take(&mut self.spending, TimePart::LostPackets, self.unaccounted_lost);
        self.unaccounted_lost -= lost;
        self.losses.carried(lost);
        let growth = self.transit.growth(now, self.rtt, transit);
        if self.opening.is_some() {
            gap.take(&mut self.spending, TimePart::PathChange, growth);
        }
        gap.take(&mut self.spending, TimePart::Outage, trip.outage);
        gap.take(&mut self.spending, TimePart::Capacity, trip.capacity);
        let round_trip = self.rtt.max(transit) + trip.waited() + trip.ack.late();
        let spending = &mut self.spending;
        self.round.on_framed(trip.sent, round_trip, trip.framed, |more| {
            gap.take(spending, TimePart::Capacity, more)
        });
        if let Some(part) = self.sharing.part() {
            gap.take(&mut self.spending, part, trip.queued);
        }
        if self.opening.is_none() {
            self.round = Round::new(trip.sent, &trip.ack);
            self.early.end_of_losses(DOWN, self.rtt);
            self.opening = Some((gap, *trip));
        } else {
            if let Some((first, last)) = self.outage.take() {
                gap.take(&mut self.spending, TimePart::Outage, last.since(first) + serialised);
            }
            if !gap.left.is_zero() {
                self.idle(gap, trip, transit, requests());
            }
            self.episodes.add(self.spending.gap(), (self.start, gap.begin, now), self.rtt);
            self.note(gap.begin, now);
        }
    }

    /// Notes in the strip what was spent on the gap between `from` and `to`.
    #[inline]
    fn note(&mut self, from: Time, to: Time) {
        if let Some(strip) = &mut self.strip {
            strip.add(self.spending.gap(), (self.start, from, to));
        }
    }

    /// Divides the time before the first data packet: handshake, request, and timeouts if packets
    /// were lost.
    fn open(&mut self, mut gap: Gap, handshake: Span, ack: &AckWait) {
        let whole = gap.left;
        let begin = gap.begin;
        let (handshake, request) = (handshake.min(whole), whole.saturating_sub(handshake));
        let mut outage = self.early.outages(self.packets);
        let Early { queued, capacity, framed, any_lost, .. } = self.early;
        let other_flows =
            if self.sharing == Sharing::OtherFlows { queued[DOWN] } else { Span::ZERO };
        let in_handshake = [framed, queued[UP] + capacity[UP], capacity[DOWN], other_flows];
        let in_request = [ack.framed, ack.on_link(), Span::ZERO, Span::ZERO];
        for (span, round_trips, part, waits) in [
            (handshake, self.handshake_round_trips, TimePart::Handshake, in_handshake),
            (request, 1, TimePart::Request, in_request),
        ] {
            // What exceeds the round trips: outages and waits on the way, then timeouts if packets
            // were lost.
            let mut more = span.saturating_sub(self.rtt * u64::from(round_trips));
            let taken = gap.take(&mut self.spending, TimePart::Outage, more.min(outage));
            outage -= taken;
            more -= taken;
            let causes = [
                TimePart::Capacity,
                TimePart::ReturnLink,
                TimePart::Capacity,
                TimePart::OtherFlows,
            ];
            for (cause, most) in causes.into_iter().zip(waits) {
                more -= gap.take(&mut self.spending, cause, more.min(most));
            }
            if any_lost {
                let taken = gap.take(&mut self.spending, TimePart::Timeout, more);
                let times = (begin, begin + whole);
                self.losses.spend(TimePart::Timeout, taken, times, self.rtt);
                more -= taken;
            }
            let left = span.min(self.rtt * u64::from(round_trips)) + more;
            gap.take(&mut self.spending, part, left);
        }
    }

    /// Closes the account.
    pub fn finish(mut self, end: AccountEnd) -> ClosedAccount {
        let mut gap = Gap { begin: self.until, left: end.at.since(self.until) };
        let begun = self.opening.is_some();
        let mut opening = Episodes::default();
        let unfinished = (!begun).then(|| (gap, self.trip(end.at)));
        if let Some((first, trip)) = self.opening.take().or(unfinished) {
            self.spending.next_gap();
            let handshake = match end.handshake {
                Some(at) if at <= trip.sent => at.since(first.begin),
                None if !begun => first.left,
                _ => Span::ZERO,
            };
            if !begun {
                gap.left = Span::ZERO;
                for direction in [DOWN, UP] {
                    self.early.end_of_losses(direction, self.rtt);
                }
            }
            self.open(first, handshake, &trip.ack);
            // Its parts follow one another: the handshake, then the request.
            let mut from = first.begin;
            for &(part, time) in self.spending.gap() {
                let times = (self.start, from, from + time);
                opening.add(&[(part, time)], times, self.rtt);
                if let Some(strip) = &mut self.strip {
                    strip.add(&[(part, time)], times);
                }
                from += time;
            }
        }
        self.spending.next_gap();
        if !begun {
            // All of it was divided as the opening.
        } else if end.completed {
            // The response to an upload, or the way from the proxy to the receiver.
            let part = if self.behind_proxy { TimePart::Proxy } else { TimePart::Request };
            gap.take(&mut self.spending, part, Span::MAX);
        } else if self.behind_proxy {
            gap.take(&mut self.spending, TimePart::Proxy, Span::MAX);
        } else {
            let trip = self.trip(end.at);
            let transit = self.transit.longest();
            self.idle(gap, &trip, transit, Requests::default());
        }
        self.episodes.add(self.spending.gap(), (self.start, self.until, end.at), self.rtt);
        self.note(self.until, end.at);
        let mut budget = self.spending.budget;
        let serialised = budget.get(TimePart::Serialisation);
        let duplicates = end.duplicates.min(self.bytes);
        let others = self.bytes.saturating_sub(end.received).saturating_sub(duplicates);
        let shares = [(duplicates, TimePart::Duplicates), (others, TimePart::Headers)];
        for (bytes, part) in shares {
            move_share(&mut budget, serialised, (bytes, self.bytes), part);
        }
        ClosedAccount {
            budget,
            episodes: opening.followed_by(self.episodes).into_longest(),
            loss_times: self.losses.times,
            strip: self.strip.map(|strip| strip.into_series(self.start)).unwrap_or_default(),
        }
    }
}

/// What is left of a gap: its beginning up to `left` later.
#[derive(Debug, Clone, Copy)]
struct Gap {
    begin: Time,
    left: Span,
}

impl Gap {
    /// Gives up to `most` of what is left to `part`. Returns how much.
    fn take(&mut self, spending: &mut Spending, part: TimePart, most: Span) -> Span {
        let taken = self.left.min(most);
        self.left -= taken;
        spending.spend(part, taken);
        taken
    }
}
