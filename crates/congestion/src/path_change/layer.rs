//! The layer that responds to announced path changes.
//!
//! It reads a [`PathChangeFeed`] and responds as [`PathChangeResponse`] allows:
//!
//! - *shift RTT*: at the first ACK of a packet sent on a longer path (earlier ones belong to the
//!   old path), it calls [`Controller::on_path_change`] with the increase of the RTT. A shorter
//!   path needs no call, since every minimum filter finds it. From then on the controller gets the
//!   [`Ack::min_rtt`] of the new path.
//! - *suppress loss*: it hides losses, ECN-CE and timeouts that the change itself may have caused
//!   (`loss_suppression`).
//! - *pre-drain*: before the change, it shrinks the window to the volume that the new path holds
//!   (`pre_drain`);
//! - *probe*: just before the change, it calls [`Controller::on_upcoming_path_change`], for
//!   controllers that measure the path by probing.
//!
//! The layer is outside the slow start and inside Careful Resume. A slow start must know of a
//! change as its controller does, but Careful Resume must see every loss of its jump, whatever the
//! cause (RFC 9959 §3.4). A window cap is outside all of them.
//!
//! Changes before the start of the connection are ignored.

use super::feed::{CAPACITY, PathChangeFeed, PathChangeNotice};
use super::loss_suppression::LossSuppression;
use super::pre_drain::PreDrain;
use crate::controller::{
    Ack, ChangeProbe, Controller, ControllerConfig, EcnCe, Loss, PathChange, SendControl,
    SentPacket, forward_to, minimum_window,
};
use bentpipe_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Responses of a controller to announced path changes. They have no effect without announcements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathChangeResponse {
    /// Shift minimum-RTT filters at a change ([`Controller::on_path_change`]).
    pub shift_rtt: bool,
    /// Do not take losses and ECN-CE within an RTT of a change as congestion, unless there are too
    /// many.
    pub suppress_loss: bool,
    /// Shrink the window before a change to a shorter path, a slower one or an outage, so that the
    /// data in flight fits the new path.
    pub pre_drain: bool,
    /// What the controller measures again at a change ([`Controller::on_upcoming_path_change`]).
    pub probe: ChangeProbe,
}

/// A change whose new path has not been acknowledged yet.
#[derive(Debug, Clone, Copy)]
struct PendingChange {
    since: Time,
    before: Option<Span>,
    after: Option<Span>,
}

/// A controller that responds to announced path changes.
#[derive(Debug)]
pub struct PathChangeLayer {
    controller: Box<dyn Controller>,
    feed: PathChangeFeed,
    response: PathChangeResponse,
    mtu: Bytes,
    /// Announced future changes, in the order of time.
    upcoming: VecDeque<PathChangeNotice>,
    /// Time of the latest change so far, or of the connection's start. Earlier announcements are
    /// ignored.
    latest: Time,
    pending: Option<PendingChange>,
    /// Packets sent from then on give RTT samples for `min_rtt`.
    path_since: Time,
    /// Minimum RTT of the current path, if it is not the connection's.
    min_rtt: Option<Span>,
    /// Minimum RTT of the connection.
    connection_min_rtt: Option<Span>,
    smoothed_rtt: Span,
    loss_suppression: LossSuppression,
    pre_drain: PreDrain,
    /// Time of the latest change for which the controller was told to probe.
    probed: Option<Time>,
}

impl PathChangeLayer {
    /// Puts the layer around `controller`. It responds to the announcements of `feed` with
    /// `response`.
    pub fn new(
        controller: Box<dyn Controller>,
        feed: PathChangeFeed,
        response: PathChangeResponse,
        config: &ControllerConfig,
    ) -> Self {
        Self {
            controller,
            feed,
            response,
            mtu: config.mtu,
            upcoming: VecDeque::new(),
            latest: config.now,
            pending: None,
            path_since: config.now,
            min_rtt: None,
            connection_min_rtt: None,
            smoothed_rtt: Span::ZERO,
            loss_suppression: LossSuppression::default(),
            pre_drain: PreDrain::default(),
            probed: None,
        }
    }

    /// Reads new announcements, and applies the changes that have happened by `now`.
    fn advance(&mut self, now: Time) {
        if self.feed.is_fresh() {
            for notice in self.feed.take() {
                self.upcoming.retain(|other| other.at != notice.at);
                let index = self.upcoming.partition_point(|other| other.at < notice.at);
                if notice.at > self.latest {
                    self.upcoming.insert(index, notice);
                }
            }
            while self.upcoming.len() > CAPACITY {
                self.upcoming.pop_front();
            }
        }
        while let Some(notice) = self.upcoming.front().copied().filter(|notice| notice.at <= now) {
            self.upcoming.pop_front();
            self.begin_change(&notice);
        }
        let probe = self.response.probe;
        let next = self.upcoming.front().map(|notice| notice.at);
        if probe != ChangeProbe::None
            && next.is_some_and(|at| at <= now + probe.lead())
            && self.probed != next
        {
            self.probed = next;
            self.controller.on_upcoming_path_change(probe);
        }
    }

    fn begin_change(&mut self, notice: &PathChangeNotice) {
        self.latest = notice.at;
        if self.response.suppress_loss {
            self.loss_suppression.begin(notice, self.smoothed_rtt);
        }
        if self.response.shift_rtt {
            // If nothing was acknowledged between two changes, they count as one.
            let before = self.pending.map_or(notice.rtt_before, |earlier| earlier.before);
            self.pending =
                Some(PendingChange { since: notice.at, before, after: notice.rtt_after });
        }
    }

    /// Returns the change that this ACK is the first to confirm, if a minimum filter needs to know.
    fn confirmed_change(&mut self, ack: &Ack<'_>) -> Option<PathChange> {
        // Without a path there are no ACKs. If one arrives nevertheless, the announcement was
        // wrong.
        let confirmed = |pending: &mut PendingChange| {
            pending.after.is_some() && ack.newest().sent_at >= pending.since
        };
        let pending = self.pending.take_if(confirmed)?;
        let rtt_increase = match (pending.before, pending.after) {
            (Some(before), Some(after)) if after <= before => return None,
            (Some(before), Some(after)) => Some(after - before),
            // There was no path to compare with.
            _ => None,
        };
        Some(PathChange { now: ack.now, since: pending.since, rtt_increase })
    }

    /// Returns the minimum RTT that the controller gets.
    fn path_min_rtt(&mut self, ack: &Ack<'_>) -> Span {
        let Some(min_rtt) = self.min_rtt else { return ack.min_rtt };
        if ack.newest().sent_at < self.path_since {
            return min_rtt;
        }
        let min_rtt = min_rtt.min(ack.rtt);
        self.min_rtt = Some(min_rtt);
        min_rtt
    }
}

impl Controller for PathChangeLayer {
    forward_to!(controller: on_spurious_loss, on_upcoming_path_change, restart,
        restart_after_chance, start_measures_path, report_state, is_rate_based, rate_based);

    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.advance(packet.sent_at);
        self.loss_suppression.on_packet_sent(packet);
        self.controller.on_packet_sent(packet);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.advance(ack.now);
        self.smoothed_rtt = ack.smoothed_rtt;
        self.loss_suppression.on_ack(ack);
        if let Some(change) = self.confirmed_change(ack) {
            let known = self.min_rtt.or(self.connection_min_rtt);
            self.min_rtt = Some(change.shifted(known).unwrap_or(ack.rtt));
            self.path_since = change.since;
            self.controller.on_path_change(&change);
        }
        self.connection_min_rtt = Some(ack.min_rtt);
        let min_rtt = self.path_min_rtt(ack);
        let mut binds = false;
        if self.response.pre_drain {
            let window = self.controller.send_control().cwnd;
            self.pre_drain.on_ack(ack, self.upcoming.front(), window, minimum_window(self.mtu));
            binds = self.pre_drain.limit().is_some_and(|limit| limit <= window);
        }
        // An unused window must not grow, and deliveries over a drained path do not measure its
        // rate.
        let mut sample = ack.sample;
        sample.app_limited |= self.pre_drain.covers(ack.newest().sent_at);
        sample.lost =
            sample.lost.saturating_sub(self.loss_suppression.hidden_since(ack.newest().sent_at));
        self.controller.on_ack(&Ack {
            min_rtt,
            app_limited: ack.app_limited || binds,
            sample,
            ..*ack
        });
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.advance(loss.now);
        if self.loss_suppression.hides_loss(loss) {
            return;
        }
        let min_rtt = self.min_rtt.unwrap_or(loss.min_rtt);
        let lost =
            loss.lost.saturating_sub(self.loss_suppression.hidden_since(loss.newest().sent_at));
        self.controller.on_loss(&Loss { min_rtt, lost, ..*loss });
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        self.advance(ecn_ce.now);
        if !self.loss_suppression.hides_ecn_ce(ecn_ce) {
            self.controller.on_ecn_ce(ecn_ce);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.advance(now);
        if !self.loss_suppression.is_outage(now) {
            self.controller.on_timeout(now);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.min_rtt = change.shifted(self.min_rtt);
        self.path_since = change.since;
        self.pending = None;
        self.controller.on_path_change(change);
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
        self.controller.on_mtu_update(mtu);
    }

    fn send_control(&self) -> SendControl {
        let control = self.controller.send_control();
        let minimum = minimum_window(self.mtu);
        // After a hidden timeout, two packets probe whether the path is back. This limits the loss
        // to two packets if it is not.
        let probing = if self.loss_suppression.is_probing() {
            control.cwnd.min(minimum)
        } else {
            control.cwnd
        };
        let cwnd = self.pre_drain.limit().map_or(probing, |limit| probing.min(limit.max(minimum)));
        SendControl { cwnd, ..control }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            controller: self.controller.clone_box(),
            feed: self.feed.clone(),
            upcoming: self.upcoming.clone(),
            loss_suppression: self.loss_suppression.clone(),
            pre_drain: self.pre_drain.clone(),
            ..*self
        })
    }
}
