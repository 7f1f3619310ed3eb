//! The content of a response, read from its file in pieces while it is sent.

use super::range::ByteRange;
use super::root::StoredFile;
use bytes::{Bytes, BytesMut};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Largest piece, bytes. Our choice: large, because each piece is a call to another thread, and
/// small enough for a thousand at a time.
pub const MAX_PIECE: u64 = 256 * 1024;

/// Size of the first piece, which is read when the response is made, bytes. Our choice: many files
/// are smaller and then take no descriptor, and the pieces of many concurrent requests take little
/// memory.
pub const FIRST_PIECE: u64 = 32 * 1024;

/// Content that is still to be sent.
#[derive(Debug, Default)]
pub struct Body {
    /// The first piece, until it is sent.
    ready: Option<Bytes>,
    rest: Option<Rest>,
    /// Bytes that are still to be sent.
    left: u64,
}

/// The part of a file that is still to be read.
#[derive(Debug)]
struct Rest {
    stored: Arc<StoredFile>,
    /// The file, open and at `first`. It is opened when the piece before was sent, so a response
    /// that cannot be sent holds no descriptor.
    file: Option<Arc<File>>,
    first: u64,
    length: u64,
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

    /// Returns the part `range` of a stored file, without reading it.
    pub(super) fn unread(stored: StoredFile, range: ByteRange) -> Self {
        let ByteRange { first, length } = range;
        let rest = Rest { stored: Arc::new(stored), file: None, first, length };
        Self { ready: None, left: length, rest: Some(rest).filter(|_| length > 0) }
    }

    /// Reads the first piece from `file`, which is this content's. Blocks.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn read_first(&mut self, mut file: File) -> io::Result<()> {
        let Some(rest) = &mut self.rest else { return Ok(()) };
        file.seek(SeekFrom::Start(rest.first))?;
        let ready = read(&file, rest.length.min(FIRST_PIECE))?;
        rest.advance(ready.len() as u64);
        if rest.length == 0 {
            self.rest = None;
        }
        self.ready = Some(ready);
        Ok(())
    }

    /// Returns whether there is content of which nothing was read.
    pub const fn is_unread(&self) -> bool {
        self.ready.is_none() && self.rest.is_some()
    }

    /// Returns the bytes that are still to be sent.
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next piece, of at most `limit` bytes and at most [`MAX_PIECE`]. `None` at the
    /// end.
    ///
    /// # Errors
    /// The file cannot be read, has become shorter than announced, or was replaced before it was
    /// open.
    pub async fn next(&mut self, limit: u64) -> io::Result<Option<Bytes>> {
        let piece = match (self.ready.take(), self.rest.as_mut()) {
            (Some(ready), _) => ready,
            (None, Some(rest)) => {
                let piece = rest.read(limit.clamp(1, MAX_PIECE)).await?;
                if rest.length == 0 {
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

impl Rest {
    async fn read(&mut self, limit: u64) -> io::Result<Bytes> {
        let (stored, open) = (self.stored.clone(), self.file.clone());
        let (first, length) = (self.first, self.length.min(limit));
        let work = move || {
            let file = match open {
                Some(file) => file,
                None => {
                    let mut file = stored.open()?;
                    file.seek(SeekFrom::Start(first))?;
                    Arc::new(file)
                }
            };
            let piece = read(&file, length)?;
            Ok::<_, io::Error>((file, piece))
        };
        let (file, piece) = spawn_blocking(work).await.map_err(io::Error::other)??;
        self.file = Some(file);
        self.advance(piece.len() as u64);
        Ok(piece)
    }

    fn advance(&mut self, bytes: u64) {
        self.first += bytes;
        self.length -= bytes;
    }
}

/// Reads exactly `length` bytes from the current position of `file`.
fn read(mut file: &File, length: u64) -> io::Result<Bytes> {
    let mut piece = BytesMut::zeroed(usize::try_from(length).unwrap_or(usize::MAX));
    file.read_exact(&mut piece)?;
    Ok(piece.freeze())
}
