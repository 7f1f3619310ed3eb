//! What the small clients and servers share: their command line, how they run and end, what a
//! client prints, which file a server may open.
//!
//! `client --url https://ADDRESS:PORT/FILE --name NAME --ca CERT --output FILE [--timeout SECONDS]`
//! prints one line of JSON and ends with status 0 only when the whole file was written. `server
//! --root DIR --address ADDRESS --port PORT --cert FILE --key FILE` serves until it is ended.

mod arguments;
mod fetched;
#[cfg(feature = "h3")]
pub mod http3;
mod program;
mod root;

pub use arguments::{Fetch, Serve};
pub use fetched::Fetched;
pub use program::run;
pub use root::{PIECE, Root};

/// Whatever went wrong, in words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
