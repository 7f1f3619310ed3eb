//! WebSocket connections: after the upstream's 101, bytes go both ways.
//!
//! Clients ask for one over HTTP/1.1 (RFC 6455), or on a stream of HTTP/2 (RFC 8441). The upstream
//! gets HTTP/1.1 in both cases.

use super::pool::Slot;
use crate::admission::activity::Activity;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::{Instant, sleep, timeout};

/// Time for both sides to become ready after 101. Our choice.
const UPGRADE_TIME: Duration = Duration::from_secs(10);
/// Bytes read at a time in each direction. Our choice: most messages are smaller.
const BUFFER: usize = 16 * 1024;
/// Silence of a WebSocket or a stream of gRPC that is not yet a stall, for which it could lose its
/// place to a request that waits. Our choice: longer than the interval of most pings.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// What a server appends to the key (RFC 6455 §1.3).
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A client's request for a WebSocket, as the upstream gets it.
#[derive(Debug, Clone)]
pub(super) enum Handshake {
    /// Over HTTP/1.1. The client checks the upstream's proof itself.
    Http1,
    /// On a stream of HTTP/2, which has no key (RFC 8441 §5), so the proxy sends this one.
    Http2(HeaderValue),
}

impl Handshake {
    /// Returns how `request` asks for a WebSocket, if it does and asks for nothing else.
    pub fn of<T>(request: &Request<T>) -> Option<Self> {
        if !asks_for_websocket(request) {
            return None;
        }
        if *request.method() != Method::CONNECT {
            return Some(Self::Http1);
        }
        let mut nonce = [0; 16];
        SystemRandom::new().fill(&mut nonce).ok()?;
        HeaderValue::try_from(BASE64_STANDARD.encode(nonce)).ok().map(Self::Http2)
    }

    /// Adds the fields for the upstream.
    pub fn ask(&self, headers: &mut HeaderMap) {
        add_upgrade(headers);
        if let Self::Http2(key) = self {
            headers.insert(SEC_WEBSOCKET_KEY, key.clone());
        }
    }

    /// Returns whether the upstream has agreed.
    pub fn is_agreed<T>(&self, response: &Response<T>) -> bool {
        let proved = match self {
            Self::Http1 => true,
            Self::Http2(key) => response.headers().get(SEC_WEBSOCKET_ACCEPT) == Some(&proof(key)),
        };
        response.status() == StatusCode::SWITCHING_PROTOCOLS
            && upgrades(response.headers())
            && proved
    }

    /// Changes the upstream's agreement to the one for the client.
    pub fn agree(&self, response: &mut Response<()>) {
        match self {
            Self::Http1 => add_upgrade(response.headers_mut()),
            Self::Http2(_) => {
                *response.status_mut() = StatusCode::OK;
                response.headers_mut().remove(SEC_WEBSOCKET_ACCEPT);
                response.headers_mut().remove(CONTENT_LENGTH);
            }
        }
    }

    /// Returns the status for a client when the upstream answers with `status` and no WebSocket, if
    /// that would be read as agreement: over HTTP/2, any success is.
    pub fn refusal(&self, status: StatusCode) -> Option<StatusCode> {
        let misleading = matches!(self, Self::Http2(_)) && status.is_success();
        misleading.then_some(StatusCode::BAD_GATEWAY)
    }
}

/// Returns whether a request asks for a WebSocket, and nothing else (RFC 6455 §4.1, RFC 8441 §5).
pub(crate) fn asks_for_websocket<T>(request: &Request<T>) -> bool {
    match (request.version(), request.method()) {
        (Version::HTTP_11, &Method::GET) => upgrades(request.headers()),
        (Version::HTTP_2, &Method::CONNECT) => request
            .extensions()
            .get::<Protocol>()
            .is_some_and(|protocol| protocol.as_str().eq_ignore_ascii_case("websocket")),
        _ => false,
    }
}

/// Returns whether `Upgrade` names WebSocket alone, and `Connection` names `Upgrade`.
fn upgrades(headers: &HeaderMap) -> bool {
    let is = |value: &HeaderValue, word: &str| {
        let text = value.to_str().unwrap_or_default();
        text.split(',').any(|part| part.trim().eq_ignore_ascii_case(word))
    };
    let mut fields = headers.get_all(UPGRADE).iter();
    let protocol = fields.next().is_some_and(|value| {
        value.to_str().is_ok_and(|text| text.trim().eq_ignore_ascii_case("websocket"))
    });
    protocol
        && fields.next().is_none()
        && headers.get_all(CONNECTION).iter().any(|value| is(value, "upgrade"))
}

/// Adds the fields that ask for a WebSocket, or agree to one. They are for one connection, so each
/// side of the proxy has its own.
fn add_upgrade(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

/// Returns the value by which a server proves that it has read `key` (RFC 6455 §4.2.2).
fn proof(key: &HeaderValue) -> HeaderValue {
    let text = [key.as_bytes(), GUID.as_bytes()].concat();
    let hash = BASE64_STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &text));
    // Base64 has only visible characters.
    HeaderValue::try_from(hash).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// An upstream's side of a WebSocket connection that it has agreed to.
#[derive(Debug)]
pub(crate) struct WebSocket {
    upstream: OnUpgrade,
    /// Its place among the upstream's connections.
    _slot: Slot,
}

impl WebSocket {
    pub(super) fn new(upstream: OnUpgrade, slot: Slot) -> Self {
        Self { upstream, _slot: slot }
    }

    /// Passes bytes between the client and the upstream until both directions have ended, one has
    /// failed, or nothing was passed for `idle`. After [`SILENCE`], it counts as stalled.
    ///
    /// # Errors
    /// A side did not become ready, failed, or was idle for too long.
    pub async fn relay(
        self,
        client: OnUpgrade,
        idle: Duration,
        activity: &Activity,
    ) -> io::Result<()> {
        let both = async { tokio::try_join!(client, self.upstream).map_err(io::Error::other) };
        let (client, upstream) = timeout(UPGRADE_TIME, both).await??;
        let (client, to_client) = split(TokioIo::new(client));
        let (upstream, to_upstream) = split(TokioIo::new(upstream));
        let last = Mutex::new(Instant::now());
        let passed = || {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            activity.waits_after(SILENCE);
        };
        passed();
        let pass = async {
            tokio::try_join!(pass(client, to_upstream, &passed), pass(upstream, to_client, &passed))
        };
        tokio::select! {
            passed = pass => passed.map(|_| ()),
            () = idle_for(&last, idle) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    passed: impl Fn(),
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        let Some(data) = buffer.get(..length).filter(|data| !data.is_empty()) else {
            return to.shutdown().await;
        };
        to.write_all(data).await?;
        to.flush().await?;
        passed();
    }
}

async fn idle_for(last: &Mutex<Instant>, limit: Duration) {
    loop {
        sleep(limit / 4).await;
        if last.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= limit {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_websocket_is_upgraded() {
        let asks = |method: &str, fields: &[(&str, &str)]| {
            let mut request = Request::builder().method(method).uri("/");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            asks_for_websocket(&request.body(()).unwrap())
        };
        let connection = ("connection", "keep-alive, Upgrade");
        assert!(asks("GET", &[connection, ("upgrade", "WebSocket")]));
        assert!(!asks("POST", &[connection, ("upgrade", "websocket")]));
        assert!(!asks("GET", &[("upgrade", "websocket")]));
        assert!(!asks("GET", &[connection, ("upgrade", "h2c")]));
        assert!(!asks("GET", &[connection, ("upgrade", "websocket, h2c")]));
        assert!(!asks("GET", &[connection, ("upgrade", "websocket"), ("upgrade", "h2c")]));
    }

    #[test]
    fn a_stream_of_http2_is_upgraded_by_its_protocol() {
        let asks = |version: Version, method: Method, protocol: Option<&'static str>| {
            let mut request = Request::new(());
            (*request.version_mut(), *request.method_mut()) = (version, method);
            if let Some(protocol) = protocol {
                request.extensions_mut().insert(Protocol::from_static(protocol));
            }
            asks_for_websocket(&request)
        };
        assert!(asks(Version::HTTP_2, Method::CONNECT, Some("websocket")));
        assert!(!asks(Version::HTTP_2, Method::CONNECT, Some("connect-udp")));
        assert!(!asks(Version::HTTP_2, Method::CONNECT, None));
        assert!(!asks(Version::HTTP_2, Method::GET, Some("websocket")));
        assert!(!asks(Version::HTTP_11, Method::CONNECT, Some("websocket")));
    }

    #[test]
    fn the_proof_is_that_of_the_specification() {
        // RFC 6455 §1.3.
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(proof(&key), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let response = |accept: &str| {
            let mut response = Response::builder().status(101).body(()).unwrap();
            add_upgrade(response.headers_mut());
            response.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accept.parse().unwrap());
            response
        };
        let handshake = Handshake::Http2(key);
        assert!(handshake.is_agreed(&response("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
        assert!(!handshake.is_agreed(&response("s3pPLMBiTxaQ9kYGzzhZRbK+xO0=")));
        assert!(Handshake::Http1.is_agreed(&response("for the client to check")));
        let mut other = response("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        *other.status_mut() = StatusCode::OK;
        assert!(!handshake.is_agreed(&other) && !Handshake::Http1.is_agreed(&other));
    }

    #[test]
    fn a_success_without_a_websocket_is_not_passed_over_http2() {
        let handshake = Handshake::Http2(HeaderValue::from_static("k"));
        assert_eq!(handshake.refusal(StatusCode::OK), Some(StatusCode::BAD_GATEWAY));
        assert_eq!(handshake.refusal(StatusCode::FORBIDDEN), None);
        assert_eq!(Handshake::Http1.refusal(StatusCode::OK), None);
    }
}
