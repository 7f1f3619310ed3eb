//! Bounds on what clients may take from the server.

use crate::admission::client::CLIENT_SHARE;
use crate::admission::descriptors::{RESERVED_DESCRIPTORS, TooFewDescriptors, check_descriptors};
use crate::admission::request_rate::RequestRate;
use bentpipe_units::{Bytes, Span};
use std::num::NonZeroU32;

/// Bounds on what clients may take from the server. The defaults are our choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Concurrent connections over QUIC and TCP together. Further ones are refused.
    pub connections: usize,
    /// Concurrent connections of one client: an IPv4 address, or an IPv6 /56, the usual prefix of
    /// one site. All clients of an IPv6 /48 have twice as many together. If this is at most a
    /// quarter of all, a client that has more than a quarter of it gets no more than a third of the
    /// connections that are left.
    pub per_client: usize,
    /// Concurrent handshakes. From this number on, clients first have to validate their addresses
    /// (Retry, RFC 9000 §8.1.2). From four times as many on, all are refused. One client may have
    /// an eighth of these at a time; its further ones wait.
    pub handshakes: usize,
    /// Concurrent requests of one connection.
    pub requests: u32,
    /// Requests of one client in a time; further ones get 429 (RFC 6585 §4). All clients of an IPv6
    /// /48 have twice as many. `None`: any number.
    pub request_rate: Option<RequestRate>,
    /// Requests that a client may make at once before [`Limits::request_rate`] holds.
    pub request_burst: NonZeroU32,
    /// Files that are sent concurrently, each of which may take a descriptor and 96 kB. Files below
    /// 30 kB take no descriptor and count by their size. Further requests wait for up to 30 s and
    /// then get 503; meanwhile, responses that are stalled for 5 s are aborted to make room.
    pub files: usize,
    /// The same for one client. All clients of an IPv6 /48 have twice as many together. A client
    /// never has more than are left for the others.
    pub files_per_client: usize,
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
            connections: 8192,
            per_client: 1024,
            handshakes: 256,
            requests: 100,
            request_rate: None,
            request_burst: REQUEST_BURST,
            files: 4096,
            files_per_client: 512,
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

/// A page with all that belongs to it, several times. Our choice.
const REQUEST_BURST: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// What an operator wants instead of the defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WantedLimits {
    /// [`Limits::connections`].
    pub connections: Option<usize>,
    /// [`Limits::files`].
    pub files: Option<usize>,
    /// [`Limits::files_per_client`].
    pub files_per_client: Option<usize>,
}

impl Limits {
    /// Returns the connections that a client may have although few are left. An operator who lets
    /// one client have more than a quarter of all means it.
    pub(super) const fn guaranteed(&self) -> usize {
        if self.per_client > self.connections / 4 { self.per_client } else { self.per_client / 4 }
    }

    /// Adapts the limits to a process that may have `descriptors` open, of which `others` are
    /// neither connections of clients nor files that are sent. What is not wanted otherwise shares
    /// the descriptors, up to these limits.
    ///
    /// # Errors
    /// What is wanted does not fit, or there are too few descriptors for any connection.
    pub fn fit(
        mut self,
        descriptors: u64,
        others: u64,
        wanted: WantedLimits,
    ) -> Result<Self, TooFewDescriptors> {
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        self.files = wanted.files.unwrap_or(self.files);
        let min_files = wanted.files.unwrap_or(self.files.min(MIN_FILES)) as u64;
        let free = descriptors.saturating_sub(RESERVED_DESCRIPTORS.saturating_add(others));
        self.connections = wanted.connections.unwrap_or_else(|| {
            let files = free.div_ceil(2).min(self.files as u64).max(min_files.min(free));
            self.connections.min(size(free - files)).max(1)
        });
        check_descriptors(descriptors, self.connections, 1, others.saturating_add(min_files))?;
        self.files = self.files.min(size(free - self.connections as u64));
        // Enough for the requests of one connection, if that leaves half to the others.
        let share = (self.files / CLIENT_SHARE).max(self.requests as usize).min(self.files / 2);
        let default = if wanted.files.is_some() { share } else { self.files_per_client.min(share) };
        self.files_per_client = wanted.files_per_client.unwrap_or(default).min(self.files);
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
            let wanted = WantedLimits { connections, ..WantedLimits::default() };
            let limits = Limits::default().fit(descriptors, others, wanted)?;
            Ok((limits.connections, limits.files, limits.files_per_client))
        };
        assert_eq!(fit(1_048_576, 0, None), Ok((8192, 4096, 512)));
        assert_eq!(fit(65_536, 0, None), Ok((8192, 4096, 512)), "the unit for systemd");
        assert_eq!(fit(1024, 0, None), Ok((448, 448, 100)));
        assert_eq!(fit(1024, 100, Some(700)), Ok((700, 96, 48)));
        let error: TooFewDescriptors = fit(1024, 0, Some(4096)).unwrap_err();
        assert_eq!((error.needed, error.fitting), (4096 + 128 + 64, 1024 - 128 - 64));
        assert!(fit(100, 0, None).is_err());
        let proxy = Limits { files: 0, ..Limits::default() };
        let fitting = proxy.fit(1024, 512, WantedLimits::default()).unwrap();
        assert_eq!(fitting.connections, 1024 - 128 - 512);
    }

    #[test]
    fn files_are_as_wanted_or_an_error() {
        let fit = |files, files_per_client| {
            let wanted = WantedLimits { files, files_per_client, ..WantedLimits::default() };
            let limits = Limits::default().fit(4096, 0, wanted)?;
            Ok::<_, TooFewDescriptors>((limits.files, limits.files_per_client))
        };
        assert_eq!(fit(Some(2000), None), Ok((2000, 250)));
        assert_eq!(fit(Some(3000), Some(1000)), Ok((3000, 1000)));
        assert_eq!(fit(None, Some(1000)), Ok((1984, 1000)));
        assert_eq!(fit(Some(100), Some(1000)), Ok((100, 100)));
        assert!(fit(Some(4000), None).is_err());
    }
}
