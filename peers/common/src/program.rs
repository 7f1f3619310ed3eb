//! The main program: from the command line to the exit status.

use crate::arguments::Role;
use crate::{Error, Fetch, Fetched, Serve};
use std::process::ExitCode;

/// Runs the role of the command line: one download with `get`, or a server with `serve`. Prints the
/// times of a download even if it fails. Errors go to standard error.
pub async fn run(
    get: impl AsyncFnOnce(&Fetch, &mut Fetched) -> Result<(), Error>,
    serve: impl AsyncFnOnce(&Serve) -> Result<(), Error>,
) -> ExitCode {
    let result = match Role::read(std::env::args().skip(1)) {
        Ok(Role::Client(fetch)) => download(&fetch, get).await,
        Ok(Role::Server(directory)) => serve(&directory).await,
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn download(
    fetch: &Fetch,
    get: impl AsyncFnOnce(&Fetch, &mut Fetched) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut fetched = Fetched::begin(&fetch.output)?;
    let result = tokio::time::timeout(fetch.timeout, get(fetch, &mut fetched)).await;
    println!("{}", fetched.line());
    result.map_err(|_| format!("not complete within {:?}", fetch.timeout))?
}
