//! A performance-enhancing proxy for TCP (RFC 3135 §2.1). It splits connections, so that each part
//! of the path has a connection of its own.
//!
//! It is the real counterpart of [`bentpipe_tcp`'s relay](https://docs.rs/bentpipe-tcp) in the
//! simulator. A [`Pep`] accepts connections by a [`Listener`] and forwards them to a [`NextHop`].
//! [`Limits`] bounds connections, memory and time against hostile clients.
//!
//! The parsers of untrusted input do no I/O: [`ClientHandshake`] for clients of an explicit proxy,
//! [`Target`] for destinations and [`read_header`] for streams of a tunnel.
//!
//! ```
//! use bentpipe_net::pep::{Allowed, Config, Listener, Logs, Pep};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let listener = Listener::Explicit { credentials: None };
//! let config = Config { allowed: Allowed::all(), ..Config::new(listener) };
//! let pep = Pep::start(config, Logs::default()).await?;
//!
//! let mut client = tokio::net::TcpStream::connect(pep.address()).await?;
//! let target = server.local_addr()?;
//! let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
//! client.write_all(request.as_bytes()).await?;
//! server.accept().await?.0.write_all(b"hello").await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhello"));
//! # Ok(())
//! # }
//! ```

mod accept;
mod allowed;
mod config;
mod connection_log;
mod dial;
mod error;
mod handshake;
mod limits;
mod metrics;
mod proxied_connection;
mod proxy;
mod refusal;
mod refuse;
mod relay;
mod rules;
mod shared;
mod socket;
mod stream;
mod target;
mod tunnel;

pub use crate::admission::addresses::{Addresses, AddressesError};
pub use allowed::Allowed;
pub use config::{Config, Listener, NextHop, SatelliteSide};
pub use error::PepError;
pub use handshake::credentials::{Credentials, CredentialsError};
pub use handshake::machine::{ClientHandshake, Event, MAX_HANDSHAKE, Protocol};
pub use limits::Limits;
pub use metrics::Metrics;
pub use proxy::{Logs, Pep};
pub use refusal::Refusal;
pub use rules::rules;
pub use target::{Host, Target, TargetError};
pub use tunnel::header::{Header, HeaderError, read_header, write_header};
pub(crate) use tunnel::secret::EXIT_NAME;
pub use tunnel::secret::Secret;
