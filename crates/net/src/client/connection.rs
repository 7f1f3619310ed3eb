//! One connection of a client: its socket, its driver, its requests.

use super::{ClientError, Inner, Server};
use crate::clock::WallClock;
use crate::driver::Driver;
use crate::server::MTU;
use crate::socket::Socket;
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::path_memory::token::{ClientWindows, Tokens};
use bentpipe_quic::{
    AckRule, BidiStream, Conn, ConnectionConfig, Endpoint, FlowControlRule, Http3, Settings, Task,
};
use bentpipe_units::{Bytes as Size, Span, Time};
use bytes::{Buf, Bytes, BytesMut};
use h3::client::{RequestStream, SendRequest};
use http::{HeaderMap, Request};
use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use tokio::sync::{mpsc, oneshot};

/// Flow-control window that a connection begins with: our choice. Servers that remember the path
/// send up to half of what it carried in their first flight, 4 MB of 100 Mbps over 600 ms; a token
/// of theirs makes it larger. It follows the path from there, up to 64 MB
/// ([`FlowControlRule::tuned`]). What is not taken from the stream fills it and no more.
const WINDOW: Size = Size::from_mb(4);
/// Bytes of a piece of content, at most.
const PIECE: usize = 64 * 1024;
/// Pieces that wait to be taken.
const PIECES: usize = 128;
/// Requests that wait to be sent.
const ASKS: usize = 64;

/// When what happened. Spans count from the connection's first packet, for its first request, and
/// from when it was asked for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// What the others count from, since the client was made.
    pub start: Span,
    /// The handshake was complete; nothing before, and for requests of a connection that was there.
    pub handshake: Option<Span>,
    /// The response's head was there.
    pub first_byte: Span,
    /// The last of the content was taken; nothing before.
    pub completion: Option<Span>,
    /// Whether the request could leave with the first flight, and the server took it (0-RTT).
    pub early: bool,
}

/// A response whose content is taken as it comes. Where it is not taken, the server has to wait.
#[derive(Debug)]
pub struct Response {
    /// Status and headers.
    pub head: http::Response<()>,
    pieces: mpsc::Receiver<Result<Part, ClientError>>,
    trailers: Option<HeaderMap>,
    ended: bool,
    server: String,
    conn: Conn,
    clock: WallClock,
    /// Whether this was its connection's first request.
    first: bool,
    begun: Time,
    first_byte: Time,
    completion: Option<Time>,
}

/// What follows a response's head. Only [`Part::End`] makes the response whole: one whose sender
/// goes without a word did not end.
#[derive(Debug)]
enum Part {
    Content(Bytes),
    /// There is no more; with the trailers, where there are any.
    End(Option<HeaderMap>),
}

impl Response {
    /// Moves what has come of the content to `into`, and waits where nothing has. False at its end.
    ///
    /// # Errors
    /// The connection or the stream has ended before the content.
    pub async fn pieces(&mut self, into: &mut Vec<Bytes>) -> Result<bool, ClientError> {
        if self.ended {
            return Ok(false);
        }
        let mut arrived = Vec::new();
        if self.pieces.recv_many(&mut arrived, PIECES).await == 0 {
            return Err(connection_over(&self.conn, &self.server));
        }
        for part in arrived {
            match part? {
                Part::Content(piece) => into.push(piece),
                Part::End(trailers) => {
                    self.ended = true;
                    self.trailers = trailers;
                    self.completion = Some(self.clock.now());
                }
            }
        }
        Ok(true)
    }

    /// What the server said after the content (RFC 9110 §6.5), once that has been taken.
    pub const fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// When what happened.
    pub fn timings(&self) -> Timings {
        Timings {
            start: self.begun.since(Time::ZERO),
            handshake: self
                .conn
                .connected_at()
                .filter(|_| self.first)
                .map(|at| at.since(self.begun)),
            first_byte: self.first_byte.since(self.begun),
            completion: self.completion.map(|at| at.since(self.begun)),
            early: self.first && self.conn.has_0rtt() && self.conn.accepted_0rtt(),
        }
    }
}

/// Why a request's task is gone without an answer.
fn connection_over(conn: &Conn, server: &str) -> ClientError {
    let reason = conn
        .closed()
        .map_or_else(|| "the connection has ended".to_owned(), |error| error.to_string());
    ClientError::Connection { server: server.to_owned(), reason }
}

/// What a request is answered with: a head, and then content.
struct Answered {
    head: http::Response<()>,
    pieces: mpsc::Receiver<Result<Part, ClientError>>,
    at: Time,
}

struct Ask {
    request: Request<()>,
    answer: oneshot::Sender<Result<Answered, ClientError>>,
}

/// A connection. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    conn: Conn,
    asks: mpsc::Sender<Ask>,
    driver: Driver,
    server: String,
    clock: WallClock,
    begun: Time,
    used: Arc<AtomicBool>,
}

impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask").field("uri", self.request.uri()).finish_non_exhaustive()
    }
}

impl Connection {
    /// Begins a connection, and waits until it can be used: at once where the server's ticket
    /// allows early data, otherwise when the handshake is complete.
    pub async fn open(
        client: &Inner,
        server: &Server,
        address: SocketAddr,
        early: bool,
    ) -> Result<Self, ClientError> {
        let fail = |reason: String| ClientError::Connection {
            server: format!("{} ({address})", server.name()),
            reason,
        };
        let any = if address.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let socket = Socket::bind(any).map_err(|error| fail(error.to_string()))?;
        let clock = client.clock.clone();
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            clock.base(),
            None,
            socket.max_segments(MTU.1),
        );
        // A driver that fails ends its connections' tasks, which is how it shows.
        let (driver, _) = Driver::start(endpoint, socket, clock.clone());

        let settings = Settings {
            // The stack cannot change it later: it is the connection's that limits.
            stream_window: FlowControlRule::tuned().max_window,
            connection_window: WINDOW,
            flow_control: FlowControlRule::tuned(),
            initial_mtu: MTU.0,
            max_mtu: MTU.1,
            ack: AckRule::Auto,
            ack_by: AckRule::Auto.by(),
            ..Settings::default()
        };
        let windows = ClientWindows { present: WINDOW, max: ClientWindows::MAX };
        let tokens =
            client.path_tokens.as_ref().map(|kept| Tokens::client(kept, &server.name(), windows));
        let (mut config, attached) = ConnectionConfig::new(settings, clock.base())
            .map_err(|error| fail(error.to_string()))?
            // It sends requests, which need no start of their own.
            .without_fast_start()
            .with_tokens(tokens)
            .with_qlog(client.traces.as_ref().and_then(|traces| traces.desk().begin("client")))
            .with_acknowledger()
            .client(client.tls[usize::from(early)].clone());
        config.token_store(client.address_tokens.clone());
        let (asks, inbox) = mpsc::channel(ASKS);
        let (begin, began) = oneshot::channel();
        let (host, name) = (server.host.clone(), server.name());
        let app_name = name.clone();
        driver
            .run(move |endpoint, now| {
                let app = |conn: Conn| Box::pin(serve(conn, inbox, app_name)) as Task;
                let begun = endpoint.connect(now, config, address, &host, attached, app);
                // Whoever asked has gone where it cannot be told.
                let _ =
                    begin.send(begun.map(|conn| (conn, now)).map_err(|error| error.to_string()));
            })
            .await;
        let begun = began.await.map_err(|_| fail("the driver ended".to_owned()))?;
        let (conn, begun) = begun.map_err(fail)?;
        if !conn.has_0rtt() {
            let limit = client.handshake_time.into();
            match tokio::time::timeout(limit, conn.handshaken()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(fail(error.to_string())),
                Err(_) => {
                    driver.close_all(0).await;
                    return Err(fail(format!("no handshake within {}", client.handshake_time)));
                }
            }
        }
        Ok(Self { conn, asks, driver, server: name, clock, begun, used: Arc::default() })
    }

    /// Sends a request and waits for the head of its response.
    pub async fn ask(&self, request: Request<()>) -> Result<Response, ClientError> {
        let over = || connection_over(&self.conn, &self.server);
        let first = !self.used.swap(true, Ordering::Relaxed);
        let begun = if first { self.begun } else { self.clock.now() };
        let (answer, answered) = oneshot::channel();
        self.asks.send(Ask { request, answer }).await.map_err(|_| over())?;
        let Answered { head, pieces, at: first_byte } = answered.await.map_err(|_| over())??;
        Ok(Response {
            head,
            pieces,
            trailers: None,
            ended: false,
            server: self.server.clone(),
            conn: self.conn.clone(),
            clock: self.clock.clone(),
            first,
            begun,
            first_byte,
            completion: None,
        })
    }

    /// Whether both are the same connection.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.used, &other.used)
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.conn.closed().is_some() || self.asks.is_closed()
    }

    /// Whether early data was sent and refused.
    pub fn early_refused(&self) -> bool {
        self.conn.has_0rtt() && self.conn.connected_at().is_some() && !self.conn.accepted_0rtt()
    }

    /// Tells the server that it is over.
    pub async fn close(self) {
        self.driver.close_all(h3::error::Code::H3_NO_ERROR.value()).await;
    }
}

/// The application inside the connection.
async fn serve(conn: Conn, mut asks: mpsc::Receiver<Ask>, server: String) {
    let window = FlowControlRule::tuned().max_window.get();
    let built = h3::client::builder().build(Http3::new(conn.clone(), window)).await;
    let Ok((mut connection, requests)) = built else { return };
    loop {
        tokio::select! {
            _ = poll_fn(|cx| connection.poll_close(cx)) => return,
            ask = asks.recv() => match ask {
                Some(ask) => conn.spawn(exchange(conn.clone(), requests.clone(), ask, server.clone())),
                None => break,
            },
        }
    }
    // Nobody can ask any more; those who have asked are served on.
    drop(requests);
    poll_fn(|cx| connection.poll_close(cx)).await;
}

/// Carries out one request. Where nobody waits for it any more it is dropped, and its stream with
/// it, which cancels it at the server.
async fn exchange(conn: Conn, mut requests: SendRequest<Http3, Bytes>, ask: Ask, server: String) {
    let fail = |reason: String| ClientError::Exchange { server: server.clone(), reason };
    let Ask { request, mut answer } = ask;
    let begin = async {
        let mut stream = requests.send_request(request).await?;
        stream.finish().await?;
        let head = stream.recv_response().await?;
        Ok::<_, h3::error::StreamError>((stream, head))
    };
    let begun = tokio::select! {
        () = answer.closed() => return,
        begun = begin => begun,
    };
    let (stream, head) = match begun {
        Ok(begun) => begun,
        Err(error) => return drop(answer.send(Err(fail(error.to_string())))),
    };
    let (sender, pieces) = mpsc::channel(PIECES);
    if answer.send(Ok(Answered { head, pieces, at: conn.now() })).is_err() {
        return;
    }
    tokio::select! {
        () = sender.closed() => {}
        () = pass_on(stream, &sender, fail) => {}
    }
}

/// Hands a response's content to whoever takes it, until its end.
async fn pass_on(
    mut stream: RequestStream<BidiStream, Bytes>,
    sender: &mpsc::Sender<Result<Part, ClientError>>,
    fail: impl Fn(String) -> ClientError,
) {
    loop {
        let mut piece = BytesMut::new();
        // What is there is taken together, up to a piece.
        let gathered = poll_fn(|cx| {
            loop {
                match stream.poll_recv_data(cx) {
                    Poll::Ready(Ok(Some(mut data))) => {
                        while data.has_remaining() {
                            let length = data.chunk().len();
                            piece.extend_from_slice(data.chunk());
                            data.advance(length);
                        }
                        if piece.len() >= PIECE {
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
