//! Messages between the applications.

/// A message from one application to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    /// Header of the request for an object.
    Request(usize),
    /// Header of its response.
    Response(usize),
    /// This many bytes of its content.
    Content(usize, u64),
    /// Part of its content, without a frame or record around it.
    Bare(usize),
    /// The connection preface of HTTP/2 (RFC 9113 §3.4).
    Begin,
    /// SETTINGS acknowledgement.
    SettingsAck,
    /// WINDOW_UPDATE of a stream.
    StreamWindow(usize, u64),
    /// WINDOW_UPDATE of the connection.
    ConnectionWindow(u64),
}
