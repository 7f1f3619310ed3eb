//! The part of one connection in the exchange of tokens.

use super::client::{ClientWindows, TokenClient};
use super::seal::TokenError;
use super::server::TokenServer;
use bentpipe_congestion::ResumeHandle;
use bentpipe_congestion::resume::ResumeState;
use bentpipe_units::Time;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The outcome of the token that a connection's client sent. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct TokenOutcome(Arc<Mutex<Option<Result<(), TokenError>>>>);

impl TokenOutcome {
    /// Returns the outcome. `None` if the client sent no token.
    pub fn get(&self) -> Option<Result<(), TokenError>> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `none`, `accepted`, or the name of the error.
    pub fn name(&self) -> &'static str {
        match self.get() {
            None => "none",
            Some(Ok(())) => "accepted",
            Some(Err(error)) => error.name(),
        }
    }
}

/// One connection's part in the exchange of tokens.
#[derive(Debug, Clone)]
pub enum Tokens {
    /// Issues tokens, and accepts the client's.
    Server {
        /// The server.
        server: TokenServer,
        /// The connection's resume handle, shared with its controller.
        resume_handle: ResumeHandle,
        /// The outcome of the client's token.
        outcome: TokenOutcome,
    },
    /// Sends the server's token, and stores new ones.
    Client {
        /// The client.
        client: TokenClient,
        /// The server's name in the store.
        server: String,
        /// The limits of its flow control.
        windows: ClientWindows,
    },
}

impl Tokens {
    /// A server's part, for the connection with that resume handle.
    pub fn server(server: &TokenServer, resume_handle: ResumeHandle) -> Self {
        Self::Server { server: server.clone(), resume_handle, outcome: TokenOutcome::default() }
    }

    /// A client's part, for a connection to `server`.
    pub fn client(client: &TokenClient, server: &str, windows: ClientWindows) -> Self {
        Self::Client { client: client.clone(), server: server.to_owned(), windows }
    }

    /// Returns the outcome of the client's token, at a server.
    pub fn outcome(&self) -> Option<&TokenOutcome> {
        match self {
            Self::Server { outcome, .. } => Some(outcome),
            Self::Client { .. } => None,
        }
    }

    /// Returns the resume state of a server's connection.
    pub(crate) fn resume_state(&self) -> Option<ResumeState> {
        match self {
            Self::Server { resume_handle, .. } => Some(resume_handle.resume_state()),
            Self::Client { .. } => None,
        }
    }
}

/// Verifies the token that `remote` sent to a server, and offers its set to the connection.
pub(super) fn verify(
    (server, resume_handle, outcome): (&TokenServer, &ResumeHandle, &TokenOutcome),
    token: Result<&[u8], usize>,
    remote: IpAddr,
    clock: Time,
) {
    let opened = server.open(token, remote, clock);
    *outcome.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.map(|_| ()));
    if let Ok(saved) = opened {
        // It may come too late for this connection, which is no fault of the token.
        resume_handle.offer(saved);
    }
}
