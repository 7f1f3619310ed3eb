//! Drives an [`Endpoint`] with a socket and the real clock. Each socket has one task.

use crate::admission::control::ConnectionGuard;
use crate::admission::quic::QuicGate;
use crate::clock::RealClock;
use crate::socket::{MTU, ReceivedDatagram, Socket};
use crate::steering::Forwarding;
use bentpipe_quic::noq_proto::{ClientConfig, EndpointConfig, ServerConfig};
use bentpipe_quic::{Accept, Acceptor, Attachments, Conn, Endpoint, Task, Transmit};
use bentpipe_units::{Span, Time};
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// Receive calls before the driver sends. Each takes up to 32 buffers of datagrams.
const RECEIVES: usize = 4;
/// Datagrams taken from other drivers before the driver sends.
const FORWARDED: usize = 64;
/// Transmissions before the driver receives. Each is up to 64 kB.
const TRANSMITS: usize = 32;
/// Transmissions of one connection before the next connection sends.
const PER_CONNECTION: usize = 4;
/// Commands that may wait.
const COMMANDS: usize = 64;
/// Longest time of one poll. A busy endpoint then yields to other tasks of the runtime.
const MAX_POLL_TIME: Span = Span::from_millis(2);

/// A function that the driver runs with its endpoint.
pub type Command = Box<dyn FnOnce(&mut Endpoint, Time) + Send>;

/// A handle to a running driver. Once all handles are dropped, the driver ends with its last
/// connection.
#[derive(Debug, Clone)]
pub struct Driver {
    commands: mpsc::Sender<Command>,
    ending: Arc<AtomicBool>,
    /// Another process reads the socket.
    paused: Arc<AtomicBool>,
}

impl Driver {
    /// Runs `command` with the endpoint soon. Returns false if the driver has ended.
    pub async fn run(&self, command: impl FnOnce(&mut Endpoint, Time) + Send + 'static) -> bool {
        self.commands.send(Box::new(command)).await.is_ok()
    }

    /// Closes all connections with an application error code, and waits until the close frames are
    /// sent. The driver ends after the endpoint has dropped its connections.
    pub async fn close_all(&self, code: u64) {
        if !self.run(move |endpoint, now| endpoint.close_all(now, code)).await {
            return;
        }
        self.ending.store(true, Ordering::Release);
        self.round().await;
    }

    /// Lets the driver read its socket or not, from now on.
    pub(crate) async fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
        self.round().await;
    }

    /// Waits until the driver has run what it was asked for before.
    async fn round(&self) {
        let (done, sent) = tokio::sync::oneshot::channel();
        // The driver runs one command at a time and sends after each.
        let confirm = move |_: &mut Endpoint, _| {
            // The caller may be gone.
            let _ = done.send(());
        };
        if self.run(confirm).await {
            // An error means that the driver has ended.
            let _ = sent.await;
        }
    }

    /// Starts to drive `endpoint` over `socket`, as a task of the runtime. The task ends with the
    /// driver. It returns an error if the socket failed.
    ///
    /// A panic in a connection's task ends that connection only. It is logged if the endpoint has
    /// no handler for panics.
    pub fn start(
        endpoint: Endpoint,
        socket: Socket,
        clock: RealClock,
    ) -> (Self, tokio::task::JoinHandle<io::Result<()>>) {
        Self::start_steered(endpoint, socket, clock, None)
    }

    /// Starts to drive `endpoint` as one of several with the same address: with `forwarding`, the
    /// driver passes on what is for another.
    pub(crate) fn start_steered(
        mut endpoint: Endpoint,
        socket: Socket,
        clock: RealClock,
        forwarding: Option<Forwarding>,
    ) -> (Self, tokio::task::JoinHandle<io::Result<()>>) {
        if !endpoint.handles_panics() {
            endpoint.set_panic_handler(Box::new(log_panic));
        }
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let (ending, paused) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let run = Run {
            endpoint,
            socket,
            forwarding,
            clock,
            inbox,
            ending: ending.clone(),
            paused: paused.clone(),
            unsent: None,
            buffer: Vec::new(),
        };
        // The connections' applications bound their work themselves. The runtime's budget for a
        // task would have them wait for channels that are ready.
        let task = tokio::spawn(tokio::task::coop::unconstrained(run.drive()));
        (Self { commands, ending, paused }, task)
    }

    /// Starts an endpoint that accepts the connections that `gate` admits. `accept` gets each
    /// client's address and the guard of its connection.
    ///
    /// # Errors
    /// The reason, as text.
    pub(crate) fn for_server(
        config: Arc<ServerConfig>,
        gate: QuicGate,
        (socket, clock): (Socket, RealClock),
        mut accept: impl FnMut(SocketAddr, ConnectionGuard) -> Accept + Send + 'static,
    ) -> Result<(Self, tokio::task::JoinHandle<io::Result<()>>), String> {
        let endpoint_config = server_endpoint_config(EndpointConfig::default())?;
        let gate = Arc::new(Mutex::new(gate));
        let admitted = gate.clone();
        let acceptor: Acceptor = Box::new(move |remote| {
            let guard = admitted.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            Some(accept(remote, guard))
        });
        let (server, segments) = (Some((config, acceptor)), socket.max_segments(MTU.1));
        let mut endpoint = Endpoint::new(endpoint_config, clock.base(), server, segments);
        endpoint.set_gatekeeper(Box::new(move |remote, validated| {
            gate.lock().unwrap_or_else(PoisonError::into_inner).decide(remote.ip(), validated)
        }));
        Ok(Self::start(endpoint, socket, clock))
    }

    /// Starts an endpoint for a client's connection to `remote`, on a socket of its own.
    ///
    /// If the driver fails, the tasks of its connections end.
    pub(crate) fn for_client(remote: SocketAddr, clock: &RealClock) -> io::Result<Self> {
        let local = match remote {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = Socket::bind(local)?;
        let segments = socket.max_segments(MTU.1);
        let endpoint = Endpoint::new(EndpointConfig::default(), clock.base(), None, segments);
        Ok(Self::start(endpoint, socket, clock.clone()).0)
    }

    /// Opens a connection to `server_name` at `remote`. Returns the connection and the time at
    /// which it was started, before its handshake.
    ///
    /// # Errors
    /// The reason, as text.
    pub(crate) async fn connect(
        &self,
        config: ClientConfig,
        remote: SocketAddr,
        server_name: String,
        attachments: Attachments,
        app: impl FnOnce(Conn) -> Task + Send + 'static,
    ) -> Result<(Conn, Time), String> {
        let (started, connection) = tokio::sync::oneshot::channel();
        self.run(move |endpoint, now| {
            let conn = endpoint.connect(now, config, remote, &server_name, attachments, app);
            // The caller may be gone.
            let _ = started.send(conn.map(|conn| (conn, now)).map_err(|error| error.to_string()));
        })
        .await;
        connection.await.map_err(|_| "the driver ended".to_owned())?
    }

    /// Waits until the handshake of `conn` is complete. Closes all connections if it takes longer
    /// than `limit`.
    ///
    /// # Errors
    /// The reason, as text.
    pub(crate) async fn handshake(&self, conn: &Conn, limit: Span) -> Result<(), String> {
        match tokio::time::timeout(limit.into(), conn.handshaken()).await {
            Ok(completed) => completed.map_err(|error| error.to_string()),
            Err(_) => {
                self.close_all(0).await;
                Err(format!("no handshake within {limit}"))
            }
        }
    }
}

/// Completes the configuration of an endpoint that accepts connections.
///
/// Every packet of a connection that it does not have is answered with a stateless reset, which is
/// shorter (RFC 9000 §10.3). With a limit, by default 50 a second, the clients of a server that was
/// killed would learn of it one after another, and whoever sends other packets could keep them
/// waiting (decision 140).
///
/// # Errors
/// The reason, as text.
pub(crate) fn server_endpoint_config(mut config: EndpointConfig) -> Result<EndpointConfig, String> {
    config.max_udp_payload_size(MTU.1.max(1472)).map_err(|error| error.to_string())?;
    config.min_reset_interval(Duration::ZERO);
    Ok(config)
}

/// Logs a panic in a connection's task. The standard library's hook has reported its location.
fn log_panic(remote: Option<SocketAddr>, message: &str) {
    tracing::error!(?remote, message, "a connection ended by a panic in one of its tasks");
}

struct Run {
    endpoint: Endpoint,
    socket: Socket,
    forwarding: Option<Forwarding>,
    clock: RealClock,
    inbox: mpsc::Receiver<Command>,
    ending: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    /// A transmission that the socket had no room for.
    unsent: Option<Transmit>,
    buffer: Vec<u8>,
}

impl Run {
    async fn drive(mut self) -> io::Result<()> {
        let mut timer =
            pin!(tokio::time::sleep_until(Instant::from_std(self.clock.instant(Time::ZERO))));
        poll_fn(|cx| {
            // The task's waker stays the same, and setting it again is cheap.
            self.endpoint.set_waker(cx.waker().clone());
            self.poll(timer.as_mut(), cx)
        })
        .await
    }

    fn poll(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let started = self.clock.now();
        loop {
            let mut more = false;
            let now = self.clock.now();
            let receives = if self.paused.load(Ordering::Acquire) { 0 } else { RECEIVES };
            for _ in 0..receives {
                let (endpoint, forwarding) = (&mut self.endpoint, &self.forwarding);
                let take = |datagram| {
                    let own = match forwarding {
                        Some(forwarding) => forwarding.own(datagram),
                        None => Some(datagram),
                    };
                    if let Some(own) = own {
                        endpoint.handle_datagram_at(now, own.remote, own.local, own.ecn, own.data);
                    }
                };
                match self.socket.poll_receive(cx, take) {
                    Poll::Ready(Ok(())) => more = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => break,
                }
            }
            more |= self.take_forwarded(now, cx);
            match self.inbox.poll_recv(cx) {
                Poll::Ready(Some(command)) => {
                    command(&mut self.endpoint, now);
                    more = true;
                }
                // All handles are dropped.
                Poll::Ready(None) => self.ending.store(true, Ordering::Release),
                Poll::Pending => {}
            }
            self.endpoint.run_woken(now);
            self.endpoint.handle_timeout(now);
            more |= self.transmit(cx)?;
            if self.ending.load(Ordering::Acquire) && self.endpoint.open_connections() == 0 {
                return Poll::Ready(Ok(()));
            }
            if !more {
                // The timer may have expired by now. Then it wakes nobody and is ready at once.
                let Some(next) = self.endpoint.next_timeout() else { return Poll::Pending };
                timer.as_mut().reset(Instant::from_std(self.clock.instant(next)));
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
            if self.clock.now().since(started) >= MAX_POLL_TIME {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Takes datagrams that other drivers of the address have received. Returns whether more may
    /// be there.
    fn take_forwarded(&mut self, now: Time, cx: &mut Context<'_>) -> bool {
        let Some(forwarding) = &mut self.forwarding else { return false };
        for _ in 0..FORWARDED {
            // The queue stays open, because this driver has a sender itself.
            let Poll::Ready(Some(datagram)) = forwarding.inbox.poll_recv(cx) else { return false };
            let ReceivedDatagram { remote, local, ecn, data } = datagram;
            self.endpoint.handle_datagram_at(now, remote, local, ecn, data);
        }
        true
    }

    /// Sends up to [`TRANSMITS`] transmissions. Returns whether more may be ready to send.
    fn transmit(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for count in 0..TRANSMITS {
            let transmit = match self.unsent.take() {
                Some(transmit) => transmit,
                None => {
                    if count % PER_CONNECTION == PER_CONNECTION - 1 {
                        self.endpoint.next_in_turn();
                    }
                    self.buffer.clear();
                    match self.endpoint.poll_transmit(self.clock.now(), &mut self.buffer) {
                        Some(transmit) => transmit,
                        None => return Ok(false),
                    }
                }
            };
            while !self.socket.try_send(&transmit, &self.buffer) {
                if self.socket.poll_send_ready(cx)?.is_pending() {
                    self.unsent = Some(transmit);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
