//! A running server.

use super::certificates::CertificateResolver;
use super::metrics::Metrics;
use super::shared::Shared;
use crate::handover::{Estate, HandOverError, PassedOn, Successor, SuccessorState};
use crate::measure::MeasureServer;
use crate::qlog::{QlogCounts, Traces};
use crate::shutdown::{Shutdown, drain};
use crate::workers::Workers;
use bentpipe_units::Span;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::task::JoinHandle;

/// A running server. Dropping it ends all connections at once; [`Server::stop`] lets clients
/// finish.
#[derive(Debug)]
pub struct Server {
    pub(super) shared: Arc<Shared>,
    pub(super) workers: Workers,
    pub(super) tasks: Vec<JoinHandle<()>>,
    pub(super) metrics_task: Option<JoinHandle<()>>,
    pub(super) shutdown: Shutdown,
    pub(super) certificates: CertificateResolver,
    pub(super) address: SocketAddr,
    pub(super) metrics_address: Option<SocketAddr>,
    /// What can be handed over, if anything.
    pub(super) estate: Option<Arc<Estate>>,
    /// What the process passes on that it was handed over to.
    pub(super) passed_on: Option<PassedOn>,
    /// The server of measurements, if there is one.
    pub(super) measure: Option<MeasureServer>,
    /// Dropped last, so that the qlog files include the end of each connection.
    pub(super) traces: Option<Traces>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().chain(&self.metrics_task).for_each(JoinHandle::abort);
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

    /// Returns the address of the server of measurements, if there is one.
    pub fn measure_address(&self) -> Option<SocketAddr> {
        self.measure.as_ref().map(MeasureServer::address)
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

    /// Hands the server over to another process, which takes its sockets and all new connections.
    /// Those of this one stay, and get their datagrams through the other process;
    /// [`Server::finish`] and [`Server::stop`] let them finish. Nothing else may be asked of the
    /// server then, but to hand over anew if the other process has ended.
    ///
    /// # Errors
    /// The server listens on TCP too, or the other process does not take over. This one then
    /// continues.
    pub async fn hand_over(&mut self, successor: Successor) -> Result<(), HandOverError> {
        let estate = self.estate.clone().ok_or(HandOverError::Tcp)?;
        let passed_on = successor.prepare(&estate).await?;
        self.workers.set_paused(true).await;
        if let Err(error) = successor.complete().await {
            self.workers.set_paused(false).await;
            return Err(error);
        }
        self.shared.handed_over.store(true, Relaxed);
        self.metrics_task.take().iter().for_each(JoinHandle::abort);
        self.passed_on = Some(passed_on);
        Ok(())
    }

    /// Accepts no more connections and no more requests (GOAWAY, RFC 9114 §5.2), and waits for
    /// those under way, at most for `limit`. Returns earlier if the process that the server was
    /// handed over to has ended; this one then reads its sockets again, for the connections that it
    /// has.
    pub async fn finish(&mut self, limit: Span) -> Finished {
        self.begin_stop().await;
        let admission = self.shared.admission.clone();
        let mut drained = pin!(drain(|| admission.connections(), limit.into()));
        let Some(passed_on) = &mut self.passed_on else {
            return Finished::Left(drained.await);
        };
        let ended = tokio::select! {
            left = &mut drained => return Finished::Left(left),
            ended = passed_on.ended() => ended,
        };
        self.passed_on = None;
        self.workers.set_paused(false).await;
        Finished::SuccessorEnded(ended)
    }

    async fn begin_stop(&mut self) {
        if let Some(measure) = self.measure.take() {
            measure.stop().await;
        }
        self.shared.admission.close();
        self.shutdown.start();
        if let Some(estate) = self.estate.as_ref().filter(|_| !self.shared.is_handed_over()) {
            estate.say_stopping().await;
        }
    }

    /// Stops the server. It accepts no more connections and no more requests (GOAWAY, RFC 9114
    /// §5.2), and waits at most `deadline` for the requests under way. Returns the number of
    /// connections that were cut off.
    pub async fn stop(mut self, deadline: Span) -> usize {
        self.begin_stop().await;
        let left = drain(|| self.shared.admission.connections(), deadline.into()).await;
        self.shutdown.force();
        self.workers.close_all(::h3::error::Code::H3_NO_ERROR.value()).await;
        if let Some(log) = &self.shared.access_log {
            log.flush().await;
        }
        left
    }
}

/// Why [`Server::finish`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// So many connections are left: none, or the time is over.
    Left(usize),
    /// The process that the server was handed over to has ended.
    SuccessorEnded(SuccessorState),
}
