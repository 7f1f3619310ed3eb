//! What all connections of a proxy share.

use super::allowed::Allowed;
use super::config::Listener;
use super::limits::Limits;
use super::metrics::Metrics;
use super::proxied_connection::Recorder;
use super::relay::IdleTimeouts;
use super::socket::Tuning;
use super::tunnel::ingress::Tunnel;
use crate::admission::buffers::Buffers;
use crate::admission::control::{AdmissionControl, ConnectionGuard, Full};
use crate::logging::{ErrorLog, Level};
use crate::shutdown::ShutdownSignal;
use bentpipe_units::Bytes;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What all connections of a proxy share.
#[derive(Debug)]
pub(super) struct Shared {
    pub listener: Listener,
    /// `None` if connections continue directly.
    pub tunnel: Option<Tunnel>,
    pub allowed: Allowed,
    pub tuning: Tuning,
    /// Largest socket buffer on the satellite side.
    pub buffer: Bytes,
    pub limits: Limits,
    pub admission: AdmissionControl,
    pub timeouts: IdleTimeouts,
    pub metrics: Arc<Metrics>,
    pub recorder: Arc<Recorder>,
    pub errors: Arc<ErrorLog>,
    /// The address that the proxy listens on. No connection may lead there.
    pub address: SocketAddr,
    pub shutdown: ShutdownSignal,
    pub warnings: Vec<String>,
}

impl Shared {
    /// Writes a message to the error log.
    pub fn report(&self, level: Level, text: &dyn fmt::Display) {
        let clock = &self.recorder.clock;
        self.errors.write(clock.now(), clock.system(), level, text);
    }

    /// Admits a connection from `client` with its buffers, and counts the result.
    pub fn admit(&self, client: IpAddr) -> Result<ConnectionGuard<Buffers>, Full> {
        let wanted = self.tuning.wanted(self.buffer);
        let admitted =
            self.admission.reserve(client, |available| Buffers::allocate(available, wanted));
        match &admitted {
            Ok(_) => _ = self.metrics.connections.fetch_add(1, Relaxed),
            Err(full) => self.metrics.count_refusal(*full),
        }
        admitted
    }
}
