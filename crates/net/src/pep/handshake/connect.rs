//! HTTP CONNECT (RFC 9110 §9.3.6) over HTTP/1.1.

use super::credentials::Credentials;
use crate::pep::refusal::Refusal;
use crate::pep::target::Target;

/// Largest number of header fields of a request.
const MAX_FIELDS: usize = 64;

/// A parsed request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The target.
    Request(Target),
    /// The status that the client is refused with, and the reason.
    Refused(u16, &'static str),
}

/// Reads a request's head from the start of `bytes`. Returns its length as well, or `None` if more
/// bytes are needed.
pub(super) fn read(bytes: &[u8], credentials: Option<&Credentials>) -> Option<(Message, usize)> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => Some((check(&request, credentials), used)),
        Ok(httparse::Status::Partial) => None,
        Err(httparse::Error::TooManyHeaders) => {
            Some((Message::Refused(431, "too many header fields"), 0))
        }
        Err(_) => Some((Message::Refused(400, "neither SOCKS nor HTTP"), 0)),
    }
}

fn check(request: &httparse::Request<'_, '_>, credentials: Option<&Credentials>) -> Message {
    if request.method != Some("CONNECT") {
        return Message::Refused(405, "the method is not CONNECT");
    }
    let fields = |name: &'static str| {
        let named =
            request.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| field.value)
    };
    // Required by RFC 9112 §3.2.
    if request.version == Some(1) && fields("host").count() != 1 {
        return Message::Refused(400, "not exactly one Host field");
    }
    // Content has no meaning here (RFC 9110 §9.3.6), and client and proxy may disagree on its end.
    if fields("transfer-encoding").next().is_some()
        || fields("content-length").any(|length| length != b"0")
    {
        return Message::Refused(400, "a CONNECT request with content");
    }
    if let Some(credentials) = credentials {
        let mut sent = fields("proxy-authorization");
        if !sent.next().is_some_and(|field| credentials.match_basic(field)) || sent.next().is_some()
        {
            return Message::Refused(407, "wrong name or password");
        }
    }
    match Target::from_authority(request.path.unwrap_or_default()) {
        Ok(target) => Message::Request(target),
        Err(_) => Message::Refused(400, "invalid destination"),
    }
}

/// Returns the reply to a granted request.
pub(super) fn granted() -> Vec<u8> {
    b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec()
}

/// Returns the reply to a refused request.
pub(super) fn refused(status: u16) -> Vec<u8> {
    let (reason, extra) = match status {
        400 => ("Bad Request", ""),
        403 => ("Forbidden", ""),
        405 => ("Method Not Allowed", "Allow: CONNECT\r\n"),
        407 => {
            ("Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"bentpipe\"\r\n")
        }
        431 => ("Request Header Fields Too Large", ""),
        502 => ("Bad Gateway", ""),
        503 => ("Service Unavailable", ""),
        _ => ("Gateway Timeout", ""),
    };
    format!("HTTP/1.1 {status} {reason}\r\n{extra}Content-Length: 0\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

/// Returns the status for a refusal.
pub(super) fn status(refusal: Refusal) -> u16 {
    match refusal {
        Refusal::NotAllowed => 403,
        Refusal::Busy => 503,
        Refusal::TimedOut => 504,
        Refusal::UnknownName | Refusal::Unreachable | Refusal::Refused | Refusal::Failed => 502,
    }
}
