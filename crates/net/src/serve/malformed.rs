//! Requests that are malformed although the libraries accept them.

use crate::proxy::host;
use http::header::{CONNECTION, HOST, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use http::{Method, Request, Version};

/// Fields for one connection, which HTTP/3 does not have (RFC 9114 §4.2).
const CONNECTION_FIELDS: [HeaderName; 5] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Returns whether an HTTP/3 request is malformed (RFC 9114 §4.1.2) in a way that the library
/// accepts: it has a field for one connection, a `TE` other than `trailers`, a `:protocol` without
/// `CONNECT` (RFC 9220 §3), or it is a `CONNECT` with more than an authority (§4.4).
pub(super) fn is_malformed<T>(request: &Request<T>) -> bool {
    let headers = request.headers();
    let extended = request.extensions().get::<h3::ext::Protocol>().is_some();
    let connect = request.method() == Method::CONNECT;
    if connect && request.uri().scheme().is_some() && !extended || extended && !connect {
        return true;
    }
    CONNECTION_FIELDS.iter().any(|name| headers.contains_key(name))
        || headers.get_all(TE).iter().any(|te| !te.as_bytes().eq_ignore_ascii_case(b"trailers"))
}

/// Returns whether an HTTP/1.1 request has no host, several, or an invalid one (RFC 9112 §3.2).
pub(super) fn lacks_host<T>(request: &Request<T>) -> bool {
    request.version() == Version::HTTP_11
        && (!request.headers().contains_key(HOST) || host(request).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version, uri: &str, fields: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().version(version).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn an_http1_request_has_one_host() {
        let lacks = |version, uri, fields: &[_]| lacks_host(&request(version, uri, fields));
        assert!(!lacks(Version::HTTP_11, "/", &[("host", "a:1")]));
        assert!(!lacks(Version::HTTP_10, "/", &[]));
        for wrong in [&[][..], &[("host", "a"), ("host", "a")], &[("host", "a b")], &[("host", "")]]
        {
            assert!(lacks(Version::HTTP_11, "/", wrong), "{wrong:?}");
        }
        assert!(lacks(Version::HTTP_11, "https://a/", &[]), "the target does not replace it");
    }

    #[test]
    fn http3_has_no_fields_for_one_connection() {
        let malformed =
            |fields: &[_]| is_malformed(&request(Version::HTTP_3, "https://a/", fields));
        assert!(!malformed(&[("te", "trailers"), ("accept", "a")]));
        for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]
        {
            assert!(malformed(&[(name, "a")]), "{name}");
        }
        assert!(malformed(&[("te", "gzip")]) && malformed(&[("te", "trailers"), ("te", "a")]));
    }
}
