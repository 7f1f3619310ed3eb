//! The ingress of a tunnel: keeps a QUIC connection to the egress, and opens a stream of it for
//! each TCP connection.

use super::config::{FLUSH_TIME, HANDSHAKE_TIME, TunnelConfig};
use super::flow_control::StreamLimits;
use super::header::{INITIAL_LIMIT, MAX_REPLY, read_reply, write_header};
use super::secret::{ALPN, Role, Secret, hint};
use super::stream::QuicProxyStream;
use crate::admission::buffers::Buffers;
use crate::admission::control::ConnectionGuard;
use crate::clock::RealClock;
use crate::driver::Driver;
use crate::logging::{ErrorLog, Level};
use crate::pep::error::PepError;
use crate::pep::handshake::machine::ClientHandshake;
use crate::pep::proxied_connection::ProxiedConnection;
use crate::pep::refusal::Refusal;
use crate::pep::refuse::refuse;
use crate::pep::relay::{IdleTimeouts, relay};
use crate::pep::stream::{ProxyStream, StreamError, TcpProxyStream};
use crate::pep::target::Target;
use crate::shutdown::{Shutdown, ShutdownSignal};
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::{Conn, RawStream, Task};
use bentpipe_units::Printable;
use bentpipe_units::{Bytes, Span};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep, timeout};

/// Connections that may wait for a stream. Further ones wait in [`Tunnel::send`].
const QUEUE: usize = 64;
/// Pause before the next connection to the egress, seconds, by the number of failures in a row. Our
/// choice.
const PAUSES: [u64; 6] = [0, 1, 2, 5, 10, 30];
/// A connection that lasted longer is not a failure. Our choice: twice the time of a handshake.
const MIN_LIFETIME: Duration = Duration::from_secs(30);

/// A TCP connection that waits for a stream. Dropping it resets its client.
pub(in crate::pep) struct PendingStream {
    pub client: TcpProxyStream,
    pub target: Target,
    /// The handshake of the client of an explicit proxy. It is granted before the egress replies,
    /// which saves an RTT.
    pub handshake: Option<ClientHandshake>,
    pub connection: ProxiedConnection,
    pub guard: ConnectionGuard<Buffers>,
    pub timeouts: IdleTimeouts,
    pub shutdown: ShutdownSignal,
}

/// Sends connections to the application of the QUIC connection.
type StreamSender = mpsc::Sender<PendingStream>;

/// The ingress of a tunnel.
#[derive(Debug)]
pub(in crate::pep) struct Tunnel {
    /// The open connection, if there is one.
    current: watch::Receiver<Option<StreamSender>>,
    supervisor: JoinHandle<()>,
    shutdown: Shutdown,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

impl Tunnel {
    /// Starts to keep a connection to `egress`. The connection may not be open yet when this
    /// returns.
    pub fn start(
        egress: SocketAddr,
        secret: &Secret,
        config: TunnelConfig,
        (clock, errors): (RealClock, Arc<ErrorLog>),
    ) -> Result<Self, PepError> {
        let tls = Arc::new(secret.client(ALPN)?);
        let (publish, current) = watch::channel(None);
        let (shutdown, supervisor) =
            (Shutdown::new(), TunnelSupervisor { egress, tls, config, clock, errors, publish });
        let supervisor = tokio::spawn(supervisor.run(shutdown.signal()));
        Ok(Self { current, supervisor, shutdown })
    }

    /// Sends a connection into the tunnel. Waits at most `limit` for an open tunnel.
    ///
    /// # Errors
    /// There is no open tunnel. Returns the connection.
    pub async fn send(&self, pending: PendingStream, limit: Span) -> Result<(), PendingStream> {
        let mut current = self.current.clone();
        let permit = async {
            loop {
                let sender = current.wait_for(Option::is_some).await.ok()?.clone()?;
                match sender.reserve_owned().await {
                    Ok(permit) => return Some(permit),
                    // The connection has just ended. The supervisor opens another.
                    Err(_) => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        match timeout(limit.into(), permit).await {
            Ok(Some(permit)) => {
                permit.send(pending);
                Ok(())
            }
            _ => Err(pending),
        }
    }

    /// Stops the tunnel, after the last bytes of its streams had time to arrive.
    pub async fn stop(&self) {
        self.shutdown.start();
        let ended = async {
            while !self.supervisor.is_finished() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        // After the timeout the tunnel is dropped.
        let _ = timeout(Duration::from(FLUSH_TIME) * 2, ended).await;
    }
}

/// Keeps a connection to the egress.
struct TunnelSupervisor {
    egress: SocketAddr,
    tls: Arc<QuicClientConfig>,
    config: TunnelConfig,
    clock: RealClock,
    errors: Arc<ErrorLog>,
    publish: watch::Sender<Option<StreamSender>>,
}

impl TunnelSupervisor {
    async fn run(self, mut shutdown: ShutdownSignal) {
        let mut failures = 0;
        loop {
            let started = Instant::now();
            match self.connect().await {
                Ok((conn, sender, driver)) => {
                    tracing::info!(egress = %self.egress, "tunnel open");
                    self.publish.send_replace(Some(sender));
                    let stopping = tokio::select! {
                        () = conn.ended() => false,
                        () = shutdown.started() => true,
                    };
                    self.publish.send_replace(None);
                    if stopping {
                        // Streams are finished, but not all of their bytes are acknowledged.
                        sleep(FLUSH_TIME.into()).await;
                        return driver.close_all(0).await;
                    }
                    let reason = conn.closed().map_or_else(String::new, |error| error.to_string());
                    self.report("the tunnel closed", &reason);
                }
                Err(reason) => self.report("cannot open the tunnel", &reason),
            }
            failures = if started.elapsed() > MIN_LIFETIME { 0 } else { failures + 1 };
            let pause = PAUSES.get(failures).or(PAUSES.last()).copied().unwrap_or(1);
            tokio::select! {
                () = sleep(Duration::from_secs(pause)) => {}
                () = shutdown.started() => return,
            }
        }
    }

    /// Writes a failure of the tunnel to the error log.
    fn report(&self, what: &str, reason: &str) {
        let (egress, hint, reason) = (self.egress, hint(reason), Printable(reason));
        let text = format_args!("{what} to {egress}: {reason}{hint}");
        self.errors.write(self.clock.now(), self.clock.system(), Level::Error, &text);
    }

    async fn connect(&self) -> Result<(Conn, StreamSender, Driver), String> {
        let driver =
            Driver::for_client(self.egress, &self.clock).map_err(|error| error.to_string())?;
        // The egress opens no streams.
        let (config, attachments) =
            self.config.connection(self.egress, 0).with_acknowledger().client(self.tls.clone());
        let (sender, inbox) = mpsc::channel(QUEUE);
        let app = |conn: Conn| Box::pin(open_streams(conn, inbox)) as Task;
        let name = Role::Egress.name().to_owned();
        let (conn, _) = driver.connect(config, self.egress, name, attachments, app).await?;
        driver.handshake(&conn, HANDSHAKE_TIME).await?;
        Ok((conn, sender, driver))
    }
}

/// The application of the QUIC connection: a task for each TCP connection.
async fn open_streams(conn: Conn, mut inbox: mpsc::Receiver<PendingStream>) {
    let Ok(control) = RawStream::open(&conn).await else { return };
    let limits = StreamLimits::default();
    let records = limits.clone();
    conn.spawn(async move { records.exchange(control).await });
    loop {
        tokio::select! {
            pending = inbox.recv() => match pending {
                Some(pending) => {
                    let (quic, limits) = (conn.clone(), limits.clone());
                    let mut shutdown = pending.shutdown.clone();
                    conn.spawn(async move {
                        tokio::select! {
                            () = forward(quic, limits, pending) => {}
                            () = shutdown.forced() => {}
                        }
                    });
                }
                // The tunnel stops. Open connections continue.
                None => return conn.ended().await,
            },
            () = conn.ended() => return,
        }
    }
}

/// Forwards one connection through a stream of its own.
async fn forward(conn: Conn, limits: StreamLimits, pending: PendingStream) {
    // The guard is dropped last, so that connections are logged before their number is 0.
    let PendingStream { guard, mut client, target, handshake, mut connection, timeouts, .. } =
        pending;
    // The egress limits the number of open streams.
    let Ok(Ok(stream)) = timeout(HANDSHAKE_TIME.into(), RawStream::open(&conn)).await else {
        connection.refused(Refusal::Busy);
        return refuse(client, handshake, Refusal::Busy).await;
    };
    let buffers = *guard.reservation();
    let mut stream =
        QuicProxyStream::new(stream, limits, buffers.satellite, Bytes::new(INITIAL_LIMIT.into()));
    let header = write_header(TunnelConfig::window(buffers.satellite), &target);
    if stream.stream().write_all(&header).await.is_err() {
        connection.refused(Refusal::Failed);
        return refuse(client, handshake, Refusal::Failed).await;
    }
    let mut first = Vec::new();
    if let Some(handshake) = handshake {
        let reply = handshake.grant();
        first = handshake.into_remainder();
        let sent = client.stream().write_all(&reply);
        if !matches!(timeout(HANDSHAKE_TIME.into(), sent).await, Ok(Ok(()))) {
            return;
        }
    }
    let mut stream = ReplyingStream { stream, reply: Some(Vec::new()), refused: None };
    let progress = connection.progress();
    let end = relay(&mut client, &mut stream, first, buffers.relay, timeouts, progress).await;
    match stream.refused {
        Some(refusal) => connection.refused(refusal),
        None => connection.ended(end),
    }
}

/// A stream that starts with the egress's reply. The client's bytes do not wait for it.
struct ReplyingStream {
    stream: QuicProxyStream,
    /// The incomplete reply. `None` once it is complete.
    reply: Option<Vec<u8>>,
    refused: Option<Refusal>,
}

impl ReplyingStream {
    /// Waits for the reply.
    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        while let Some(reply) = &mut self.reply {
            let Some(mut bytes) = ready!(self.stream.stream().poll_read(cx))? else {
                return Poll::Ready(Err(StreamError::Failed));
            };
            let wanted = MAX_REPLY.saturating_sub(reply.len()).min(bytes.len());
            reply.extend_from_slice(&bytes.split_to(wanted));
            match read_reply(reply) {
                Ok(None) => {}
                Ok(Some(window)) => {
                    self.stream.raise(window.into());
                    self.stream.unread(bytes);
                    self.reply = None;
                }
                Err(refusal) => {
                    self.refused = Some(refusal);
                    return Poll::Ready(Err(StreamError::Reset));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl ProxyStream for ReplyingStream {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>> {
        ready!(self.poll_reply(cx))?;
        self.stream.poll_read(cx, into)
    }

    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<Result<usize, StreamError>> {
        self.stream.poll_write(cx, data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        self.stream.poll_finish(cx)
    }

    fn done(&mut self) {
        self.stream.done();
    }
}
