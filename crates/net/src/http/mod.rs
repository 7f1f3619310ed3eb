//! What a request for a file is answered with, whatever version of HTTP carries it (RFC 9110).

mod answer;
mod body;
mod conditional;
mod content_type;
mod path;
mod range;
mod root;

pub use answer::{Answer, RETRY, answer, plain};
pub use body::{Body, PIECE};
pub use path::{PathError, RequestPath};
pub use range::{ByteRange, Selected};
pub use root::Root;
