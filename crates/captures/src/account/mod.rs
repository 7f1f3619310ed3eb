//! Where the time of a recorded transfer went.

mod answers;
mod asks;
mod back_link;
#[cfg(test)]
mod covered_tests;
mod exchange;
mod far_end;
mod fluid_link;
mod frames;
mod handshake;
mod held_acks;
mod late_acks;
mod losses;
mod named_gaps;
mod outage;
mod own_waits;
mod path;
mod path_waits;
mod reading;
mod received;
mod receiver_account;
mod sender_account;
mod sender_limits;
mod sender_state;
mod sent;
mod slots;
mod spending;
mod spent;
mod steady;
mod transfer;
mod waits;

use crate::both::is_same_connection;
use crate::error::CaptureError;
use crate::event::{CapturedConnection, Side};
use bentpipe_units::Rate;
use far_end::FarEnd;
use received::Received;
use receiver_account::receiver_account;
use sender_account::sender_account;
use sent::{Sent, main_streams};
use std::collections::BTreeMap;

pub use exchange::{Exchange, RequestAccount};
pub use far_end::{BothEnds, OneWay};
pub use path::PathEstimate;
pub use sender_limits::{LimitChange, SenderLimit, sender_limits};
pub use spending::{Evidence, FlowLimit, Interval, LimitKind, Reading};
pub use transfer::CapturedTransfer;

/// What is said of two files without keys.
const COVERED: &str = "the packets are encrypted, and their keys are missing: each is known in \
    both files by its bytes. Data and requests follow from the sizes; data that was sent again \
    counts as new data";

/// Divides the time of the largest transfer of a trace, over a link of `rate` or, without it, of
/// the highest rate at which data passed.
///
/// # Errors
/// The trace has no transfer.
pub fn account(
    trace: &CapturedConnection,
    rate: Option<Rate>,
) -> Result<CapturedTransfer, CaptureError> {
    let is_sender = is_sender(trace)?;
    let mut recorded = if is_sender {
        sender_account(trace, &Sent::find(trace)?, rate, None)?
    } else {
        receiver_account(trace, &Received::find(trace)?, rate)?
    };
    recorded.is_sender = is_sender;
    recorded.is_upload = is_sender == (trace.side == Side::Client);
    recorded.notes.extend(trace.notes.iter().cloned());
    if trace.unreadable > 0 {
        let records = if trace.unreadable == 1 { "record" } else { "records" };
        recorded.notes.push(format!("{} {records} could not be read", trace.unreadable));
    }
    Ok(recorded)
}

/// Returns true if the end that recorded a trace sent the main data.
fn is_sender(trace: &CapturedConnection) -> Result<bool, CaptureError> {
    let total = |sizes: BTreeMap<u64, u64>| {
        sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size))
    };
    let (sent, received) =
        (total(main_streams(trace.sent())), total(main_streams(trace.received())));
    if sent.max(received) == 0 {
        return Err(CaptureError::Empty("it has no stream data"));
    }
    Ok(sent >= received)
}

/// Divides the time of the largest transfer of a connection that both of its ends recorded: see
/// [`account`]. What waited on its way, and where, is known and not inferred.
///
/// # Errors
/// One of the traces has no transfer, they are of the same end or of different connections, or the
/// packets of one of them are encrypted.
pub fn account_of_both(
    one: &CapturedConnection,
    other: &CapturedConnection,
    rate: Option<Rate>,
) -> Result<CapturedTransfer, CaptureError> {
    if one.is_encrypted != other.is_encrypted {
        return Err(CaptureError::Empty("the packets of one of the files are encrypted"));
    }
    if !is_same_connection(one, other) || one.side == other.side {
        return Err(CaptureError::Empty("the files are not of both ends of one connection"));
    }
    let (sender, receiver) = if is_sender(one)? { (one, other) } else { (other, one) };
    let (trace, sent, far) = FarEnd::join(sender, receiver)?;
    let mut recorded = sender_account(&trace, &sent, rate, Some(&far))?;
    recorded.is_upload = sender.side == Side::Client;
    if sender.is_encrypted {
        // The notes of each file name as unknown what both together show.
        recorded.notes.push(COVERED.to_owned());
        return Ok(recorded);
    }
    let notes = sender.notes.iter().chain(receiver.notes.iter());
    recorded.notes.extend(notes.cloned());
    Ok(recorded)
}
