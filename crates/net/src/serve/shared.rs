//! What all connections of a server share.

use super::access_log::{AccessLine, LogField};
use super::gate;
use super::holdback::Holdback;
use super::limits::Limits;
use super::metrics::Metrics;
use super::origin::Origin;
use super::tuning::Tuning;
use crate::admission::control::{AdmissionControl, ConnectionGuard};
use crate::admission::request_rate::RequestRates;
use crate::admission::send_memory::SendMemory;
use crate::admission::slots::Slots;
use crate::clock::RealClock;
use crate::logging::{ErrorLog, Level, LogWriter};
use crate::qlog::TraceWriter;
use crate::resumption::Resumption;
use crate::routable_ids::RoutableIds;
use crate::shutdown::ShutdownSignal;
use bentpipe_quic::HeaderMemory;
use bentpipe_quic::noq_proto::ServerConfig;
use bentpipe_quic::path_memory::token::TokenServer;
use bentpipe_units::Span;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// What all connections of a server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub origin: Origin,
    pub clock: RealClock,
    pub limits: Limits,
    pub admission: AdmissionControl,
    pub send_memory: SendMemory,
    /// Bounds how often clients may ask, if the operator wants that.
    pub request_rates: Option<RequestRates>,
    pub files: Slots,
    pub metrics: Arc<Metrics>,
    pub errors: ErrorLog,
    pub access_log: Option<LogWriter<AccessLine>>,
    /// Fields of requests that the access log has.
    pub log_fields: Vec<LogField>,
    pub tuning: Tuning,
    /// Memory for incomplete request headers of all QUIC connections.
    pub header_memory: HeaderMemory,
    /// The configuration that each connection starts from.
    pub config: ServerConfig,
    pub resumption: Resumption,
    /// Clients that are held back from it, if some are.
    pub held_back: Option<HeldBack>,
    pub tokens: TokenServer,
    pub traces: Option<TraceWriter>,
    pub shutdown: ShutdownSignal,
    /// Makes connection IDs that a balancer can route, if there is one.
    pub routable: Option<Arc<RoutableIds>>,
    /// True once another process takes new connections.
    pub handed_over: AtomicBool,
}

/// Clients that start as RFC 9002 has it, without memory of their paths.
#[derive(Debug)]
pub(super) struct HeldBack {
    pub groups: Holdback,
    pub resumption: Resumption,
}

impl Shared {
    /// Admits a TCP connection from `address`.
    pub fn admit_tcp(&self, address: IpAddr) -> Option<ConnectionGuard> {
        gate::admit_tcp(&self.admission, &self.metrics, address)
    }

    /// Counts a request of `client`. If the client has made too many, returns the time after which
    /// it may make one.
    pub fn too_many_requests(&self, client: IpAddr) -> Option<Span> {
        let rates = self.request_rates.as_ref()?;
        let wait = rates.ask(client, self.clock.now()).err()?;
        self.metrics.limited.fetch_add(1, Relaxed);
        Some(wait)
    }

    /// Returns whether another process takes new connections.
    pub fn is_handed_over(&self) -> bool {
        self.handed_over.load(Relaxed)
    }

    /// Writes a message to the error log.
    pub fn report(&self, level: Level, text: &dyn fmt::Display) {
        self.errors.write(self.clock.now(), self.clock.system(), level, text);
    }

    /// Counts and reports a panic in a task of the connection with `remote`. It ends that
    /// connection only.
    pub fn report_panic(&self, remote: Option<SocketAddr>, message: &str) {
        self.metrics.panics.fetch_add(1, Relaxed);
        let remote =
            remote.map_or_else(|| "an unknown address".to_owned(), |remote| remote.to_string());
        self.report(
            Level::Error,
            &format_args!("the connection with {remote} ended by a panic: {message}"),
        );
    }
}
