//! `bentpipe proxy`: a reverse proxy for HTTP/3, HTTP/2 and HTTP/1.1.

use crate::args::Proxy;
use crate::output;
use crate::service::client_side;
use crate::service::server::ExtraDescriptors;
use crate::service::upstream;
use crate::status::USAGE;
use bentpipe_lab::LabError;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;

/// Serves until a signal stops it.
pub fn run(args: &Proxy) -> Result<u8, LabError> {
    let connections = upstream::connections(&args.options, 1);
    Ok(match upstream(args, connections) {
        Ok(upstream) => {
            let descriptors = ExtraDescriptors::Upstream(connections);
            client_side::run(
                &args.client_side,
                &args.upstream.join(", "),
                descriptors,
                |certificate| Server::proxy(upstream, certificate),
            )
        }
        Err(reason) => output::refuse(&reason, USAGE),
    })
}

fn upstream(args: &Proxy, connections: usize) -> Result<Upstream, String> {
    let urls: Vec<&str> = args.upstream.iter().map(String::as_str).collect();
    let servers = upstream::servers(&urls)?;
    upstream::check_tls_options(&args.upstream, servers.is_https(), &args.options)?;
    let mut upstream = upstream::with_options(servers, &args.options, connections)?;
    if let Some(host) = &args.upstream_host {
        upstream = upstream.host(host).map_err(|error| error.to_string())?;
    }
    Ok(upstream)
}
