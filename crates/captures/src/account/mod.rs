//! Where the time of a recorded transfer went.

mod asks;
mod exchange;
mod fluid_link;
mod losses;
mod outage;
mod own_waits;
mod path;
mod path_waits;
mod received;
mod receiver_account;
mod sender_account;
mod sender_limits;
mod sender_state;
mod sent;
mod spending;
mod steady;
mod transfer;
mod waits;

use crate::error::CaptureError;
use crate::event::{CapturedConnection, Side};
use bentpipe_units::Rate;
use received::Received;
use receiver_account::receiver_account;
use sender_account::sender_account;
use sent::{Sent, main_streams};

pub use exchange::{Exchange, RequestAccount};
pub use path::PathEstimate;
pub use sender_limits::{LimitChange, SenderLimit, sender_limits};
pub use spending::{Evidence, FlowLimit, Interval, LimitKind};
pub use transfer::CapturedTransfer;

/// Divides the time of the largest transfer of a trace, over a link of `rate` or, without it, of
/// the highest rate at which data passed.
///
/// # Errors
/// The trace has no transfer.
pub fn account(
    trace: &CapturedConnection,
    rate: Option<Rate>,
) -> Result<CapturedTransfer, CaptureError> {
    let total = |sizes: std::collections::BTreeMap<u64, u64>| {
        sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size))
    };
    let (sent, received) =
        (total(main_streams(trace.sent())), total(main_streams(trace.received())));
    if sent.max(received) == 0 {
        return Err(CaptureError::Empty("it has no stream data"));
    }
    let is_sender = sent >= received;
    let mut recorded = if is_sender {
        sender_account(trace, &Sent::find(trace)?, rate)?
    } else {
        receiver_account(trace, &Received::find(trace)?, rate)?
    };
    recorded.is_sender = is_sender;
    recorded.is_upload = is_sender == (trace.side == Side::Client);
    recorded.notes.extend(trace.notes.iter().cloned());
    if trace.unreadable > 0 {
        recorded.notes.push(format!("{} records could not be read", trace.unreadable));
    }
    Ok(recorded)
}
