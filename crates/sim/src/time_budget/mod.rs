//! The time budget of a visit: its completion time, divided by what the time was spent on.
//!
//! # Definition
//!
//! The account is kept where the data of a visit arrives: at its receiver or, with proxies, where
//! it leaves the hop that the proxies are around. Each data packet that arrives there closes a gap,
//! the time since the one before it. Gaps do not overlap and leave nothing out, so that their parts
//! add up to the completion time to the nanosecond. A gap is divided from its end backwards, each
//! part taking what is left, at most:
//!
//! 1. the time that the packet occupied the slowest link of its path, and what is left of that of
//!    packets that arrived earlier together: [`TimePart::Serialisation`], of which the shares of
//!    headers and of bytes that arrived twice are taken out at the end;
//! 2. the same of packets of this visit that were lost after their transmission:
//!    [`TimePart::LostPackets`];
//! 3. the time that the packet waited because a link could not send ([`TimePart::Outage`],
//!    [`TimePart::Capacity`]), for the end of its frame ([`TimePart::Capacity`]), or while a link
//!    sent others' packets ([`TimePart::OtherFlows`]); if both directions share a link, the flow's
//!    own acknowledgements are [`TimePart::Headers`];
//! 4. the growth of the rest of its transit time, compared with the packet before:
//!    [`TimePart::PathChange`];
//! 5. what the sender did not use: the time before it sent the packet, by what limited it then
//!    ([`SendLimit`]).
//!
//! Idle time that an acknowledgement could have ended earlier counts as [`TimePart::ReturnLink`],
//! per round trip up to the longest time that an acknowledgement had waited on its way; as
//! [`TimePart::Capacity`], if it waited for the end of a frame; as [`TimePart::HeldAcks`], if its
//! receiver or a filter had held it back; as [`TimePart::Outage`], if it waited for the end of one,
//! with the timeouts meanwhile. The same holds for the request that ends a pause.
//!
//! Before the first data packet, the handshake and the round trip of the request are the parts.
//! What exceeds the round trips that they need is the outage's, the return link's or the queue's as
//! far as packets waited there, then [`TimePart::Timeout`] if packets were lost. Packets in a row
//! that the path lost, over a round trip or more, make an outage.
//!
//! # Approximations
//!
//! With queues at several links of a path, their waits add up, although only one of them may have
//! cost time. A wait behind others' packets counts even if the sender would not have sent more.
//! With several connections, what holds back any of them counts. Headers have the same share of
//! the serialisation at any rate.

mod account;
mod early;
mod episodes;
mod losses;
mod receiver;
mod round;
mod sharing;
mod spending;
mod strip;
mod transit;
mod trip;

pub use account::{Account, AccountEnd, ClosedAccount, Requests};
pub use episodes::Episode;
pub use sharing::Sharing;
pub use trip::{AckWait, Trip};

#[cfg(doc)]
use {bentpipe_quic::congestion::SendLimit, bentpipe_timeseries::TimePart};
