//! Connections over HTTP/2 to one server. Each carries many requests at a time.

use super::dial::Dialer;
use super::send_error::{SendError, Unanswered};
use super::upload::Upload;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http::uri::Authority;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::sleep;
use tower_service::Service;

/// Requests at a time on one connection, if the server allows as many. Our choice: what RFC 9113
/// §6.5.2 recommends servers to allow at least.
const STREAMS: usize = 100;
/// Requests on one connection in all. nginx ends one after 1000 (`keepalive_requests`) and drops
/// what arrives meanwhile.
const REQUESTS: usize = 900;

/// Bytes of one response that may arrive before its client takes them. Our choice: twice what a
/// connection of HTTP/1.1 reads ahead. A connection has room for all of its requests, so that a
/// client that takes nothing does not keep the others waiting.
const STREAM_WINDOW: u32 = 128 * 1024;
/// Time after which a connection of one request ends that nobody uses any more. Our choice.
const ALONE: Duration = Duration::from_secs(1);
/// Bytes of one request's content that wait for the server.
const SEND_BUFFER: usize = 128 * 1024;

/// Connections to one server, by the names that it is asked for in TLS.
pub(super) struct Http2Pool {
    connector: HttpsConnector<Dialer>,
    /// Largest header of a response, bytes.
    header: u32,
    /// Time that an unused connection is kept.
    idle: Duration,
    named: Mutex<HashMap<Authority, Named>>,
}

impl fmt::Debug for Http2Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http2Pool").finish_non_exhaustive()
    }
}

type Opening = Shared<BoxFuture<'static, Result<Arc<Connection>, SendError>>>;

/// The connections that are kept for one name.
#[derive(Default)]
struct Named {
    open: Vec<Arc<Connection>>,
    /// One that is being opened. All requests that need it wait for the same.
    opening: Option<Opening>,
}

impl Named {
    /// Forgets connections that can take no further request.
    fn forget_ended(&mut self) {
        self.open.retain(|connection| !connection.has_ended());
    }
}

struct Connection {
    sender: SendRequest<Upload>,
    usage: Arc<Usage>,
}

/// What a connection is used for.
#[derive(Debug)]
struct Usage {
    /// Requests under way.
    streams: AtomicUsize,
    /// Requests so far.
    begun: AtomicUsize,
    /// Requests at a time.
    limit: AtomicUsize,
}

/// A request under way on a connection, until it is dropped.
#[derive(Debug)]
pub(super) struct ActiveStream(Arc<Usage>);

impl Drop for ActiveStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Relaxed);
    }
}

impl Connection {
    fn has_ended(&self) -> bool {
        self.sender.is_closed() || self.usage.begun.load(Relaxed) >= REQUESTS
    }

    /// Returns a place for a request, if there is one.
    fn begin(&self) -> Option<ActiveStream> {
        if self.has_ended() {
            return None;
        }
        let limit = self.usage.limit.load(Relaxed);
        let more = |streams: usize| Some(streams + 1).filter(|more| *more <= limit);
        self.usage.streams.fetch_update(Relaxed, Relaxed, more).ok()?;
        self.usage.begun.fetch_add(1, Relaxed);
        Some(ActiveStream(self.usage.clone()))
    }
}

impl Http2Pool {
    /// Returns a pool without connections. The connector offers HTTP/2 alone in TLS.
    pub fn new(connector: HttpsConnector<Dialer>, header: usize, idle: Duration) -> Self {
        let header = u32::try_from(header).unwrap_or(u32::MAX);
        Self { connector, header, idle, named: Mutex::default() }
    }

    fn named(&self) -> MutexGuard<'_, HashMap<Authority, Named>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request on a connection to the server at `name`, whose TLS names that host. `keep`:
    /// on one that is shared and kept; otherwise on one of its own.
    ///
    /// # Errors
    /// The server cannot be reached, or does not respond.
    pub async fn send(
        &self,
        request: Request<Upload>,
        name: &Uri,
        keep: bool,
    ) -> Result<(Response<Incoming>, ActiveStream), Unanswered> {
        let place = match name.authority().filter(|_| keep) {
            Some(key) => self.stream(key, name).await,
            None => alone(self.connector.clone(), name.clone(), self.header, self.idle).await,
        };
        match place {
            Ok(place) => send_on(place, request).await,
            Err(error) => Err(Unanswered { error, unsent: Some(request.into_body()) }),
        }
    }

    /// Returns a connection for `key` with a place for a request.
    async fn stream(&self, key: &Authority, name: &Uri) -> Result<Place, SendError> {
        loop {
            let opening = {
                let mut named = self.named();
                let entry = named.entry(key.clone()).or_default();
                entry.forget_ended();
                let place = |connection: &Arc<Connection>| {
                    Some((connection.sender.clone(), connection.begin()?))
                };
                if let Some(place) = entry.open.iter().find_map(place) {
                    return Ok(place);
                }
                entry.opening.get_or_insert_with(|| self.opening(name.clone())).clone()
            };
            let opened = opening.clone().await;
            self.opened(key, &opening, &opened);
            let opened = opened?;
            if let Some(stream) = opened.begin() {
                return Ok((opened.sender.clone(), stream));
            }
            // Others were faster and it is full, or it has ended at once.
            if opened.sender.is_closed() {
                return Err(SendError::closed());
            }
        }
    }

    /// Opens a connection, in a task of its own: who waits for it may leave.
    fn opening(&self, name: Uri) -> Opening {
        let opening = tokio::spawn(open(self.connector.clone(), name, self.header, self.idle));
        opening.map(|opened| opened.unwrap_or_else(|_| Err(SendError::closed()))).boxed().shared()
    }

    /// Keeps a connection that was opened, the first time that this is called for it.
    fn opened(
        &self,
        key: &Authority,
        opening: &Opening,
        result: &Result<Arc<Connection>, SendError>,
    ) {
        let mut named = self.named();
        if let Some(entry) = named.get_mut(key)
            && entry.opening.as_ref().is_some_and(|other| other.ptr_eq(opening))
        {
            entry.opening = None;
            entry.open.extend(result.iter().cloned());
        }
        // Names are not many, and this is done for new connections only.
        named.retain(|_, entry| {
            entry.forget_ended();
            entry.opening.is_some() || !entry.open.is_empty()
        });
    }
}

/// A connection, and a place for a request on it.
type Place = (SendRequest<Upload>, ActiveStream);

/// Sends a request on a connection.
async fn send_on(
    (mut sender, stream): Place,
    request: Request<Upload>,
) -> Result<(Response<Incoming>, ActiveStream), Unanswered> {
    match sender.try_send_request(request).await {
        Ok(response) => Ok((response, stream)),
        Err(error) => Err(Unanswered::failed(error)),
    }
}

/// Sends a request on a connection of its own, which `connector` opens to the server at `name`.
/// `header`: largest size of the response's header, bytes.
///
/// # Errors
/// As [`Http2Pool::send`].
pub(super) async fn send_alone(
    connector: HttpsConnector<Dialer>,
    name: Uri,
    header: usize,
    request: Request<Upload>,
) -> Result<(Response<Incoming>, ActiveStream), Unanswered> {
    let header = u32::try_from(header).unwrap_or(u32::MAX);
    match alone(connector, name, header, ALONE).await {
        Ok(place) => send_on(place, request).await,
        Err(error) => Err(Unanswered { error, unsent: Some(request.into_body()) }),
    }
}

/// Opens a connection for one request.
async fn alone(
    connector: HttpsConnector<Dialer>,
    name: Uri,
    header: u32,
    idle: Duration,
) -> Result<Place, SendError> {
    let opened = open(connector, name, header, idle).await?;
    let stream = opened.begin().ok_or_else(SendError::closed)?;
    Ok((opened.sender.clone(), stream))
}

/// Opens a connection to the server at `name`, and begins HTTP/2 on it. It is closed when it was
/// not used for `idle`.
async fn open(
    mut connector: HttpsConnector<Dialer>,
    name: Uri,
    header: u32,
    idle: Duration,
) -> Result<Arc<Connection>, SendError> {
    poll_fn(|cx| connector.poll_ready(cx)).await.map_err(SendError::connect)?;
    let stream = connector.call(name).await.map_err(SendError::connect)?;
    if matches!(stream, MaybeHttpsStream::Https(_)) && !stream.connected().is_negotiated_h2() {
        return Err(SendError::no_http2());
    }
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW * STREAMS as u32)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(header)
        .handshake(stream)
        .await
        .map_err(|error| SendError::connect(error.into()))?;
    let usage = Arc::new(Usage {
        streams: AtomicUsize::new(0),
        begun: AtomicUsize::new(0),
        limit: AtomicUsize::new(STREAMS),
    });
    let watched = usage.clone();
    tokio::spawn(async move {
        let mut connection = connection;
        let mut driven = poll_fn(|cx| {
            let polled = Pin::new(&mut connection).poll(cx);
            if polled.is_pending() {
                let allowed = connection.current_max_send_streams().clamp(1, STREAMS);
                watched.limit.store(allowed, Relaxed);
            }
            polled
        });
        loop {
            let before = watched.begun.load(Relaxed);
            tokio::select! {
                // Its requests fail with it, or it has none.
                _ = &mut driven => return,
                () = sleep(idle) => {}
            }
            let unused = watched.begun.load(Relaxed) == before;
            if unused && watched.streams.load(Relaxed) == 0 {
                return;
            }
        }
    });
    Ok(Arc::new(Connection { sender, usage }))
}
