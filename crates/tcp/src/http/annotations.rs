//! Messages in the byte stream of one direction of a connection, kept in addition to the byte
//! counts.

use std::collections::VecDeque;

/// Messages in the order written, each with the position of its end.
///
/// A message is kept from its creation until the reader has all of its bytes, so that memory use
/// follows the data in flight rather than the size of objects.
#[derive(Debug)]
pub(super) struct Annotations<M> {
    entries: VecDeque<(u64, M)>,
    /// Bytes of all messages created.
    made: u64,
    /// Bytes of these that the transport has accepted.
    written: u64,
    /// Bytes of these that were read.
    read: u64,
}

impl<M> Default for Annotations<M> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), made: 0, written: 0, read: 0 }
    }
}

impl<M: Copy> Annotations<M> {
    /// Appends a message of `bytes`.
    pub(super) fn push(&mut self, bytes: u64, message: M) {
        self.made += bytes;
        self.entries.push_back((self.made, message));
    }

    /// Returns the bytes created and not yet written.
    pub(super) fn pending(&self) -> u64 {
        self.made - self.written
    }

    /// Writes up to `room` bytes to the transport. Returns their number.
    pub(super) fn write(&mut self, room: u64) -> u64 {
        let bytes = room.min(self.pending());
        self.written += bytes;
        bytes
    }

    /// Returns the next message whose bytes are all among the first `arrived`, with the number of
    /// bytes read now. A `divisible` message is also returned in parts. Bytes that were not written
    /// cannot have arrived.
    pub(super) fn read(
        &mut self,
        arrived: u64,
        divisible: impl Fn(&M) -> bool,
    ) -> Option<(M, u64)> {
        let arrived = arrived.min(self.written);
        let (end, message) = *self.entries.front()?;
        let to = if end <= arrived {
            self.entries.pop_front();
            end
        } else if divisible(&message) && self.read < arrived {
            arrived
        } else {
            return None;
        };
        let bytes = to - self.read;
        self.read = to;
        Some((message, bytes))
    }

    /// Returns the number of messages kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_with_its_last_byte() {
        let mut annotations = Annotations::default();
        annotations.push(10, 'a');
        annotations.push(5, 'b');
        assert_eq!(
            (annotations.write(12), annotations.pending(), annotations.write(9)),
            (12, 3, 3)
        );
        let mut read = |arrived| annotations.read(arrived, |_| false);
        assert_eq!((read(9), read(10), read(14)), (None, Some(('a', 10)), None));
        assert_eq!((read(15), read(u64::MAX)), (Some(('b', 5)), None));
    }

    #[test]
    fn a_divisible_message_is_read_as_it_arrives() {
        let mut annotations = Annotations::default();
        annotations.push(10, 'a');
        annotations.write(10);
        let mut read = |arrived| annotations.read(arrived, |_| true);
        assert_eq!(
            (read(4), read(4), read(10), read(10)),
            (Some(('a', 4)), None, Some(('a', 6)), None)
        );
    }

    #[test]
    fn unwritten_bytes_cannot_be_read() {
        let mut annotations = Annotations::default();
        annotations.push(10, 'a');
        annotations.write(9);
        assert_eq!(annotations.read(u64::MAX, |_| false), None);
        annotations.write(1);
        assert_eq!(annotations.read(u64::MAX, |_| false), Some(('a', 10)));
    }
}
