//! What both ends do in a transfer, and how streams carry messages.

use super::BIN;
use super::wire::{MAX_BINS, MESSAGE, Message};
use crate::clock::RealClock;
use bentpipe_quic::{Conn, IP_UDP_HEADER, RawStream};
use bentpipe_units::{Span, Time};
use bytes::{Bytes, BytesMut};
use tokio::time::{sleep_until, timeout};

/// Bytes in one write.
const PIECE: usize = 64 * 1024;
static ZEROS: [u8; PIECE] = [0; PIECE];
/// Time for a message to arrive.
pub(super) const MESSAGE_TIME: Span = Span::from_secs(10);

/// Part of the rest of a budget that a transfer may take: packets have headers, and some are sent
/// twice.
const HEADROOM: f64 = 0.9;

/// Bytes that a transfer may take, and when it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub bytes: u64,
    pub end: Time,
}

/// Returns the bytes of UDP payload of a connection so far, in both directions.
pub(super) fn used(conn: &Conn) -> u64 {
    let stats = conn.stats();
    stats.udp_tx.bytes + stats.udp_rx.bytes
}

/// Returns the bytes that a transfer may take of a budget.
pub(super) fn rest(budget: u64, conn: &Conn) -> u64 {
    (budget.saturating_sub(used(conn)) as f64 * HEADROOM) as u64
}

/// Returns the bytes of IP packets that a connection has received, with the headers of IPv4.
fn received(conn: &Conn) -> u64 {
    let stats = conn.stats().udp_rx;
    stats.bytes + u64::from(IP_UDP_HEADER) * stats.datagrams
}

/// Returns the bytes of IP packets that a connection has sent, with the headers of IPv4.
pub(super) fn sent(conn: &Conn) -> u64 {
    let stats = conn.stats().udp_tx;
    stats.bytes + u64::from(IP_UDP_HEADER) * stats.datagrams
}

/// Reads a message from the start of a stream. Returns it with what arrived behind it.
pub(super) async fn read_message(stream: &mut RawStream) -> Result<(Message, Bytes), String> {
    let mut bytes = BytesMut::new();
    let whole = read_to(stream, &mut bytes, MESSAGE);
    timeout(MESSAGE_TIME.into(), whole)
        .await
        .map_err(|_| format!("no message within {MESSAGE_TIME}"))??;
    let first = bytes.split_to(MESSAGE);
    let first: &[u8; MESSAGE] = first.as_ref().try_into().map_err(|_| "no message".to_owned())?;
    let message = Message::decode(first).map_err(|error| error.to_string())?;
    Ok((message, bytes.freeze()))
}

/// Reads until `bytes` has at least `length` of them.
pub(super) async fn read_to(
    stream: &mut RawStream,
    bytes: &mut BytesMut,
    length: usize,
) -> Result<(), String> {
    while bytes.len() < length {
        match stream.read().await? {
            Some(piece) => bytes.extend_from_slice(&piece),
            None => return Err("the stream ended within a message".to_owned()),
        }
    }
    Ok(())
}

/// Sends zeros within `bounds`. Returns false if the time ended first: the stream then still has
/// what waits in its buffer.
pub(super) async fn send(stream: &mut RawStream, bounds: Bounds, clock: &RealClock) -> bool {
    let mut left = bounds.bytes;
    let end = clock.instant(bounds.end).into();
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let written = tokio::select! {
            written = stream.write_all(&ZEROS[..length]) => written,
            () = sleep_until(end) => return false,
        };
        if written.is_err() {
            return true;
        }
        left -= length as u64;
    }
    // An error means that the peer has stopped it.
    let _ = stream.finish();
    true
}

/// Receives until the stream ends, within `bounds`. Returns the bytes of IP packets in each
/// [`BIN`] from the first byte on; the last one is shorter.
pub(super) async fn receive(
    conn: &Conn,
    stream: &mut RawStream,
    bounds: Bounds,
    clock: &RealClock,
) -> Vec<u64> {
    let mut bins: Vec<u64> = Vec::new();
    let (mut content, mut before, mut due) = (0, received(conn), None);
    loop {
        let tick = due.unwrap_or(bounds.end).min(bounds.end);
        tokio::select! {
            piece = stream.read() => {
                let Ok(Some(piece)) = piece else { break };
                due = due.or_else(|| Some(clock.now() + BIN));
                content += piece.len() as u64;
                if content > bounds.bytes {
                    stream.stop(0);
                    break;
                }
            }
            () = sleep_until(clock.instant(tick).into()) => {
                let now = received(conn);
                bins.push(now - before);
                before = now;
                due = due.map(|due| due + BIN);
                if tick >= bounds.end || bins.len() as u64 >= MAX_BINS {
                    stream.stop(0);
                    return bins;
                }
            }
        }
    }
    bins.push(received(conn) - before);
    bins
}
