//! Flow control of a tunnel's streams.
//!
//! QUIC's own windows are not enough: bytes that the stack has read count as consumed, and all
//! streams share one window, so a client that reads nothing would block all others. Each receiver
//! therefore advertises a limit for each stream, first in the header or reply of the stream, and
//! later in records on a control stream. The ingress opens the control stream first. A record has
//! the number of the stream and its limit, 8 bytes each, in network order.

use bentpipe_quic::RawStream;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Size of a record, bytes.
const RECORD: usize = 16;
/// Records in one write.
const BATCH: usize = 64;

/// Limits of the streams of one connection. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamLimits(Arc<Mutex<Streams>>);

#[derive(Debug, Default)]
struct Streams {
    /// Limit of each stream that this side sends, and the task that waits for more.
    sending: BTreeMap<u64, (u64, Option<Waker>)>,
    /// Limits to advertise to the peer: the latest one of each stream.
    advertised: BTreeMap<u64, u64>,
    /// The task that writes the records.
    writer: Option<Waker>,
}

impl StreamLimits {
    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a stream of which this side may send `limit` bytes.
    pub fn add(&self, stream: u64, limit: u64) {
        self.lock().sending.insert(stream, (limit, None));
    }

    /// Removes a stream.
    pub fn remove(&self, stream: u64) {
        let mut streams = self.lock();
        streams.sending.remove(&stream);
        streams.advertised.remove(&stream);
    }

    /// Raises the limit of a stream, as the peer advertises it. A lower limit has no effect, nor
    /// has one of a stream that has ended.
    pub fn raise(&self, stream: u64, limit: u64) {
        let mut streams = self.lock();
        let Some((current, waiting)) = streams.sending.get_mut(&stream) else { return };
        *current = limit.max(*current);
        waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Returns how many bytes may be sent after the first `sent` ones. Pending if none may.
    pub fn poll_available(&self, stream: u64, sent: u64, cx: &mut Context<'_>) -> Poll<u64> {
        let mut streams = self.lock();
        // An unknown stream may send nothing.
        let (limit, waiting) = streams.sending.entry(stream).or_default();
        match limit.saturating_sub(sent) {
            0 => {
                *waiting = Some(cx.waker().clone());
                Poll::Pending
            }
            available => Poll::Ready(available),
        }
    }

    /// Advertises the limit of a stream to the peer.
    pub fn advertise(&self, stream: u64, limit: u64) {
        let mut streams = self.lock();
        streams.advertised.insert(stream, limit);
        streams.writer.take().into_iter().for_each(Waker::wake);
    }

    /// Returns records to write. Pending if there are none.
    fn poll_records(&self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut streams = self.lock();
        let mut bytes = Vec::new();
        while bytes.len() < BATCH * RECORD {
            let Some((stream, limit)) = streams.advertised.pop_first() else { break };
            bytes.extend(stream.to_be_bytes());
            bytes.extend(limit.to_be_bytes());
        }
        if bytes.is_empty() {
            streams.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(bytes)
    }

    /// Reads the records at the start of `bytes`, and leaves an incomplete one.
    fn read_records(&self, bytes: &mut Vec<u8>) {
        let whole = bytes.len() - bytes.len() % RECORD;
        for record in bytes.chunks_exact(RECORD) {
            let (stream, limit) = record.split_at(RECORD / 2);
            let number =
                |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            self.raise(number(stream), number(limit));
        }
        bytes.drain(..whole);
    }

    /// Writes and reads records on the control stream until it ends.
    pub async fn exchange(&self, mut stream: RawStream) {
        let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
        poll_fn(|cx| {
            loop {
                if outgoing.is_empty()
                    && let Poll::Ready(records) = self.poll_records(cx)
                {
                    outgoing = records;
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
                        self.read_records(&mut incoming);
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
    fn limits_pass_in_any_pieces_and_only_rise() {
        let (near, far) = (StreamLimits::default(), StreamLimits::default());
        far.add(4, 10);
        far.add(8, 10);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(far.poll_available(4, 10, &mut cx), Poll::Pending);
        near.advertise(4, 100);
        near.advertise(4, 200);
        near.advertise(8, 5);
        near.advertise(12, 1000);
        let Poll::Ready(records) = near.poll_records(&mut cx) else { panic!("no records") };
        assert_eq!(records.len(), 3 * RECORD, "the latest limit of each stream");
        assert_eq!(near.poll_records(&mut cx), Poll::Pending);
        let mut received = Vec::new();
        for byte in records {
            received.push(byte);
            far.read_records(&mut received);
        }
        assert!(received.is_empty());
        assert_eq!(far.poll_available(4, 10, &mut cx), Poll::Ready(190));
        assert_eq!(far.poll_available(8, 3, &mut cx), Poll::Ready(7), "a limit does not fall");
        far.remove(4);
        far.raise(4, 1000);
        assert_eq!(far.poll_available(4, 0, &mut cx), Poll::Pending);
    }
}
