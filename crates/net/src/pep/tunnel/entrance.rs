//! Where connections enter the tunnel: keeps a QUIC connection to the exit, and gives each TCP
//! connection a stream of it.

use super::super::PepError;
use super::super::accept::refuse;
use super::super::admission::ConnectionGuard;
use super::super::entry::Entry;
use super::super::proxied_connection::ProxiedConnection;
use super::super::refusal::Refusal;
use super::super::relay::{IdleTimeouts, relay};
use super::super::stream::{ProxyStream, StreamError, TcpProxyStream};
use super::super::target::Target;
use super::credit::Credits;
use super::header::{FIRST, LONGEST_ANSWER, read_answer, write_header};
use super::secret::{Role, Secret};
use super::stream::QuicProxyStream;
use super::{HANDSHAKE, LAST, TunnelConfig};
use crate::clock::WallClock;
use crate::driver::Driver;
use crate::server::MTU;
use crate::socket::Socket;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::noq_proto::EndpointConfig;
use bentpipe_quic::noq_proto::crypto::rustls::QuicClientConfig;
use bentpipe_quic::{Conn, Endpoint, RawStream, Task};
use bentpipe_units::{Bytes, Span};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep, timeout};

/// Connections that wait to be given a stream. More wait where they are.
const WAITING: usize = 64;
/// How long is waited after a connection that lasted, and after attempts that failed, one after the
/// other, seconds: our choice.
const PAUSES: [u64; 6] = [0, 1, 2, 5, 10, 30];
/// What has lasted so long was no failure. Our choice: twice a handshake.
const LASTED: Duration = Duration::from_secs(30);

/// A TCP connection on its way into the tunnel. Dropped, its client is reset.
pub(in super::super) struct PendingStream {
    pub face: TcpProxyStream,
    pub target: Target,
    /// What the client said, where it was asked: it is told that all is well before the far end
    /// knows, which saves a round trip.
    pub entry: Option<Entry>,
    pub journey: ProxiedConnection,
    pub pass: ConnectionGuard,
    pub patience: IdleTimeouts,
    /// It is to end at once.
    pub kill: watch::Receiver<()>,
}

/// How to reach a connection's application.
type StreamSender = mpsc::Sender<PendingStream>;

/// The near end of a tunnel.
#[derive(Debug)]
pub(in super::super) struct Tunnel {
    present: watch::Receiver<Option<StreamSender>>,
    keeping: JoinHandle<()>,
    over: watch::Sender<bool>,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

impl Tunnel {
    /// Begins to keep a connection to `exit`. There may be none yet when this returns.
    pub fn start(
        exit: SocketAddr,
        secret: &Secret,
        congestion: &CongestionConfig,
        (buffer, memory): (Bytes, Bytes),
        clock: WallClock,
    ) -> Result<Self, PepError> {
        let carrier = Arc::new(TunnelConfig::new(congestion, buffer, memory, clock.base())?);
        let tls = Arc::new(secret.client()?);
        let (publish, present) = watch::channel(None);
        let (over, ending) = watch::channel(false);
        let keeping = tokio::spawn(async move {
            let keeper = TunnelSupervisor { exit, tls, carrier, clock, publish };
            keeper.keep(ending).await;
        });
        Ok(Self { present, keeping, over })
    }

    /// Puts a connection into the tunnel, or waits until there is one, up to `limit`. It comes back
    /// where there is none.
    pub async fn carry(&self, passenger: PendingStream, limit: Span) -> Result<(), PendingStream> {
        let mut present = self.present.clone();
        let place = async {
            loop {
                let carriage = present.wait_for(Option::is_some).await.ok()?.clone()?;
                match carriage.reserve_owned().await {
                    Ok(place) => return Some(place),
                    // It has just ended, and the next one is on its way.
                    Err(_) => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        match timeout(limit.into(), place).await {
            Ok(Some(place)) => {
                place.send(passenger);
                Ok(())
            }
            _ => Err(passenger),
        }
    }

    /// Ends the tunnel, once what is under way has had time to arrive.
    pub async fn end(&self) {
        // Whoever keeps it has ended where nobody listens.
        let _ = self.over.send(true);
        let ended = async {
            while !self.keeping.is_finished() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        // Where it cannot end, it is dropped.
        let _ = timeout(Duration::from(LAST) * 2, ended).await;
    }
}

/// What keeps a connection.
struct TunnelSupervisor {
    exit: SocketAddr,
    tls: Arc<QuicClientConfig>,
    carrier: Arc<TunnelConfig>,
    clock: WallClock,
    publish: watch::Sender<Option<StreamSender>>,
}

impl TunnelSupervisor {
    async fn keep(self, mut ending: watch::Receiver<bool>) {
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            match self.connect().await {
                Ok((conn, carriage, driver)) => {
                    tracing::info!(exit = %self.exit, "tunnel begun");
                    self.publish.send_replace(Some(carriage));
                    let over = tokio::select! {
                        () = conn.ended() => false,
                        _ = ending.wait_for(|over| *over) => true,
                    };
                    self.publish.send_replace(None);
                    if over {
                        // Streams are finished, and not all of their bytes are acknowledged.
                        sleep(LAST.into()).await;
                        return driver.close_all(0).await;
                    }
                    let reason = conn.closed().map_or_else(String::new, |error| error.to_string());
                    tracing::warn!(exit = %self.exit, reason, "tunnel ended");
                }
                Err(reason) => tracing::warn!(exit = %self.exit, reason, "no tunnel"),
            }
            // One that lasted was none of the failures in a row.
            failures = if begun.elapsed() > LASTED { 0 } else { failures + 1 };
            let pause = PAUSES.get(failures).or(PAUSES.last()).copied().unwrap_or(1);
            tokio::select! {
                () = sleep(Duration::from_secs(pause)) => {}
                _ = ending.wait_for(|over| *over) => return,
            }
        }
    }

    async fn connect(&self) -> Result<(Conn, StreamSender, Driver), String> {
        let any = if self.exit.is_ipv4() {
            (Ipv4Addr::UNSPECIFIED, 0).into()
        } else {
            (Ipv6Addr::UNSPECIFIED, 0).into()
        };
        let socket = Socket::bind(any).map_err(|error| error.to_string())?;
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            self.clock.base(),
            None,
            socket.max_segments(MTU.1),
        );
        let (driver, _) = Driver::start(endpoint, socket, self.clock.clone());
        // The exit opens no streams.
        let (config, attached) =
            self.carrier.connection(0).with_acknowledger().client(self.tls.clone());
        let (carriage, inbox) = mpsc::channel(WAITING);
        let (begin, began) = oneshot::channel();
        let exit = self.exit;
        driver
            .run(move |endpoint, now| {
                let app = |conn: Conn| Box::pin(take(conn, inbox)) as Task;
                let begun = endpoint.connect(now, config, exit, Role::Exit.name(), attached, app);
                // Whoever asked has gone where it cannot be told.
                let _ = begin.send(begun.map_err(|error| error.to_string()));
            })
            .await;
        let conn = began.await.map_err(|_| "the driver ended".to_owned())??;
        match timeout(HANDSHAKE.into(), conn.handshaken()).await {
            Ok(Ok(())) => Ok((conn, carriage, driver)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => {
                driver.close_all(0).await;
                Err(format!("no handshake within {HANDSHAKE}"))
            }
        }
    }
}

/// The application inside the connection: a task for each passenger.
async fn take(conn: Conn, mut inbox: mpsc::Receiver<PendingStream>) {
    let Ok(control) = RawStream::open(&conn).await else { return };
    let credits = Credits::default();
    let exchanging = credits.clone();
    conn.spawn(async move { exchanging.exchange(control).await });
    loop {
        tokio::select! {
            passenger = inbox.recv() => match passenger {
                Some(passenger) => {
                    let (leading, credits, mut kill) = (conn.clone(), credits.clone(), passenger.kill.clone());
                    conn.spawn(async move {
                        tokio::select! {
                            () = lead(leading, credits, passenger) => {}
                            _ = kill.changed() => {}
                        }
                    });
                }
                // The tunnel ends; those inside go on.
                None => return conn.ended().await,
            },
            () = conn.ended() => return,
        }
    }
}

/// Leads one connection through a stream of its own.
async fn lead(conn: Conn, credits: Credits, passenger: PendingStream) {
    // The pass is given back last: who finds nobody inside finds every journey told.
    let PendingStream { pass, mut face, target, entry, mut journey, patience, .. } = passenger;
    // As many streams as the exit admits may be open.
    let Ok(Ok(stream)) = timeout(HANDSHAKE.into(), RawStream::open(&conn)).await else {
        journey.refused(Refusal::Busy);
        return refuse(face, entry, Refusal::Busy).await;
    };
    let buffers = pass.buffers();
    let mut stream =
        QuicProxyStream::new(stream, credits, buffers.satellite, Bytes::new(FIRST.into()));
    let header = write_header(TunnelConfig::window(buffers.satellite), &target);
    if stream.stream().write_all(&header).await.is_err() {
        journey.refused(Refusal::Failed);
        return refuse(face, entry, Refusal::Failed).await;
    }
    let mut first = Vec::new();
    if let Some(entry) = entry {
        let granted = entry.grant();
        first = entry.rest();
        let told = face.stream().write_all(&granted);
        if !matches!(timeout(HANDSHAKE.into(), told).await, Ok(Ok(()))) {
            return;
        }
    }
    let mut stream = Answered { stream, answer: Some(Vec::new()), refused: None };
    let end = relay(&mut face, &mut stream, first, buffers.piece, patience, journey.moved()).await;
    match stream.refused {
        Some(refusal) => journey.refused(refusal),
        None => journey.ended(end),
    }
}

/// A stream whose beginning says what became of it; what the client says does not wait for that.
struct Answered {
    stream: QuicProxyStream,
    /// What has come of the answer, while it is not whole.
    answer: Option<Vec<u8>>,
    refused: Option<Refusal>,
}

impl Answered {
    /// Waits for the answer.
    fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError>> {
        while let Some(answer) = &mut self.answer {
            let Some(mut bytes) = ready!(self.stream.stream().poll_read(cx))? else {
                return Poll::Ready(Err(StreamError::Failed));
            };
            let wanted = LONGEST_ANSWER.saturating_sub(answer.len()).min(bytes.len());
            answer.extend_from_slice(&bytes.split_to(wanted));
            match read_answer(answer) {
                Ok(None) => {}
                Ok(Some(window)) => {
                    self.stream.raise(window.into());
                    self.stream.give_back(bytes);
                    self.answer = None;
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

impl ProxyStream for Answered {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<Result<usize, StreamError>> {
        ready!(self.poll_answer(cx))?;
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
