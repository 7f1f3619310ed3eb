//! Flow-control credit: what a receiver lets its peer send (RFC 9000 §4), and when it says so.
//!
//! Two can decide. **The stack**, where a [`FlowControlRule`](crate::FlowControlRule) asks for
//! nothing of its own: it announces each eighth of a fixed window. Or the rule:
//! [`FlowControlWindow`] keeps the account of one connection and says which limit is due when; it
//! knows no stack. `FlowControl` carries either out, and [`FlowControlReport`] writes down what
//! came of it.
//!
//! Only the connection's limit (MAX_DATA) can be steered: the stack has no way to change a stream's
//! window after the start, so streams are given one as large as the connection's may become, and it
//! is the connection's that limits.
//!
//! # How the stack is steered
//! Of the stack's window R, its limit L, the bytes C that were read from it, and the debt D that
//! lowering R leaves, L = C + R + D holds always: raising R raises L, lowering it raises D by as
//! much, and what is read pays D off before it raises L. So a limit is announced by raising R by
//! what it grows and lowering it again, and reads announce nothing while D lasts. R rests at what
//! the rule leaves unused until the next update is due, less what was read and not consumed: were
//! the rule to miss bytes (those of streams that were given up, which only the stack sees), the
//! stack goes on by itself from there, and the next update finds L where it belongs.

mod account;
mod pace;
mod report;
mod window;

pub(crate) use account::FlowControl;
pub use pace::{GAIN, PARTS};
pub use report::{FlowControlReport, FlowControlSeries, FlowControlStats};
pub use window::FlowControlWindow;
