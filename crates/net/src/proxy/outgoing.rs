//! The head of a request, as each server of an upstream gets it.

use super::connections::ServerRequest;
use super::proxy_protocol::Source;
use super::upload::Upload;
use super::upstream::{Protocol, UpstreamServer};
use http::header::{CONNECTION, HOST, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Method, Request, StatusCode, Uri, Version};
use hyper::ext::on_informational;
use tokio::sync::mpsc::Sender;

/// The head of a request to the upstream, but for the server that gets it.
pub(super) struct OutgoingHead<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    /// The fields, as HTTP/1.1 has them.
    pub headers: HeaderMap,
    /// The host to name in TLS, instead of the server's.
    pub name: Option<Authority>,
    /// Whether the request is one of gRPC.
    pub grpc: bool,
    /// Whether the connection is kept for further requests. Over HTTP/1.1, the fields say so too.
    pub keep: bool,
    /// The client, for servers that are told by the PROXY protocol.
    pub source: Option<Source>,
    /// Gets the fields of early hints (103).
    pub hints: Option<Sender<HeaderMap>>,
}

impl<'a> OutgoingHead<'a> {
    /// Returns the head of a request of the proxy itself, for no client.
    pub fn own(method: &'a Method, path: &'a str, headers: HeaderMap, keep: bool) -> Self {
        let (name, grpc, source, hints) = (None, false, None, None);
        Self { method, path, headers, name, grpc, keep, source, hints }
    }

    /// Returns the request to `server`.
    ///
    /// # Errors
    /// The status of a response: the path or the host cannot be asked for.
    pub fn to(
        &self,
        server: &UpstreamServer,
        content: Upload,
    ) -> Result<ServerRequest, StatusCode> {
        let over_http2 = match server.protocol {
            Protocol::Http1 => false,
            Protocol::Http2 => true,
            Protocol::Http2ForGrpc => self.grpc,
        };
        let name = self.name.as_ref().filter(|_| server.scheme == Scheme::HTTPS);
        let uri = |authority: Authority, path: &str| {
            let uri = Uri::builder().scheme(server.scheme.clone()).authority(authority);
            uri.path_and_query(path).build().map_err(|_| StatusCode::BAD_REQUEST)
        };
        let asked = name.unwrap_or(&server.authority);
        let source = self.source;
        let mut request = Request::new(content);
        *request.method_mut() = self.method.clone();
        *request.headers_mut() = self.headers.clone();
        *request.uri_mut() = uri(asked.clone(), self.path)?;
        if over_http2 {
            *request.version_mut() = Version::HTTP_2;
            let headers = request.headers_mut();
            if headers.contains_key(UPGRADE) {
                return Err(StatusCode::NOT_IMPLEMENTED);
            }
            // HTTP/2 has neither, and its own word for Host (RFC 9113 §8.2.2, §8.3.1).
            for name in [CONNECTION, TRANSFER_ENCODING] {
                headers.remove(name);
            }
            if self.grpc {
                headers.insert(TE, HeaderValue::from_static("trailers"));
            }
            if let Some(host) = headers.remove(HOST) {
                let host = Authority::try_from(host.as_bytes());
                let host = host.map_err(|_| StatusCode::BAD_REQUEST)?;
                *request.uri_mut() = uri(host, self.path)?;
            }
        }
        if let Some(hints) = self.hints.clone() {
            on_informational(&mut request, move |response| {
                if response.status() == StatusCode::EARLY_HINTS {
                    // More than there is room for are left out.
                    let _ = hints.try_send(response.headers().clone());
                }
            });
        }
        Ok(ServerRequest { request, server: uri(asked.clone(), "/")?, keep: self.keep, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_determines_the_version_and_its_fields() {
        let fields = [
            (HOST, "a.test"),
            (CONNECTION, "te"),
            (TE, "trailers"),
            (TRANSFER_ENCODING, "chunked"),
        ];
        let headers = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
        let headers = headers.into_iter().collect();
        let mut head = OutgoingHead::own(&Method::POST, "/p?q", headers, true);
        head.name = Some(Authority::from_static("a.test"));
        let asked = |head: &OutgoingHead<'_>, url: &str| {
            let server = UpstreamServer::new(url).unwrap();
            let asked = head.to(&server, Upload::empty()).unwrap();
            let (version, uri) = (asked.request.version(), asked.request.uri().to_string());
            (version, uri, asked.server.to_string(), asked.request.headers().len())
        };
        let expected = |version, uri: &str, server: &str, fields| {
            (version, uri.to_owned(), server.to_owned(), fields)
        };
        let https = "https://h:1";
        let over_1 = expected(Version::HTTP_11, "https://a.test/p?q", "https://a.test/", 4);
        let over_2 = expected(Version::HTTP_2, "https://a.test/p?q", "https://a.test/", 1);
        assert_eq!(asked(&head, https), over_1);
        assert_eq!(asked(&head, "h2://h:1"), over_2);
        let cleartext = expected(Version::HTTP_2, "http://a.test/p?q", "http://h:1/", 1);
        assert_eq!(asked(&head, "h2c://h:1"), cleartext);
        head.grpc = true;
        assert_eq!(asked(&head, https), over_2);
        let plain = expected(Version::HTTP_11, "http://h:1/p?q", "http://h:1/", 4);
        assert_eq!(asked(&head, "http://h:1"), plain);
    }
}
