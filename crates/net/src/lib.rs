//! What of the product touches the operating system.
//!
//! - [`SqliteStore`] remembers paths in a file, across programs and crashes;
//! - [`default_store`] is the file where nobody names one.

mod place;
mod sqlite;

pub use place::default_store;
pub use sqlite::SqliteStore;
