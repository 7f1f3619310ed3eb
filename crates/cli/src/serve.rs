//! `bentpipe serve`: the files of a directory over HTTP/3, and over HTTP/1.1 and HTTP/2 beside it.

use crate::args::Serve;
use crate::front::{self, Opens};
use bentpipe_lab::LabError;
use bentpipe_net::serve::Server;

/// Serves until told to stop.
pub fn run(args: &Serve) -> Result<u8, LabError> {
    let what = args.dir.display().to_string();
    Ok(front::run(&args.front, &what, Opens::Files, |certificate| {
        Server::builder(&args.dir, certificate)
    }))
}
