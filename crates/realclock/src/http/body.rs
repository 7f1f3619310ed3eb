//! Bodies of requests and responses: so many zeros.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Largest piece of a body: several TLS records (RFC 8446 §5.1).
const PIECE: usize = 64 * 1024;
static CONTENT: [u8; PIECE] = [0; PIECE];

/// A body of zeros.
#[derive(Debug)]
pub(super) struct Zeros {
    left: u64,
}

impl Zeros {
    /// Creates a body of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes }
    }
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.left.min(PIECE as u64) as usize;
        self.left -= length as u64;
        let piece = (length > 0).then(|| Ok(Frame::data(Bytes::from_static(&CONTENT[..length]))));
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
