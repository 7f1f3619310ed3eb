//! The product on real sockets.
//!
//! - [`Driver`] runs a QUIC endpoint over a UDP [`Socket`] by a [`WallClock`];
//! - [`http`] answers requests for files;
//! - [`SqliteStore`] remembers paths in a file, across programs and crashes;
//! - [`default_store`] is the file where nobody names one.

mod clock;
mod driver;
pub mod http;
mod place;
mod socket;
mod sqlite;

pub use clock::WallClock;
pub use driver::{Command, Driver};
pub use place::default_store;
pub use socket::{Arrived, Socket};
pub use sqlite::SqliteStore;
