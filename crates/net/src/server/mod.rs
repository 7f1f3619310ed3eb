//! The server: files, or what a server behind it answers, over HTTP/3, and over HTTP/1.1 and HTTP/2
//! beside it.
//!
//! What a client can do to it is bounded: see [`Limits`].

mod accept;
mod builder;
mod error_log;
mod h3;
mod limits;
mod log;
mod metrics;
mod open_files;
mod outgoing;
mod reply;
mod tcp;
mod upstream;
mod write_timeout;

pub use builder::{ServerBuilder, ServerError};
pub use limits::Limits;
pub use log::LogFormat;
pub use metrics::Metrics;
pub use upstream::{Upstream, UpstreamError};

pub(crate) use accept::MTU;

use crate::certificate::Certificate;
use crate::clock::WallClock;
use crate::driver::Driver;
use crate::qlog::{QlogCounts, TraceWriter, Traces};
use crate::resumption::Resumption;
use accept::Tuning;
use bentpipe_quic::HeaderMemory;
use bentpipe_quic::path_memory::token::TokenServer;
use bentpipe_units::{Span, Time};
use error_log::ErrorLog;
use http::{Request, StatusCode, Version};
use limits::AdmissionControl;
use log::{AccessLog, Line};
use open_files::OpenFiles;
use reply::Origin;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    origin: Origin,
    clock: WallClock,
    door: AdmissionControl,
    metrics: Arc<Metrics>,
    files: OpenFiles,
    errors: ErrorLog,
    log: Option<AccessLog>,
    tuning: Tuning,
    /// For requests' headers of which only a part has arrived, on all QUIC connections.
    header_memory: HeaderMemory,
    /// What each connection's configuration begins with.
    config: bentpipe_quic::noq_proto::ServerConfig,
    resumption: Resumption,
    tokens: TokenServer,
    qlog: Option<TraceWriter>,
    stop: watch::Receiver<()>,
}

impl Shared {
    /// Tells the people who run the server what the system refused it.
    fn report(&self, text: &dyn std::fmt::Display) {
        self.errors.write(self.clock.now(), self.clock.system(), text);
    }

    /// Counts and reports a panic in a task of the connection with `remote`, which ends that
    /// connection and no other.
    fn panicked(&self, remote: Option<SocketAddr>, message: &str) {
        self.metrics.panics.fetch_add(1, Relaxed);
        let remote =
            remote.map_or_else(|| "an unknown address".to_owned(), |remote| remote.to_string());
        self.report(&format_args!("the connection with {remote} ended by a panic: {message}"));
    }
}

/// A server that runs. Dropping it ends it at once; [`Server::stop`] lets clients finish.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    driver: Driver,
    driving: JoinHandle<io::Result<()>>,
    tasks: Vec<JoinHandle<()>>,
    stop: watch::Sender<()>,
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    /// Dropped last: what connections leave at the end is in their traces.
    traces: Option<Traces>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.driving.abort();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Server {
    /// A server of the files in `directory`, shown by `certificate`, on a free port of the loopback
    /// until told otherwise.
    pub fn builder(directory: &Path, certificate: Certificate) -> ServerBuilder {
        ServerBuilder::files(directory, certificate)
    }

    /// The same in front of `upstream`, which is asked for everything.
    pub fn proxy(upstream: Upstream, certificate: Certificate) -> ServerBuilder {
        ServerBuilder::proxy(upstream, certificate)
    }

    /// Where it listens: UDP, and TCP on the same port.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where Prometheus finds its counters, if anywhere.
    pub const fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Its counters.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// What became of traces, where there are any.
    pub fn qlog_counts(&self) -> Option<Arc<QlogCounts>> {
        self.traces.as_ref().map(|traces| traces.desk().counts())
    }

    /// Connections at present.
    pub fn connections(&self) -> usize {
        self.shared.door.inside()
    }

    /// Waits until the server cannot go on, which takes a socket that fails.
    pub async fn failed(&mut self) -> io::Error {
        match (&mut self.driving).await {
            Ok(Ok(())) => io::Error::other("the driver ended"),
            Ok(Err(error)) => error,
            Err(error) => io::Error::other(error),
        }
    }

    /// Takes no more connections and no more requests (GOAWAY, RFC 9114 §5.2), and ends when those
    /// under way are done, or after `deadline`. Says how many connections were cut off.
    pub async fn stop(self, deadline: Span) -> usize {
        self.shared.door.close();
        // Those who listen are gone where nobody is connected.
        let _ = self.stop.send(());
        let until = Instant::now() + Duration::from(deadline);
        while self.shared.door.inside() > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let left = self.shared.door.inside();
        self.driver.close_all(h3_no_error()).await;
        if let Some(log) = &self.shared.log {
            log.settle().await;
        }
        left
    }
}

/// H3_NO_ERROR (RFC 9114 §8.1).
fn h3_no_error() -> u64 {
    ::h3::error::Code::H3_NO_ERROR.value()
}

/// A request and what became of it: counted and logged when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestLog {
    shared: Arc<Shared>,
    line: Option<Line>,
    begun: Time,
}

impl RequestLog {
    fn begin<T>(
        shared: &Arc<Shared>,
        client: IpAddr,
        request: &Request<T>,
        version: Version,
    ) -> Self {
        let line = Line {
            client,
            time: shared.clock.system(),
            method: request.method().clone(),
            path: shorten(request.uri().path()),
            version,
            status: StatusCode::INTERNAL_SERVER_ERROR,
            bytes: 0,
            took: Duration::ZERO,
            complete: false,
        };
        Self { shared: shared.clone(), line: Some(line), begun: shared.clock.now() }
    }

    fn status(&mut self, status: StatusCode) {
        self.line.iter_mut().for_each(|line| line.status = status);
    }

    fn sent(&mut self, bytes: u64) {
        self.line.iter_mut().for_each(|line| line.bytes += bytes);
        self.shared.metrics.bytes.fetch_add(bytes, Relaxed);
    }

    /// All was handed to the transport.
    fn complete(mut self) {
        self.line.iter_mut().for_each(|line| line.complete = true);
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let Some(mut line) = self.line.take() else { return };
        let metrics = &self.shared.metrics;
        line.took = self.shared.clock.now().since(self.begun).into();
        let class = usize::from(line.status.as_u16() / 100).saturating_sub(1);
        metrics.responses.get(class).into_iter().for_each(|count| _ = count.fetch_add(1, Relaxed));
        if !line.complete {
            metrics.broken.fetch_add(1, Relaxed);
        }
        if let Some(log) = &self.shared.log {
            log.write(line);
        }
    }
}

/// What of a path is logged: a line should stay one that people read. The bound is our choice.
fn shorten(path: &str) -> String {
    path.chars().take(512).collect::<String>()
        + if path.chars().nth(512).is_some() { "…" } else { "" }
}
