//! Downloads to files, devices and pipes.

mod announced;
mod destination;
mod digest;
mod error;
mod partial_file;
mod transfer;

pub use error::DownloadError;
pub use transfer::{Download, Outcome, discard, download};
