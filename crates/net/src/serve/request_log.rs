//! A request in the access log and in the metrics.

use super::access_log::AccessLine;
use super::shared::Shared;
use bentpipe_units::Time;
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
        };
        Self { shared: shared.clone(), line, started: shared.clock.now() }
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

    /// Ends the request: all content was handed to the transport.
    pub fn complete(mut self) {
        self.line.complete = true;
    }
}

impl Drop for RequestLog {
    fn drop(&mut self) {
        let (line, metrics) = (&mut self.line, &self.shared.metrics);
        line.duration = self.shared.clock.now().since(self.started).into();
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
