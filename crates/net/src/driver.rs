//! Drives an [`Endpoint`] with a socket and a clock: one task for each socket.

use crate::clock::WallClock;
use crate::socket::{Arrived, Socket};
use bentpipe_quic::{Endpoint, Transmit};
use bentpipe_units::{Span, Time};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// Receiving calls in a turn: then it is time to send. Each takes up to 32 buffers of datagrams.
const RECEIVES: usize = 4;
/// Transmissions in a turn: then it is time to receive. Each is up to 64 kB.
const TRANSMITS: usize = 32;
/// Transmissions of one connection before the next has its turn.
const IN_TURN: usize = 4;
/// Commands that wait.
const COMMANDS: usize = 64;
/// Where an endpoint wants to be called at once again and again, other tasks of the runtime have
/// their turn after so long.
const TURN: Span = Span::from_millis(2);

/// Something to do with the endpoint, between its calls.
pub type Command = Box<dyn FnOnce(&mut Endpoint, Time) + Send>;

/// A handle on a running driver. When all handles are gone, the driver ends with its last
/// connection.
#[derive(Debug, Clone)]
pub struct Driver {
    commands: mpsc::Sender<Command>,
    over: Arc<AtomicBool>,
}

impl Driver {
    /// Runs `command` with the endpoint soon. False where the driver has ended.
    pub async fn run(&self, command: impl FnOnce(&mut Endpoint, Time) + Send + 'static) -> bool {
        self.commands.send(Box::new(command)).await.is_ok()
    }

    /// Ends all connections with an application error code, and waits until that has been sent. The
    /// driver goes on until they are forgotten, and then ends.
    pub async fn close_all(&self, code: u64) {
        if !self.run(move |endpoint, now| endpoint.close_all(now, code)).await {
            return;
        }
        self.over.store(true, Ordering::Release);
        let (turn, over) = tokio::sync::oneshot::channel();
        // One command a turn: this one's comes after the transmissions of the one before.
        let answer = move |_: &mut Endpoint, _| {
            // Whoever waited may have gone.
            let _ = turn.send(());
        };
        if self.run(answer).await {
            // A driver that ended before had nobody to tell.
            let _ = over.await;
        }
    }

    /// Starts driving `endpoint` over `socket`, as a task of the runtime. The result ends with the
    /// driver: with the error of a socket that failed, or without where it was to end.
    ///
    /// A panic in a connection's task ends that connection alone: where the endpoint has no handler
    /// for it, it is logged.
    pub fn start(
        mut endpoint: Endpoint,
        socket: Socket,
        clock: WallClock,
    ) -> (Self, tokio::task::JoinHandle<io::Result<()>>) {
        if !endpoint.handles_panics() {
            endpoint.set_panic_handler(Box::new(log_panic));
        }
        let (commands, inbox) = mpsc::channel(COMMANDS);
        let over = Arc::new(AtomicBool::new(false));
        let run = Run {
            endpoint,
            socket,
            clock,
            inbox,
            over: over.clone(),
            unsent: None,
            buffer: Vec::new(),
        };
        // The applications inside count their own work: the runtime's budget for a task would have
        // them wait for channels that are ready.
        let task = tokio::spawn(tokio::task::coop::unconstrained(run.drive()));
        (Self { commands, over }, task)
    }
}

/// Says that a connection's task panicked; where, the standard library's hook has said.
fn log_panic(remote: Option<SocketAddr>, message: &str) {
    tracing::error!(?remote, message, "a connection ended by a panic in one of its tasks");
}

struct Run {
    endpoint: Endpoint,
    socket: Socket,
    clock: WallClock,
    inbox: mpsc::Receiver<Command>,
    over: Arc<AtomicBool>,
    /// What the system had no room for.
    unsent: Option<Transmit>,
    buffer: Vec<u8>,
}

impl Run {
    async fn drive(mut self) -> io::Result<()> {
        let mut timer =
            pin!(tokio::time::sleep_until(Instant::from_std(self.clock.instant(Time::ZERO))));
        poll_fn(|cx| {
            // The task stays the same, its waker as well; told anew, it costs nothing.
            self.endpoint.set_waker(cx.waker().clone());
            self.poll(timer.as_mut(), cx)
        })
        .await
    }

    fn poll(&mut self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let begun = self.clock.now();
        loop {
            let mut again = false;
            let now = self.clock.now();
            for _ in 0..RECEIVES {
                let endpoint = &mut self.endpoint;
                let take = |Arrived { remote, local, ecn, data }: Arrived| {
                    endpoint.handle_datagram_at(now, remote, local, ecn, data);
                };
                match self.socket.poll_receive(cx, take) {
                    Poll::Ready(Ok(())) => again = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => break,
                }
            }
            match self.inbox.poll_recv(cx) {
                Poll::Ready(Some(command)) => {
                    command(&mut self.endpoint, now);
                    again = true;
                }
                // Nobody has a handle any more.
                Poll::Ready(None) => self.over.store(true, Ordering::Release),
                Poll::Pending => {}
            }
            self.endpoint.run_woken(now);
            self.endpoint.handle_timeout(now);
            again |= self.transmit(cx)?;
            if self.over.load(Ordering::Acquire) && self.endpoint.open_connections() == 0 {
                return Poll::Ready(Ok(()));
            }
            if !again {
                // The timer may have run out by now, and then says so at once instead of waking
                // anybody.
                let Some(next) = self.endpoint.next_timeout() else { return Poll::Pending };
                timer.as_mut().reset(Instant::from_std(self.clock.instant(next)));
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
            }
            if self.clock.now().since(begun) >= TURN {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }

    /// Sends what there is to send, up to a turn's worth; says whether there may be more that can
    /// be sent now.
    fn transmit(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for count in 0..TRANSMITS {
            let transmit = match self.unsent.take() {
                Some(transmit) => transmit,
                None => {
                    if count % IN_TURN == IN_TURN - 1 {
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
