//! Windows that keep a program from using its path.

use bentpipe_units::Bytes;
use std::fmt;

/// A window that is smaller than what the path carries: the connection is limited by it and not by
/// the path, whatever the congestion control does, and too little is observed to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NarrowWindow {
    /// Which window.
    pub kind: WindowKind,
    /// Its size.
    pub size: Bytes,
}

/// A window that limits what is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowKind {
    /// The client's flow-control window of a stream.
    Stream,
    /// The client's flow-control window of the connection.
    Connection,
    /// The server's own send window: what its stack buffers until it is acknowledged.
    Send,
}

impl fmt::Display for NarrowWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whose, setting) = match self.kind {
            WindowKind::Stream => ("the client's stream window", "stream_receive_window"),
            WindowKind::Connection => ("the client's connection window", "receive_window"),
            WindowKind::Send => ("the server's send window", "send_window"),
        };
        write!(
            f,
            "{whose} of {} limits the connection, not the path: raise {setting} in its \
             TransportConfig (64 MB carry 850 Mbps over 600 ms)",
            self.size
        )
    }
}

/// Finds the window that limited a connection, if one did.
///
/// `windows`: those that are known. `max_in_flight`: the most bytes that were in flight at a time,
/// of `sent` in all. `remembered`: what the path carried before.
pub(crate) fn narrow_window(
    windows: impl IntoIterator<Item = (WindowKind, Bytes)>,
    max_in_flight: Bytes,
    sent: Bytes,
    remembered: Option<Bytes>,
) -> Option<NarrowWindow> {
    let (kind, size) = windows.into_iter().min_by_key(|&(_, size)| size)?;
    // Packets have headers, and bytes that are acknowledged may wait for the application. More in
    // flight comes from several streams, or from a window that has grown.
    let was_full = max_in_flight >= size.mul_f64(0.9)
        && max_in_flight <= size.mul_f64(1.1)
        && sent >= size.mul_f64(2.0);
    let is_less_than_remembered = remembered.is_some_and(|remembered| remembered > size);
    (was_full || is_less_than_remembered).then_some(NarrowWindow { kind, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULTS: [(WindowKind, Bytes); 3] = [
        (WindowKind::Connection, Bytes::from_mb(1000)),
        (WindowKind::Stream, Bytes::new(1_250_000)),
        (WindowKind::Send, Bytes::from_mb(10)),
    ];

    fn found(in_flight: u64, sent: u64, remembered: Option<u64>) -> Option<WindowKind> {
        let remembered = remembered.map(Bytes::new);
        narrow_window(DEFAULTS, Bytes::new(in_flight), Bytes::new(sent), remembered)
            .map(|narrow| narrow.kind)
    }

    #[test]
    fn a_window_that_was_full_or_is_less_than_remembered_is_narrow() {
        assert_eq!(found(1_270_000, 5_000_000, None), Some(WindowKind::Stream));
        assert_eq!(found(100_000, 200_000, Some(3_750_000)), Some(WindowKind::Stream));
        assert_eq!(found(800_000, 5_000_000, Some(1_000_000)), None, "the path limits");
        assert_eq!(found(1_250_000, 1_250_000, None), None, "all that there is to send");
        assert_eq!(found(3_750_000, 9_000_000, None), None, "several streams");
    }

    #[test]
    fn the_note_names_the_setting() {
        let note = NarrowWindow { kind: WindowKind::Stream, size: Bytes::new(1_250_000) };
        let text = note.to_string();
        assert!(text.contains("1.25 MB") && text.contains("stream_receive_window"), "{text}");
    }
}
