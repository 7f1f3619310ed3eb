//! WebSocket connections: after the upstream's 101, bytes go both ways.
//!
//! Clients ask for one over HTTP/1.1 (RFC 6455), or on a stream of HTTP/2 (RFC 8441) or HTTP/3 (RFC
//! 9220). The upstream gets HTTP/1.1 in all cases.

use super::pool::Slot;
use crate::admission::activity::Activity;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bentpipe_quic::WEBSOCKET;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::ext::Protocol;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom, SystemRandom};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time::{Instant, sleep, timeout};

/// Time for both sides to become ready after 101. Our choice.
const UPGRADE_TIME: Duration = Duration::from_secs(10);
/// Bytes read at a time in each direction. Our choice: most messages are smaller.
pub(crate) const BUFFER: usize = 16 * 1024;
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
    /// On a stream of HTTP/2 or HTTP/3, which has no key (RFC 8441 §5): the proxy sends this one.
    Stream(HeaderValue),
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
        HeaderValue::try_from(BASE64_STANDARD.encode(nonce)).ok().map(Self::Stream)
    }

    /// Adds the fields for the upstream.
    pub fn ask(&self, headers: &mut HeaderMap) {
        add_upgrade(headers);
        if let Self::Stream(key) = self {
            headers.insert(SEC_WEBSOCKET_KEY, key.clone());
        }
    }

    /// Returns whether the upstream has agreed.
    pub fn is_agreed<T>(&self, response: &Response<T>) -> bool {
        let proved = match self {
            Self::Http1 => true,
            Self::Stream(key) => response.headers().get(SEC_WEBSOCKET_ACCEPT) == Some(&proof(key)),
        };
        response.status() == StatusCode::SWITCHING_PROTOCOLS
            && upgrades(response.headers())
            && proved
    }

    /// Changes the upstream's agreement to the one for the client.
    pub fn agree(&self, response: &mut Response<()>) {
        match self {
            Self::Http1 => add_upgrade(response.headers_mut()),
            Self::Stream(_) => {
                *response.status_mut() = StatusCode::OK;
                response.headers_mut().remove(SEC_WEBSOCKET_ACCEPT);
                response.headers_mut().remove(CONTENT_LENGTH);
            }
        }
    }

    /// Returns the status for a client when the upstream answers with `status` and no WebSocket, if
    /// that would be read as agreement: on a stream, any success is.
    pub fn refusal(&self, status: StatusCode) -> Option<StatusCode> {
        let misleading = matches!(self, Self::Stream(_)) && status.is_success();
        misleading.then_some(StatusCode::BAD_GATEWAY)
    }
}

/// Returns whether a request asks for a WebSocket, and nothing else (RFC 6455 §4.1, RFC 8441 §5,
/// RFC 9220 §3).
pub(crate) fn asks_for_websocket<T>(request: &Request<T>) -> bool {
    match (request.version(), request.method()) {
        (Version::HTTP_11, &Method::GET) => upgrades(request.headers()),
        (Version::HTTP_2, &Method::CONNECT) => request
            .extensions()
            .get::<Protocol>()
            .is_some_and(|protocol| protocol.as_str().eq_ignore_ascii_case("websocket")),
        (Version::HTTP_3, &Method::CONNECT) => {
            request.extensions().get::<h3::ext::Protocol>() == Some(&WEBSOCKET)
        }
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
    slot: Slot,
}

/// The upstream's side of a WebSocket, once it is ready.
#[derive(Debug)]
pub(crate) struct UpstreamSide {
    /// What the upstream sends.
    pub from: ReadHalf<TokioIo<Upgraded>>,
    /// What it is sent.
    pub to: WriteHalf<TokioIo<Upgraded>>,
    _slot: Slot,
}

impl WebSocket {
    pub(super) fn new(upstream: OnUpgrade, slot: Slot) -> Self {
        Self { upstream, slot }
    }

    /// Waits for the upstream's side.
    ///
    /// # Errors
    /// It did not become ready.
    pub async fn upstream(self) -> io::Result<UpstreamSide> {
        let upgraded = timeout(UPGRADE_TIME, self.upstream).await?.map_err(io::Error::other)?;
        let (from, to) = split(TokioIo::new(upgraded));
        Ok(UpstreamSide { from, to, _slot: self.slot })
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
        let client = async { timeout(UPGRADE_TIME, client).await?.map_err(io::Error::other) };
        let (client, upstream) = tokio::try_join!(client, self.upstream())?;
        let (client, to_client) = split(TokioIo::new(client));
        let UpstreamSide { from, to, _slot } = upstream;
        let timer = IdleTimer::new(activity);
        let pass =
            async { tokio::try_join!(pass(client, to, &timer), pass(from, to_client, &timer)) };
        tokio::select! {
            passed = pass => passed.map(|_| ()),
            () = timer.idle_for(idle) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Measures for how long a WebSocket has passed no bytes.
#[derive(Debug)]
pub(crate) struct IdleTimer<'a> {
    /// When bytes were last passed.
    last: Mutex<Instant>,
    activity: &'a Activity,
}

impl<'a> IdleTimer<'a> {
    /// Starts the time now.
    pub fn new(activity: &'a Activity) -> Self {
        let timer = Self { last: Mutex::new(Instant::now()), activity };
        timer.passed();
        timer
    }

    /// Starts the time anew: bytes were passed.
    pub fn passed(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.activity.waits_after(SILENCE);
    }

    /// Waits until nothing was passed for `limit`.
    pub async fn idle_for(&self, limit: Duration) {
        loop {
            sleep(limit / 4).await;
            if self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= limit {
                return;
            }
        }
    }
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    timer: &IdleTimer<'_>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        let Some(data) = buffer.get(..length).filter(|data| !data.is_empty()) else {
            return to.shutdown().await;
        };
        to.write_all(data).await?;
        to.flush().await?;
        timer.passed();
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
    fn so_is_one_of_http3() {
        let asks = |method: Method, protocol: h3::ext::Protocol| {
            let mut request = Request::new(());
            (*request.version_mut(), *request.method_mut()) = (Version::HTTP_3, method);
            request.extensions_mut().insert(protocol);
            asks_for_websocket(&request)
        };
        assert!(asks(Method::CONNECT, WEBSOCKET) && !asks(Method::GET, WEBSOCKET));
        assert!(!asks(Method::CONNECT, h3::ext::Protocol::WEB_TRANSPORT));
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
        let handshake = Handshake::Stream(key);
        assert!(handshake.is_agreed(&response("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
        assert!(!handshake.is_agreed(&response("s3pPLMBiTxaQ9kYGzzhZRbK+xO0=")));
        assert!(Handshake::Http1.is_agreed(&response("for the client to check")));
        let mut other = response("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        *other.status_mut() = StatusCode::OK;
        assert!(!handshake.is_agreed(&other) && !Handshake::Http1.is_agreed(&other));
    }

    #[test]
    fn a_success_without_a_websocket_is_not_passed_over_http2() {
        let handshake = Handshake::Stream(HeaderValue::from_static("k"));
        assert_eq!(handshake.refusal(StatusCode::OK), Some(StatusCode::BAD_GATEWAY));
        assert_eq!(handshake.refusal(StatusCode::FORBIDDEN), None);
        assert_eq!(Handshake::Http1.refusal(StatusCode::OK), None);
    }
}
