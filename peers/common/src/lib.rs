//! Shared code of the small clients and servers: command line, exit status, output of a client and
//! file access of a server.
//!
//! `client --url https://ADDRESS:PORT/FILE --name NAME --ca CERT --output FILE [--timeout SECONDS]`
//! prints one line of JSON. Its exit status is 0 only if the whole file was written. `server
//! --root DIR --address ADDRESS --port PORT --cert FILE --key FILE` serves until it is ended. In
//! some, `interop` plays a test case of the QUIC interop runner: see [`interop`].

mod arguments;
mod fetched;
#[cfg(feature = "h3")]
pub mod http3;
pub mod interop;
mod program;
mod root;

pub use arguments::{Fetch, Serve};
pub use fetched::Fetched;
pub use program::run;
pub use root::{PIECE, Root};

/// Any error.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
