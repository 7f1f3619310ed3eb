//! Buffer for a stream whose reader is busy.

use super::reassembler::Reassembler;
use crate::connection::Read;
use crate::flow_control::Waiting;

/// What was read of a stream while its reader was busy.
///
/// A reader that waits for something else, such as a slow disk or socket, does not read. The stack
/// closes the connection once about two thousand chunks wait behind a gap, and then a single loss
/// is enough for that. The connection therefore reads such a stream itself now and then, and passes
/// the bytes to the reader when it returns.
#[derive(Debug, Default)]
pub(crate) struct OverflowBuffer {
    /// Frames that arrived since the reader last read.
    pub unread: u32,
    pub held: Reassembler,
    /// Of what is held, what was reported to the connection as waiting.
    pub reported: Waiting,
    pub end: Option<Read>,
    /// Size of the stream, once its end has arrived.
    pub final_size: Option<u64>,
}
