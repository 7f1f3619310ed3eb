//! Quantities as people write them: `"600 ms"`, `"50 Mbps"`, `"10 MB"`, `"0.1 %"`.
//!
//! Every quantity is a newtype over one integer, or over one float for [`Ratio`] and [`Decibels`],
//! so that a rate cannot be added to a delay. [`std::str::FromStr`] parses text and
//! [`std::fmt::Display`] prints it; printing and parsing returns the same value. Serde and JSON
//! Schema use the same text. Errors name the text that is wrong and the units that are allowed.
//!
//! Decimal prefixes are powers of ten (`1 MB` = 10⁶ bytes, `1 Mbps` = 10⁶ bits per second). Binary
//! prefixes (`KiB`, `MiB`, `GiB`) are powers of two.
//!
//! [`Printable`] prints texts of others so that they cannot control a terminal. [`Priority`] is the
//! priority of an HTTP response, which QUIC and TCP share.

mod bytes;
mod decibels;
mod epoch;
mod length;
mod linear_delay;
mod parse;
mod printable;
mod priority;
mod rate;
mod ratio;
mod symbols;
mod time;

pub use bytes::Bytes;
pub use decibels::{DecibelSlope, Decibels};
pub use epoch::{Epoch, EpochError};
pub use length::Length;
pub use linear_delay::LinearDelay;
pub use parse::UnitError;
pub use printable::Printable;
pub use priority::Priority;
pub use rate::Rate;
pub use ratio::Ratio;
pub use symbols::SymbolRate;
pub use time::{Span, Time};
