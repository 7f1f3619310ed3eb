//! Threads that drive the QUIC endpoints of one address. Each has a runtime, a socket and an
//! endpoint of its own, so that nothing of a connection ever moves between CPUs.

use crate::clock::RealClock;
use crate::driver::Driver;
use crate::shutdown::{Shutdown, ShutdownSignal};
use crate::socket::BoundSocket;
use crate::steering::Forwarding;
use bentpipe_quic::Endpoint;
use futures_util::future::join_all;
use std::io;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

/// Threads that read files, for all workers together. More would only wait for the same disk.
const FILE_THREADS: usize = 32;
/// Tasks that a worker runs before it looks for new datagrams. Our choice: the driver, which runs
/// for up to 2 ms, and a few others.
const EVENT_INTERVAL: u32 = 4;

/// What one worker drives.
pub(crate) struct Worker {
    pub endpoint: Endpoint,
    pub socket: BoundSocket,
    /// The exchange of datagrams with the others, if there are others.
    pub forwarding: Option<Forwarding>,
}

/// Running workers. Dropping them ends all their connections at once.
#[derive(Debug)]
pub(crate) struct Workers {
    drivers: Vec<Driver>,
    ended: mpsc::UnboundedReceiver<io::Error>,
    shutdown: Shutdown,
}

impl Workers {
    /// Starts a thread for each of `workers`.
    ///
    /// # Errors
    /// The system refuses a thread or what a runtime needs. No worker runs then.
    pub async fn start(workers: Vec<Worker>, clock: &RealClock) -> io::Result<Self> {
        let shutdown = Shutdown::new();
        let (ending, ended) = mpsc::unbounded_channel();
        let mut drivers = Vec::new();
        let file_threads = FILE_THREADS.div_ceil(workers.len().max(1));
        for (index, worker) in workers.into_iter().enumerate() {
            let (clock, signal, ending) = (clock.clone(), shutdown.signal(), ending.clone());
            let runtime = runtime(file_threads)?;
            let (started, driver) = oneshot::channel();
            std::thread::Builder::new().name(format!("quic-{index}")).spawn(move || {
                let error = runtime.block_on(drive(worker, clock, signal, started));
                // What still reads a file is not waited for.
                runtime.shutdown_background();
                // The server may be gone.
                let _ = ending.send(error);
            })?;
            let driver = driver.await.map_err(|_| io::Error::other("a worker ended"))??;
            drivers.push(driver);
        }
        Ok(Self { drivers, ended, shutdown })
    }

    /// Waits until a worker fails.
    pub async fn failed(&mut self) -> io::Error {
        self.ended.recv().await.unwrap_or_else(|| io::Error::other("all drivers ended"))
    }

    /// Lets the threads read their sockets or not, from now on. Others may read them meanwhile.
    pub async fn set_paused(&self, paused: bool) {
        join_all(self.drivers.iter().map(|driver| driver.set_paused(paused))).await;
    }

    /// Closes all connections with an application error code, and waits until the close frames are
    /// sent.
    pub async fn close_all(&self, code: u64) {
        join_all(self.drivers.iter().map(|driver| driver.close_all(code))).await;
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shutdown.force();
    }
}

fn runtime(file_threads: usize) -> io::Result<Runtime> {
    Builder::new_current_thread()
        .event_interval(EVENT_INTERVAL)
        .max_blocking_threads(file_threads)
        .enable_all()
        .build()
}

/// Drives a worker's endpoint until the shutdown is forced, or until it fails. Returns why.
async fn drive(
    worker: Worker,
    clock: RealClock,
    mut shutdown: ShutdownSignal,
    started: oneshot::Sender<io::Result<Driver>>,
) -> io::Error {
    let Worker { endpoint, socket, forwarding } = worker;
    let socket = match socket.register() {
        Ok(socket) => socket,
        Err(error) => {
            let same = io::Error::new(error.kind(), error.to_string());
            // The caller may be gone.
            let _ = started.send(Err(error));
            return same;
        }
    };
    let (driver, task) = Driver::start_steered(endpoint, socket, clock, forwarding);
    let _ = started.send(Ok(driver));
    tokio::select! {
        () = shutdown.forced() => io::Error::other("the server was stopped"),
        ended = task => match ended {
            Ok(Ok(())) => io::Error::other("the driver ended"),
            Ok(Err(error)) => error,
            Err(panic) => io::Error::other(panic),
        },
    }
}
