//! The `bentpipe` command, as a function that its executable and the Python package call.
// All text leaves through `output`, which keeps control characters of others from the terminal.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make files and look at clocks")
)]

mod args;
mod cluster;
mod commands;
mod engine;
mod output;
#[cfg(any(feature = "product", feature = "studio"))]
mod service;
mod status;
mod study;
mod summary;
mod tables;
mod version;

use args::Cli;
use clap::Parser;
use clap::error::ContextKind;
use commands::OPTIONAL;
use output::errors;
use status::{FAILED, USAGE};
use std::ffi::OsString;
use std::path::Path;

pub use cluster::Cluster;
pub use version::commit;

/// Built-in names as JSON, as the commands print them.
pub mod lists {
    pub use crate::commands::cities::json as cities;
    pub use crate::commands::constellations::json as constellations;
    pub use crate::commands::controllers::json as controllers;
    pub use crate::commands::profiles::json as profiles;
}

/// Imports of measurements, as the command makes them.
pub mod recordings {
    pub use crate::args::import::{Import as Arguments, interval, offset, phase};
    pub use crate::commands::import::import;
}

/// Runs the command line `args`, whose first entry is the name of the command, and returns the exit
/// status.
///
/// `program` is an executable that runs this command. The real clock and `interop` start it for the
/// QUIC endpoints. `cluster` connects to other machines, if the caller can.
pub fn main_with(
    args: impl IntoIterator<Item = OsString>,
    program: &Path,
    cluster: Option<&dyn Cluster>,
) -> u8 {
    let args = args.into_iter().collect();
    #[cfg(feature = "product")]
    let args = match args::config_file::expand(args) {
        Ok(args) => args,
        Err(reason) => return output::refuse(&reason, USAGE),
    };
    #[cfg(not(feature = "product"))]
    let args: Vec<OsString> = args;
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => cli.command,
        Err(error) => return not_parsed(&error),
    };
    commands::run(command, program, cluster).unwrap_or_else(|error| {
        output::report(&errors::render(&error));
        if error.is_usage() { USAGE } else { FAILED }
    })
}

/// Prints why the command line is invalid, or the help or version that it asks for. Returns the
/// exit status.
fn not_parsed(error: &clap::Error) -> u8 {
    let name = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string);
    let known = |&&(command, _): &&(&str, _)| name.as_deref() == Some(command);
    if let Some((command, feature)) = OPTIONAL.iter().find(known) {
        let reason = format!(
            "this `bentpipe` was built without the feature `{feature}`, which `{command}` is \
             part of; for all commands: make build"
        );
        return output::refuse(&reason, USAGE);
    }
    // A closed pipe (`--help | head`) is not an error.
    let _ = error.print();
    u8::try_from(error.exit_code()).unwrap_or(USAGE)
}
