//! Errors and identifiers of the stack as `h3` expects them.

use crate::connection::StreamFailure;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use noq_proto::{ConnectionError, StreamId};
use std::sync::Arc;

/// Converts the end of a connection to `h3`'s error.
pub(super) fn connection_error(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

pub(super) fn stream_error(failure: StreamFailure) -> StreamErrorIncoming {
    match failure {
        StreamFailure::Connection(error) => StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: connection_error(error),
        },
        StreamFailure::Terminated(error_code) => {
            StreamErrorIncoming::StreamTerminated { error_code }
        }
        StreamFailure::Overfull => StreamErrorIncoming::Unknown(
            "more bytes wait behind gaps than flow control allows".into(),
        ),
        StreamFailure::Closed => {
            StreamErrorIncoming::Unknown("the stream is closed on this side".into())
        }
    }
}

pub(super) fn h3_id(id: StreamId) -> quic::StreamId {
    // noq's identifier is a QUIC integer, as `h3` requires.
    quic::StreamId::try_from(u64::from(id))
        .unwrap_or_else(|_| unreachable!("stream id {id} below 2^62"))
}
