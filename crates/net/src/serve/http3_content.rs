//! The content of requests over HTTP/3, and what waits for it.

use crate::proxy::{Piece, announced_length};
use bentpipe_quic::{BidiStream, RecvStream};
use bentpipe_units::Span;
use bytes::{Buf, Bytes};
use futures_util::FutureExt;
use h3::error::Code;
use h3::server::RequestStream;
use http::HeaderMap;
use std::io;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Returns the result of `work`, or `None` if it takes longer than `limit`.
pub(super) fn within<T>(
    limit: Span,
    work: impl Future<Output = T>,
) -> impl Future<Output = Option<T>> {
    timeout(limit.into(), work).map(Result::ok)
}

/// Returns true if the content of a request is not as long as announced (RFC 9114 §4.1.2), by what
/// has arrived of it. A file is served without waiting for the rest, which is not read.
pub(super) fn misstates_length(
    headers: &HeaderMap,
    stream: &mut RequestStream<BidiStream, Bytes>,
) -> bool {
    let Some(announced) = announced_length(headers) else { return false };
    let mut arrived = 0;
    while let Some(Ok(piece)) = stream.recv_data().now_or_never() {
        let Some(piece) = piece else { return arrived != announced };
        arrived += piece.remaining() as u64;
        if arrived > announced {
            return true;
        }
    }
    false
}

/// Reads a request's content until the receiver is gone. `pause`: longest pause of the client.
pub(super) async fn read_content(
    mut content: RequestStream<RecvStream, Bytes>,
    sender: mpsc::Sender<Piece>,
    pause: Span,
) {
    loop {
        let piece = tokio::select! {
            () = sender.closed() => break,
            piece = within(pause, content.recv_data()) => match piece {
                None => Piece::Failed(io::ErrorKind::TimedOut.into()),
                Some(Err(error)) => Piece::Failed(io::Error::other(error)),
                Some(Ok(None)) => match within(pause, content.recv_trailers()).await {
                    None => Piece::Failed(io::ErrorKind::TimedOut.into()),
                    Some(Err(error)) => Piece::Failed(io::Error::other(error)),
                    Some(Ok(trailers)) => {
                        // The receiver may be gone by now.
                        let _ = sender.send(Piece::End(trailers)).await;
                        return;
                    }
                },
                Some(Ok(Some(mut data))) => Piece::Data(data.copy_to_bytes(data.remaining())),
            },
        };
        let failed = matches!(piece, Piece::Failed(_));
        if sender.send(piece).await.is_err() || failed {
            break;
        }
    }
    // The response does not depend on the rest (RFC 9114 §4.1).
    content.stop_sending(Code::H3_NO_ERROR);
}
