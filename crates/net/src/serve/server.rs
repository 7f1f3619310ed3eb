//! A running server.

use super::certificates::CertificateResolver;
use super::metrics::Metrics;
use super::shared::Shared;
use crate::qlog::{QlogCounts, Traces};
use crate::shutdown::{Shutdown, drain};
use crate::workers::Workers;
use bentpipe_units::Span;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// A running server. Dropping it ends all connections at once; [`Server::stop`] lets clients
/// finish.
#[derive(Debug)]
pub struct Server {
    pub(super) shared: Arc<Shared>,
    pub(super) workers: Workers,
    pub(super) tasks: Vec<JoinHandle<()>>,
    pub(super) shutdown: Shutdown,
    pub(super) certificates: CertificateResolver,
    pub(super) address: SocketAddr,
    pub(super) metrics_address: Option<SocketAddr>,
    /// Dropped last, so that the qlog files include the end of each connection.
    pub(super) traces: Option<Traces>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.shutdown.force();
    }
}

impl Server {
    /// Returns the address that it listens on: UDP, and TCP on the same port.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for Prometheus, if metrics are enabled.
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Returns the server's counters.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Returns the numbers of qlog files, if there are any.
    pub fn qlog_counts(&self) -> Option<Arc<QlogCounts>> {
        self.traces.as_ref().map(|traces| traces.writer().counts())
    }

    /// Returns the certificate of new connections, which can be replaced.
    pub fn certificates(&self) -> CertificateResolver {
        self.certificates.clone()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.admission.connections()
    }

    /// Waits until the server fails, for example because of its socket.
    pub async fn failed(&mut self) -> io::Error {
        self.workers.failed().await
    }

    /// Stops the server. It accepts no more connections and no more requests (GOAWAY, RFC 9114
    /// §5.2), and waits at most `deadline` for the requests under way. Returns the number of
    /// connections that were cut off.
    pub async fn stop(self, deadline: Span) -> usize {
        self.shared.admission.close();
        self.shutdown.start();
        let left = drain(|| self.shared.admission.connections(), deadline.into()).await;
        self.shutdown.force();
        self.workers.close_all(::h3::error::Code::H3_NO_ERROR.value()).await;
        if let Some(log) = &self.shared.access_log {
            log.flush().await;
        }
        left
    }
}
