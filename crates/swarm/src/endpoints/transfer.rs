//! The application of both ends: a client sends a length and some bytes, and gets as many bytes as
//! it asked for. Every byte is checked.

use bentpipe_quic::{Conn, RawStream, Task, take_tokens};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest piece that is written at once.
const PIECE: u64 = 32_768;
/// Error code of a client whose stream ended early.
const FAILED: u64 = 2;
/// Bytes of the length before a request.
const LENGTH: usize = 8;

/// What one transfer has received.
#[derive(Debug, Clone, Default)]
pub struct Received(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    bytes: u64,
    /// Offset of the first byte that is not what was sent.
    wrong: Option<u64>,
    ended: bool,
}

impl Received {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes, and true if the stream has ended.
    pub fn progress(&self) -> (u64, bool) {
        let state = self.lock();
        (state.bytes, state.ended)
    }

    /// Returns the offset of the first wrong byte.
    pub fn wrong(&self) -> Option<u64> {
        self.lock().wrong
    }

    fn add(&self, data: &[u8]) {
        let mut state = self.lock();
        let begin = state.bytes;
        let differs = (begin..).zip(data).find(|(offset, got)| **got != byte_at(*offset));
        if state.wrong.is_none() {
            state.wrong = differs.map(|(offset, _)| offset);
        }
        state.bytes += data.len() as u64;
    }
}

/// The byte at an offset of every transfer. The period of 251 is coprime to sizes of packets.
fn byte_at(offset: u64) -> u8 {
    (offset % 251) as u8 ^ (offset >> 16) as u8
}

async fn write(stream: &mut RawStream, bytes: u64) -> Result<(), String> {
    let mut sent = 0;
    while sent < bytes {
        let end = bytes.min(sent + PIECE);
        let piece: Vec<u8> = (sent..end).map(byte_at).collect();
        stream.write_all(&piece).await?;
        sent = end;
    }
    stream.finish()
}

/// The server: answers each stream once it has ended. `wrong` counts uploads with wrong bytes.
pub fn server(conn: Conn, wrong: Arc<Mutex<u64>>) -> Task {
    Box::pin(async move {
        conn.spawn(take_tokens(conn.clone()));
        while let Ok(stream) = RawStream::accept(&conn).await {
            conn.spawn(answer(stream, wrong.clone()));
        }
    })
}

async fn answer(mut stream: RawStream, wrong: Arc<Mutex<u64>>) {
    let mut head = Vec::new();
    let upload = Received::default();
    while let Ok(Some(mut data)) = stream.read().await {
        let missing = LENGTH.saturating_sub(head.len()).min(data.len());
        head.extend_from_slice(&data.split_to(missing));
        upload.add(&data);
    }
    if upload.wrong().is_some() {
        *wrong.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }
    if let Ok(length) = <[u8; LENGTH]>::try_from(head) {
        // Its connection may have ended: then nobody waits for it.
        let _ = write(&mut stream, u64::from_be_bytes(length)).await;
    }
}

/// The client: one transfer of `up` and `down` bytes.
pub fn client(conn: Conn, up: u64, down: u64, received: Received) -> Task {
    Box::pin(async move {
        conn.spawn(take_tokens(conn.clone()));
        // A stream may end early without its connection, as when early data is refused.
        if transfer(&conn, up, down, &received).await.is_err() {
            conn.close(FAILED, b"");
        }
    })
}

async fn transfer(conn: &Conn, up: u64, down: u64, received: &Received) -> Result<(), String> {
    let mut stream = RawStream::open(conn).await?;
    stream.write_all(&down.to_be_bytes()).await?;
    write(&mut stream, up).await?;
    while let Some(data) = stream.read().await? {
        received.add(&data);
    }
    received.lock().ended = true;
    Ok(())
}
