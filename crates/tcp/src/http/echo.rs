//! Keystrokes of a remote shell and their echoes, all on one byte stream: SSH without its handshake
//! (RFC 4253). The size of an object is that of either packet, with all that SSH adds.

use super::message::Message;
use super::schedule::Schedule;
use super::types::Role;
use bentpipe_units::Time;
use std::collections::VecDeque;

/// Both ends of a shell.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// Keystrokes that the client has not yet written.
    typed: VecDeque<usize>,
    /// Keystrokes that the server has read, and whose echoes it has not yet written.
    read: VecDeque<usize>,
}

impl Echo {
    /// Types a key, whether or not earlier ones have appeared.
    pub(super) fn begin(&mut self, object: usize) {
        self.typed.push_back(object);
    }

    /// Returns the next message of `side` and its size in bytes.
    pub(super) fn next(&mut self, side: Role, schedule: &Schedule) -> Option<(u64, Message)> {
        let (object, message): (_, fn(usize) -> Message) = match side {
            Role::Client => (self.typed.pop_front()?, Message::Request),
            Role::Server => (self.read.pop_front()?, Message::Response),
        };
        Some((schedule.bytes(object), message(object)))
    }

    /// Handles a message that a side has read. Returns true if a side may have something new to
    /// write.
    pub(super) fn read(&mut self, now: Time, message: Message, schedule: &mut Schedule) -> bool {
        match message {
            Message::Request(object) => self.read.push_back(object),
            Message::Response(object) => {
                schedule.received(object, schedule.bytes(object));
                schedule.ended(now, object);
            }
            _ => return false,
        }
        true
    }
}
