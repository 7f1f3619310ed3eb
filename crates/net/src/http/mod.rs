//! Responses to requests for files (RFC 9110), for all versions of HTTP.

mod body;
mod cache_control;
mod coding;
mod conditional;
mod content_type;
mod path;
mod range;
mod response;
mod root;

pub use body::{Body, FIRST_PIECE, MAX_PIECE};
pub use cache_control::{CacheControl, CacheControlError};
pub use path::{PathError, RequestPath};
pub use range::{ByteRange, Selected};
pub use response::{FileResponse, Files, RETRY, respond, respond_if, status_text};
pub use root::{Root, StoredFile};
