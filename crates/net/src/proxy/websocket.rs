//! WebSocket connections (RFC 6455) over HTTP/1.1: after the upstream's 101, bytes go both ways.

use super::pool::Slot;
use http::header::{CONNECTION, HeaderValue, UPGRADE};
use http::{HeaderMap, Method, Request, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::{Instant, sleep, timeout};

/// Time for both sides to become ready after 101. Our choice.
const UPGRADE_TIME: Duration = Duration::from_secs(10);
/// Bytes read at a time in each direction. Our choice: most messages are smaller.
const BUFFER: usize = 16 * 1024;

/// Returns whether a request asks for a WebSocket, and nothing else (RFC 6455 §4.1).
pub(crate) fn asks_for_websocket<T>(request: &Request<T>) -> bool {
    request.version() == Version::HTTP_11
        && *request.method() == Method::GET
        && upgrades(request.headers())
}

/// Returns whether `Upgrade` names WebSocket alone, and `Connection` names `Upgrade`.
pub(super) fn upgrades(headers: &HeaderMap) -> bool {
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
pub(super) fn add_upgrade(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
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
    /// failed, or nothing was passed for `idle`.
    ///
    /// # Errors
    /// A side did not become ready, failed, or was idle for too long.
    pub async fn relay(self, client: OnUpgrade, idle: Duration) -> io::Result<()> {
        let both = async { tokio::try_join!(client, self.upstream).map_err(io::Error::other) };
        let (client, upstream) = timeout(UPGRADE_TIME, both).await??;
        let (client, to_client) = split(TokioIo::new(client));
        let (upstream, to_upstream) = split(TokioIo::new(upstream));
        let last = Mutex::new(Instant::now());
        let pass = async {
            tokio::try_join!(pass(client, to_upstream, &last), pass(upstream, to_client, &last))
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
    last: &Mutex<Instant>,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        let Some(data) = buffer.get(..length).filter(|data| !data.is_empty()) else {
            return to.shutdown().await;
        };
        to.write_all(data).await?;
        to.flush().await?;
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
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
}
