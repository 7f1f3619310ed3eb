//! The connections of files that programs write about themselves: qlog and NetLogs.

use crate::error::CaptureError;
use crate::event::CapturedConnection;
use crate::{netlog, qlog};

/// Reads the connections of a qlog file or of a NetLog of Chromium.
///
/// # Errors
/// It is neither, or has no connections.
pub(crate) fn connections(bytes: &[u8]) -> Result<Vec<CapturedConnection>, CaptureError> {
    if netlog::is_netlog(bytes) { netlog::connections(bytes) } else { qlog::traces(bytes) }
}
