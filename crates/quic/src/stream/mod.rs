//! Streams as applications use them: in order, framed for HTTP/3 or bare.

mod frame_filter;
mod header_memory;
mod http3;
pub(crate) mod overflow;
mod raw;
mod reassembler;
mod sorter;

pub use frame_filter::{FrameError, MAX_HEADER_FRAME};
pub use header_memory::HeaderMemory;
pub use http3::{BidiStream, Http3, RecvStream, SendStream};
pub use raw::{RawStream, StreamEnd};
pub use reassembler::Reassembler;
pub use sorter::take_tokens;
