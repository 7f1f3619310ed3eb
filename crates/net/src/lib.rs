//! The product on real sockets.
//!
//! - [`Server`] serves the files of a directory, or what an [`Upstream`] answers, over HTTP/3, and
//!   over HTTP/1.1 and HTTP/2 beside it; [`Certificate`] is what it shows;
//! - [`Client`] asks for them over HTTP/3, [`download`] keeps them, and goes on where an earlier
//!   download ended, [`discard`] does not; [`TokenFile`] keeps what servers gave;
//! - [`Driver`] runs any QUIC endpoint of `bentpipe-quic` over a UDP [`Socket`] by a [`WallClock`];
//! - [`Resumption`] brings Careful Resume to programs that have a noq endpoint of their own;
//! - [`Qlog`] says where servers and clients leave traces of their connections;
//! - [`http`] answers requests for files;
//! - [`pep`] splits TCP connections;
//! - [`SqliteStore`] remembers paths in a file, across programs and crashes, [`WriteBehind`]
//!   without waiting for it;
//! - [`default_store`] and [`default_tokens`] are the files where nobody names one.
//!
//! ```
//! use bentpipe_net::{Certificate, Client, Server, Trust};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let place = tempfile::tempdir()?;
//! std::fs::write(place.path().join("hello.txt"), "hello")?;
//!
//! let certificate = Certificate::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()])?;
//! let trusted = certificate.own().cloned().into_iter().collect();
//! let server = Server::builder(place.path(), certificate).start().await?;
//!
//! let client = Client::builder().trust(Trust::Only(trusted)).build()?;
//! let url = format!("https://{}/hello.txt", server.address()).parse()?;
//! let mut response = client.get(&url, &Default::default()).await?;
//! let mut pieces = Vec::new();
//! while response.pieces(&mut pieces).await? {}
//! assert_eq!(pieces.concat(), b"hello");
//!
//! client.disconnect().await;
//! assert_eq!(server.stop(bentpipe_units::Span::from_secs(5)).await, 0);
//! # Ok(())
//! # }
//! ```

mod authority;
mod certificate;
mod client;
mod clients;
mod clock;
mod descriptors;
mod driver;
pub mod http;
mod log_writer;
mod path_report;
pub mod pep;
mod place;
mod qlog;
mod resumption;
mod scrape;
mod server;
mod socket;
mod sqlite;
mod token_file;
mod write_behind;

pub use certificate::{Certificate, CertificateError};
pub use client::{
    Client, ClientBuilder, ClientError, Download, DownloadError, Outcome, Response, Timings, Trust,
    discard, download,
};
pub use clock::WallClock;
pub use descriptors::{TooFewDescriptors, check_descriptors, raise_descriptor_limit};
pub use driver::{Command, Driver};
pub use path_report::PathReport;
pub use place::{default_store, default_tokens};
pub use qlog::{Qlog, QlogCounts};
pub use resumption::{PathUse, Resumption, ResumptionError};
pub use server::{
    Limits, LogFormat, Metrics, Server, ServerBuilder, ServerError, Upstream, UpstreamError,
};
pub use socket::{Arrived, Socket};
pub use sqlite::SqliteStore;
pub use token_file::TokenFile;
pub use write_behind::WriteBehind;
