//! The servers that one request was sent to, and which one is asked next.

use super::pool::{ActiveRequest, Member, Pool};
use super::send_error::Fate;
use std::sync::Arc;
use tokio::time::Instant;

/// The servers that one request was sent to in vain.
#[derive(Debug, Default)]
pub(super) struct Tried {
    members: Vec<Arc<Member>>,
    /// The latest one that only ended a connection.
    ended: Option<Arc<Member>>,
    /// Whether such a one was asked again.
    again: bool,
}

impl Tried {
    /// Notes what has become of the request at `member`.
    pub fn note(&mut self, member: Arc<Member>, fate: Fate) {
        if fate == Fate::Ended {
            self.ended = Some(member.clone());
        }
        if fate != Fate::Unprocessed {
            self.members.push(member);
        }
    }

    /// Selects the server to ask: another one, or else, once, one that only ended a connection.
    /// `None` if there is none.
    pub fn next(&mut self, pool: &Pool, now: Instant) -> Option<ActiveRequest> {
        if let Some(other) = pool.select(&self.members, now) {
            return Some(other);
        }
        if std::mem::replace(&mut self.again, true) {
            return None;
        }
        let ended = self.ended.take()?;
        self.members.retain(|member| !Arc::ptr_eq(member, &ended));
        pool.select(&self.members, now)
    }
}
