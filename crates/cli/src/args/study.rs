//! Arguments of commands that write and check scenarios.

use super::suggest::{profile_names, text};
use clap::Args;
use std::path::PathBuf;

const INIT_EXAMPLES: &str = "\
Examples:
  bentpipe init
  bentpipe init my.toml --profile leo
  bentpipe check my.toml && bentpipe run my.toml";

const CHECK_EXAMPLES: &str = "\
Examples:
  bentpipe check my.toml
  bentpipe check scenarios/published/*.toml
  bentpipe check my.toml --json | jq '.[].runs'

Exit status:
  0  all scenarios are valid
  2  a scenario or the command line is invalid";

/// Arguments of `bentpipe init`.
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub struct Init {
    /// File to write; an existing one is not replaced
    #[arg(value_name = "FILE", default_value = "scenario.toml")]
    pub file: PathBuf,
    /// Path of the scenario (see `bentpipe profiles`)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "geo-50-10",
        value_parser = text(profile_names),
        hide_possible_values = true
    )]
    pub profile: String,
}

/// Arguments of `bentpipe check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// Scenario files (TOML)
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change a key of each scenario, by dotted path; name entries of lists (variant.NAME.key)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON document to standard output: a list with an entry for each file
    #[arg(long)]
    pub json: bool,
}
