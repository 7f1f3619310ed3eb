//! No wake-up is lost: every order of the steps of a driver and of threads that wake a connection's
//! tasks, by loom, with the real file.

#![allow(clippy::unwrap_used, reason = "a test")]

/// loom's types under the names that the file uses.
mod sync {
    pub use loom::sync::atomic::{AtomicU8, Ordering};
    pub use loom::sync::{Mutex, MutexGuard};
}

#[path = "../src/endpoint/wake.rs"]
#[allow(unreachable_pub, reason = "the visibility of the real module")]
mod wake;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;
use std::task::{Wake, Waker};
use wake::{ConnectionWaker, WokenConnections};

/// The waker of the driver's task: it is polled again if it was woken.
struct DriverTask(AtomicBool);

impl Wake for DriverTask {
    fn wake(self: Arc<Self>) {
        // A write in any case, as in tokio: see `ConnectionWaker`.
        self.0.swap(true, Ordering::AcqRel);
    }
}

/// A connection with one task, which takes what has been sent to it when it is polled.
struct Connection {
    waker: Arc<ConnectionWaker>,
    sent: AtomicUsize,
    taken: AtomicUsize,
}

impl Connection {
    fn new(key: usize, outside: &Arc<WokenConnections>) -> Arc<Self> {
        let waker = Arc::new(ConnectionWaker::new(key, outside.clone()));
        Arc::new(Self { waker, sent: AtomicUsize::new(0), taken: AtomicUsize::new(0) })
    }

    /// From another thread: sends something, and wakes the task.
    fn send(&self) {
        self.sent.fetch_add(1, Ordering::Release);
        self.waker.wake_by_ref();
    }

    /// Runs the connection, as the endpoint does.
    fn run(&self) {
        self.waker.begin();
        while self.waker.again() {
            self.taken.store(self.sent.load(Ordering::Acquire), Ordering::Relaxed);
        }
    }

    fn is_served(&self) -> bool {
        self.taken.load(Ordering::Relaxed) == self.sent.load(Ordering::Acquire)
    }
}

/// The driver's task: polled whenever it was woken, and then runs the woken connections.
struct Driver {
    task: Arc<DriverTask>,
    outside: Arc<WokenConnections>,
    connections: Vec<Arc<Connection>>,
}

impl Driver {
    fn new(connections: usize) -> Self {
        let outside = Arc::new(WokenConnections::default());
        let connections = (0..connections).map(|key| Connection::new(key, &outside)).collect();
        // The first poll comes without a wake-up.
        Self { task: Arc::new(DriverTask(AtomicBool::new(true))), outside, connections }
    }

    /// Polls once if the task was woken.
    fn poll(&self) {
        if !self.task.0.swap(false, Ordering::AcqRel) {
            return;
        }
        self.outside.set_driver(Waker::from(self.task.clone()));
        let mut keys = Vec::new();
        self.outside.take(&mut keys);
        for key in keys {
            self.connections[key].run();
        }
    }
}

/// Plays `senders` threads, which send to connections of their numbers, beside a driver that polls
/// `polls` times. Then nothing may be left once the driver has followed its last wake-up.
fn play(connections: usize, senders: &'static [usize], polls: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let driver = Driver::new(connections);
        // As the endpoint does when it adopts a connection.
        driver.poll();
        driver.connections.iter().for_each(|connection| connection.run());
        let threads: Vec<_> = senders
            .iter()
            .map(|&number| {
                let connection = driver.connections[number].clone();
                thread::spawn(move || connection.send())
            })
            .collect();
        for _ in 0..polls {
            driver.poll();
        }
        for thread in threads {
            thread.join().unwrap();
        }
        driver.poll();
        assert!(!driver.task.0.load(Ordering::Acquire), "the driver is idle");
        for connection in &driver.connections {
            assert!(connection.is_served(), "a wake-up was lost");
        }
    });
}

#[test]
fn a_wake_up_during_a_run_is_not_lost() {
    play(1, &[0], 2);
}

#[test]
fn two_threads_that_wake_one_connection_are_both_heard() {
    play(1, &[0, 0], 2);
}

#[test]
fn wake_ups_of_two_connections_wake_the_driver_once_and_both_run() {
    play(2, &[0, 1], 1);
}
