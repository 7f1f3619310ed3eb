//! The subcommands, a file each or, if they have parts of their own, a folder.

#[cfg(feature = "store")]
mod cache;
mod check;
pub mod cities;
mod compare;
mod completions;
pub mod constellations;
mod contacts;
pub mod controllers;
mod explain;
mod figure;
#[cfg(feature = "product")]
mod front;
#[cfg(feature = "product")]
mod get;
pub mod import;
mod init;
#[cfg(feature = "real-clock")]
mod interop;
mod man;
mod matrix;
#[cfg(feature = "product")]
mod measure;
mod merge;
mod orbit;
#[cfg(feature = "product")]
mod path_memory;
#[cfg(feature = "product")]
mod pep;
pub mod profiles;
#[cfg(feature = "product")]
mod proxy;
mod replay;
mod report;
mod run;
mod schema;
#[cfg(feature = "product")]
mod serve;
#[cfg(feature = "real-clock")]
mod shell;
#[cfg(feature = "studio")]
mod studio;

use crate::args::Command;
use crate::cluster::Cluster;
use bentpipe_lab::LabError;
use std::path::Path;

/// Commands that a build may lack, and their features.
pub const OPTIONAL: [(&str, &str); 10] = [
    ("serve", "product"),
    ("proxy", "product"),
    ("front", "product"),
    ("get", "product"),
    ("measure", "product"),
    ("pep", "product"),
    ("path-memory", "product"),
    ("shell", "real-clock"),
    ("interop", "real-clock"),
    ("studio", "studio"),
];

/// Runs a subcommand, and returns the exit status. `program` is an executable of this command, and
/// `cluster` connects to other machines, if the caller can.
pub fn run(
    command: Command,
    program: &Path,
    cluster: Option<&dyn Cluster>,
) -> Result<u8, LabError> {
    match command {
        Command::Init(args) => init::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Run(args) => run::run(&args, program, cluster),
        Command::Replay(args) => replay::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Import(args) => import::run(&args),
        #[cfg(feature = "product")]
        Command::Measure(args) => measure::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Compare(args) => compare::run(&args),
        #[cfg(feature = "store")]
        Command::Cache { command } => cache::run(&command),
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
        Command::Front(args) => front::run(&args),
        #[cfg(feature = "product")]
        Command::Get(args) => get::run(&args),
        #[cfg(feature = "product")]
        Command::Pep(args) => pep::run(&args),
        Command::Orbit(args) => orbit::run(&args),
        Command::Contacts(args) => contacts::run(&args),
        Command::Constellations { json } => constellations::print(json),
        Command::Cities { part, json } => cities::print(part.as_deref(), json),
        Command::Schema { results, explain } => schema::print(results, explain),
        #[cfg(feature = "studio")]
        Command::Studio(args) => studio::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Figure(args) => figure::run(&args),
        Command::Man { dir } => man::run(&dir),
        Command::Completions { shell } => completions::print(shell),
    }
}
