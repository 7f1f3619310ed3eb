//! Transport over real sockets.
//!
//! - [`serve`]: a server of files over HTTP/3, HTTP/2 and HTTP/1.1;
//! - [`proxy`]: the upstream behind such a server;
//! - [`front`]: certificates and upstreams of hosts, for such a server beside their web server;
//! - [`handover`]: a server that hands its sockets over to a new process of its program;
//! - [`get`]: an HTTP/3 client and downloads that can be resumed;
//! - [`pep`]: a TCP proxy that splits connections;
//! - [`measure`]: both ends of a measurement of a path;
//! - [`Resumption`]: Careful Resume for programs with a noq endpoint of their own;
//! - [`Driver`]: runs a QUIC endpoint of `bentpipe-quic` over a UDP [`Socket`] and the
//!   [`RealClock`];
//! - [`store`]: paths and tokens in files;
//! - [`Qlog`]: qlog files of connections;
//! - [`http`]: responses to requests for files.
//!
//! ```
//! use bentpipe_net::get::Client;
//! use bentpipe_net::serve::Server;
//! use bentpipe_net::{Certificate, Trust};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("hello.txt"), "hello")?;
//!
//! let certificate = Certificate::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()])?;
//! let trusted = certificate.own().cloned().into_iter().collect();
//! let server = Server::builder(directory.path(), certificate).start().await?;
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
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files as they need"))]

mod admission;
mod authority;
mod clock;
mod driver;
mod forward_counts;
pub mod front;
pub mod get;
pub mod handover;
pub mod http;
mod logging;
pub mod measure;
mod metrics_listener;
mod narrow_window;
mod path_report;
pub mod pep;
mod process_metrics;
mod prometheus;
pub mod proxy;
mod qlog;
mod resumption;
mod routable_ids;
pub mod serve;
mod shutdown;
mod socket;
mod steering;
pub mod store;
mod sync;
mod tls;
mod workers;

pub use admission::descriptors::{TooFewDescriptors, check_descriptors, raise_descriptor_limit};
pub use clock::RealClock;
pub use driver::{Command, Driver};
pub use logging::{Level, LogFormat, json_message, write_warnings};
pub use narrow_window::{NarrowWindow, WindowKind};
pub use path_report::PathReport;
pub use qlog::{Qlog, QlogCounts};
pub use resumption::{PathUse, Resumption, ResumptionError};
pub use routable_ids::{RoutableIds, RoutableIdsError};
pub use socket::{ReceivedDatagram, Socket};
pub use tls::{Certificate, CertificateError, Trust};
