//! Clients over TCP that do not read their responses.

use super::TestServer;
use super::tcp::connect_as;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

/// An HTTP/2 connection with a fixed stream window. It responds to PING and follows the protocol.
pub struct Http2 {
    requests: SendRequest<Empty<Bytes>>,
    connection: tokio::task::JoinHandle<()>,
}

impl Http2 {
    pub async fn connect(site: &TestServer, source: [u8; 4], window: u32) -> Self {
        let stream = TokioIo::new(connect_as(site, source, b"h2").await);
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window).initial_connection_window_size(1 << 30);
        let (requests, connection) = builder.handshake(stream).await.unwrap();
        let connection = tokio::spawn(async move { _ = connection.await });
        Self { requests, connection }
    }

    /// Sends a request and returns the head of the response. Does not read the content.
    pub async fn ask(&mut self, path: &str) -> hyper::Result<Response<Incoming>> {
        self.requests.ready().await?;
        let request = Request::get(format!("https://localhost{path}")).body(Empty::new()).unwrap();
        self.requests.send_request(request).await
    }

    /// As [`Http2::ask`], for several requests at a time.
    pub fn asking(
        &self,
        path: &str,
    ) -> impl Future<Output = hyper::Result<Response<Incoming>>> + Send + 'static {
        let mut requests = self.requests.clone();
        let request = Request::get(format!("https://localhost{path}")).body(Empty::new()).unwrap();
        async move {
            requests.ready().await?;
            requests.send_request(request).await
        }
    }

    /// Returns whether the server closes the connection within `limit`.
    pub async fn ended_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, &mut self.connection).await.is_ok()
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Returns how long the server keeps an idle connection open.
pub async fn open_for(stream: &mut TlsStream<TcpStream>) -> Duration {
    let begun = Instant::now();
    let mut rest = Vec::new();
    // The server may end without a TLS alert.
    _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
    begun.elapsed()
}
