//! The content of a response, read from its file in pieces while it is sent.

use super::range::ByteRange;
use bytes::{Bytes, BytesMut};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Largest piece, bytes. Our choice: large, because each piece is a call to another thread, and
/// small enough for a thousand at a time.
pub const MAX_PIECE: u64 = 256 * 1024;

/// Size of the first piece, which is read when the file is opened, bytes. Our choice: many files
/// are smaller and then take no descriptor, and the pieces of many concurrent requests take little
/// memory.
const FIRST_PIECE: u64 = 32 * 1024;

/// Content that is still to be sent.
#[derive(Debug, Default)]
pub struct Body {
    /// The first piece, until it is sent.
    ready: Option<Bytes>,
    /// The file, and the bytes of it that are still to be read.
    rest: Option<(Arc<File>, u64)>,
    /// Bytes that are still to be sent.
    left: u64,
}

impl Body {
    /// Returns `text` as content.
    pub fn text(text: &'static str) -> Self {
        Self {
            ready: Some(Bytes::from_static(text.as_bytes())),
            rest: None,
            left: text.len() as u64,
        }
    }

    /// Returns the part `range` of `file`, and reads its first piece. Blocks.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(mut file: File, range: ByteRange) -> io::Result<Self> {
        file.seek(SeekFrom::Start(range.first))?;
        let ready = read(&file, range.length.min(FIRST_PIECE))?;
        let rest = range.length - ready.len() as u64;
        let rest = (rest > 0).then(|| (Arc::new(file), rest));
        Ok(Self { left: range.length, ready: Some(ready), rest })
    }

    /// Returns the bytes that are still to be sent.
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next piece, of at most `limit` bytes and at most [`MAX_PIECE`]. `None` at the
    /// end.
    ///
    /// # Errors
    /// The file cannot be read or has become shorter than announced.
    pub async fn next(&mut self, limit: u64) -> io::Result<Option<Bytes>> {
        let piece = match (self.ready.take(), self.rest.as_mut()) {
            (Some(ready), _) => ready,
            (None, Some((file, rest))) => {
                let (from, length) = (file.clone(), (*rest).min(limit.clamp(1, MAX_PIECE)));
                let piece = spawn_blocking(move || read(&from, length))
                    .await
                    .map_err(io::Error::other)??;
                *rest -= piece.len() as u64;
                if *rest == 0 {
                    self.rest = None;
                }
                piece
            }
            (None, None) => return Ok(None),
        };
        self.left = self.left.saturating_sub(piece.len() as u64);
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}

/// Reads exactly `length` bytes from the current position of `file`.
fn read(mut file: &File, length: u64) -> io::Result<Bytes> {
    let mut piece = BytesMut::zeroed(usize::try_from(length).unwrap_or(usize::MAX));
    file.read_exact(&mut piece)?;
    Ok(piece.freeze())
}
