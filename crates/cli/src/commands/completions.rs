//! `bentpipe completions`: completion scripts for shells.

use crate::args::Cli;
use crate::output;
use bentpipe_lab::LabError;
use clap::CommandFactory;

/// Prints the script for `shell`.
pub fn print(shell: clap_complete::Shell) -> Result<u8, LabError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bentpipe", &mut script);
    output::document(&String::from_utf8_lossy(&script))
}
