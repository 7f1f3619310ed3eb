//! What each side of a tunnel may send on a stream: as much as the other has room for, and no more.
//!
//! QUIC has windows of its own, but what its stack has read counts as taken, and one window is
//! shared by all streams: one client that takes nothing would hold up all others. So each receiver
//! says how far it can take a stream, first where the stream begins, and later in records on a
//! stream for that alone, which the entrance opens first: number of the stream and limit, 8 bytes
//! each, in network order.

use bentpipe_quic::RawStream;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Bytes of a record.
const RECORD: usize = 16;
/// Records that are written at a time.
const AT_A_TIME: usize = 64;

/// The streams of one connection. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Credits(Arc<Mutex<Streams>>);

#[derive(Debug, Default)]
struct Streams {
    /// How far we may send, and who waits for more.
    sending: BTreeMap<u64, (u64, Option<Waker>)>,
    /// What the peer is to hear: one limit of each stream at most.
    telling: BTreeMap<u64, u64>,
    /// Who tells it.
    teller: Option<Waker>,
}

impl Credits {
    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream begins, of which `limit` bytes may be sent.
    pub fn begin(&self, stream: u64, limit: u64) {
        self.lock().sending.insert(stream, (limit, None));
    }

    /// It has ended.
    pub fn end(&self, stream: u64) {
        let mut streams = self.lock();
        streams.sending.remove(&stream);
        streams.telling.remove(&stream);
    }

    /// The peer can take a stream up to there. What it says of streams that have ended is late, and
    /// means nothing; less than before, too.
    pub fn raise(&self, stream: u64, limit: u64) {
        let mut streams = self.lock();
        let Some((present, waiting)) = streams.sending.get_mut(&stream) else { return };
        *present = limit.max(*present);
        waiting.take().into_iter().for_each(Waker::wake);
    }

    /// How much more may be sent of a stream, of which so much was; waits where nothing may.
    pub fn poll_room(&self, stream: u64, sent: u64, cx: &mut Context<'_>) -> Poll<u64> {
        let mut streams = self.lock();
        // A stream that has not begun here has no room.
        let (limit, waiting) = streams.sending.entry(stream).or_default();
        match limit.saturating_sub(sent) {
            0 => {
                *waiting = Some(cx.waker().clone());
                Poll::Pending
            }
            room => Poll::Ready(room),
        }
    }

    /// Tells the peer how far we can take a stream.
    pub fn tell(&self, stream: u64, limit: u64) {
        let mut streams = self.lock();
        streams.telling.insert(stream, limit);
        streams.teller.take().into_iter().for_each(Waker::wake);
    }

    /// Takes what there is to tell, as it is written; waits where there is nothing.
    fn poll_told(&self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut streams = self.lock();
        let mut bytes = Vec::new();
        while bytes.len() < AT_A_TIME * RECORD {
            let Some((stream, limit)) = streams.telling.pop_first() else { break };
            bytes.extend(stream.to_be_bytes());
            bytes.extend(limit.to_be_bytes());
        }
        if bytes.is_empty() {
            streams.teller = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(bytes)
    }

    /// Takes the records at the beginning of `bytes`, and leaves what is not a whole one.
    fn hear(&self, bytes: &mut Vec<u8>) {
        let whole = bytes.len() - bytes.len() % RECORD;
        for record in bytes.chunks_exact(RECORD) {
            let (stream, limit) = record.split_at(RECORD / 2);
            let number =
                |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            self.raise(number(stream), number(limit));
        }
        bytes.drain(..whole);
    }

    /// Tells and hears on `stream`, until it ends.
    pub async fn exchange(&self, mut stream: RawStream) {
        let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
        poll_fn(|cx| {
            loop {
                if outgoing.is_empty()
                    && let Poll::Ready(told) = self.poll_told(cx)
                {
                    outgoing = told;
                }
                if !outgoing.is_empty() {
                    match stream.poll_write(cx, &outgoing) {
                        Poll::Ready(Ok(written)) => {
                            outgoing.drain(..written);
                            continue;
                        }
                        Poll::Ready(Err(_)) => return Poll::Ready(()),
                        Poll::Pending => {}
                    }
                }
                match stream.poll_read(cx) {
                    Poll::Ready(Ok(Some(bytes))) => {
                        incoming.extend_from_slice(&bytes);
                        self.hear(&mut incoming);
                    }
                    Poll::Ready(Ok(None) | Err(_)) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_and_heard_in_any_pieces_and_only_rise() {
        let (near, far) = (Credits::default(), Credits::default());
        far.begin(4, 10);
        far.begin(8, 10);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(far.poll_room(4, 10, &mut cx), Poll::Pending);
        near.tell(4, 100);
        near.tell(4, 200);
        near.tell(8, 5);
        near.tell(12, 1000);
        let Poll::Ready(told) = near.poll_told(&mut cx) else { panic!("nothing to tell") };
        assert_eq!(told.len(), 3 * RECORD, "the latest limit of each stream");
        assert_eq!(near.poll_told(&mut cx), Poll::Pending);
        let mut heard = Vec::new();
        for byte in told {
            heard.push(byte);
            far.hear(&mut heard);
        }
        assert!(heard.is_empty());
        assert_eq!(far.poll_room(4, 10, &mut cx), Poll::Ready(190));
        assert_eq!(far.poll_room(8, 3, &mut cx), Poll::Ready(7), "a limit does not sink");
        far.end(4);
        far.raise(4, 1000);
        assert_eq!(far.poll_room(4, 0, &mut cx), Poll::Pending);
    }
}
