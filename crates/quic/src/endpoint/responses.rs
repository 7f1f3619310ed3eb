//! Datagrams of an endpoint that belong to none of its connections: Version Negotiation, Retry,
//! refusals and stateless resets.

use super::transmit::Transmit;
use std::collections::VecDeque;

/// Most that wait to be sent: at most 1.5 MB. Further ones are lost, and whoever misses one sends
/// its packet again. Our choice: more than arrives between two rounds of sending.
const MOST: usize = 1024;

/// What waits to be sent. Connections have every second turn, so that no flood of packets that are
/// answered this way keeps them from sending.
#[derive(Debug, Default)]
pub(super) struct Responses {
    waiting: VecDeque<(Transmit, Vec<u8>)>,
    /// It is the connections' turn.
    yields: bool,
}

impl Responses {
    /// Adds a datagram, unless too many wait.
    pub fn push(&mut self, transmit: Transmit, datagram: Vec<u8>) {
        if self.waiting.len() < MOST {
            self.waiting.push_back((transmit, datagram));
        }
    }

    /// Returns whether it is the connections' turn to send first. The next turn is not theirs.
    pub fn yield_turn(&mut self) -> bool {
        std::mem::take(&mut self.yields)
    }

    /// Appends the next datagram to `buffer`, and leaves the next turn to the connections.
    pub fn pop(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let (transmit, datagram) = self.waiting.pop_front()?;
        buffer.extend_from_slice(&datagram);
        self.yields = true;
        Some(transmit)
    }
}
