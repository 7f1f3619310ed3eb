//! Connections of qlog files: what stacks write, from draft 00 on.

mod connections;
mod data;
mod document;
mod event;
#[cfg(test)]
mod fact_tests;
mod frame;
mod head;
mod http;
mod measure;
mod parameters;
mod sequence;
#[cfg(test)]
mod tests;

use crate::error::CaptureError;
use crate::event::CapturedConnection;
use crate::json::without_preface;
use crate::logged::with_starts;
use crate::other_json;
use bentpipe_units::Time;
use head::FileHead;
use sequence::RECORD_SEPARATOR;

/// Reads the connections of a qlog file: each trace of a document or sequence is one, or several if
/// its events name several groups.
///
/// # Errors
/// It is not qlog, or has no events.
pub(crate) fn traces(bytes: &[u8]) -> Result<Vec<(Time, CapturedConnection)>, CaptureError> {
    let text = without_preface(bytes);
    let connections = if text.first() == Some(&RECORD_SEPARATOR) {
        let first = text.split(|&byte| byte == RECORD_SEPARATOR).find(|record| !record.is_empty());
        let (head, result) = document::head(first.unwrap_or_default());
        if let (Err(error), true) = (result, head.keys.is_empty()) {
            return Err(CaptureError::NotQlog(error.to_string()));
        }
        check(&head, "its first record")?;
        sequence::connections(text, true)
    } else {
        let list = text.strip_prefix(b"[");
        let (head, result) = document::head(list.unwrap_or(text));
        if list.is_some() {
            let what = other_json::describe(&head.keys, true);
            let what = what.unwrap_or("it is a list; a document is an object with `traces`");
            return Err(CaptureError::NotQlog(what.to_owned()));
        }
        if let (Err(error), true) = (&result, head.keys.is_empty()) {
            return Err(CaptureError::NotQlog(error.to_string()));
        }
        check(&head, "it")?;
        if head.is_document {
            document::connections(text, &head)
        } else {
            let connections = sequence::connections(text, false);
            if connections.is_empty() {
                let reason = "it has no `traces`, and no events after its first line";
                return Err(CaptureError::NotQlog(reason.to_owned()));
            }
            connections
        }
    };
    if connections.is_empty() {
        return Err(CaptureError::Empty("it has no packets of QUIC"));
    }
    Ok(with_starts(connections))
}

/// Says what a file with this head is, unless it can be qlog.
fn check(head: &FileHead, what: &str) -> Result<(), CaptureError> {
    let reason = if head.is_before_drafts() {
        "it has the form before draft 00 (`qlog_version` 0.1), which names no packets of both \
         directions"
            .to_owned()
    } else if head.is_document || head.is_event() {
        return Ok(());
    } else if let Some(other) = other_json::describe(&head.keys, false) {
        other.to_owned()
    } else if !head.is_qlog() {
        format!("{what} has no `qlog_version` or `file_schema`")
    } else {
        return Ok(());
    };
    Err(CaptureError::NotQlog(reason))
}
