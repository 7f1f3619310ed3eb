//! The side of the process that takes over.

use super::error::HandOverError;
use super::message::{Conversation, READY, SERVING, Will, YOURS};
use super::predecessors::Predecessors;
use crate::steering::{GENERATIONS, Steering};
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// What a server process takes over from the one before it: see
/// [`ServerBuilder::take_over`](crate::serve::ServerBuilder::take_over).
#[derive(Debug)]
pub struct Inheritance {
    pub(crate) sockets: Vec<UdpSocket>,
    pub(crate) metrics: Option<TcpListener>,
    pub(crate) steering: Steering,
    pub(crate) predecessors: Predecessors,
    pub(crate) waiting: Waiting,
}

impl Inheritance {
    /// Receives it from the process that started this one with a [`Successor`](super::Successor).
    ///
    /// # Errors
    /// Standard input leads to no such process, or that one is of another version.
    pub fn from_stdin() -> Result<Self, HandOverError> {
        Self::receive(io::stdin().as_fd().try_clone_to_owned()?)
    }

    /// Receives it through `socket`.
    ///
    /// # Errors
    /// As [`Inheritance::from_stdin`].
    pub fn receive(socket: OwnedFd) -> Result<Self, HandOverError> {
        let conversation = Conversation::new(socket)?;
        let (will, descriptors) = conversation.inherit()?;
        let Will { sockets, metrics, generations, keys, .. } = will;
        let mut descriptors = descriptors.into_iter();
        let sockets: Vec<_> = descriptors.by_ref().take(sockets).map(UdpSocket::from).collect();
        let metrics = descriptors.by_ref().take(metrics).map(TcpListener::from).next();
        // The next one: connection IDs of those before may still be on their way.
        let before = generations.first().copied().unwrap_or(0);
        let later = (1..GENERATIONS).map(|step| before.wrapping_add(step) % GENERATIONS);
        let generation = later.into_iter().find(|free| !generations.contains(free));
        let generation = generation.ok_or(HandOverError::Generations(generations.len()))?;
        let threads = u32::try_from(sockets.len()).unwrap_or(u32::MAX);
        Ok(Self {
            sockets,
            metrics,
            steering: Steering::of_generation(threads, generation, keys),
            predecessors: Predecessors::new(generations.into_iter().zip(descriptors).collect()),
            waiting: Waiting(Arc::new(conversation)),
        })
    }
}

/// The process before this one, which waits.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Conversation>);

impl Waiting {
    /// Says that this process is ready, and waits until the other one no longer reads.
    pub async fn ready(&self) -> Result<(), HandOverError> {
        let ready = |conversation: &Conversation| {
            conversation.say(READY)?;
            conversation.expect(YOURS)
        };
        self.0.ask(ready).await
    }

    /// Says that this process serves.
    pub fn serving(self) -> io::Result<()> {
        self.0.say(SERVING)
    }
}
