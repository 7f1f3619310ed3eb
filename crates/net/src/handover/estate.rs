//! What a server keeps to hand over later.

use super::error::HandOverError;
use super::message::{self, Conversation, VERSION, Will};
use super::predecessors::{Predecessors, STOPPING, passed_on};
use crate::socket::{BoundSocket, ReceivedDatagram};
use crate::steering::{GENERATIONS, Steering};
use rustix::io::Errno;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Buffer for a datagram that is passed on, bytes.
const LARGEST: usize = 66_000;

/// What a server keeps to hand over later.
#[derive(Debug)]
pub(crate) struct Estate {
    sockets: Vec<OwnedFd>,
    metrics: Option<OwnedFd>,
    steering: Arc<Steering>,
    predecessors: Arc<Predecessors>,
    /// The inboxes of the threads.
    inboxes: Vec<mpsc::Sender<ReceivedDatagram>>,
}

impl Estate {
    /// Keeps copies of the descriptors.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new(
        sockets: &[BoundSocket],
        metrics: Option<BorrowedFd<'_>>,
        (steering, predecessors): (&Arc<Steering>, &Arc<Predecessors>),
        inboxes: Vec<mpsc::Sender<ReceivedDatagram>>,
    ) -> io::Result<Self> {
        let copy = |socket: &BoundSocket| socket.as_fd().try_clone_to_owned();
        Ok(Self {
            sockets: sockets.iter().map(copy).collect::<io::Result<_>>()?,
            metrics: metrics.map(|metrics| metrics.try_clone_to_owned()).transpose()?,
            steering: steering.clone(),
            predecessors: predecessors.clone(),
            inboxes,
        })
    }

    /// Sends all of it to the other process. Returns the socket for what that one passes on.
    pub(super) fn bequeath(&self, to: &Conversation) -> Result<OwnedFd, HandOverError> {
        let predecessors = self.predecessors.sockets()?;
        if predecessors.len() + 1 >= usize::from(GENERATIONS) {
            return Err(HandOverError::Generations(predecessors.len()));
        }
        let (sending, receiving) = message::datagram_pair()?;
        let mut generations = vec![self.steering.generation()];
        generations.extend(predecessors.keys());
        let will = Will {
            hand_over: VERSION,
            sockets: self.sockets.len(),
            metrics: self.metrics.iter().len(),
            generations,
            keys: self.steering.keys(),
        };
        let own = std::iter::once(&sending);
        let all = self.sockets.iter().chain(&self.metrics).chain(own).chain(predecessors.values());
        to.bequeath(&will, &all.map(AsFd::as_fd).collect::<Vec<_>>())?;
        Ok(receiving)
    }

    /// Says to the processes before this one that it stops because it was told to.
    pub async fn say_stopping(&self) {
        self.predecessors.say_stopping().await;
    }

    /// Gives the threads what the other process passes on, on a thread of its own, until that one
    /// ends.
    ///
    /// # Errors
    /// The system refuses a thread or has no more descriptors.
    pub(super) fn receive(&self, socket: OwnedFd) -> io::Result<PassedOn> {
        let (told, state) = watch::channel(SuccessorState::Serves);
        let end = PassedOn { socket: socket.try_clone()?, state };
        let (steering, inboxes) = (self.steering.clone(), self.inboxes.clone());
        let receive = move || {
            let mut buffer = vec![0; LARGEST];
            let mut ended = SuccessorState::Failed;
            loop {
                let length = match recv(&socket, &mut buffer[..], RecvFlags::empty()) {
                    Ok((length @ 1.., _)) => length,
                    Err(Errno::INTR) => continue,
                    Ok(_) | Err(_) => break,
                };
                let message = &buffer[..length];
                if message == STOPPING {
                    ended = SuccessorState::Stopped;
                }
                let Some(datagram) = passed_on(message) else { continue };
                let thread = steering.thread(&datagram.data).unwrap_or(0);
                if let Some(inbox) = inboxes.get(thread) {
                    // A full queue is a loss.
                    let _ = inbox.try_send(datagram);
                }
            }
            // The server may be gone.
            let _ = told.send(ended);
        };
        std::thread::Builder::new().name("passed-on".to_owned()).spawn(receive)?;
        Ok(end)
    }
}

/// What is known of the process that this one was handed over to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuccessorState {
    /// It reads the sockets, and passes on what is for this process.
    Serves,
    /// It has ended because it was told to.
    Stopped,
    /// It has ended, and nobody told it to.
    Failed,
}

/// Ends the thread that receives what is passed on, when dropped.
#[derive(Debug)]
pub(crate) struct PassedOn {
    socket: OwnedFd,
    state: watch::Receiver<SuccessorState>,
}

impl PassedOn {
    /// Waits until the other process has ended. Returns why.
    pub async fn ended(&mut self) -> SuccessorState {
        let ended = self.state.wait_for(|state| *state != SuccessorState::Serves).await;
        // Without the thread, nobody would know.
        ended.map_or(SuccessorState::Failed, |state| *state)
    }
}

impl Drop for PassedOn {
    fn drop(&mut self) {
        // An error means that the other process has ended, and so has the thread.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}
