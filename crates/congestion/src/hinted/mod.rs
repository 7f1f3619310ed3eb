//! A controller that is told of the path's changes: a layer that reads a [`HintFeed`] and does about each change what a recipe's [`HintUse`]
//! allows.
//!
//! - *reset*, at the first acknowledgement of a packet sent on a longer path (earlier ones tell of the old path):
//!   [`Controller::on_path_change`] with what the path has become longer by. A shorter path shows itself to every filter of smallest round
//!   trips, and is not told. From then on the controller sees [`Ack::min_rtt`] of the new path.
//! - *hold*: losses, marks and timeouts that the change itself may have made are kept from the controller (`hold.rs`).
//! - *drain*: the window shrinks before the change to what the new path holds (`drain.rs`).
//!
//! It stands around the start and inside Careful Resume: a start needs to be told of a change as much as its controller, but what a jump of
//! Careful Resume loses is answered whoever's doing it was (RFC 9959 §3.4). A cap on the window stands around all.
//!
//! Changes that lie in the past when the connection begins are none of its business.

mod drain;
mod hold;
#[cfg(test)]
mod tests;

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Packet, PathChange, RateBased, Setup};
use crate::hints::{HintFeed, MOST, PathHint};
use crate::newreno::minimum_window;
use crate::recipe::HintUse;
use bentpipe_units::{Bytes, Rate, Span, Time};
use drain::Drain;
use hold::Hold;
use std::collections::VecDeque;

/// A change whose new path nothing has been heard of yet.
#[derive(Debug, Clone, Copy)]
struct Awaited {
    since: Time,
    before: Option<Span>,
    after: Option<Span>,
}

/// The layer. Call order as for any [`Controller`].
#[derive(Debug)]
pub struct Hinted {
    controller: Box<dyn Controller>,
    feed: HintFeed,
    uses: HintUse,
    mtu: Bytes,
    /// Announced and still to come, in order of time.
    coming: VecDeque<PathHint>,
    /// The last change that came, or the connection's beginning: nothing before it is taken.
    done: Time,
    awaited: Option<Awaited>,
    /// Since when round trips count for `min_rtt`.
    path_since: Time,
    /// The smallest round trip of the path, once it is not the connection's.
    min_rtt: Option<Span>,
    /// The connection's, as last heard.
    heard_min_rtt: Option<Span>,
    smoothed_rtt: Span,
    hold: Hold,
    drain: Drain,
}

impl Hinted {
    /// `controller`, told of what `feed` announces as far as `uses` says.
    pub fn new(controller: Box<dyn Controller>, feed: HintFeed, uses: HintUse, setup: &Setup) -> Self {
        Self {
            controller,
            feed,
            uses,
            mtu: setup.mtu,
            coming: VecDeque::new(),
            done: setup.now,
            awaited: None,
            path_since: setup.now,
            min_rtt: None,
            heard_min_rtt: None,
            smoothed_rtt: Span::ZERO,
            hold: Hold::default(),
            drain: Drain::default(),
        }
    }

    /// Reads what is new, and lets come what is due.
    fn advance(&mut self, now: Time) {
        if self.feed.is_fresh() {
            for hint in self.feed.take() {
                self.coming.retain(|other| other.at != hint.at);
                let place = self.coming.partition_point(|other| other.at < hint.at);
                if hint.at > self.done {
                    self.coming.insert(place, hint);
                }
            }
            while self.coming.len() > MOST {
                self.coming.pop_front();
            }
        }
        while let Some(hint) = self.coming.front().copied().filter(|hint| hint.at <= now) {
            self.coming.pop_front();
            self.change(&hint);
        }
    }

    /// The change that was announced is there.
    fn change(&mut self, hint: &PathHint) {
        self.done = hint.at;
        if self.uses.hold {
            self.hold.begin(hint, self.smoothed_rtt);
        }
        if self.uses.reset {
            // Where a change before this one has not been heard of, both are one.
            let before = self.awaited.map_or(hint.rtt_before, |earlier| earlier.before);
            self.awaited = Some(Awaited { since: hint.at, before, after: hint.rtt_after });
        }
    }

    /// The change that this acknowledgement is the first to tell of, where a filter would get it wrong.
    fn heard_of_change(&mut self, ack: &Ack<'_>) -> Option<PathChange> {
        // Where there is no path nothing is heard of it; should something be, the announcement was wrong.
        let heard = |awaited: &mut Awaited| awaited.after.is_some() && ack.newest().sent_at >= awaited.since;
        let awaited = self.awaited.take_if(heard)?;
        let longer_by = match (awaited.before, awaited.after) {
            (Some(before), Some(after)) if after <= before => return None,
            (Some(before), Some(after)) => Some(after - before),
            // No path to compare with.
            _ => None,
        };
        Some(PathChange { now: ack.now, since: awaited.since, longer_by })
    }

    /// What the controller is told of the smallest round trip.
    fn path_min_rtt(&mut self, ack: &Ack<'_>) -> Span {
        let Some(min_rtt) = self.min_rtt else { return ack.min_rtt };
        if ack.newest().sent_at < self.path_since {
            return min_rtt;
        }
        let min_rtt = min_rtt.min(ack.rtt);
        self.min_rtt = Some(min_rtt);
        min_rtt
    }

    /// The window without the limit of a drain.
    fn unlimited(&self) -> Bytes {
        let window = self.controller.window();
        // After a timeout that was held: two packets ask whether the path is back, and a window is not lost on one that is not.
        if self.hold.is_silenced() { window.min(minimum_window(self.mtu)) } else { window }
    }
}

impl Controller for Hinted {
    fn on_packet_sent(&mut self, packet: &Packet) {
        self.advance(packet.sent_at);
        self.hold.sent(packet);
        self.controller.on_packet_sent(packet);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.advance(ack.now);
        self.smoothed_rtt = ack.smoothed_rtt;
        self.hold.heard(ack);
        if let Some(change) = self.heard_of_change(ack) {
            let known = self.min_rtt.or(self.heard_min_rtt);
            self.min_rtt = Some(change.shifted(known).unwrap_or(ack.rtt));
            self.path_since = change.since;
            self.controller.on_path_change(&change);
        }
        self.heard_min_rtt = Some(ack.min_rtt);
        let min_rtt = self.path_min_rtt(ack);
        if self.uses.drain {
            let next = self.coming.front().copied();
            self.drain.on_ack(ack, next.as_ref(), self.controller.window(), minimum_window(self.mtu));
        }
        // What the window does not use it must not grow by, and what a drained path delivers is no measure of its rate.
        let binds = self.drain.limit().is_some_and(|limit| limit <= self.controller.window());
        let mut sample = ack.sample;
        sample.app_limited |= self.drain.covers(ack.newest().sent_at);
        sample.lost = sample.lost.saturating_sub(self.hold.unheard(ack.newest().sent_at));
        self.controller.on_ack(&Ack { min_rtt, app_limited: ack.app_limited || binds, sample, ..*ack });
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.advance(loss.now);
        if self.hold.takes_loss(loss) {
            return;
        }
        let min_rtt = self.min_rtt.unwrap_or(loss.min_rtt);
        let lost = loss.lost.saturating_sub(self.hold.unheard(loss.newest().sent_at));
        self.controller.on_loss(&Loss { min_rtt, lost, ..*loss });
    }

    fn on_mark(&mut self, mark: &Mark) {
        self.advance(mark.now);
        if !self.hold.takes_mark(mark) {
            self.controller.on_mark(mark);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.advance(now);
        if !self.hold.is_quiet(now) {
            self.controller.on_timeout(now);
        }
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.controller.on_spurious_loss(now);
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.min_rtt = change.shifted(self.min_rtt);
        self.path_since = change.since;
        self.awaited = None;
        self.controller.on_path_change(change);
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.controller.on_mtu(mtu);
    }

    fn adjust(&mut self, to: &Adjust) {
        self.controller.adjust(to);
    }

    fn window(&self) -> Bytes {
        let window = self.unlimited();
        self.drain.limit().map_or(window, |limit| window.min(limit.max(minimum_window(self.mtu))))
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.controller.ssthresh()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }

    fn send_quantum(&self) -> Option<Bytes> {
        self.controller.send_quantum()
    }

    fn in_slow_start(&self) -> bool {
        self.controller.in_slow_start()
    }

    fn phase(&self) -> &'static str {
        self.controller.phase()
    }

    fn loss_tolerance(&self) -> f64 {
        self.controller.loss_tolerance()
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        self.controller.rate_based()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            feed: self.feed.clone(),
            coming: self.coming.clone(),
            hold: self.hold.clone(),
            drain: self.drain.clone(),
            ..*self
        })
    }
}
