//! A request in the access log and in the metrics.

use super::access_log::{AccessLine, PathSeen, bounded};
use super::delivery::Delivery;
use super::path_metrics::PathView;
use super::shared::Shared;
use crate::path_report::PathReport;
use bentpipe_quic::SenderMetrics;
use bentpipe_units::{Span, Time};
use http::header::HOST;
use http::{Request, StatusCode, Version};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A request under way. It is counted when all content was handed to the transport, and logged when
/// this value is dropped.
#[derive(Debug)]
pub(super) struct RequestLog {
    shared: Arc<Shared>,
    line: AccessLine,
    /// The connection's path, if it is known.
    path: Option<PathView>,
    started: Time,
    /// Time until the client had acknowledged all of the response.
    delivered: Option<Span>,
    counted: bool,
}

impl RequestLog {
    /// Starts without a status and content.
    pub fn start<T>(
        shared: &Arc<Shared>,
        client: IpAddr,
        request: &Request<T>,
        version: Version,
    ) -> Self {
        let fields = shared.log_fields.iter();
        let mut log = Self::unread(shared, client, version);
        log.line.host = shared.access_log.as_ref().and_then(|_| host(request));
        log.line.method = Some(request.method().clone());
        log.line.path = Some(truncate(request.uri().path()));
        log.line.fields =
            fields.filter_map(|field| Some((*field, field.of(request.headers())?))).collect();
        log
    }

    /// Starts for a request whose header is not read.
    pub fn unread(shared: &Arc<Shared>, client: IpAddr, version: Version) -> Self {
        let line = AccessLine {
            client,
            time: shared.clock.system(),
            host: None,
            method: None,
            path: None,
            version,
            status: None,
            bytes: 0,
            duration: Duration::ZERO,
            complete: false,
            fields: Vec::new(),
            seen: None,
            group: None,
        };
        let (shared, started) = (shared.clone(), shared.clock.now());
        Self { shared, line, path: None, started, delivered: None, counted: false }
    }

    /// Counts the time from `arrival` on: the request has waited for the handshake since.
    pub fn since(mut self, arrival: Time) -> Self {
        self.started = arrival;
        self
    }

    /// Also logs the group of the client, and what the connection sees of its path.
    pub fn over(mut self, path: &PathView) -> Self {
        self.line.group = path.group;
        self.path = Some(path.clone());
        self
    }

    /// Sets the status of the response.
    pub fn set_status(&mut self, status: StatusCode) {
        self.line.status = Some(status);
    }

    /// Counts content that was handed to the transport.
    pub fn add_bytes(&mut self, bytes: u64) {
        self.line.bytes += bytes;
        self.shared.metrics.bytes.fetch_add(bytes, Relaxed);
    }

    /// Notes that all content was handed to the transport.
    pub fn complete(&mut self) {
        self.line.complete = true;
        self.count();
    }

    /// Notes that the client has acknowledged all of the response.
    pub fn delivered(&mut self) {
        let time = self.shared.clock.now().since(self.started);
        self.delivered = Some(time);
        let succeeded = self.line.status.is_some_and(|status| status.is_success());
        let counted = succeeded && self.line.bytes > 0;
        let metrics = self.shared.metrics.deliveries.as_ref().filter(|_| counted);
        let rtt = || self.path.as_ref()?.sender.as_ref()?.stats().rtt_min();
        if let (Some(metrics), Some(group)) = (metrics, self.line.group)
            && let Some(rtt) = rtt()
        {
            metrics.add(&Delivery { group, bytes: self.line.bytes, rtt, time });
        }
    }

    fn count(&mut self) {
        let (line, metrics) = (&mut self.line, &self.shared.metrics);
        line.duration = self.shared.clock.now().since(self.started).into();
        let class = line.status.map(|status| usize::from(status.as_u16() / 100).saturating_sub(1));
        let responses = class.and_then(|class| metrics.responses.get(class));
        responses.into_iter().for_each(|count| _ = count.fetch_add(1, Relaxed));
        if !line.complete {
            metrics.broken.fetch_add(1, Relaxed);
        }
        self.counted = true;
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        if !self.counted {
            self.count();
        }
        if let Some(log) = &self.shared.access_log {
            self.line.seen = self.path.as_ref().map(|path| seen(path, self.delivered));
            log.write(self.line.clone());
        }
    }
}

/// Returns what a connection has seen of its path until now.
fn seen(path: &PathView, delivered: Option<Span>) -> PathSeen {
    let sender = path.sender.as_ref().map(SenderMetrics::stats);
    PathSeen {
        rtt: sender.as_ref().and_then(|stats| stats.rtt_min()),
        resumption: path.resume.as_ref().map_or(PathReport::Unknown, PathReport::of),
        lost: sender.map_or(0, |stats| stats.packets_declared_lost),
        delivered,
    }
}

/// Returns the host that a request is for, in lower case.
fn host<T>(request: &Request<T>) -> Option<Box<str>> {
    let named = || request.headers().get(HOST)?.to_str().ok();
    let host = request.uri().authority().map(|authority| authority.as_str()).or_else(named)?;
    Some(bounded(&host.to_ascii_lowercase()))
}

/// Returns the first 512 characters of a path, to keep lines readable. The bound is our choice.
fn truncate(path: &str) -> String {
    path.chars().take(512).collect::<String>()
        + if path.chars().nth(512).is_some() { "…" } else { "" }
}
