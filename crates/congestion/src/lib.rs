//! Congestion control for any sender: controllers, ways to start them, and Careful Resume (RFC 9959).
//!
//! Nothing here knows a protocol, a clock or a socket. A sender keeps a [`Ledger`] of what it has sent, turns what it
//! hears into [`Ack`], [`Loss`] and [`Mark`], and asks a [`Controller`] how much may be in flight and how fast to send:
//!
//! - [`controller`]: the trait, and what a controller is told;
//! - [`ledger`]: packets in flight, delivery-rate samples and rounds;
//! - [`newreno`] and its neighbours: one controller each;
//! - [`probe`]: watches a sender from inside;
//! - [`capped`]: a window with an end;
//! - [`hints`]: what is known of the path's future; [`hinted`]: a layer that uses it;
//! - [`filter`]: the smallest or largest round trip of the last while;
//! - [`start`]: ways to find the path's capacity, in front of any controller;
//! - [`resume`]: what the path carried before, used again with care;
//! - [`catalogue`]: every part by its name, with its parameters; [`recipe`]: a choice of them.

pub mod bbr1;
pub mod bbr3;
pub mod capped;
pub mod catalogue;
pub mod controller;
pub mod copa;
pub mod cubic;
pub mod filter;
pub mod fixed_rate;
#[cfg(test)]
mod flow;
pub mod geo_reno;
pub mod hinted;
pub mod hints;
pub mod hybla;
pub mod ledger;
pub mod newreno;
pub mod parameter;
pub mod probe;
pub mod recipe;
pub mod resume;
pub mod start;
#[cfg(test)]
mod testing;
pub mod vegas;
mod windowed;

pub use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Packet, PathChange, RateSample, Setup};
pub use crate::hinted::Hinted;
pub use crate::hints::{HintFeed, PathHint};
pub use crate::ledger::Ledger;
pub use crate::parameter::{Parameter, ParameterError, Values};
pub use crate::probe::{Probe, Record, SenderSeries};
pub use crate::recipe::{ControllerName, FastStart, HintUse, Prepared, Recipe, ResumeName, StartName};
pub use crate::resume::{PathNotes, Resume, Saved};
pub use crate::start::{Permit, Progress, Start, Started};
