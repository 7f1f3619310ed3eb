//! Opens the connections of a TCP visit.

use super::connections::TcpConnections;
use super::log::TcpLog;
use crate::datagram::{PathDirection, Role};
use crate::error::SimError;
use crate::flow::current_visit::VisitStart;
use crate::flow::progress::{FlowProgress, server_of};
use crate::flow::shared::Shared;
use crate::hosts::Host;
use crate::outcome::PathOutcome;
use crate::spec::Direction;
use bentpipe_quic::congestion::{ControllerFactory, FastStart, PathChangeFeed, ResumeHandle};
use bentpipe_quic::path_memory::Holder;
use bentpipe_quic::qlog::{Forms, QlogSink};
use bentpipe_quic::{PathLease, SenderMetrics, StartLease};
use bentpipe_tcp::MakeController;
use bentpipe_timeseries::SeriesLimit;
use bentpipe_units::Time;
use std::net::IpAddr;
use std::sync::Arc;

/// Opens the connections of the active visit.
pub struct Opener {
    controller: ControllerFactory,
    /// The host of the data's sender for each origin, and the address of its peer.
    hosts: Vec<Host>,
    peer: IpAddr,
    path_changes: PathChangeFeed,
    direction: Direction,
    /// The visit in names of files.
    name: String,
    /// Unique in the run: flow and visit.
    holder: u64,
    /// Largest number of points of its time series, if it records any.
    pub series: Option<SeriesLimit>,
    /// Whether the variables of its congestion controller are recorded.
    controller_state: bool,
    qlog: Forms,
    /// Path leases of the data's sender: one per connection.
    path_leases: Vec<PathLease>,
    start_leases: Vec<StartLease>,
}

impl Opener {
    /// Prepares the connections of a visit whose data's sender has congestion control by
    /// `controller`.
    ///
    /// # Errors
    /// The host of the data's sender has no tokens.
    pub fn new(
        controller: ControllerFactory,
        start: &VisitStart,
        progress: &FlowProgress,
        shared: &Shared,
    ) -> Result<Self, SimError> {
        let sender = start.data_direction.source();
        let origins = start.visit.page.as_ref().map_or(1, |page| page.origins.len());
        let host = |origin| match sender {
            Role::Server => shared.hosts.get(&server_of(progress, start, origin)),
            Role::Client => shared.hosts.get(progress.host(sender)),
        };
        Ok(Self {
            controller,
            hosts: (0..origins).map(host).collect::<Result<_, _>>()?,
            peer: progress.address(sender.peer()).ip(),
            path_changes: progress.path_changes.clone(),
            direction: start.visit.direction,
            name: format!("{}-visit{}", progress.spec.name, start.number),
            holder: (progress.index as u64) << 32 | u64::from(start.number) << 12,
            series: start.series,
            controller_state: start.controller_state,
            qlog: start.qlog,
            path_leases: Vec::new(),
            start_leases: Vec::new(),
        })
    }

    /// Opens connection `number`, to an origin.
    pub fn open(
        &mut self,
        now: Time,
        (number, origin): (usize, usize),
        connections: &mut TcpConnections,
    ) {
        let Some(host) = self.hosts.get(origin).cloned() else { return };
        let log = self.qlog.any().then(|| TcpLog::new(&self.name, number, self.qlog));
        let sender = PathDirection::of(self.direction).source();
        let make = self.controllers(now, number, &host, log.as_ref().map(|log| log.sink(sender)));
        let series = self.series.filter(|_| number == 0);
        let metrics = SenderMetrics::with_numbers(series);
        if self.controller_state && number == 0 {
            metrics.record_state();
        }
        connections.open(now, make, self.direction, metrics, log);
    }

    /// Returns the controllers of a new connection: client, then server. `sink` receives the events
    /// of the data's sender.
    fn controllers(
        &mut self,
        now: Time,
        number: usize,
        host: &Host,
        sink: Option<&QlogSink>,
    ) -> [MakeController; 2] {
        let factory = self.controller.clone();
        let receiver: MakeController =
            Arc::new(move |setup| factory.make(setup, FastStart::Allowed(None), None));
        let resume = self.resume(now, number, host, sink);
        // A sending client does not know other clients behind its address.
        let needs_start_slot =
            self.direction == Direction::Download && self.controller.needs_start_slot();
        let lease = needs_start_slot.then(|| host.start_lease(self.peer));
        self.start_leases.extend(lease.clone());
        let factory = self.controller.with_path_changes(self.path_changes.clone());
        let sender: MakeController = Arc::new(move |setup| {
            let fast =
                lease.as_ref().map_or(FastStart::Allowed(None), |lease| lease.enter(setup.now));
            factory.make(setup, fast, resume.clone())
        });
        match self.direction {
            Direction::Download => [receiver, sender],
            Direction::Upload => [sender, receiver],
        }
    }

    /// Returns the saved parameters of the path for connection `number`, if it uses any.
    fn resume(
        &mut self,
        now: Time,
        number: usize,
        host: &Host,
        sink: Option<&QlogSink>,
    ) -> Option<ResumeHandle> {
        if !self.controller.resumes() {
            return None;
        }
        // QUIC flows use the lowest bit for the side.
        let holder = Holder(self.holder | (number as u64) << 1 | 1);
        // A failing store must not prevent a connection.
        let lease = host.memory.begin(self.peer, holder, now).ok()?;
        let handle = lease.resume_handle();
        if let Some(sink) = sink {
            handle.set_qlog(sink.clone());
        }
        self.path_leases.push(lease);
        Some(handle)
    }

    /// Ends all leases. Returns what the first connection's sender knows about the path.
    pub fn end(self) -> PathOutcome {
        self.start_leases.iter().for_each(StartLease::leave);
        for lease in &self.path_leases {
            // As on a server, a failing store does not end the visit.
            let _ = lease.flush(true);
        }
        let first = self.path_leases.first();
        let known = first.map(|lease| lease.resume_handle().resume_state()).unwrap_or_default();
        PathOutcome {
            saved: known.offered,
            observed: known.observed,
            receiver: None,
            retreated: known.offered.map(|_| known.retreated),
            token: None,
        }
    }
}
