//! Header fields of forwarded messages: fields for one connection are removed, and the proxy's own
//! are added.

use crate::path_report::accepts_trailers;
use http::header::{
    ALT_SVC, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH,
    CONTENT_RANGE, CONTENT_TYPE, COOKIE, DATE, EXPECT, FORWARDED, HOST, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, MAX_FORWARDS,
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, RANGE, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE, VIA,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Version};
use std::net::IpAddr;
use std::time::SystemTime;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const EARLY_DATA: HeaderName = HeaderName::from_static("early-data");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Type of the content of gRPC, which may be followed by `+FORMAT`.
const GRPC: &[u8] = b"application/grpc";

/// Fields in which other proxies and content delivery networks name the client.
const CLIENT_ADDRESS_FIELDS: [&str; 11] = [
    "cf-connecting-ipv6",
    "cf-pseudo-ipv4",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-envoy-external-address",
    "x-original-forwarded-for",
    "x-originating-ip",
    "x-real-ip",
    "x-remote-addr",
    "x-remote-ip",
    "x-true-ip",
];

/// Fields for one connection only (RFC 9110 §7.6.1), `Trailer` because not all trailers are passed
/// on, and fields between a client and a proxy that it selected (§11.7).
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    KEEP_ALIVE,
    PROXY_CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// What the header fields of a request do not say.
#[derive(Debug, Clone)]
pub(super) struct Forwarding {
    pub client: IpAddr,
    pub version: Version,
    /// Host that the client requested.
    pub host: Authority,
    /// Host that the upstream is sent instead.
    pub upstream_host: Option<HeaderValue>,
    /// Whether the request is early data of an incomplete handshake.
    pub early: bool,
    /// Whether the upstream is the site's own server, see [`super::Upstream::beside`].
    pub beside: bool,
}

/// Returns the host of a request: the target's authority, which has precedence (RFC 9112 §3.2.2),
/// or the value of a single Host field.
pub(crate) fn host<T>(request: &Request<T>) -> Option<Authority> {
    let mut fields = request.headers().get_all(HOST).iter();
    let (first, second) = (fields.next(), fields.next());
    if second.is_some() {
        return None;
    }
    let host = match request.uri().authority() {
        Some(authority) => authority.clone(),
        None => Authority::try_from(first?.as_bytes()).ok()?,
    };
    // User information is not part of a host (RFC 9110 §4.2.4).
    Some(host).filter(|host| !host.as_str().contains('@') && !host.host().is_empty())
}

/// Returns whether the method gives content a meaning. A length of 0 is sent then (RFC 9110 §8.6),
/// which the library leaves out: servers answer 411 without one.
pub(super) fn anticipates_content<T>(request: &Request<T>) -> bool {
    matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH)
}

/// Returns the announced length of a request's content, if there is one.
///
/// # Errors
/// The length is invalid or ambiguous.
pub(super) fn length(headers: &HeaderMap) -> Result<Option<u64>, ()> {
    let mut fields = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = fields.next() else { return Ok(None) };
    // The upstream could read several lengths, or one with a sign, differently (RFC 9110 §8.6).
    let text = first.to_str().map_err(|_| ())?;
    if fields.next().is_some() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(());
    }
    text.parse().map(Some).map_err(|_| ())
}

/// Returns whether a request is one of gRPC, which needs HTTP/2 and whose content goes both ways at
/// once (gRPC over HTTP2, "Requests"). gRPC-Web has neither need.
pub(crate) fn is_grpc<T>(request: &Request<T>) -> bool {
    let value = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let rest = value
        .split_at_checked(GRPC.len())
        .filter(|(start, _)| start.eq_ignore_ascii_case(GRPC))
        .map(|(_, rest)| rest.first());
    *request.method() == Method::POST && matches!(rest, Some(None | Some(b'+' | b';')))
}

/// Returns the Max-Forwards of an OPTIONS request (RFC 9110 §7.6.2).
pub(super) fn max_forwards<T>(request: &Request<T>) -> Option<u64> {
    let field =
        request.headers().get(MAX_FORWARDS).filter(|_| *request.method() == Method::OPTIONS)?;
    field.to_str().ok()?.parse().ok()
}

/// Returns the fields for the upstream. The content itself determines Content-Length.
pub(super) fn request<T>(request: &Request<T>, forwarding: &Forwarding) -> HeaderMap {
    let mut headers = request.headers().clone();
    strip(&mut headers);
    headers.remove(CONTENT_LENGTH);
    // Handled here: to the client, the proxy is the origin server (RFC 9110 §10.1.1).
    headers.remove(EXPECT);
    let received: Vec<HeaderName> =
        headers.keys().filter(|name| is_misleading(name.as_str())).cloned().collect();
    for name in received {
        headers.remove(name);
    }
    // Numbers are digits, and addresses and authorities hold neither quotes nor control characters.
    let value = |text: String| HeaderValue::try_from(text).ok();
    // The client's values, of Host too, must not remain beside ours.
    let set = |headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>| {
        value.into_iter().for_each(|value| _ = headers.insert(name.clone(), value));
    };
    if let Some(left) = max_forwards(request) {
        set(&mut headers, MAX_FORWARDS, value(left.saturating_sub(1).to_string()));
    }
    // HTTP/2 and HTTP/3 may split Cookie; HTTP/1.1 may not (RFC 9113 §8.2.3, RFC 9114 §4.2.1).
    if headers.get_all(COOKIE).iter().nth(1).is_some() {
        let cookies: Vec<&[u8]> =
            headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(joined) = HeaderValue::from_bytes(&cookies.join(&b"; "[..])) {
            headers.insert(COOKIE, joined);
        }
    }
    let host = forwarding.host.as_str();
    let node = match forwarding.client {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("\"[{address}]\""),
    };
    set(&mut headers, FORWARDED, value(format!("for={node};host=\"{host}\";proto=https")));
    set(&mut headers, FORWARDED_FOR, value(forwarding.client.to_string()));
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
    let requested = value(host.to_owned());
    set(&mut headers, FORWARDED_HOST, requested.clone());
    set(&mut headers, HOST, forwarding.upstream_host.clone().or(requested));
    if forwarding.early {
        // RFC 8470 §5.1. A value from the client's own proxies stays.
        headers.insert(EARLY_DATA, HeaderValue::from_static("1"));
    }
    if forwarding.beside && accepts_trailers(request.headers()) {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    if !forwarding.beside {
        headers.append(VIA, via(forwarding.version));
    }
    headers
}

/// Changes the upstream's fields to those for the client. `known`: the length of the content is
/// known.
pub(super) fn response(
    headers: &mut HeaderMap,
    (status, version): (StatusCode, Version),
    known: bool,
    now: SystemTime,
) {
    strip(headers);
    // No such field may go with 1xx and 204 (RFC 9110 §8.6): clients of HTTP/2 take it for a
    // length that the content does not have.
    if !known || status.is_informational() || status == StatusCode::NO_CONTENT {
        headers.remove(CONTENT_LENGTH);
    }
    // It refers to ports of the upstream.
    headers.remove(ALT_SVC);
    headers.append(VIA, via(version));
    if !headers.contains_key(DATE) {
        // RFC 9110 §6.6.1.
        let date = HeaderValue::try_from(httpdate::fmt_http_date(now));
        headers.extend(date.ok().map(|date| (DATE, date)));
    }
}

/// Removes what trailers may not have (RFC 9110 §6.5.1).
pub(super) fn trailers(headers: &mut HeaderMap) {
    strip(headers);
    for name in [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_TYPE, CONTENT_RANGE, HOST, SET_COOKIE] {
        headers.remove(name);
    }
}

/// Returns the trailers of a request without those that say what only its head may say: how the
/// content is framed, who asks, what for, and for whom (RFC 9110 §6.5.1). `None` if none are left.
pub(super) fn request_trailers(mut headers: HeaderMap) -> Option<HeaderMap> {
    trailers(&mut headers);
    let of_the_head: Vec<HeaderName> =
        headers.keys().filter(|name| belongs_to_the_head(name)).cloned().collect();
    for name in of_the_head {
        headers.remove(name);
    }
    Some(headers).filter(|headers| !headers.is_empty())
}

/// Returns whether only the head of a request may have a field.
fn belongs_to_the_head(name: &HeaderName) -> bool {
    const HEAD: [HeaderName; 12] = [
        AUTHORIZATION,
        CACHE_CONTROL,
        COOKIE,
        EARLY_DATA,
        EXPECT,
        IF_MATCH,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        IF_RANGE,
        IF_UNMODIFIED_SINCE,
        MAX_FORWARDS,
        RANGE,
    ];
    HEAD.contains(name) || *name == VIA || is_misleading(name.as_str())
}

/// Returns the announced names of trailers (`Trailer`) that are passed on.
pub(super) fn announced_trailers(headers: &HeaderMap) -> Vec<HeaderValue> {
    let fields = headers.get_all(TRAILER).iter().filter_map(|field| field.to_str().ok());
    fields
        .flat_map(|field| field.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .filter(|name| {
            request_trailers(HeaderMap::from_iter([(name.clone(), HeaderValue::from_static(""))]))
                .is_some()
        })
        .map(HeaderValue::from)
        .collect()
}

/// Removes the fields for one connection only, and those that `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|field| field.to_str().ok())
        .flat_map(|field| field.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Returns whether a message has a transfer coding other than chunked. The library takes chunked
/// off, and nothing would say that the rest is still there.
pub(super) fn has_other_coding(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_some_and(|first| !chunked(first)) || codings.next().is_some()
}

/// Returns whether an upstream could take a request's field for something that only the proxy may
/// say.
fn is_misleading(name: &str) -> bool {
    // CGI, WSGI and their like read hyphens as underscores, so that any such field looks like
    // another: one of ours, or a length. nginx drops them too.
    name.contains('_')
        // CGI has it as HTTP_PROXY, which is the proxy for requests of the program itself.
        || name == "proxy"
        || is_forwarding_field(name)
}

/// Returns whether a field describes the source of a request, which only the proxy knows.
fn is_forwarding_field(name: &str) -> bool {
    name.starts_with("forwarded")
        || name.starts_with("x-forwarded")
        || CLIENT_ADDRESS_FIELDS.contains(&name)
        // `True-Client-IP`, `CF-Connecting-IP`, `X-ProxyUser-IP` and their like.
        || ["client-ip", "connecting-ip", "user-ip"].iter().any(|end| name.ends_with(end))
}

/// Returns the value of Via: the received protocol and the name of the proxy (RFC 9110 §7.6.3).
fn via(version: Version) -> HeaderValue {
    HeaderValue::from_static(match version {
        Version::HTTP_3 => "3 bentpipe",
        Version::HTTP_2 => "2 bentpipe",
        Version::HTTP_10 => "1.0 bentpipe",
        _ => "1.1 bentpipe",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn options(fields: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method("OPTIONS").uri("/");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn forwarding(host: &str) -> Forwarding {
        let client = "2001:db8::1".parse().unwrap();
        Forwarding {
            client,
            version: Version::HTTP_3,
            host: host.parse().unwrap(),
            upstream_host: None,
            early: false,
            beside: false,
        }
    }

    #[test]
    fn fields_of_the_connection_are_removed_and_others_are_kept() {
        let request = self::request(
            &options(&[
                ("connection", "close, X-Private"),
                ("x-private", "1"),
                ("keep-alive", "timeout=5"),
                ("te", "trailers"),
                ("transfer-encoding", "chunked"),
                ("content-length", "3"),
                ("expect", "100-continue"),
                ("proxy-authorization", "secret"),
                ("accept", "a"),
                ("cookie", "a=1"),
                ("cookie", "b=2"),
                ("via", "1.1 nearer"),
                ("max-forwards", "3"),
            ]),
            &forwarding("example.org"),
        );
        let mut names: Vec<&str> = request.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        let expected = "accept cookie forwarded host max-forwards via x-forwarded-for \
            x-forwarded-host x-forwarded-proto";
        assert_eq!(names.join(" "), expected);
        assert_eq!(
            (&request[COOKIE], &request[MAX_FORWARDS]),
            (&"a=1; b=2".parse().unwrap(), &"2".parse().unwrap())
        );
        let via: Vec<&HeaderValue> = request.get_all(VIA).iter().collect();
        assert_eq!(via, ["1.1 nearer", "3 bentpipe"]);
    }

    #[test]
    fn grpc_is_known_by_its_type() {
        let asks = |method: &str, kind: &str| {
            let request = Request::builder().method(method).header("content-type", kind);
            is_grpc(&request.body(()).unwrap())
        };
        for kind in ["application/grpc", "application/grpc+proto", "Application/gRPC;a=b"] {
            assert!(asks("POST", kind) && !asks("GET", kind), "{kind}");
        }
        for kind in ["", "application/grpc-web", "application/grpcx", "application/json"] {
            assert!(!asks("POST", kind), "{kind}");
        }
    }

    #[test]
    fn clients_cannot_set_the_source_of_a_request() {
        let fields = [
            ("forwarded", "for=10.0.0.1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x_forwarded_for", "10.0.0.1"),
            ("x-forwarded-server", "s"),
            ("x-real-ip", "10.0.0.1"),
            ("true-client-ip", "10.0.0.1"),
            ("cf-connecting-ip", "10.0.0.1"),
            ("client-ip", "10.0.0.1"),
            ("x_client_ip", "10.0.0.1"),
            ("x-cluster-client-ip", "10.0.0.1"),
            ("x-envoy-external-address", "10.0.0.1"),
            ("x-forwarded", "10.0.0.1"),
            ("x-forwardedfor", "10.0.0.1"),
            ("forwarded-for", "10.0.0.1"),
            ("x-proxyuser-ip", "10.0.0.1"),
            ("x-appengine-user-ip", "10.0.0.1"),
            ("proxy", "http://10.0.0.1"),
            ("transfer_encoding", "10.0.0.1"),
            ("content_length", "10.0.0.1"),
            ("any_other", "10.0.0.1"),
            ("connection", "x-forwarded-for, host"),
            ("host", "ignored"),
        ];
        let mut forwarding = forwarding("example.org:8443");
        let request = self::request(&options(&fields), &forwarding);
        assert!(
            request.values().all(|value| !value.to_str().unwrap().contains("10.0.0.1")),
            "{request:?}"
        );
        assert_eq!(
            request[FORWARDED],
            "for=\"[2001:db8::1]\";host=\"example.org:8443\";proto=https"
        );
        assert_eq!(
            (&request[FORWARDED_FOR], &request[HOST]),
            (&"2001:db8::1".parse().unwrap(), &"example.org:8443".parse().unwrap())
        );
        assert!(!request.contains_key(EARLY_DATA) && !request.contains_key("x-forwarded-server"));
        (forwarding.upstream_host, forwarding.early) = (Some("inside".parse().unwrap()), true);
        let request = self::request(&options(&fields), &forwarding);
        assert_eq!(
            (&request[HOST], &request[EARLY_DATA]),
            (&"inside".parse().unwrap(), &"1".parse().unwrap())
        );
        assert_eq!(request[FORWARDED_HOST], "example.org:8443");
    }

    #[test]
    fn ambiguous_lengths_and_hosts_are_refused() {
        let length = |fields: &[(&str, &str)]| super::length(options(fields).headers());
        assert_eq!(length(&[]), Ok(None));
        assert_eq!(length(&[("content-length", "12")]), Ok(Some(12)));
        for wrong in ["", "+1", "-1", "1 ", "1,1", "0x1", "99999999999999999999999"] {
            // An empty value has only digits, but is not a number.
            assert_eq!(length(&[("content-length", wrong)]), Err(()), "{wrong:?}");
        }
        assert_eq!(length(&[("content-length", "1"), ("content-length", "1")]), Err(()));
        assert_eq!(host(&options(&[("host", "a:1")])).unwrap(), "a:1");
        for wrong in [
            &[][..],
            &[("host", "a"), ("host", "b")],
            &[("host", "u@a")],
            &[("host", "a b")],
            &[("host", "")],
        ] {
            assert_eq!(host(&options(wrong)), None, "{wrong:?}");
        }
    }

    #[test]
    fn responses_do_not_refer_to_the_upstream_and_have_a_date() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive"),
            ("alt-svc", "h3=\":1\""),
            ("transfer-encoding", "chunked"),
            ("content-length", "5"),
            ("etag", "\"e\""),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        let mut known = headers.clone();
        let ok = |version| (StatusCode::OK, version);
        response(&mut headers, ok(Version::HTTP_11), false, UNIX_EPOCH);
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            (names.join(" ").as_str(), &headers[VIA]),
            ("date etag via", &"1.1 bentpipe".parse().unwrap())
        );
        known.insert(DATE, "theirs".parse().unwrap());
        let mut empty = known.clone();
        response(&mut empty, (StatusCode::NO_CONTENT, Version::HTTP_11), true, UNIX_EPOCH);
        assert!(!empty.contains_key(CONTENT_LENGTH), "RFC 9110 §8.6");
        response(&mut known, ok(Version::HTTP_10), true, UNIX_EPOCH);
        assert_eq!(
            (&known[DATE], &known[CONTENT_LENGTH]),
            (&"theirs".parse().unwrap(), &"5".parse().unwrap())
        );
    }

    #[test]
    fn chunked_is_the_only_transfer_coding() {
        let other = |values: &[&str]| {
            let fields: Vec<_> = values.iter().map(|value| ("transfer-encoding", *value)).collect();
            has_other_coding(options(&fields).headers())
        };
        assert!(!other(&[]) && !other(&["chunked"]) && !other(&["Chunked"]));
        for wrong in [&["gzip, chunked"][..], &["gzip", "chunked"], &["chunked", "gzip"], &["gzip"]]
        {
            assert!(other(wrong), "{wrong:?}");
        }
    }
}
