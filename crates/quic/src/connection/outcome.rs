//! How an operation on a stream ends.

use noq_proto::ConnectionError;

/// Result of a read.
#[derive(Debug)]
pub(crate) enum Read {
    /// Bytes were passed to the sink; more may come later.
    More,
    /// The stream has ended and all its bytes were passed on.
    Finished,
    /// The peer reset the stream with this code.
    Reset(u64),
}

/// Why a stream cannot continue.
#[derive(Debug, Clone)]
pub(crate) enum StreamFailure {
    /// The connection ended.
    Connection(ConnectionError),
    /// The peer stopped or reset the stream with this code.
    Terminated(u64),
    /// The stream was finished, stopped or reset on this side.
    Closed,
    /// More bytes wait behind gaps than flow control ever allowed the peer to send at a time.
    Overfull,
}
