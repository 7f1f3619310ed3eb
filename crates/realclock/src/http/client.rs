//! The client: requests objects when they are due, over one connection of HTTP/2 or several of
//! HTTP/1.1.

use super::body::Zeros;
use super::exchange::Exchange;
use super::socket::tcp_socket;
use bentpipe_tcp::http::{HttpSettings, Role, Version};
use bentpipe_units::Bytes;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpSocket;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

/// Largest window of HTTP/2 (RFC 9113 §6.9.1).
const MAX_WINDOW: u64 = (1 << 31) - 1;

/// Settings of the client.
pub(super) struct Settings {
    /// The server's address.
    pub to: SocketAddr,
    pub http: HttpSettings,
    pub tls: (TlsConnector, ServerName<'static>),
    /// Congestion control of its sockets, by its name in the kernel.
    pub congestion: String,
    pub upload: bool,
}

/// A client, whose clones share its connections.
#[derive(Clone)]
pub(super) struct Client(Arc<Shared>);

struct Shared {
    exchange: Arc<Exchange>,
    settings: Settings,
    /// The connection of HTTP/2.
    http2: OnceCell<http2::SendRequest<Zeros>>,
    /// Idle connections of HTTP/1.1, and the number that may still be opened or used.
    idle: Mutex<Vec<http1::SendRequest<Zeros>>>,
    free: Semaphore,
    /// The tasks of the connections.
    tasks: Mutex<JoinSet<()>>,
}

type Failed = String;

impl Client {
    /// Creates a client without connections.
    pub fn new(exchange: Arc<Exchange>, settings: Settings) -> Self {
        let free = Semaphore::new(settings.http.connections.max(1));
        Self(Arc::new(Shared {
            exchange,
            settings,
            http2: OnceCell::new(),
            idle: Mutex::default(),
            free,
            tasks: Mutex::default(),
        }))
    }

    /// Transfers all objects.
    pub async fn run(&self) -> Result<(), Failed> {
        let mut objects = JoinSet::new();
        for object in 0..self.0.exchange.objects.len() {
            let client = self.clone();
            objects.spawn(async move { client.transfer(object).await });
        }
        while let Some(ended) = objects.join_next().await {
            ended.map_err(|error| format!("transferring an object: {error}"))??;
        }
        Ok(())
    }

    /// Closes the connections, and waits until they are closed.
    pub async fn close(self) {
        let mut tasks = std::mem::take(&mut *lock(&self.0.tasks));
        // Without handles for requests, hyper closes its connections.
        drop(self);
        while tasks.join_next().await.is_some() {}
    }

    async fn transfer(&self, object: usize) -> Result<(), Failed> {
        let Shared { exchange, settings, .. } = &*self.0;
        exchange.due(object).await;
        let upload = if settings.upload { exchange.size(object) } else { 0 };
        let request = self.request(object, upload);
        match settings.http.version {
            Version::H2 => {
                let mut sender = self.0.http2.get_or_try_init(|| self.open_http2()).await?.clone();
                exchange.requested(object);
                let response = sender.send_request(request).await.map_err(failed)?;
                self.receive(object, response).await?;
            }
            Version::H1 | Version::Raw | Version::Echo => {
                let _free = self.0.free.acquire().await.map_err(|error| error.to_string())?;
                let idle = lock(&self.0.idle).pop();
                let mut sender = match idle {
                    Some(sender) => sender,
                    None => self.open_http1().await?,
                };
                exchange.requested(object);
                let response = sender.send_request(request).await.map_err(failed)?;
                self.receive(object, response).await?;
                lock(&self.0.idle).push(sender);
            }
        }
        exchange.complete(object);
        Ok(())
    }

    /// Returns the request of an object, with `bytes` to send.
    fn request(&self, object: usize, bytes: u64) -> Request<Zeros> {
        let Settings { to, upload, http, .. } = &self.0.settings;
        let mut request = Request::new(Zeros::new(bytes));
        *request.method_mut() = if *upload { Method::PUT } else { Method::GET };
        let path = match http.version {
            Version::H2 => format!("https://{to}/{object}"),
            Version::H1 | Version::Raw | Version::Echo => format!("/{object}"),
        };
        // Addresses and numbers are valid in both places.
        *request.uri_mut() = path.parse().unwrap_or_default();
        if let Ok(host) = to.to_string().parse() {
            request.headers_mut().insert(hyper::header::HOST, host);
        }
        request
    }

    async fn receive(&self, object: usize, response: Response<Incoming>) -> Result<(), Failed> {
        let Shared { exchange, settings, .. } = &*self.0;
        if response.status() != StatusCode::OK {
            return Err(format!("the server responded with status {}", response.status()));
        }
        let received = exchange.receive(object, response.into_body(), Role::Client);
        let received = received.await.map_err(failed)?;
        let expected = if settings.upload { 0 } else { exchange.size(object) };
        if received == expected {
            return Ok(());
        }
        Err(format!("{received} of {expected} bytes were received"))
    }

    /// Opens a connection with TLS.
    async fn connect(&self) -> Result<TokioIo<TlsStream<tokio::net::TcpStream>>, Failed> {
        let Shared { exchange, settings, .. } = &*self.0;
        let failed = |error: std::io::Error| format!("connecting: {error}");
        let socket = tcp_socket(&settings.congestion).map_err(failed)?;
        let socket = TcpSocket::from_std_stream(socket.into());
        let stream = socket.connect(settings.to).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        exchange.add_socket(&stream, Role::Client).map_err(failed)?;
        let (tls, name) = settings.tls.clone();
        let stream =
            tls.connect(name, stream).await.map_err(|error| format!("TLS handshake: {error}"))?;
        exchange.opened();
        Ok(TokioIo::new(stream))
    }

    async fn open_http1(&self) -> Result<http1::SendRequest<Zeros>, Failed> {
        let stream = self.connect().await?;
        let (sender, connection) = http1::handshake(stream).await.map_err(failed)?;
        lock(&self.0.tasks).spawn(async move { drop(connection.await) });
        Ok(sender)
    }

    async fn open_http2(&self) -> Result<http2::SendRequest<Zeros>, Failed> {
        let stream = self.connect().await?;
        let window = |bytes: Bytes| bytes.get().min(MAX_WINDOW) as u32;
        let http = self.0.settings.http;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .initial_stream_window_size(window(http.stream_window))
            .initial_connection_window_size(window(http.connection_window));
        let (sender, connection) = builder.handshake(stream).await.map_err(failed)?;
        lock(&self.0.tasks).spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

/// Describes an error with its cause, which hyper leaves out.
fn failed(error: hyper::Error) -> Failed {
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
