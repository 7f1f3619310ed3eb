//! The end of a connection, for its trace.

use bentpipe_qlog::{CloseTrigger, ConnectionClosed, Event, Initiator, QlogSink};
use noq_proto::ConnectionError;

/// Writes the end of a connection. `local`: code and reason of an application that closes it here.
pub(super) fn log_end(qlog: &QlogSink, end: &ConnectionError, local: Option<(u64, &[u8])>) {
    use ConnectionError as E;
    let (initiator, error, trigger) = match end {
        E::VersionMismatch => (None, None, CloseTrigger::VersionMismatch),
        E::TransportError(error) => {
            (Some(Initiator::Local), Some((u64::from(error.code), false)), CloseTrigger::Error)
        }
        E::ConnectionClosed(close) => {
            let error = (u64::from(close.error_code), false);
            (Some(Initiator::Remote), Some(error), CloseTrigger::Error)
        }
        E::ApplicationClosed(close) => {
            let error = (close.error_code.into_inner(), true);
            (Some(Initiator::Remote), Some(error), CloseTrigger::Application)
        }
        E::Reset => (Some(Initiator::Remote), None, CloseTrigger::StatelessReset),
        E::TimedOut => (None, None, CloseTrigger::IdleTimeout),
        E::LocallyClosed => {
            let error = local.map(|(code, _)| (code, true));
            (Some(Initiator::Local), error, CloseTrigger::Application)
        }
        E::CidsExhausted => (Some(Initiator::Local), None, CloseTrigger::Aborted),
    };
    let reason: Option<&[u8]> = match end {
        E::TransportError(error) => Some(error.reason.as_bytes()),
        E::ConnectionClosed(close) => Some(&close.reason),
        E::ApplicationClosed(close) => Some(&close.reason),
        E::LocallyClosed => local.map(|(_, reason)| reason),
        _ => None,
    };
    let reason = reason
        .and_then(|reason| std::str::from_utf8(reason).ok())
        .filter(|reason| !reason.is_empty());
    qlog.add_now(&Event::ConnectionClosed(ConnectionClosed { initiator, error, reason, trigger }));
}
