//! A client's connection to a server: its socket, its driver and its requests.

use super::address_tokens::AddressTokens;
use super::by_port::ByPort;
use super::error::ClientError;
use super::host_port::HostPort;
use super::response::{PARTS, Part, Response, connection_closed, stalled};
use crate::clock::RealClock;
use crate::driver::Driver;
use crate::qlog::Traces;
use crate::socket::MTU;
use bentpipe_quic::noq_proto::TokenStore;
use bentpipe_quic::noq_proto::crypto::ClientConfig;
use bentpipe_quic::path_memory::token::{ClientWindows, TokenClient, Tokens};
use bentpipe_quic::{
    AckRule, BidiStream, Conn, ConnectionConfig, FlowControlRule, Http3, QuicSettings, Task,
};
use bentpipe_units::{Bytes as Size, Span, Time};
use bytes::{Buf, Bytes, BytesMut};
use h3::client::{RequestStream, SendRequest};
use http::{Request, StatusCode};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Initial flow-control window of a connection. Our choice. A server that remembers the path sends
/// up to half of what the path carried in its first flight: 4 MB for 100 Mbps over 600 ms. A path
/// token makes the window larger. It then follows the path, up to 64 MB
/// ([`FlowControlRule::tuned`]). Content that is not read fills the window and no more.
const WINDOW: Size = Size::from_mb(4);
/// Largest piece of content, bytes.
const MAX_PIECE: usize = 64 * 1024;
/// Largest size of a response's header fields, decoded, bytes. Our choice.
const MAX_HEADER: u64 = 64 * 1024;
/// Interim responses (1xx, RFC 9110 §15.2) before a response. Our choice.
const MAX_INTERIM: usize = 32;
/// Requests that may wait to be sent.
const QUEUE: usize = 64;

/// The head of a response, and the channel of its content.
struct ResponseHead {
    head: http::Response<()>,
    pieces: mpsc::Receiver<Result<Part, ClientError>>,
    at: Time,
}

/// A request for the connection's task.
struct PendingRequest {
    request: Request<()>,
    response: oneshot::Sender<Result<ResponseHead, ClientError>>,
}

/// What all connections of a client share.
pub(super) struct ConnectContext {
    /// TLS without and with early data, by the server's port. Both keep the same tickets.
    pub tls: ByPort<[Arc<dyn ClientConfig>; 2]>,
    pub address_tokens: Arc<dyn TokenStore>,
    pub path_tokens: Option<TokenClient>,
    /// Time limit of a handshake.
    pub handshake_time: Span,
    /// Longest time in which nothing of a response arrives.
    pub stall_time: Span,
    pub clock: RealClock,
    pub traces: Option<Traces>,
}

/// A connection. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    conn: Conn,
    requests: mpsc::Sender<PendingRequest>,
    driver: Driver,
    server: String,
    clock: RealClock,
    stall_time: Span,
    started: Time,
    used: Arc<AtomicBool>,
    /// True once the server has announced the connection's end.
    leaving: Arc<AtomicBool>,
}

impl std::fmt::Debug for PendingRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingRequest").field("uri", self.request.uri()).finish_non_exhaustive()
    }
}

impl Connection {
    /// Opens a connection and waits until it can be used: at once if `early` is set and the
    /// server's ticket allows early data, otherwise until the handshake is complete.
    pub async fn open(
        context: &ConnectContext,
        server: &HostPort,
        address: SocketAddr,
        early: bool,
    ) -> Result<Self, ClientError> {
        let fail = |reason: String| ClientError::Connection {
            server: format!("{} ({address})", server.name()),
            reason,
        };
        let clock = context.clock.clone();
        let driver =
            Driver::for_client(address, &clock).map_err(|error| fail(error.to_string()))?;
        let settings = QuicSettings {
            // The stack cannot change it later, so the connection's window is the limit.
            stream_window: FlowControlRule::tuned().max_window,
            connection_window: WINDOW,
            flow_control: FlowControlRule::tuned(),
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..QuicSettings::default()
        };
        let windows = ClientWindows { present: WINDOW, max: ClientWindows::MAX };
        let tokens = context
            .path_tokens
            .as_ref()
            .map(|tokens| Tokens::client(tokens, &server.name(), windows));
        let (mut config, attachments) = ConnectionConfig::new(settings, clock.base())
            .map_err(|error| fail(error.to_string()))?
            // Requests are small and need no fast start.
            .without_fast_start()
            .with_tokens(tokens)
            .with_qlog(context.traces.as_ref().and_then(|traces| traces.writer().start("client")))
            .with_acknowledger()
            .client(context.tls.at(server.port)?[usize::from(early)].clone());
        let address_tokens = context.address_tokens.clone();
        config.token_store(Arc::new(AddressTokens::new(address_tokens, server.port)));
        let (requests, inbox) = mpsc::channel(QUEUE);
        let name = server.name();
        let app_name = name.clone();
        let leaving = Arc::new(AtomicBool::new(false));
        let app_leaving = leaving.clone();
        let app = |conn: Conn| Box::pin(serve(conn, inbox, app_name, app_leaving)) as Task;
        let connecting = driver.connect(config, address, server.host.clone(), attachments, app);
        let (conn, started) = connecting.await.map_err(fail)?;
        if !conn.has_0rtt() {
            driver.handshake(&conn, context.handshake_time).await.map_err(fail)?;
        }
        Ok(Self {
            conn,
            requests,
            driver,
            server: name,
            clock,
            stall_time: context.stall_time,
            started,
            used: Arc::default(),
            leaving,
        })
    }

    /// Sends a request and waits for the head of its response. A request that left as early data
    /// and is refused for that is sent again after the handshake (RFC 8470 §5.2).
    pub async fn send(&self, request: Request<()>) -> Result<Response, ClientError> {
        let early = self.conn.has_0rtt() && self.conn.connected_at().is_none();
        let response = self.exchange(request.clone()).await?;
        let refused = early && response.head.status() == StatusCode::TOO_EARLY;
        if refused && self.conn.handshaken().await.is_ok() {
            return self.exchange(request).await;
        }
        Ok(response)
    }

    async fn exchange(&self, request: Request<()>) -> Result<Response, ClientError> {
        let closed = || connection_closed(Some(&self.conn), &self.server);
        let first = !self.used.swap(true, Ordering::Relaxed);
        let started = if first { self.started } else { self.clock.now() };
        let (response, head) = oneshot::channel();
        let pending = PendingRequest { request, response };
        self.requests.send(pending).await.map_err(|_| closed())?;
        let head = tokio::select! {
            head = timeout(self.stall_time.into(), head) => head,
            () = self.refusal_of_early_data() => {
                let reason = "the server refused early data".to_owned();
                return Err(ClientError::Exchange { server: self.server.clone(), reason });
            }
        };
        let head = head.map_err(|_| stalled(&self.server, self.stall_time))?;
        let ResponseHead { head, pieces, at: first_byte } = head.map_err(|_| closed())??;
        Ok(Response {
            head,
            pieces,
            trailers: None,
            server: self.server.clone(),
            stall_time: self.stall_time,
            conn: Some(self.conn.clone()),
            connected: None,
            clock: self.clock.clone(),
            first,
            started,
            first_byte,
            completion: None,
        })
    }

    /// Returns whether both are the same connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.used, &other.used)
    }

    /// Returns whether the connection is closed, or takes no further requests.
    pub fn is_closed(&self) -> bool {
        self.conn.closed().is_some() || self.requests.is_closed() || self.is_leaving()
    }

    /// Returns whether the server has announced the connection's end (GOAWAY, RFC 9114 §5.2): it
    /// takes no further requests, while those under way continue.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Waits until early data was sent and refused. HTTP/3 cannot continue then: its own streams
    /// are lost, and a request after them may never be answered.
    async fn refusal_of_early_data(&self) {
        if !self.conn.has_0rtt() || self.conn.handshaken().await.is_err() || !self.early_refused() {
            std::future::pending().await
        }
    }

    /// Returns whether early data was sent and refused.
    pub fn early_refused(&self) -> bool {
        self.conn.has_0rtt() && self.conn.connected_at().is_some() && !self.conn.accepted_0rtt()
    }

    /// Closes the connection and waits until the close frame is sent.
    pub async fn close(self) {
        self.driver.close_all(h3::error::Code::H3_NO_ERROR.value()).await;
    }
}

/// The connection's application.
async fn serve(
    conn: Conn,
    mut pending: mpsc::Receiver<PendingRequest>,
    server: String,
    leaving: Arc<AtomicBool>,
) {
    let window = FlowControlRule::tuned().max_window.get();
    let built = h3::client::builder()
        .max_field_section_size(MAX_HEADER)
        .build(Http3::new(conn.clone(), window))
        .await;
    let Ok((mut connection, requests)) = built else { return };
    loop {
        tokio::select! {
            _ = poll_fn(|cx| connection.poll_close(cx)) => return,
            request = pending.recv() => match request {
                Some(request) => {
                    let (server, leaving) = (server.clone(), leaving.clone());
                    conn.spawn(exchange(conn.clone(), requests.clone(), request, server, leaving));
                }
                None => break,
            },
        }
    }
    // All handles are dropped. Requests under way continue.
    drop(requests);
    poll_fn(|cx| connection.poll_close(cx)).await;
}

/// Runs one request. If nobody waits for the response any more, the stream is dropped, which
/// cancels the request at the server.
async fn exchange(
    conn: Conn,
    mut requests: SendRequest<Http3, Bytes>,
    pending: PendingRequest,
    server: String,
    leaving: Arc<AtomicBool>,
) {
    let fail = |reason: String| ClientError::Exchange { server: server.clone(), reason };
    let PendingRequest { request, mut response } = pending;
    let exchange = async {
        let mut stream = requests.send_request(request).await?;
        stream.finish().await?;
        let mut head = stream.recv_response().await?;
        let mut interim = 0;
        // Such as 103 (Early Hints, RFC 8297).
        while head.status().is_informational() && interim < MAX_INTERIM {
            interim += 1;
            head = stream.recv_response().await?;
        }
        Ok::<_, h3::error::StreamError>((stream, head))
    };
    let result = tokio::select! {
        () = response.closed() => return,
        result = exchange => result,
    };
    let (stream, head) = match result {
        Ok(started) => started,
        Err(error) => {
            // The request was not sent: another connection may take it.
            if matches!(error, h3::error::StreamError::RemoteClosing { .. }) {
                leaving.store(true, Ordering::Relaxed);
            }
            return drop(response.send(Err(fail(error.to_string()))));
        }
    };
    if head.status().is_informational() {
        let reason = format!("more than {MAX_INTERIM} interim responses");
        return drop(response.send(Err(fail(reason))));
    }
    let (sender, pieces) = mpsc::channel(PARTS);
    if response.send(Ok(ResponseHead { head, pieces, at: conn.now() })).is_err() {
        return;
    }
    tokio::select! {
        () = sender.closed() => {}
        () = read_content(stream, &sender, fail) => {}
    }
}

/// Passes a response's content to its reader.
async fn read_content(
    mut stream: RequestStream<BidiStream, Bytes>,
    sender: &mpsc::Sender<Result<Part, ClientError>>,
    fail: impl Fn(String) -> ClientError,
) {
    loop {
        let mut piece = BytesMut::new();
        // Gathers the content that has arrived, up to one piece.
        let gathered = poll_fn(|cx| {
            loop {
                match stream.poll_recv_data(cx) {
                    Poll::Ready(Ok(Some(mut data))) => {
                        while data.has_remaining() {
                            let length = data.chunk().len();
                            piece.extend_from_slice(data.chunk());
                            data.advance(length);
                        }
                        if piece.len() >= MAX_PIECE {
                            return Poll::Ready(Ok(true));
                        }
                    }
                    Poll::Ready(Ok(None)) => return Poll::Ready(Ok(false)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending if piece.is_empty() => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(Ok(true)),
                }
            }
        });
        let more = gathered.await;
        if !piece.is_empty() && sender.send(Ok(Part::Content(piece.freeze()))).await.is_err() {
            return;
        }
        match more {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return drop(sender.send(Err(fail(error.to_string()))).await),
        }
    }
    let end = stream.recv_trailers().await.map(Part::End).map_err(|error| fail(error.to_string()));
    drop(sender.send(end).await);
}
