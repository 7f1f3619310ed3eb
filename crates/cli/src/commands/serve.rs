//! `bentpipe serve`: serves the files of a directory over HTTP/3, HTTP/2 and HTTP/1.1.

use crate::args::Serve;
use crate::output;
use crate::service::client_side;
use crate::service::server::ExtraDescriptors;
use crate::status::USAGE;
use bentpipe_lab::LabError;
use bentpipe_net::measure::{MeasureLimits, Secret};
use bentpipe_net::serve::Server;

/// Serves until a signal stops it.
pub fn run(args: &Serve) -> Result<u8, LabError> {
    let what = args.dir.display().to_string();
    let files =
        ExtraDescriptors::Files { all: args.max_files, per_client: args.max_files_per_client };
    let token = match args.measure.as_deref().map(Secret::from_file).transpose() {
        Ok(token) => token,
        Err(error) => return Ok(output::refuse(&error.to_string(), USAGE)),
    };
    Ok(client_side::run(&args.client_side, &what, files, |certificate| {
        let builder = Server::builder(&args.dir, certificate);
        let builder = match &args.cache_control {
            Some(value) => builder.cache_control(value.clone()),
            None => builder,
        };
        let limits = MeasureLimits {
            bytes: args.measure_bytes,
            time: args.measure_time,
            interval: args.measure_interval,
        };
        match token {
            Some(token) => builder.measure(args.measure_listen, token, limits),
            None => builder,
        }
    }))
}
