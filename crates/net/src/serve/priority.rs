//! The `priority` field of requests and responses (RFC 9218 §5).

use bentpipe_quic::{MAX_PRIORITY_FIELD, PriorityField};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderName};

/// The field's name.
const PRIORITY: HeaderName = HeaderName::from_static("priority");

/// Returns what the `priority` field says. `None` if there is none, or none that can be read.
pub(super) fn priority_field(headers: &HeaderMap) -> Option<PriorityField> {
    let mut lines = headers.get_all(PRIORITY).iter();
    let first = lines.next()?.as_bytes();
    let Some(second) = lines.next() else { return PriorityField::parse(first) };
    // Several lines are one list (RFC 9110 §5.3).
    let mut field = first.to_vec();
    for line in std::iter::once(second).chain(lines) {
        if field.len() > MAX_PRIORITY_FIELD {
            return None;
        }
        field.extend_from_slice(b", ");
        field.extend_from_slice(line.as_bytes());
    }
    PriorityField::parse(&field)
}

/// Returns what a response says of its priority. An event stream, which may never end, is
/// incremental unless it says otherwise: other responses would wait for its end.
pub(super) fn response_priority(headers: &HeaderMap) -> PriorityField {
    let field = priority_field(headers).unwrap_or_default();
    let events = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.as_bytes().get(..17))
        .is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"));
    let incremental = field.incremental.or(events.then_some(true));
    PriorityField { incremental, ..field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(line).collect()
    }

    fn field(urgency: Option<u8>, incremental: Option<bool>) -> PriorityField {
        PriorityField { urgency, incremental }
    }

    #[test]
    fn several_lines_are_one_field() {
        assert_eq!(priority_field(&headers(&[("accept", "u=1")])), None);
        let one = headers(&[("priority", "u=1")]);
        assert_eq!(priority_field(&one), Some(field(Some(1), None)));
        let two = headers(&[("priority", "u=1, i"), ("priority", "u=5")]);
        assert_eq!(priority_field(&two), Some(field(Some(5), Some(true))));
        assert_eq!(priority_field(&headers(&[("priority", "U=1")])), None);
        let many = headers(&[("priority", "u=1"); 1000]);
        assert_eq!(priority_field(&many), None);
    }

    #[test]
    fn an_event_stream_is_incremental() {
        let events = ("content-type", "Text/Event-Stream; charset=utf-8");
        assert_eq!(response_priority(&headers(&[events])), PriorityField::INCREMENTAL);
        let says = headers(&[events, ("priority", "u=1, i=?0")]);
        assert_eq!(response_priority(&says), field(Some(1), Some(false)));
        let other = headers(&[("content-type", "text/html")]);
        assert_eq!(response_priority(&other), PriorityField::default());
    }
}
