//! One connection as both of its ends recorded it: which packets arrived, and how long each took.
//!
//! - `packets`: the packets that one end sent, each with its arrival at the other;
//! - `clocks`: what the clocks of the two files differ by;
//! - `crossings`: what each packet waited, and which did not arrive.

mod clocks;
mod crossings;
mod packets;

pub use crossings::{Crossing, Crossings, is_same_connection};
