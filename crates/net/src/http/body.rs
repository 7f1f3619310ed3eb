//! A response's content, read from its file in pieces as it is sent.

use super::ByteRange;
use bytes::{Bytes, BytesMut};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// What is read at once, bytes: our choice. Large, because each piece is a call to another thread,
/// and small enough for a thousand at a time.
pub const PIECE: u64 = 256 * 1024;

/// What is read with the file's opening, bytes: our choice. Many files are smaller and hold no
/// descriptor, and what waits to be sent should be little where many ask at once.
const FIRST: u64 = 32 * 1024;

/// Content that is still to be sent.
#[derive(Debug, Default)]
pub struct Body {
    /// Read already.
    ready: Option<Bytes>,
    rest: Option<(Arc<File>, u64)>,
    left: u64,
}

impl Body {
    /// `text` and nothing else.
    pub fn text(text: &'static str) -> Self {
        Self {
            ready: Some(Bytes::from_static(text.as_bytes())),
            rest: None,
            left: text.len() as u64,
        }
    }

    /// The part `range` of `file`, whose first piece is read at once. Blocks.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(mut file: File, range: ByteRange) -> io::Result<Self> {
        file.seek(SeekFrom::Start(range.first))?;
        let ready = read(&file, range.length.min(FIRST))?;
        let rest = range.length - ready.len() as u64;
        let rest = (rest > 0).then(|| (Arc::new(file), rest));
        Ok(Self { left: range.length, ready: Some(ready), rest })
    }

    /// Bytes that are still to come.
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// The next piece, at most `most` bytes of the file, and [`PIECE`] in any case.
    ///
    /// # Errors
    /// The file cannot be read, or has become shorter: what was announced cannot be sent.
    pub async fn next(&mut self, most: u64) -> io::Result<Option<Bytes>> {
        let piece = match (self.ready.take(), self.rest.as_mut()) {
            (Some(ready), _) => ready,
            (None, Some((file, rest))) => {
                let (from, most) = (file.clone(), (*rest).min(most.clamp(1, PIECE)));
                let piece =
                    spawn_blocking(move || read(&from, most)).await.map_err(io::Error::other)??;
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

/// Exactly `length` bytes from where `file` stands.
fn read(mut file: &File, length: u64) -> io::Result<Bytes> {
    let mut piece = BytesMut::zeroed(usize::try_from(length).unwrap_or(usize::MAX));
    file.read_exact(&mut piece)?;
    Ok(piece.freeze())
}
