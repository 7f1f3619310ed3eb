//! A request in the access log and in the metrics.

use super::access_log::{AccessLine, Visit};
use super::delivery::Delivery;
use super::holdback::Group;
use super::shared::Shared;
use bentpipe_units::{Span, Time};
use http::{Request, StatusCode, Version};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A request under way. It is counted and logged when this value is dropped.
#[derive(Debug)]
pub(super) struct RequestLog {
    shared: Arc<Shared>,
    line: AccessLine,
    started: Time,
    /// When all content was handed to the transport.
    handed_over: Option<Time>,
}

impl RequestLog {
    /// Starts with status 500 and no content.
    pub fn start<T>(
        shared: &Arc<Shared>,
        client: IpAddr,
        request: &Request<T>,
        version: Version,
    ) -> Self {
        let line = AccessLine {
            client,
            time: shared.clock.system(),
            method: request.method().clone(),
            path: truncate(request.uri().path()),
            version,
            status: StatusCode::INTERNAL_SERVER_ERROR,
            bytes: 0,
            duration: Duration::ZERO,
            complete: false,
            visit: None,
        };
        Self { shared: shared.clone(), line, started: shared.clock.now(), handed_over: None }
    }

    /// Also logs the group of the client, and when the response has arrived.
    pub fn with_group(mut self, group: Option<Group>) -> Self {
        self.line.visit = group.map(|group| Visit { group, rtt: None, delivered: None });
        self
    }

    /// Returns whether it is of interest when the response has arrived.
    pub fn awaits_delivery(&self) -> bool {
        self.line.visit.is_some()
    }

    /// Sets the status of the response.
    pub fn set_status(&mut self, status: StatusCode) {
        self.line.status = status;
    }

    /// Counts content that was handed to the transport.
    pub fn add_bytes(&mut self, bytes: u64) {
        self.line.bytes += bytes;
        self.shared.metrics.bytes.fetch_add(bytes, Relaxed);
    }

    /// Notes that all content was handed to the transport. Dropping the log then ends the request.
    pub fn complete(&mut self) {
        self.line.complete = true;
        self.handed_over = Some(self.shared.clock.now());
    }

    /// Notes that the client has acknowledged all of the response, over a path with this minimum
    /// RTT.
    pub fn delivered(&mut self, rtt: Option<Span>) {
        let time = self.shared.clock.now().since(self.started);
        let Some(visit) = &mut self.line.visit else { return };
        (visit.rtt, visit.delivered) = (rtt, Some(time));
        let counted = self.line.status.is_success() && self.line.bytes > 0;
        let metrics = self.shared.metrics.deliveries.as_ref().filter(|_| counted);
        if let (Some(metrics), Some(rtt)) = (metrics, rtt) {
            let (group, bytes) = (visit.group, self.line.bytes);
            metrics.add(&Delivery { group, bytes, rtt, time });
        }
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let (line, metrics) = (&mut self.line, &self.shared.metrics);
        let end = self.handed_over.unwrap_or_else(|| self.shared.clock.now());
        line.duration = end.since(self.started).into();
        let class = usize::from(line.status.as_u16() / 100).saturating_sub(1);
        metrics.responses.get(class).into_iter().for_each(|count| _ = count.fetch_add(1, Relaxed));
        if !line.complete {
            metrics.broken.fetch_add(1, Relaxed);
        }
        if let Some(log) = &self.shared.access_log {
            log.write(line.clone());
        }
    }
}

/// Returns the first 512 characters of a path, to keep lines readable. The bound is our choice.
fn truncate(path: &str) -> String {
    path.chars().take(512).collect::<String>()
        + if path.chars().nth(512).is_some() { "…" } else { "" }
}
