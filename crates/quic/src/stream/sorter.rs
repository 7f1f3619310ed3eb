//! The peer's unidirectional streams, sorted by type, the first integer on them (RFC 9114 §6.2).
//!
//! Streams of path tokens stay here. All others go to the application, with the bytes read so far,
//! in the order in which their types arrived. A stream without its type does not block others.
//!
//! At most [`MAX_WAITING`] streams wait for their type, and at most eight bytes of each are held:
//! types are read in order, so the rest stays in the stack and its flow control. A stream that ends
//! before its type is complete is dropped, which RFC 9114 §6.2 requires to tolerate.

use crate::connection::Conn;
use crate::path_memory::token::stream::STREAM_TYPE;
use bytes::Bytes;
use noq_proto::coding::Decodable;
use noq_proto::{ConnectionError, Dir, StreamId, VarInt};
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Most streams that may wait for their type: as many as a peer may open
/// ([`crate::ConnectionConfig::new`]), so that this refuses only streams beyond the stack's limit.
const MAX_WAITING: usize = 100;

/// A source of streams.
pub(crate) trait Streams {
    /// Polls for the next stream that the peer opened.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<StreamId, ConnectionError>>;
    /// Polls for up to `max` bytes in order. `None` at the end.
    fn poll_bytes(&self, id: StreamId, max: usize, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
    /// Refuses a stream.
    fn refuse(&self, id: StreamId);
}

impl Streams for Conn {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<Result<StreamId, ConnectionError>> {
        Self::poll_accept(self, Dir::Uni, cx)
    }
    fn poll_bytes(&self, id: StreamId, max: usize, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_read_ordered(id, max, cx)
    }
    fn refuse(&self, id: StreamId) {
        self.stop(id, h3::error::Code::H3_EXCESSIVE_LOAD.value());
    }
}

/// A stream whose type is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sorted {
    /// The stream.
    pub id: StreamId,
    /// Its first bytes: the type.
    pub head: Vec<u8>,
    /// Whether it carries path tokens.
    pub tokens: bool,
}

/// Streams without a type so far, in the order of arrival.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sorter(Vec<(StreamId, Vec<u8>)>);

impl Sorter {
    /// Polls for the next stream whose type is known.
    pub(crate) fn poll_next(
        &mut self,
        streams: &impl Streams,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Sorted, ConnectionError>> {
        let end = loop {
            match streams.poll_accept(cx) {
                Poll::Ready(Ok(id)) if self.0.len() < MAX_WAITING => self.0.push((id, Vec::new())),
                Poll::Ready(Ok(id)) => streams.refuse(id),
                Poll::Ready(Err(error)) => break Some(error),
                Poll::Pending => break None,
            }
        };
        let mut index = 0;
        while let Some((id, head)) = self.0.get_mut(index) {
            match poll_type(streams, *id, head, cx) {
                Poll::Pending => index += 1,
                Poll::Ready(None) => drop(self.0.remove(index)),
                Poll::Ready(Some(kind)) => {
                    let (id, head) = self.0.remove(index);
                    return Poll::Ready(Ok(Sorted { id, head, tokens: kind == STREAM_TYPE }));
                }
            }
        }
        end.map_or(Poll::Pending, |error| Poll::Ready(Err(error)))
    }
}

/// Reads the type of a stream, through `head`. `None` if the stream ends before.
fn poll_type(
    streams: &impl Streams,
    id: StreamId,
    head: &mut Vec<u8>,
    cx: &mut Context<'_>,
) -> Poll<Option<u64>> {
    loop {
        if let Ok(kind) = VarInt::decode(&mut &head[..]) {
            return Poll::Ready(Some(kind.into_inner()));
        }
        // The first two bits give its length (RFC 9000 §16).
        let length = head.first().map_or(1, |first| 1usize << (first >> 6));
        match streams.poll_bytes(id, length - head.len(), cx) {
            Poll::Ready(Some(bytes)) => head.extend_from_slice(&bytes),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// Receives path tokens on a connection without other unidirectional streams. Returns at once if
/// this side exchanges no tokens. HTTP/3 connections need no such task.
pub async fn take_tokens(conn: Conn) {
    if !conn.has_tokens() {
        return;
    }
    let mut sorter = Sorter::default();
    while let Ok(Sorted { id, tokens, .. }) = poll_fn(|cx| sorter.poll_next(&conn, cx)).await {
        if tokens {
            crate::path_memory::token::receive(&conn, id);
        } else {
            conn.stop(id, h3::error::Code::H3_STREAM_CREATION_ERROR.value());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noq_proto::Side;
    use std::cell::RefCell;
    use std::collections::{BTreeMap, VecDeque};
    use std::task::Waker;

    /// Streams that a test fills.
    #[derive(Default)]
    struct Fake {
        opened: RefCell<VecDeque<StreamId>>,
        bytes: RefCell<BTreeMap<StreamId, (VecDeque<u8>, bool)>>,
        refused: RefCell<Vec<StreamId>>,
        closed: bool,
    }

    fn id(index: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Uni, index)
    }

    impl Fake {
        fn open(&self, index: u64, bytes: &[u8]) {
            self.opened.borrow_mut().push_back(id(index));
            self.more(index, bytes);
        }
        fn more(&self, index: u64, bytes: &[u8]) {
            self.bytes.borrow_mut().entry(id(index)).or_default().0.extend(bytes);
        }
        fn end(&self, index: u64) {
            self.bytes.borrow_mut().entry(id(index)).or_default().1 = true;
        }
        fn left(&self, index: u64) -> usize {
            self.bytes.borrow()[&id(index)].0.len()
        }
    }

    impl Streams for Fake {
        fn poll_accept(&self, _: &mut Context<'_>) -> Poll<Result<StreamId, ConnectionError>> {
            match self.opened.borrow_mut().pop_front() {
                Some(id) => Poll::Ready(Ok(id)),
                None if self.closed => Poll::Ready(Err(ConnectionError::TimedOut)),
                None => Poll::Pending,
            }
        }
        fn poll_bytes(&self, id: StreamId, max: usize, _: &mut Context<'_>) -> Poll<Option<Bytes>> {
            let mut streams = self.bytes.borrow_mut();
            let (bytes, ended) = streams.get_mut(&id).unwrap();
            let count = bytes.len().min(max);
            match count {
                0 if *ended => Poll::Ready(None),
                0 => Poll::Pending,
                _ => Poll::Ready(Some(bytes.drain(..count).collect())),
            }
        }
        fn refuse(&self, id: StreamId) {
            self.refused.borrow_mut().push(id);
        }
    }

    fn next(sorter: &mut Sorter, fake: &Fake) -> Option<Sorted> {
        match sorter.poll_next(fake, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(sorted)) => Some(sorted),
            _ => None,
        }
    }

    fn token_type() -> Vec<u8> {
        let mut bytes = Vec::new();
        crate::path_memory::token::stream::encode_type(&mut bytes);
        bytes
    }

    #[test]
    fn streams_are_sorted_in_order_and_only_their_type_is_read() {
        let (mut sorter, fake) = (Sorter::default(), Fake::default());
        fake.open(0, &[0x00, 4, 1, 2]);
        fake.open(1, &[&token_type()[..], &[1, 0]].concat());
        fake.open(2, &[0x40, 0x54, 9]);
        assert_eq!(
            next(&mut sorter, &fake),
            Some(Sorted { id: id(0), head: vec![0x00], tokens: false })
        );
        assert_eq!(
            next(&mut sorter, &fake),
            Some(Sorted { id: id(1), head: token_type(), tokens: true })
        );
        assert_eq!(
            next(&mut sorter, &fake),
            Some(Sorted { id: id(2), head: vec![0x40, 0x54], tokens: false })
        );
        assert_eq!(next(&mut sorter, &fake), None);
        assert_eq!([0, 1, 2].map(|index| fake.left(index)), [3, 2, 1]);
    }

    #[test]
    fn a_stream_without_its_type_blocks_no_other() {
        let (mut sorter, fake) = (Sorter::default(), Fake::default());
        fake.open(0, &[]);
        fake.open(1, &token_type()[..7]);
        fake.open(2, &[0x02]);
        assert_eq!(next(&mut sorter, &fake).map(|sorted| sorted.id), Some(id(2)));
        assert_eq!(next(&mut sorter, &fake), None);
        fake.more(1, &token_type()[7..]);
        assert_eq!(
            next(&mut sorter, &fake).map(|sorted| (sorted.id, sorted.tokens)),
            Some((id(1), true))
        );
        fake.more(0, &[0x03]);
        assert_eq!(next(&mut sorter, &fake).map(|sorted| sorted.id), Some(id(0)));
    }

    #[test]
    fn a_stream_that_ends_before_its_type_is_dropped() {
        let (mut sorter, fake) = (Sorter::default(), Fake::default());
        fake.open(0, &token_type()[..3]);
        fake.end(0);
        assert_eq!(next(&mut sorter, &fake), None);
        assert!(sorter.0.is_empty());
    }

    #[test]
    fn too_many_streams_without_a_type_are_refused() {
        let (mut sorter, fake) = (Sorter::default(), Fake::default());
        (0..=MAX_WAITING as u64).for_each(|index| fake.open(index, &[]));
        assert_eq!(next(&mut sorter, &fake), None);
        assert_eq!(*fake.refused.borrow(), [id(MAX_WAITING as u64)]);
        assert_eq!(sorter.0.len(), MAX_WAITING);
    }

    #[test]
    fn streams_from_before_the_end_of_the_connection_are_still_passed_on() {
        let (mut sorter, fake) = (Sorter::default(), Fake { closed: true, ..Fake::default() });
        fake.open(0, &[0x00]);
        assert_eq!(next(&mut sorter, &fake).map(|sorted| sorted.id), Some(id(0)));
        assert!(matches!(
            sorter.poll_next(&fake, &mut Context::from_waker(Waker::noop())),
            Poll::Ready(Err(ConnectionError::TimedOut))
        ));
    }
}
