//! A run directory: what a study leaves on disk.
//!
//! - `write`: a directory that appears as a whole or not at all;
//! - `read`: what is in one;
//! - `record`: executes a plan into one, or in memory;
//! - `recorder`: the files and time series of runs, as they end;
//! - `rebuild`: the report again, from what is there.
//!
//! `manifest.json` names the other files. A directory without it, or with that of another program,
//! is no run directory, and is never replaced.

mod read;
mod rebuild;
mod record;
mod recorder;
mod write;

pub use read::{RunDirectory, is_below};
pub use rebuild::{editable, page_data, rebuild};
pub use record::{Recorded, Study, record, study};
pub use recorder::run_name;
pub use write::{MANIFEST, Staging, is_run, replace_file, write_file};
