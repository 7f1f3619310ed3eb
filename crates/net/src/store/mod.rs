//! Stores in files: paths that a server remembers, its keys and sessions, and tokens that a client
//! keeps.

mod changes;
mod database;
mod default_path;
mod open_error;
mod pending;
mod server_file;
mod sqlite;
mod token_file;
mod waiting_tokens;
mod write_behind;

pub use default_path::{default_keys, default_store, default_tokens};
pub(crate) use open_error::OpenError;
pub(crate) use server_file::ServerFile;
pub use sqlite::SqliteStore;
pub use token_file::TokenFile;
pub use write_behind::WriteBehind;
