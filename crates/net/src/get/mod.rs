//! The HTTP client, and downloads to files: over HTTP/3, and on request over HTTP/2 or HTTP/1.1
//! with servers that have nothing newer.
//!
//! A [`Client`] keeps one connection for each server, with the TLS tickets and tokens that servers
//! gave it. [`download`] writes to a file and resumes an interrupted download; [`discard`] keeps
//! nothing.

mod address_tokens;
mod builder;
mod by_port;
mod client;
mod connection;
mod download;
mod error;
mod host_port;
mod open_connection;
mod redirect;
mod response;
mod tcp;

pub use builder::ClientBuilder;
pub use client::Client;
pub use download::{Download, DownloadError, Outcome, discard, download};
pub use error::ClientError;
pub use response::{Response, Timings};
