//! Bounds on what clients may take from the server.

use crate::admission::client::CLIENT_SHARE;
use crate::admission::descriptors::{RESERVED_DESCRIPTORS, TooFewDescriptors, check_descriptors};
use bentpipe_units::{Bytes, Span};

/// Bounds on what clients may take from the server. The defaults are our choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Concurrent connections over QUIC and TCP together. Further ones are refused.
    pub connections: usize,
    /// Concurrent connections of one client: an IPv4 address, or an IPv6 /56, the usual prefix of
    /// one site.
    pub per_client: usize,
    /// Concurrent handshakes. From this number on, clients first have to validate their addresses
    /// (Retry, RFC 9000 §8.1.2). From four times as many on, all are refused.
    pub handshakes: usize,
    /// Concurrent requests of one connection.
    pub requests: u32,
    /// Files that are sent concurrently, each of which may take a descriptor. Further requests wait
    /// for up to 2 s and then get 503.
    pub open_files: usize,
    /// The same for one client.
    pub open_files_per_client: usize,
    /// Size of a request's header fields, as HTTP/3 counts it (RFC 9114 §4.2.2).
    pub header: Bytes,
    /// Memory for unacknowledged data of all QUIC connections.
    ///
    /// One client gets an eighth of it, or 64 MB. Each response gets an equal share of what the
    /// others leave free: at least 128 kB, and at most 4 MB or twice the congestion window. The
    /// piece read from its file is extra: an eighth of its share, or 32 kB.
    pub send_memory: Bytes,
    /// Time limit of a handshake.
    pub handshake_time: Span,
    /// Time limit of a request's header, from its first byte.
    pub header_time: Span,
    /// Time after which a response is aborted if the client takes nothing of it: nothing of 256 kB
    /// over HTTP/3, or of 32 kB over HTTP/2 and HTTP/1.1.
    pub stall_time: Span,
    /// Time after which a connection without requests is closed. Over HTTP/1.1 it is
    /// [`Limits::header_time`] after the last response.
    pub idle_time: Span,
    /// Longest pause of the bytes of a client whose connection over TCP closes. What it still sends
    /// is read and discarded until it closes its side too.
    pub linger_pause: Span,
    /// Longest time that a connection over TCP takes to close.
    pub linger_time: Span,
    /// Time after which a WebSocket over which nothing was passed is closed.
    pub websocket_idle: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            per_client: 256,
            handshakes: 256,
            requests: 100,
            open_files: 4096,
            open_files_per_client: 512,
            header: Bytes::new(16 * 1024),
            send_memory: Bytes::from_mb(512),
            handshake_time: Span::from_secs(10),
            header_time: Span::from_secs(10),
            stall_time: Span::from_secs(60),
            idle_time: Span::from_secs(60),
            // As in nginx (`lingering_timeout` and `lingering_time`).
            linger_pause: Span::from_secs(5),
            linger_time: Span::from_secs(30),
            // Twice the interval of most pings.
            websocket_idle: Span::from_secs(120),
        }
    }
}

impl Limits {
    /// Reduces the limits to a process that may have `descriptors` open, of which `others` are
    /// neither connections of clients nor files that are sent.
    ///
    /// `connections` is the wanted number. Without it, connections and files share the descriptors,
    /// up to these limits.
    ///
    /// # Errors
    /// The wanted connections do not fit, or there are too few descriptors for any.
    pub fn fit(
        mut self,
        descriptors: u64,
        others: u64,
        connections: Option<usize>,
    ) -> Result<Self, TooFewDescriptors> {
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let min_files = self.open_files.min(MIN_FILES) as u64;
        let free = descriptors.saturating_sub(RESERVED_DESCRIPTORS.saturating_add(others));
        self.connections = connections.unwrap_or_else(|| {
            let files = free.div_ceil(2).min(self.open_files as u64);
            self.connections.min(size(free - files)).max(1)
        });
        check_descriptors(descriptors, self.connections, 1, others.saturating_add(min_files))?;
        self.open_files = self.open_files.min(size(free - self.connections as u64));
        // Enough for the requests of one connection, if that leaves half to the others.
        let share = (self.open_files / CLIENT_SHARE).max(self.requests as usize);
        self.open_files_per_client = self.open_files_per_client.min(share).min(self.open_files / 2);
        Ok(self)
    }
}

/// Open files that must fit beside the connections. Our choice: the concurrent requests of one
/// browser.
const MIN_FILES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_fit_the_limit_on_descriptors() {
        let fit = |descriptors, others, connections| {
            let limits = Limits::default().fit(descriptors, others, connections)?;
            Ok((limits.connections, limits.open_files, limits.open_files_per_client))
        };
        assert_eq!(fit(1_048_576, 0, None), Ok((4096, 4096, 512)));
        assert_eq!(fit(1024, 0, None), Ok((448, 448, 100)));
        assert_eq!(fit(1024, 100, Some(700)), Ok((700, 96, 48)));
        let error: TooFewDescriptors = fit(1024, 0, Some(4096)).unwrap_err();
        assert_eq!((error.needed, error.fitting), (4096 + 128 + 64, 1024 - 128 - 64));
        assert!(fit(100, 0, None).is_err());
        let proxy = Limits { open_files: 0, ..Limits::default() };
        assert_eq!(proxy.fit(1024, 512, None).unwrap().connections, 1024 - 128 - 512);
    }
}
