//! The active visit of a flow.

use super::counters::PacketCounters;
use super::shared::Shared;
use super::visit_account::{VisitAccount, ends};
use crate::datagram::PathDirection;
use crate::spec::{FlowSpec, Visit};
use crate::visit_progress::VisitProgress;
use bentpipe_quic::qlog::Forms;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::Time;

/// The active visit.
pub struct CurrentVisit {
    /// Number of the visit, from 1.
    pub number: usize,
    /// Direction of its data.
    pub data_direction: PathDirection,
    /// The node of its receiver.
    pub receiver: u16,
    /// What its applications have done.
    pub progress: VisitProgress,
    /// Its start.
    pub start: Time,
    gives_up: Time,
    /// End of a visit with a fixed duration.
    pub ends: Option<Time>,
    /// Its packets.
    pub counters: PacketCounters,
    /// What its time is spent on, if it is measured and has an end of its own.
    pub account: Option<Box<VisitAccount>>,
}

/// What a transport needs to know about a visit that starts.
pub struct VisitStart {
    /// The time.
    pub now: Time,
    /// Number of the visit, from 1.
    pub number: u32,
    /// Its specification.
    pub visit: Visit,
    /// Direction of its data.
    pub data_direction: PathDirection,
    /// Its progress, which its applications update.
    pub progress: VisitProgress,
    /// Largest number of points of its time series, if it records any.
    pub series: Option<SeriesLimit>,
    /// Whether the variables of its congestion controller are recorded.
    pub controller_state: bool,
    /// Forms in which its ends write qlog.
    pub qlog: Forms,
    /// End of a visit with a fixed duration.
    pub ends: Option<Time>,
}

impl VisitStart {
    /// Returns when the client knew the address of its server; `None` before.
    pub fn ready(&self) -> Option<Time> {
        match &self.progress.state().page {
            Some(page) => page.known_at(0),
            None => Some(self.now),
        }
    }
}

impl CurrentVisit {
    /// Starts a visit of a flow, whose client knows its server's address after
    /// `round_trips_before`.
    pub fn new(
        spec: &FlowSpec,
        start: &VisitStart,
        round_trips_before: u32,
        shared: &Shared,
    ) -> Self {
        let &VisitStart { now, number, ref visit, data_direction, series, ends: until, .. } = start;
        Self {
            number: number as usize,
            data_direction,
            receiver: ends(visit.direction, shared).1,
            progress: start.progress.clone(),
            start: now,
            gives_up: now + shared.time_limit,
            ends: until,
            counters: PacketCounters::new(now, series),
            account: VisitAccount::open(
                spec,
                visit,
                now,
                round_trips_before,
                series.is_some(),
                shared,
            ),
        }
    }

    /// Returns the time at which it ends or is given up, whatever its applications do.
    pub fn deadline(&self) -> Time {
        self.ends.map_or(self.gives_up, |ends| ends.min(self.gives_up))
    }

    /// Returns the completion time of the visit if it ends `now`: that of its last object, or the
    /// end of its fixed duration.
    pub fn completion(&self, now: Time) -> Option<Time> {
        match self.ends {
            None => self.progress.completion(),
            Some(ends) => (ends <= now && self.progress.state().error.is_none()).then_some(ends),
        }
    }
}
