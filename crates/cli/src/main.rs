//! The `bentpipe` command.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("bentpipe"));
    ExitCode::from(bentpipe_cli::main_with(std::env::args_os(), &program, None))
}
