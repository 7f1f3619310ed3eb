//! Configuration of an upstream.

use crate::authority::host_and_port;
use crate::tls::{KnownCertificates, Trust};
use bentpipe_units::{Bytes as Size, Rate, Span};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Why an upstream cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpstreamError {
    /// The URL is not that of a server.
    #[error(
        "`{url}` cannot be an upstream: {reason}; allowed: http://HOST[:PORT], \
         https://HOST[:PORT] or unix:/PATH, and over HTTP/2 h2c://HOST[:PORT], h2://HOST[:PORT] or \
         unix+h2c:/PATH; each may be followed by ` send-proxy-v2`"
    )]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with the URL.
        reason: &'static str,
    },
    /// The host name is invalid.
    #[error("`{0}` is not a host name; allowed: HOST[:PORT]")]
    Host(String),
    /// The path of health checks is invalid.
    #[error("`{0}` is not a path; allowed: /PATH, with a query if needed")]
    Path(String),
}

/// What follows the URL of a server that is told its clients' addresses by the PROXY protocol; the
/// word is HAProxy's.
const SEND_PROXY: &str = "send-proxy-v2";

/// The version of HTTP by which a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// HTTP/1.1: a request at a time on each connection.
    Http1,
    /// HTTP/2: with prior knowledge (RFC 9113 §3.3), or by ALPN in TLS.
    Http2,
    /// HTTP/2 by ALPN for gRPC, which needs it, and HTTP/1.1 for all else.
    Http2ForGrpc,
}

/// A server: a scheme, a host and a port, or a socket in the file system.
#[derive(Debug, Clone)]
pub(super) struct UpstreamServer {
    pub scheme: Scheme,
    pub protocol: Protocol,
    /// Where to connect to over TCP. Of a socket in the file system, a placeholder.
    pub authority: Authority,
    pub socket: Option<PathBuf>,
    /// Whether it is told the client's address by the PROXY protocol.
    pub proxy_protocol: bool,
}

impl fmt::Display for UpstreamServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let over_http2 = self.protocol == Protocol::Http2;
        let scheme = match &self.socket {
            Some(socket) if over_http2 => return write!(f, "unix+h2c:{}", socket.display()),
            Some(socket) => return write!(f, "unix:{}", socket.display()),
            None if over_http2 && self.scheme == Scheme::HTTPS => "h2",
            None if over_http2 => "h2c",
            None => self.scheme.as_str(),
        };
        write!(f, "{scheme}://{}", self.authority)
    }
}

impl UpstreamServer {
    /// Returns the server of a URL, which may be followed by a space and [`SEND_PROXY`].
    pub fn new(text: &str) -> Result<Self, UpstreamError> {
        let wrong = |reason| UpstreamError::Url { url: text.to_owned(), reason };
        let (url, proxy_protocol) = match text.split_once(' ') {
            None => (text, false),
            Some((url, SEND_PROXY)) => (url, true),
            Some(_) => return Err(wrong("what follows it is not `send-proxy-v2`")),
        };
        for (prefix, protocol) in [("unix:", Protocol::Http1), ("unix+h2c:", Protocol::Http2)] {
            let Some(path) = url.strip_prefix(prefix) else { continue };
            let path = Some(PathBuf::from(path)).filter(|path| path.is_absolute());
            let socket = Some(path.ok_or_else(|| wrong("its path does not begin with /"))?);
            let authority = Authority::from_static("localhost");
            let scheme = Scheme::HTTP;
            return Ok(Self { scheme, protocol, authority, socket, proxy_protocol });
        }
        let parts = url.parse::<Uri>().map_err(|_| wrong("it is not a URL"))?.into_parts();
        let (scheme, protocol) = match parts.scheme.as_ref().map(Scheme::as_str) {
            Some("http") => (Scheme::HTTP, Protocol::Http1),
            Some("https") => (Scheme::HTTPS, Protocol::Http2ForGrpc),
            Some("h2c") => (Scheme::HTTP, Protocol::Http2),
            Some("h2") => (Scheme::HTTPS, Protocol::Http2),
            _ => return Err(wrong("its scheme is none of http, https, h2c and h2")),
        };
        let authority = parts.authority.ok_or_else(|| wrong("it has no host"))?;
        host_and_port(&authority).map_err(wrong)?;
        if parts.path_and_query.is_some_and(|path| path != "/") {
            return Err(wrong("it has a path, and the paths of requests are forwarded unchanged"));
        }
        Ok(Self { scheme, protocol, authority, socket: None, proxy_protocol })
    }
}

/// Requests that show whether a server is up.
#[derive(Debug, Clone)]
pub(super) struct HealthCheck {
    pub path: PathAndQuery,
    pub interval: Span,
}

/// A web server behind the proxy, or several equal ones, and how requests are forwarded. The
/// defaults are our choice.
#[derive(Debug, Clone)]
pub struct Upstream {
    pub(super) servers: Vec<UpstreamServer>,
    pub(super) health_check: Option<HealthCheck>,
    pub(super) host: Option<HeaderValue>,
    pub(super) trust: Trust,
    pub(super) max_body: Option<Size>,
    pub(super) answer_time: Span,
    pub(super) connections: usize,
    pub(super) per_client: Option<usize>,
    pub(super) min_upload_rate: Rate,
    /// Names by which each server is asked over TLS, as far as connections are kept for them.
    pub(super) names: usize,
    /// The certificates of sites, if it is their own server.
    pub(super) beside: Option<KnownCertificates>,
}

impl Upstream {
    /// Returns the server at `url`, which consists of a scheme, a host and a port, or is `unix:` or
    /// `unix+h2c:` and the path of a socket. Over `h2c` and `h2` (with TLS), requests go over
    /// HTTP/2, and over `https` those of gRPC do. If ` send-proxy-v2` follows, the server is told
    /// its client's address by the PROXY protocol, on a connection for each request.
    ///
    /// # Errors
    /// A URL with other parts.
    pub fn new(url: &str) -> Result<Self, UpstreamError> {
        Ok(Self {
            servers: vec![UpstreamServer::new(url)?],
            health_check: None,
            host: None,
            trust: Trust::System,
            max_body: None,
            // Less than the QUIC idle timeout of one minute, so that the client gets the 504.
            answer_time: Span::from_secs(50),
            connections: 1024,
            per_client: None,
            // As in Apache (mod_reqtimeout): 500 bytes per second.
            min_upload_rate: Rate::from_bps(4000),
            names: 1,
            beside: None,
        })
    }

    /// Adds an equal server. Requests go to the one with the fewest under way. One that refuses a
    /// connection gets none for 10 s.
    ///
    /// # Errors
    /// As [`Upstream::new`].
    pub fn and(mut self, url: &str) -> Result<Self, UpstreamError> {
        self.servers.push(UpstreamServer::new(url)?);
        Ok(self)
    }

    /// Asks each server for `path` at this interval. One that twice in a row does not answer in
    /// time with a status below 400 gets no requests until it does.
    ///
    /// # Errors
    /// An invalid path.
    pub fn health_check(mut self, path: &str, interval: Span) -> Result<Self, UpstreamError> {
        let parsed = PathAndQuery::try_from(path).ok().filter(|_| path.starts_with('/'));
        let path = parsed.ok_or_else(|| UpstreamError::Path(path.to_owned()))?;
        self.health_check = Some(HealthCheck { path, interval });
        Ok(self)
    }

    /// Returns whether requests go over TLS, to any of the servers.
    pub fn is_https(&self) -> bool {
        self.servers.iter().any(|server| server.scheme == Scheme::HTTPS)
    }

    /// Returns how many unused connections to one server are kept for each name of it, by each
    /// thread: 64 in all, if there is a thread for each CPU.
    pub(super) fn idle_connections(&self) -> usize {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (self.connections / self.names.max(1)).clamp(1, 64).div_ceil(threads)
    }

    /// Sends `Host: host` to the upstream instead of the client's value.
    ///
    /// # Errors
    /// An invalid host name.
    pub fn host(mut self, host: &str) -> Result<Self, UpstreamError> {
        let wrong = || UpstreamError::Host(host.to_owned());
        let authority: Authority = host.parse().map_err(|_| wrong())?;
        self.host = Some(HeaderValue::from_str(authority.as_str()).map_err(|_| wrong())?);
        if authority.as_str().contains('@') { Err(wrong()) } else { Ok(self) }
    }

    /// For a site's own server, which answers clients over TCP itself: TLS names the host that the
    /// client requested (SNI), and one of `known` or a trusted certificate is expected; `Alt-Svc`
    /// of responses is passed on; and requests get no `Via`, for which servers may not compress
    /// (`gzip_proxied` of nginx). `names` is the number of sites.
    #[must_use]
    pub(crate) fn beside(self, known: KnownCertificates, names: usize) -> Self {
        Self { beside: Some(known), names, ..self }
    }

    /// Sets which certificates of an https upstream are trusted. Defaults to those that the system
    /// trusts.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets the largest content of a request. Defaults to no limit.
    #[must_use]
    pub fn max_body(mut self, limit: Size) -> Self {
        self.max_body = Some(limit);
        self
    }

    /// Sets the longest time until the upstream responds to a complete request, and the longest
    /// pause within its response. Defaults to 50 s.
    #[must_use]
    pub fn answer_time(mut self, time: Span) -> Self {
        self.answer_time = time;
        self
    }

    /// Sets the number of concurrent requests, over HTTP/1.1 each on a connection of its own.
    /// Further requests wait. Those of gRPC are counted apart, because they may last. Defaults to
    /// 1024.
    #[must_use]
    pub fn connections(mut self, limit: usize) -> Self {
        self.connections = limit;
        self
    }

    /// Sets the number of concurrent requests of one client. Defaults to an eighth of those of all;
    /// at least 100, at most half. A client never has more than are left for the others.
    #[must_use]
    pub fn per_client(mut self, limit: usize) -> Self {
        self.per_client = Some(limit);
        self
    }

    /// Sets the rate at which clients have to send content, but for 20 s in all. Only time in which
    /// the proxy waits for the client counts. 0 sets no minimum, and gRPC has none. Defaults to
    /// 4 kbps.
    #[must_use]
    pub fn min_upload_rate(mut self, rate: Rate) -> Self {
        self.min_upload_rate = rate;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_scheme_a_host_and_a_port() {
        for url in ["http://localhost", "http://127.0.0.1:8080/", "https://[::1]:8443"] {
            assert!(Upstream::new(url).is_ok(), "{url}");
        }
        for (url, reason) in [
            ("localhost:8080", "its scheme"),
            ("ftp://h/", "its scheme"),
            ("/path", "its scheme"),
            ("http://user@h/", "it has user information"),
            ("http://h:65536", "its port is not 1 to 65535"),
            ("http://[h]:80", "it has no host"),
            ("http://h/path", "it has a path"),
            ("http://h/?q", "it has a path"),
            ("http://", "it is not a URL"),
            ("unix:run/site.sock", "its path does not begin with /"),
            ("unix+h2c:", "its path does not begin with /"),
            ("http://h send-proxy", "what follows it is not `send-proxy-v2`"),
        ] {
            let error = Upstream::new(url).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(url), "{error}");
        }
        for (url, protocol) in [
            ("unix:/run/site.sock", Protocol::Http1),
            ("unix+h2c:/run/site.sock", Protocol::Http2),
            ("http://h:1", Protocol::Http1),
            ("https://h:1", Protocol::Http2ForGrpc),
            ("h2c://h:1", Protocol::Http2),
            ("h2://h:1", Protocol::Http2),
        ] {
            let server = UpstreamServer::new(url).unwrap();
            assert_eq!((server.to_string(), server.protocol), (url.to_owned(), protocol));
            let told = UpstreamServer::new(&format!("{url} send-proxy-v2")).unwrap();
            assert_eq!((told.to_string(), told.protocol), (url.to_owned(), protocol));
            assert!(told.proxy_protocol && !server.proxy_protocol);
        }
        let upstream = Upstream::new("http://h").unwrap();
        assert!(upstream.clone().and("https://other:1").unwrap().is_https());
        assert!(upstream.clone().and("other").is_err());
        let interval = Span::from_secs(1);
        assert!(upstream.clone().health_check("/up?from=proxy", interval).is_ok());
        for path in ["", "up", "http://h/up", "/a b"] {
            assert!(upstream.clone().health_check(path, interval).is_err(), "{path}");
        }
        assert!(upstream.clone().host("inside:80").is_ok());
        assert!(upstream.clone().host("u@inside").is_err() && upstream.host("a b").is_err());
    }
}
