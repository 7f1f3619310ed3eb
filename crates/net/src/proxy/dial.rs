//! Connections to one server of an upstream.

use super::send_error::NotAccepted;
use super::upstream::UpstreamServer;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tower_service::Service;

/// Time limit for a connection to the upstream. Our choice.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Connects to one server, whatever host a request names.
#[derive(Debug, Clone)]
pub(super) struct Dialer {
    server: UpstreamServer,
    tcp: HttpConnector,
    /// Sent first on each connection.
    header: Vec<u8>,
}

impl Dialer {
    pub fn new(server: UpstreamServer) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME));
        Self { server, tcp, header: Vec::new() }
    }

    /// Sends `header` first on each connection.
    pub fn with_header(self, header: Vec<u8>) -> Self {
        Self { header, ..self }
    }
}

impl Service<Uri> for Dialer {
    type Response = UpstreamStream;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<UpstreamStream, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let header = self.header.clone();
        if let Some(path) = self.server.socket.clone() {
            return Box::pin(async move {
                let connected = timeout(CONNECT_TIME, UnixStream::connect(path)).await;
                let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                let mut stream = connected.map_err(|error| NotAccepted::or_own(error.into()))?;
                stream.write_all(&header).await?;
                Ok(UpstreamStream::Unix(TokioIo::new(stream)))
            });
        }
        let uri = Uri::builder()
            .scheme(self.server.scheme.clone())
            .authority(self.server.authority.clone())
            .path_and_query("/")
            .build();
        let uri = match uri {
            Ok(uri) => uri,
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        let connecting = self.tcp.call(uri);
        Box::pin(async move {
            let connected = connecting.await;
            let mut stream = connected.map_err(|error| NotAccepted::or_own(error.into()))?;
            stream.inner_mut().write_all(&header).await?;
            Ok(UpstreamStream::Tcp(stream))
        })
    }
}

/// A connection to a server.
#[derive(Debug)]
pub(super) enum UpstreamStream {
    Tcp(TokioIo<TcpStream>),
    Unix(TokioIo<UnixStream>),
}

impl Connection for UpstreamStream {
    fn connected(&self) -> Connected {
        match self {
            Self::Tcp(stream) => stream.inner().connected(),
            Self::Unix(_) => Connected::new(),
        }
    }
}

impl Read for UpstreamStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl Write for UpstreamStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, data),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, data),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }
}
