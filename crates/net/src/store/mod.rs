//! Stores in files: paths that a server remembers, and tokens that a client keeps.

mod database;
mod default_path;
mod sqlite;
mod token_file;
mod write_behind;

pub use default_path::{default_store, default_tokens};
pub use sqlite::SqliteStore;
pub use token_file::TokenFile;
pub use write_behind::WriteBehind;
