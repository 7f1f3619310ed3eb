//! A connection that several tasks share: the protocol state, and the tasks that wait for it.

mod datagrams;
mod early_data;
mod end_log;
mod events;
mod flow;
mod handle;
mod outcome;
mod priorities;
mod prioritize;
mod read;
mod state;
mod status;
mod streams;
mod task;
#[cfg(test)]
mod tests;
mod tokens;
mod unread;
mod waiters;
mod write;
mod write_turns;

pub use handle::Conn;
pub(crate) use outcome::{Read, StreamFailure};
pub(crate) use state::State;
pub use task::Task;
pub use write::FinishWhenDropped;
