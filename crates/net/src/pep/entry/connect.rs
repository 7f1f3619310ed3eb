//! HTTP CONNECT (RFC 9110 §9.3.6) over HTTP/1.1, as a proxy reads it.

use super::super::refusal::Refusal;
use super::super::target::Target;
use super::credentials::Credentials;

/// Header fields of a request, at most.
const FIELDS: usize = 64;

/// What has been read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Where the client wants to go.
    Asked(Target),
    /// The client is refused with this status, and why.
    Refused(u16, &'static str),
}

/// Reads a request's head from the beginning of `bytes` and says how many bytes it took; nothing
/// where some are still to come.
pub(super) fn read(bytes: &[u8], credentials: Option<&Credentials>) -> Option<(Read, usize)> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(used)) => Some((judge(&request, credentials), used)),
        Ok(httparse::Status::Partial) => None,
        Err(httparse::Error::TooManyHeaders) => {
            Some((Read::Refused(431, "too many header fields"), 0))
        }
        Err(_) => Some((Read::Refused(400, "neither SOCKS nor HTTP"), 0)),
    }
}

fn judge(request: &httparse::Request<'_, '_>, credentials: Option<&Credentials>) -> Read {
    if request.method != Some("CONNECT") {
        return Read::Refused(405, "a method other than CONNECT");
    }
    let fields = |name: &'static str| {
        let named =
            request.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| field.value)
    };
    // RFC 9112 §3.2.
    if request.version == Some(1) && fields("host").count() != 1 {
        return Read::Refused(400, "HTTP/1.1 without one Host");
    }
    // Content means nothing here (RFC 9110 §9.3.6): whoever announces some and whoever forwards it
    // may not agree where it ends.
    if fields("transfer-encoding").next().is_some()
        || fields("content-length").any(|length| length != b"0")
    {
        return Read::Refused(400, "a CONNECT with content");
    }
    if let Some(credentials) = credentials {
        let mut given = fields("proxy-authorization");
        if !given.next().is_some_and(|given| credentials.are_basic(given)) || given.next().is_some()
        {
            return Read::Refused(407, "wrong name or password");
        }
    }
    match Target::from_authority(request.path.unwrap_or_default()) {
        Ok(target) => Read::Asked(target),
        Err(_) => Read::Refused(400, "an impossible destination"),
    }
}

/// The answer to a request that is granted: after it, everything belongs to the connection.
pub(super) fn granted() -> Vec<u8> {
    b"HTTP/1.1 200 Connection established\r\n\r\n".to_vec()
}

/// The answer to one that is not.
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

/// What the answer calls a refusal.
pub(super) fn status(refusal: Refusal) -> u16 {
    match refusal {
        Refusal::NotAllowed => 403,
        Refusal::Busy => 503,
        Refusal::TimedOut => 504,
        Refusal::Unknown | Refusal::Unreachable | Refusal::Refused | Refusal::Failed => 502,
    }
}
