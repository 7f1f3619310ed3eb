//! The side of the process that hands over.

use super::error::HandOverError;
use super::estate::{Estate, PassedOn};
use super::message::{self, Conversation, READY, SERVING, YOURS};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The process that takes a server over, for
/// [`Server::hand_over`](crate::serve::Server::hand_over).
#[derive(Debug)]
pub struct Successor(Arc<Conversation>);

impl Successor {
    /// Returns it, and the standard input that its process has to start with: see
    /// [`Inheritance::from_stdin`](super::Inheritance::from_stdin).
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<(Self, OwnedFd)> {
        let (own, other) = message::pair()?;
        Ok((Self(Arc::new(Conversation::new(own)?)), other))
    }

    /// Sends the estate, and waits until the other process is ready.
    pub(crate) async fn prepare(&self, estate: &Arc<Estate>) -> Result<PassedOn, HandOverError> {
        let estate = estate.clone();
        let prepare = move |conversation: &Conversation| {
            let socket = estate.bequeath(conversation)?;
            conversation.expect(READY)?;
            Ok(estate.receive(socket)?)
        };
        self.0.ask(prepare).await
    }

    /// Says that this process no longer reads, and waits until the other one does.
    pub(crate) async fn complete(self) -> Result<(), HandOverError> {
        let complete = |conversation: &Conversation| {
            conversation.say(YOURS)?;
            conversation.expect(SERVING)
        };
        self.0.ask(complete).await
    }
}
