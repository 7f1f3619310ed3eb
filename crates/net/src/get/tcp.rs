//! A client's connection over TCP, for servers that do not answer over QUIC: HTTP/2, or HTTP/1.1 if
//! the server has no other.

use super::by_port::ByPort;
use super::error::ClientError;
use super::host_port::HostPort;
use super::response::{PARTS, Part, Response, stalled};
use crate::clock::RealClock;
use bentpipe_units::{Span, Time};
use futures_util::future::Either;
use http::header::{HOST, HeaderValue, TE};
use http::{Request, Response as HttpResponse, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Protocols to ask for (ALPN), the preferred one first.
pub(super) const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// Receive window of HTTP/2, of the connection and of each stream. Our choice: with less, a single
/// download over 600 ms is slower than TCP itself.
const WINDOW: u32 = 8 << 20;
/// Largest size of a response's header fields, bytes. Our choice.
const MAX_HEADER: usize = 64 * 1024;

/// What all connections over TCP share.
pub(super) struct TcpContext {
    /// TLS of servers, by their port.
    pub tls: ByPort<TlsConnector>,
    /// Time limit of connecting to each address, with the handshake of TLS.
    pub handshake_time: Span,
    /// Longest time in which nothing of a response arrives.
    pub stall_time: Span,
    pub clock: RealClock,
}

/// Sends requests. Content of requests is empty.
enum Sender {
    /// A request at a time: the next one waits until the response has been read.
    Http1(http1::SendRequest<String>),
    Http2(http2::SendRequest<String>),
}

/// A connection. Clones share it.
#[derive(Clone)]
pub(super) struct TcpConnection(Arc<Inner>);

struct Inner {
    sender: Mutex<Sender>,
    server: String,
    clock: RealClock,
    stall_time: Span,
    started: Time,
    connected: Time,
    used: AtomicBool,
    /// Whether an exchange has failed in a way that leaves the connection of no use. The library
    /// notices a moment later.
    dead: AtomicBool,
}

impl fmt::Debug for TcpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpConnection").field("server", &self.0.server).finish_non_exhaustive()
    }
}

impl TcpConnection {
    /// Opens a connection to `address`, and waits until its handshakes are complete.
    ///
    /// # Errors
    /// The server cannot be reached in time, or its certificate is not trusted.
    pub async fn open(
        context: &TcpContext,
        server: &HostPort,
        address: SocketAddr,
    ) -> Result<Self, ClientError> {
        let fail = |reason: String| ClientError::Connection {
            server: format!("{} ({address}, TCP)", server.name()),
            reason,
        };
        let started = context.clock.now();
        let connecting = timeout(context.handshake_time.into(), connect(context, server, address));
        let sender = match connecting.await {
            Ok(connected) => connected.map_err(fail)?,
            Err(_) => return Err(fail("no handshake in time".to_owned())),
        };
        Ok(Self(Arc::new(Inner {
            sender: Mutex::new(sender),
            server: server.name(),
            clock: context.clock.clone(),
            stall_time: context.stall_time,
            started,
            connected: context.clock.now(),
            used: AtomicBool::new(false),
            dead: AtomicBool::new(false),
        })))
    }

    /// Sends a request and waits for the head of its response.
    ///
    /// # Errors
    /// The exchange fails, or takes too long.
    pub async fn send(&self, request: Request<()>) -> Result<Response, ClientError> {
        let Inner { server, clock, stall_time, .. } = &*self.0;
        let first = !self.0.used.swap(true, Ordering::Relaxed);
        let started = if first { self.0.started } else { clock.now() };
        let exchange = timeout((*stall_time).into(), self.exchange(request));
        let response = exchange.await.map_err(|_| stalled(server, *stall_time))?;
        let response = response.map_err(|(ends, error)| {
            self.0.dead.fetch_or(ends, Ordering::Relaxed);
            self.failed(&error)
        });
        let (head, content) = response?.into_parts();
        let (sender, pieces) = mpsc::channel(PARTS);
        let reading = self.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = sender.closed() => {}
                () = reading.read_content(content, &sender) => {}
            }
        });
        Ok(Response {
            head: HttpResponse::from_parts(head, ()),
            pieces,
            trailers: None,
            server: server.clone(),
            stall_time: *stall_time,
            conn: None,
            connected: Some(self.0.connected),
            clock: clock.clone(),
            first,
            started,
            first_byte: clock.now(),
            completion: None,
        })
    }

    /// Exchanges a request for a response. With an error, says whether it ends the connection: any
    /// does over HTTP/1.1.
    async fn exchange(
        &self,
        request: Request<()>,
    ) -> Result<HttpResponse<Incoming>, (bool, hyper::Error)> {
        let mut request = request.map(|()| String::new());
        let (http1, response) = match &mut *self.0.sender.lock().await {
            Sender::Http1(sender) => {
                for_http1(&mut request);
                sender.ready().await.map_err(|error| (true, error))?;
                (true, Either::Left(sender.send_request(request)))
            }
            Sender::Http2(sender) => {
                sender.ready().await.map_err(|error| (true, error))?;
                (false, Either::Right(sender.send_request(request)))
            }
        };
        // Without the lock: other requests of HTTP/2 do not wait for this response.
        response.await.map_err(|error| (http1 || is_of_connection(&error), error))
    }

    /// Passes a response's content to its reader.
    async fn read_content(
        &self,
        mut content: Incoming,
        sender: &mpsc::Sender<Result<Part, ClientError>>,
    ) {
        let mut trailers = None;
        let end = loop {
            match poll_fn(|cx| Pin::new(&mut content).poll_frame(cx)).await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        if sender.send(Ok(Part::Content(data))).await.is_err() {
                            return;
                        }
                    }
                    Err(other) => trailers = other.into_trailers().ok(),
                },
                Some(Err(error)) => break Err(self.failed(&error)),
                None => break Ok(Part::End(trailers)),
            }
        };
        drop(sender.send(end).await);
    }

    fn failed(&self, error: &hyper::Error) -> ClientError {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
        let reason = format!("{error}{}", cause.unwrap_or_default());
        ClientError::ExchangeOverTcp { server: self.0.server.clone(), reason }
    }

    /// Returns whether both are the same connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns whether the connection is closed.
    pub fn is_closed(&self) -> bool {
        // One that is being asked is open.
        self.0.dead.load(Ordering::Relaxed)
            || self.0.sender.try_lock().is_ok_and(|sender| match &*sender {
                Sender::Http1(sender) => sender.is_closed(),
                Sender::Http2(sender) => sender.is_closed(),
            })
    }
}

/// Returns whether an error over HTTP/2 is one of the connection, and not of one stream.
fn is_of_connection(error: &hyper::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    error.is_closed() || error.is_canceled()
}

/// Connects, and selects the version of HTTP that the server prefers.
async fn connect(
    context: &TcpContext,
    server: &HostPort,
    address: SocketAddr,
) -> Result<Sender, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    // Small frames should not wait for acknowledgements. An error only makes them slower.
    let _ = stream.set_nodelay(true);
    let host = server.host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
    let tls = context.tls.at(server.port).map_err(|error| error.to_string())?;
    let stream = tls.connect(name, stream).await.map_err(|error| error.to_string())?;
    let http2 = stream.get_ref().1.alpn_protocol() == Some(ALPN[0]);
    let stream = TokioIo::new(stream);
    if http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_connection_window_size(WINDOW)
            .initial_stream_window_size(WINDOW)
            .max_header_list_size(MAX_HEADER as u32);
        let (sender, connection) =
            builder.handshake(stream).await.map_err(|error| error.to_string())?;
        // Its errors are those of its requests.
        tokio::spawn(connection);
        return Ok(Sender::Http2(sender));
    }
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEADER);
    let (sender, connection) =
        builder.handshake(stream).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    Ok(Sender::Http1(sender))
}

/// Changes a request to the form that HTTP/1.1 has (RFC 9112 §3.2): the path as its target, and the
/// host in a field.
fn for_http1(request: &mut Request<String>) {
    let authority = request.uri().authority().cloned();
    let host = authority.and_then(|host| HeaderValue::try_from(host.as_str()).ok());
    request.headers_mut().extend(host.map(|host| (HOST, host)));
    // It would have to be named in `Connection` (RFC 9110 §10.1.4).
    request.headers_mut().remove(TE);
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http1_has_the_host_in_a_field() {
        let request = Request::get("https://h:8443/a?b").header(TE, "trailers");
        let mut request = request.body(String::new()).unwrap();
        for_http1(&mut request);
        assert_eq!(request.uri(), "/a?b");
        assert_eq!(request.headers()[HOST], "h:8443");
        assert!(!request.headers().contains_key(TE));
    }
}
