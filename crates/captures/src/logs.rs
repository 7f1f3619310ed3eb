//! The connections of files that programs write about themselves: qlog and NetLogs.

use crate::error::CaptureError;
use crate::event::CapturedConnection;
use crate::{netlog, qlog};
use bentpipe_units::Time;

/// Reads the connections of a qlog file or of a NetLog of Chromium, each with its start since that
/// of the first; zero where their traces do not share a clock.
///
/// # Errors
/// It is neither, or has no connections.
pub(crate) fn connections(bytes: &[u8]) -> Result<Vec<(Time, CapturedConnection)>, CaptureError> {
    if netlog::is_netlog(bytes) { netlog::connections(bytes) } else { qlog::traces(bytes) }
}
