//! Requests of HTTP Archives.

use bentpipe_units::{Span, Time};

/// A request of an HTTP Archive with its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarRequest {
    /// Its start, since that of the first request.
    pub started: Time,
    /// Method, as in `GET`.
    pub method: String,
    /// URL, of which up to 2,048 bytes are kept.
    pub url: String,
    /// Version of HTTP, as the file writes it: `h3`, `HTTP/2` and others.
    pub version: String,
    /// Status of the response; `None` if there was none.
    pub status: Option<u16>,
    /// From its start to the end of the response.
    pub total: Span,
    /// What took the time.
    pub phases: HarPhases,
    /// Bytes of the response on the wire, with its header section; of the body alone if the file
    /// does not have the header's.
    pub transfer_bytes: Option<u64>,
    /// Bytes of the content, without compression.
    pub content_bytes: Option<u64>,
    /// What the file calls the connection, mostly the port of the client.
    pub connection: Option<String>,
    /// Address of the server.
    pub server: Option<String>,
    /// What the file says about its place in the page.
    pub hints: HarHints,
}

/// What an HTTP Archive says about the place of a request in the page. Most of it is in fields of
/// Chromium or WebPageTest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HarHints {
    /// Number of its entry in the file, from 1.
    pub entry: usize,
    /// Name of its page.
    pub page: Option<String>,
    /// URL of what has requested it.
    pub initiator: Option<String>,
    /// Priority in the browser, from `VeryHigh` to `VeryLow`.
    pub priority: Option<String>,
    /// Kind of resource, as in `stylesheet`.
    pub kind: Option<String>,
    /// Media type of its content, as in `text/css`.
    pub content_type: Option<String>,
    /// True if it came from the browser's cache.
    pub from_cache: bool,
    /// Whether nothing was shown before it was complete.
    pub render_blocking: Option<bool>,
}

/// The phases of a request (HAR 1.2, `timings`). `None` where the phase does not apply, as for the
/// name of a host that is known, or where the file does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HarPhases {
    /// Waiting for a connection, or in the browser's queue.
    pub blocked: Option<Span>,
    /// Resolving the name of the host.
    pub dns: Option<Span>,
    /// Making the connection, with the handshake of TLS.
    pub connect: Option<Span>,
    /// The handshake of TLS, which is a part of `connect`.
    pub ssl: Option<Span>,
    /// Sending the request.
    pub send: Option<Span>,
    /// From there to the first byte of the response.
    pub wait: Option<Span>,
    /// From there to the last byte.
    pub receive: Option<Span>,
}
