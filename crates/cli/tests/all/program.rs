//! Runs the command to its end in a directory, which holds its store of results.

use std::path::Path;
use std::process::{Command, Output};

pub fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.current_dir(directory).args(args);
    command.env("XDG_CACHE_HOME", directory.join("cache")).env_remove("BENTPIPE_STORE");
    command
}

pub fn bentpipe(directory: &Path, args: &[&str]) -> Output {
    command(directory, args).output().expect("command runs")
}
