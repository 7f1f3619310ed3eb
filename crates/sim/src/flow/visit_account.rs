//! The account of a visit's time, and where on the path it is kept.

use super::report::VisitReport;
use super::shared::Shared;
use crate::loss_reason::LossReason;
use crate::packet_arena::PacketId;
use crate::spec::{Direction, FlowSpec, Visit};
use crate::time_budget::{Account, AccountEnd, AckWait, ClosedAccount, Trip};
use crate::visit_progress::VisitProgress;
use bentpipe_link::{DropKind, Packet};
use bentpipe_quic::congestion::SendLimits;
use bentpipe_timeseries::LossPlace;
use bentpipe_units::{Span, Time};

/// The account of a visit, and where it is kept.
pub struct VisitAccount {
    account: Account,
    limits: SendLimits,
    /// The nodes of the data's sender and receiver.
    sender: u16,
    receiver: u16,
}

impl VisitAccount {
    /// Opens the account of a visit, if it is measured and not of datagrams. `with_series` records
    /// its parts over time.
    pub fn open(
        spec: &FlowSpec,
        visit: &Visit,
        now: Time,
        round_trips_before: u32,
        with_series: bool,
        shared: &Shared,
    ) -> Option<Box<Self>> {
        // A question for the server's address counts as part of the handshake.
        let handshake = spec.stack.handshake_round_trips(visit)? + round_trips_before;
        if !visit.measured {
            return None;
        }
        let (sender, receiver) = ends(visit.direction, shared);
        let limits = SendLimits::default();
        let mut account =
            Account::new(now, shared.rtt_without_frames, handshake, limits.clone(), shared.sharing);
        if with_series {
            account.record_strip();
        }
        Some(Box::new(Self { account, limits, sender, receiver }))
    }

    /// Keeps the account between these two nodes, the first of which is a proxy's or the data's
    /// sender's.
    pub fn keep_between(&mut self, sender: u16, receiver: u16) {
        if sender != self.sender {
            self.account.set_behind_proxy();
        }
        (self.sender, self.receiver) = (sender, receiver);
    }

    /// Returns where the data's senders report their limits.
    pub fn limits(&self) -> SendLimits {
        self.limits.clone()
    }

    /// Returns the start of the trip of a packet that `node` sends, which `answers` data if it
    /// acknowledges it.
    pub fn trip(&mut self, now: Time, node: u16, answers: bool) -> Trip {
        if node == self.sender {
            self.account.trip(now)
        } else if node == self.receiver && answers {
            self.account.ack_trip(now)
        } else {
            Trip::start(now, AckWait::default())
        }
    }

    /// Handles the arrival of a packet at `node`: of the data if `is_data`, else of the reverse
    /// direction.
    pub fn arrived(
        &mut self,
        now: Time,
        node: u16,
        is_data: bool,
        trip: &Trip,
        packet: &Packet<PacketId>,
        progress: &VisitProgress,
    ) {
        if node == self.sender && !is_data {
            self.account.ack_arrived(now, trip);
        } else if node == self.receiver && is_data {
            if self.account.needs_data_begin()
                && let Some(from) = progress.state().data_from
            {
                self.account.data_begins(from);
            }
            let requests = || progress.requests(now);
            let serialised = packet.payload.serialised();
            self.account.arrived(now, trip, serialised, packet.bytes, requests);
        }
    }

    /// Handles the loss of a packet for the node `to`, which had occupied the slowest link for
    /// `carried`. Before and behind the proxies whose connection is accounted for, losses are not
    /// those of this connection.
    pub fn lost(&mut self, now: Time, to: u16, is_data: bool, lost: LossReason, carried: Span) {
        if to != if is_data { self.receiver } else { self.sender } {
            return;
        }
        let place = match DropKind::from(lost) {
            DropKind::Channel => LossPlace::Channel,
            DropKind::Queue => LossPlace::Queue,
            DropKind::Policer => LossPlace::Policer,
            DropKind::Routing => LossPlace::Routing,
        };
        if !is_data {
            return self.account.ack_lost(now, Some(place));
        }
        // Nothing else has left the transmitter.
        let carried = if place == LossPlace::Channel { carried } else { Span::ZERO };
        self.account.lost(now, carried, Some(place));
    }

    /// Closes the account of a visit that ends `now`. It has been completed at `completed_at`, by
    /// its fixed duration if `timed`, and has received `received` bytes.
    pub fn close(
        self,
        now: Time,
        completed_at: Option<Time>,
        timed: bool,
        received: u64,
        report: &VisitReport,
    ) -> ClosedAccount {
        self.account.finish(AccountEnd {
            at: completed_at.unwrap_or(now),
            completed: completed_at.is_some() && !timed,
            handshake: report.handshake,
            received,
            duplicates: report.duplicate_bytes,
        })
    }
}

/// Returns the nodes of the data's sender and receiver.
pub fn ends(direction: Direction, shared: &Shared) -> (u16, u16) {
    match direction {
        Direction::Download => (shared.last_node, 0),
        Direction::Upload => (0, shared.last_node),
    }
}
