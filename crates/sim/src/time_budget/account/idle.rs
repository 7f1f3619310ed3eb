//! Idle time of the sender, by what kept it from sending.

use super::super::spending::part_of;
use super::{Account, Gap, Requests};
use crate::time_budget::{AckWait, Trip};
use bentpipe_timeseries::TimePart;
use bentpipe_units::{Span, Time};

/// The parts of a gap that begins with the pause before a request and goes on with the request.
#[derive(Debug)]
struct Pause {
    pause: Span,
    request: Span,
    /// How long the request was late, by part.
    waits: [(TimePart, Span); 2],
}

impl Pause {
    /// Returns those of a gap from `begin` to `end` before a packet that followed `ack`. The
    /// request is on its way for a round trip at most, and as long as it waits.
    fn new(
        (begin, end): (Time, Time),
        rtt: Span,
        transit: Span,
        ack: &AckWait,
        of: &Requests,
    ) -> Self {
        let waits = [(TimePart::Capacity, ack.framed), (TimePart::ReturnLink, ack.on_link())];
        let (mut pause, mut request) = (Span::ZERO, Span::ZERO);
        if let Some(at) = of.latest {
            if of.is_upload {
                pause = (at + transit).min(end).since(begin);
            } else {
                pause = at.min(end).since(begin);
                request = (at + rtt + ack.whole).min(end).since(at.max(begin));
            }
        }
        Self { pause, request, waits }
    }

    /// Divides time without data to send with `take`, which gets a part and the most that it may
    /// have, and returns what it had. `absent` kept the request from arriving for that long.
    fn take(
        &mut self,
        (absent, kept): (TimePart, Span),
        mut take: impl FnMut(TimePart, Span) -> Span,
    ) {
        self.request -= take(absent, kept.min(self.request));
        for (part, wait) in &mut self.waits {
            let taken = take(*part, self.request.min(*wait));
            *wait -= taken;
            self.request -= taken;
        }
        self.request -= take(TimePart::Request, self.request);
        self.pause -= take(TimePart::Application, self.pause);
    }
}

impl Account {
    /// Divides what is left of a gap by what limited the sender before it sent the packet.
    pub(super) fn idle(&mut self, gap: Gap, trip: &Trip, transit: Span, requests: Requests) {
        let Self { limits, spending, round, idle_since_ack, losses, .. } = self;
        let rtt = self.rtt;
        let ack = &trip.ack;
        let round_trip = rtt.max(transit) + trip.waited() + ack.late();
        round.on_sent(trip.sent, round_trip, ack);
        let times = (gap.begin, gap.begin + gap.left);
        let mut pause = Pause::new(times, rtt, transit, ack, &requests);
        let since = trip.sent.saturating_sub(gap.left);
        let all_written = requests.written.is_none_or(|at| at <= since);
        let starved = match (self.behind_proxy, requests.all_made && all_written) {
            (true, _) => TimePart::Proxy,
            // Everything has been sent once: only the repair of losses can be missing.
            (false, true) => TimePart::LossDetection,
            (false, false) => TimePart::Application,
        };
        // The sender may have sent on its own before an acknowledgement that was kept arrived.
        let acks = [*ack, self.ack_of_outage, self.ack];
        let mut left = gap.left;
        limits.take(trip.sent.saturating_sub(left), trip.sent, |limit, span| {
            let begin = trip.sent.saturating_sub(left);
            left -= span;
            let end = trip.sent.saturating_sub(left);
            let part = part_of(limit);
            if part != TimePart::Application {
                idle_since_ack.push((part, begin, end));
            }
            let (absent, kept) = AckWait::longest_absence(&acks, part, begin, end);
            let mut rest = span;
            let mut take = |part: TimePart, most: Span| {
                let taken = rest.min(most);
                rest -= taken;
                spending.spend(part, taken);
                taken
            };
            let mut last = part;
            match part {
                TimePart::SlowStart | TimePart::CongestionWindow | TimePart::FlowControl => {
                    take(absent, kept);
                    round.take(&mut take);
                }
                TimePart::Timeout => _ = take(absent, kept),
                TimePart::Application => {
                    pause.take((absent, kept), &mut take);
                    last = starved;
                }
                _ => {}
            }
            losses.spend(last, take(last, Span::MAX), (begin, end), rtt);
        });
        spending.spend(TimePart::Unattributed, left);
    }
}
