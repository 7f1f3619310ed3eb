//! Flow control (RFC 9000 §4): how much a receiver lets its peer send, and when it announces more.
//!
//! If a [`FlowControlRule`] asks for nothing beyond it, **the stack** decides: it announces each
//! eighth of a fixed window. Otherwise **the rule** does: [`FlowControlWindow`] accounts for one
//! connection and computes which limit is due when, independent of the stack. `FlowControl` applies
//! either to the stack, and [`FlowControlReport`] records the outcome.
//!
//! Only the connection's limit (MAX_DATA) is controlled. The stack has no API to change the window
//! of a stream later, so streams get windows as large as the connection's may become, and the
//! connection's window is the one that limits.
//!
//! # How the stack is controlled
//! For the stack's window R, its limit L, the bytes C read from it, and the debt D that lowering R
//! leaves, L = C + R + D always holds: raising R raises L, lowering R raises D by as much, and
//! reading pays off D before it raises L. A limit is therefore announced by raising R by the
//! increase and lowering it again, and reads announce nothing while D lasts. Between updates, R
//! rests at the part of the window that the rule leaves unused until the next update is due, less
//! the bytes read and not consumed. If the rule misses bytes (those of abandoned streams, which
//! only the stack sees), the stack continues by itself from there, and the next update corrects L.

mod arrival_rate;
mod control;
mod report;
mod rule;
mod waiting;
mod window;

pub use arrival_rate::{GAIN, PARTS};
pub(crate) use control::FlowControl;
pub use report::{FlowControlReport, FlowControlSeries, FlowControlStats};
pub use rule::FlowControlRule;
pub(crate) use waiting::{GapChunks, Waiting};
pub use window::FlowControlWindow;
