//! Clients over TCP that do not take what they asked for.

use super::Place;
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

/// A connection of HTTP/2 whose streams have a window of so many bytes. It answers PING and keeps
/// to the protocol otherwise.
pub struct Http2 {
    requests: SendRequest<Empty<Bytes>>,
    connection: tokio::task::JoinHandle<()>,
}

impl Http2 {
    pub async fn connect(place: &Place, source: [u8; 4], window: u32) -> Self {
        let stream = TokioIo::new(connect_as(place, source, b"h2").await);
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window).initial_connection_window_size(1 << 30);
        let (requests, connection) = builder.handshake(stream).await.unwrap();
        let connection = tokio::spawn(async move { _ = connection.await });
        Self { requests, connection }
    }

    /// The head of a response; its content is not read.
    pub async fn ask(&mut self, path: &str) -> hyper::Result<Response<Incoming>> {
        self.requests.ready().await?;
        let request = Request::get(format!("https://localhost{path}")).body(Empty::new()).unwrap();
        self.requests.send_request(request).await
    }

    /// Waits until the server has ended the connection, and says whether it did in time.
    pub async fn ended_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, &mut self.connection).await.is_ok()
    }
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// How long the server keeps a connection open from which nothing more comes.
pub async fn open_for(stream: &mut TlsStream<TcpStream>) -> Duration {
    let begun = Instant::now();
    let mut rest = Vec::new();
    // An end without word of TLS is one too.
    _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await;
    begun.elapsed()
}
