//! The `bentpipe` command, as a function that its executable and the Python package call.
// All text leaves through `output`, which keeps control characters of others from the terminal.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make files and look at clocks")
)]

mod args;
mod check;
mod compare;
mod compare_table;
#[cfg(feature = "product")]
mod config_file;
mod controllers;
mod dry_run;
mod engine;
mod errors;
mod explain;
mod fairness;
mod flow_tables;
#[cfg(feature = "product")]
mod front;
#[cfg(feature = "product")]
mod get;
mod init;
#[cfg(feature = "real-clock")]
mod interop;
#[cfg(feature = "real-clock")]
mod live;
mod man;
mod matrix;
mod merge;
#[cfg(feature = "product")]
mod messages;
mod orbit;
mod output;
#[cfg(feature = "product")]
mod path_memory;
#[cfg(feature = "product")]
mod pep;
mod populations;
mod profiles;
mod progress;
#[cfg(feature = "product")]
mod proxy;
mod replay;
mod report;
mod result_cells;
mod run;
#[cfg(feature = "product")]
mod serve;
mod settings_table;
#[cfg(feature = "real-clock")]
mod shell;
mod status;
#[cfg(any(feature = "product", feature = "studio"))]
#[cfg_attr(not(feature = "product"), expect(dead_code, reason = "servers reload and drain"))]
mod stop;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "studio")]
mod studio;
mod study;
mod summary;
mod table;
mod version;

use args::{Cli, Command};
use bentpipe_lab::{Executor, LabError};
use clap::error::ContextKind;
use clap::{CommandFactory, Parser};
use status::{FAILED, USAGE};
use std::ffi::OsString;
use std::path::Path;

pub use version::commit;

/// Built-in names as JSON, as the commands print them.
pub mod lists {
    pub use crate::controllers::json as controllers;
    pub use crate::orbit::{cities_json as cities, constellations_json as constellations};
    pub use crate::profiles::json as profiles;
}

/// Commands that a build may lack, and their features.
const OPTIONAL: [(&str, &str); 8] = [
    ("serve", "product"),
    ("proxy", "product"),
    ("get", "product"),
    ("pep", "product"),
    ("path-memory", "product"),
    ("shell", "real-clock"),
    ("interop", "real-clock"),
    ("studio", "studio"),
];

/// Connects to executors on other machines.
pub trait Cluster {
    /// Returns an executor that runs tasks on the Dask scheduler at `address`.
    ///
    /// # Errors
    /// The scheduler cannot be reached.
    fn dask(&self, address: &str) -> Result<Box<dyn Executor>, String>;
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
    let args = match config_file::expand(args) {
        Ok(args) => args,
        Err(reason) => return output::refuse(&reason, USAGE),
    };
    #[cfg(not(feature = "product"))]
    let args: Vec<OsString> = args;
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => cli.command,
        Err(error) => return not_parsed(&error),
    };
    let status = match command {
        Command::Init(args) => init::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Run(args) => run::run(&args, program, cluster),
        Command::Replay(args) => replay::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Compare(args) => compare::run(&args),
        #[cfg(feature = "store")]
        Command::Cache { command } => store::run(&command),
        Command::Matrix(args) => matrix::run(&args),
        #[cfg(feature = "real-clock")]
        Command::Shell(args) => shell::run(&args),
        Command::Profiles { json } => profiles::print(json),
        Command::Controllers { name, json } => controllers::print(name.as_deref(), json),
        #[cfg(feature = "real-clock")]
        Command::Interop(args) => interop::run(&args, program),
        #[cfg(feature = "product")]
        Command::PathMemory { command } => path_memory::run(&command),
        #[cfg(feature = "product")]
        Command::Serve(args) => serve::run(&args),
        #[cfg(feature = "product")]
        Command::Proxy(args) => proxy::run(&args),
        #[cfg(feature = "product")]
        Command::Get(args) => get::run(&args),
        #[cfg(feature = "product")]
        Command::Pep(args) => pep::run(&args),
        Command::Orbit(args) => orbit::run(&args),
        Command::Constellations { json } => orbit::constellations(json),
        Command::Cities { part, json } => orbit::list_cities(part.as_deref(), json),
        Command::Schema { results } => schema(results),
        #[cfg(feature = "studio")]
        Command::Studio(args) => studio::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Man { dir } => man::run(&dir),
        Command::Completions { shell } => completions(shell),
    };
    status.unwrap_or_else(|error| {
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

fn schema(results: bool) -> Result<u8, LabError> {
    let schema = if results {
        bentpipe_results::json_schema().to_value()
    } else {
        bentpipe_scenario::json_schema()
    };
    output::document(&format!("{}\n", serde_json::to_string_pretty(&schema).unwrap_or_default()))
}

fn completions(shell: clap_complete::Shell) -> Result<u8, LabError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bentpipe", &mut script);
    output::document(&String::from_utf8_lossy(&script))
}
