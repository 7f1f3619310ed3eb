//! The side of the process that hands over.

use super::error::HandOverError;
use super::estate::{Estate, PassedOn};
use super::message::{self, Conversation, READY, SERVING, YOURS};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::task::spawn_blocking;

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
        self.ask(move |conversation| {
            let passed_on = estate.bequeath(conversation)?;
            conversation.expect(READY)?;
            passed_on.start()?;
            Ok(passed_on)
        })
        .await
    }

    /// Says that this process no longer reads, and waits until the other one does.
    pub(crate) async fn complete(self) -> Result<(), HandOverError> {
        self.ask(|conversation| {
            conversation.say(YOURS)?;
            conversation.expect(SERVING)
        })
        .await
    }

    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Conversation) -> Result<T, HandOverError> + Send + 'static,
    ) -> Result<T, HandOverError> {
        let conversation = self.0.clone();
        let asked = spawn_blocking(move || ask(&conversation)).await;
        asked.unwrap_or_else(|ended| Err(io::Error::other(ended).into()))
    }
}
