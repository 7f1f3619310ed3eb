//! The `bentpipe` command.
// The only crate that may read the clock directly: progress bars need it, and the age of remembered
// paths.
#![allow(clippy::disallowed_methods)]

mod args;
mod controllers;
mod errors;
mod fairness;
mod front;
mod get;
mod interop;
mod live;
mod matrix;
mod orbit;
mod output;
mod path_memory;
mod pep;
mod profiles;
mod proxy;
mod result_cells;
mod run;
mod serve;
mod settings_table;
mod shell;
mod status;
mod stop;
mod summary;
mod table;
mod version;

use args::{Cli, Command};
use bentpipe_lab::LabError;
use clap::{CommandFactory, Parser};
use status::{FAILED, USAGE};
use std::process::ExitCode;

fn main() -> ExitCode {
    let status = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Matrix(args) => matrix::run(&args),
        Command::Shell(args) => shell::run(&args),
        Command::Profiles { json } => profiles::print(json),
        Command::Controllers { name, json } => controllers::print(name.as_deref(), json),
        Command::Interop(args) => interop::run(&args),
        Command::PathMemory { command } => path_memory::run(&command),
        Command::Serve(args) => serve::run(&args),
        Command::Proxy(args) => proxy::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Pep(args) => pep::run(&args),
        Command::Orbit(args) => orbit::run(&args),
        Command::Constellations { json } => orbit::constellations(json),
        Command::Cities { part, json } => orbit::list_cities(part.as_deref(), json),
        Command::Schema { results } => schema(results),
        Command::Report { dir } => report(&dir),
        Command::Completions { shell } => completions(shell),
    };
    ExitCode::from(status.unwrap_or_else(|error| {
        eprint!("{}", errors::render(&error));
        if error.is_usage() { USAGE } else { FAILED }
    }))
}

fn schema(results: bool) -> Result<u8, LabError> {
    let schema = if results {
        bentpipe_results::json_schema().to_value()
    } else {
        bentpipe_scenario::json_schema()
    };
    output::print(&format!("{}\n", serde_json::to_string_pretty(&schema).unwrap_or_default()))
}

fn report(directory: &std::path::Path) -> Result<u8, LabError> {
    let path = bentpipe_lab::rebuild(directory)?;
    output::print(&format!("{}\n", path.display()))
}

fn completions(shell: clap_complete::Shell) -> Result<u8, LabError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bentpipe", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
