//! The part of a connection in the exchange of path tokens.

use super::handle::Conn;
use crate::path_memory::token::Tokens;
use bentpipe_congestion::resume::ResumeState;
use noq_proto::ConnectionError;
use std::task::{Context, Poll};

impl Conn {
    /// Returns true if this side exchanges path tokens.
    pub(crate) fn has_tokens(&self) -> bool {
        self.lock().tokens.is_some()
    }

    /// Returns this side's part in the exchange for the peer's first stream of tokens, and `None`
    /// for further ones.
    pub(crate) fn tokens_once(&self) -> Option<Tokens> {
        let mut state = self.lock();
        let (tokens, seen) = state.tokens.as_mut()?;
        (!std::mem::replace(seen, true)).then(|| tokens.clone())
    }

    /// Polls until `wanted` finds something in the connection's resume state. One task at a time.
    pub(crate) fn poll_resume_state<T>(
        &self,
        wanted: impl Fn(&ResumeState) -> Option<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, ConnectionError>> {
        let mut state = self.lock();
        if let Some(error) = &state.closed {
            return Poll::Ready(Err(error.clone()));
        }
        match wanted(&state.resume_state) {
            Some(found) => Poll::Ready(Ok(found)),
            None => {
                state.resume_waiter = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
