//! Streams for applications: in order, framed for HTTP/3 or bare.

mod errors;
mod frame_filter;
mod frame_log;
mod header_memory;
mod http3;
mod message_order;
pub(crate) mod overflow;
mod priority;
mod protocol;
mod pseudo_fields;
mod raw;
mod reassembler;
mod recv;
mod send;
mod sorter;
pub(crate) mod zeros;

pub use frame_filter::{FrameError, MAX_HEADER_FRAME};
pub use header_memory::HeaderMemory;
pub use http3::{BidiStream, Http3};
pub use priority::{MAX_PRIORITY_FIELD, PriorityField};
pub use protocol::WEBSOCKET;
pub use pseudo_fields::MalformedSection;
pub use raw::{RawStream, StreamEnd};
pub use reassembler::Reassembler;
pub use recv::RecvStream;
pub use send::SendStream;
pub use sorter::take_tokens;
pub use zeros::{MAX_ZEROS, zeros};
