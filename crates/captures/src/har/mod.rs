//! HTTP Archives (HAR 1.2), as browsers and proxies write them: the requests of a page with the
//! times of their phases, without packets.

mod initiator;
mod page;
mod raw;
mod request;
#[cfg(test)]
mod tests;

use crate::error::CaptureError;
use crate::json::{Fields, without_preface};
use bentpipe_units::{Span, Time};
use raw::{Archive, MAX_REQUESTS};
use serde::de::DeserializeSeed;

pub use page::{HarKind, HarObject, HarPage, HarPageError};
pub use request::{HarHints, HarPhases, HarRequest};

/// An HTTP Archive.
#[derive(Debug, Clone, PartialEq)]
pub struct HarLog {
    /// Program that wrote it, with its version; may be empty.
    pub creator: String,
    /// The requests in the order of their starts, the first of which is at zero.
    pub requests: Vec<HarRequest>,
    /// What the file does not show, each a sentence.
    pub notes: Vec<String>,
    /// Number of the first entry, from 1, that could not be read; `None` if all could.
    pub unreadable: Option<usize>,
    /// Name of the first page.
    pub page: Option<String>,
    /// Its `load` event.
    pub on_load: Option<Time>,
}

impl HarLog {
    /// Returns true for a JSON document whose first field is `log`, an object, as in HTTP Archives.
    pub fn is_har(bytes: &[u8]) -> bool {
        let mut text = without_preface(bytes);
        for part in [&b"{"[..], b"\"log\"", b":", b"{"] {
            match text.strip_prefix(part) {
                Some(rest) => text = rest.trim_ascii_start(),
                None => return false,
            }
        }
        true
    }

    /// Reads an HTTP Archive. What was read before the text ends counts.
    ///
    /// # Errors
    /// It is not JSON, or has no requests with a time.
    pub fn parse(bytes: &[u8]) -> Result<Self, CaptureError> {
        let mut archive = Archive::default();
        let mut json = serde_json::Deserializer::from_slice(without_preface(bytes));
        let result = Fields(&mut archive).deserialize(&mut json);
        let log = archive.log;
        let mut notes = Vec::new();
        match &result {
            Err(error) if log.entries.is_empty() => {
                return Err(CaptureError::NotHar(error.to_string()));
            }
            Err(_) => {
                notes.push("the file is cut off: requests after its end are missing".to_owned());
            }
            Ok(()) => {}
        }
        let count = log.entries.len();
        let (mut requests, mut unreadable) = (Vec::with_capacity(count), None);
        for (index, entry) in log.entries.iter().enumerate() {
            match entry.request() {
                Some((at, mut request)) => {
                    request.hints.entry = index + 1;
                    requests.push((at, request));
                }
                None => _ = unreadable.get_or_insert(index + 1),
            }
        }
        if result.is_err() {
            // The last one may lack what followed.
            unreadable = unreadable.or(Some(count));
        }
        if requests.is_empty() {
            return Err(CaptureError::NotHar("it has no requests with a time".to_owned()));
        }
        if requests.len() < count {
            notes.push(format!("{} requests could not be read", count - requests.len()));
        }
        if count >= MAX_REQUESTS {
            notes.push(format!("the first {MAX_REQUESTS} requests of the file were read"));
        }
        requests.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = requests.first().map_or(0.0, |(at, _)| *at);
        // Seconds since 1970 are exact to a quarter of a microsecond.
        let since = |at: f64| {
            let micros = (at - first).clamp(0.0, raw::MAX_SECONDS) * 1e6;
            Time::ZERO + Span::from_micros(micros.round() as u64)
        };
        let requests =
            requests.into_iter().map(|(at, request)| HarRequest { started: since(at), ..request });
        let (page, on_load) = log.page().unzip();
        Ok(Self {
            creator: log.creator(),
            requests: requests.collect(),
            notes,
            unreadable,
            page,
            on_load: on_load.flatten().map(since),
        })
    }
}
