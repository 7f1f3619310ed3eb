//! `bentpipe proxy`: a reverse proxy for HTTP/3, HTTP/2 and HTTP/1.1.

use crate::args::Proxy;
use crate::output;
use crate::service::front::{self, ExtraDescriptors};
use crate::status::USAGE;
use bentpipe_lab::LabError;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;
use bentpipe_net::{Trust, raise_descriptor_limit};

/// Most upstreams. Our choice: selecting one looks at each.
const MAX_UPSTREAMS: usize = 64;

/// Default of `--upstream-connections`. Our choice. A quarter of the limit on descriptors if that
/// is less, so that most are left to clients.
const UPSTREAM_CONNECTIONS: u64 = 1024;

/// Serves until a signal stops it.
pub fn run(args: &Proxy) -> Result<u8, LabError> {
    let default = (raise_descriptor_limit() / 4).clamp(1, UPSTREAM_CONNECTIONS);
    let connections = args.upstream_connections.unwrap_or(default as usize);
    Ok(match upstream(args, connections) {
        Ok(upstream) => {
            let descriptors = ExtraDescriptors::Upstream(connections);
            front::run(&args.front, &args.upstream.join(", "), descriptors, |certificate| {
                Server::proxy(upstream, certificate)
            })
        }
        Err(reason) => output::refuse(&reason, USAGE),
    })
}

fn upstream(args: &Proxy, connections: usize) -> Result<Upstream, String> {
    let [first, others @ ..] = &args.upstream[..] else {
        return Err("no upstream is given; allowed: --upstream URL".to_owned());
    };
    if others.len() >= MAX_UPSTREAMS {
        return Err(format!("{} upstreams; allowed: 1 to {MAX_UPSTREAMS}", args.upstream.len()));
    }
    let mut upstream = Upstream::new(first).map_err(|error| error.to_string())?;
    for url in others {
        upstream = upstream.and(url).map_err(|error| error.to_string())?;
    }
    if let Some(path) = &args.upstream_health {
        let checked = upstream.health_check(path, args.upstream_health_interval);
        upstream = checked.map_err(|error| error.to_string())?;
    }
    if let Some(host) = &args.upstream_host {
        upstream = upstream.host(host).map_err(|error| error.to_string())?;
    }
    // These options would have no effect, so a user might wrongly rely on them.
    if !upstream.is_https() {
        let unused = [
            ("--upstream-ca", args.upstream_ca.is_some()),
            ("--upstream-insecure", args.upstream_insecure),
        ];
        if let Some((option, _)) = unused.into_iter().find(|(_, given)| *given) {
            return Err(format!(
                "{option} is only for an https upstream, but the upstream is {}",
                args.upstream.join(", ")
            ));
        }
    }
    let trust = match &args.upstream_ca {
        Some(file) => Trust::from_pem(file).map_err(|error| error.to_string())?,
        None if args.upstream_insecure => Trust::Anybody,
        None => Trust::System,
    };
    upstream = upstream
        .trust(trust)
        .answer_time(args.upstream_timeout)
        .connections(connections)
        .min_upload_rate(args.min_upload_rate);
    if let Some(limit) = args.upstream_per_client {
        upstream = upstream.per_client(limit);
    }
    Ok(match args.max_body {
        Some(limit) => upstream.max_body(limit),
        None => upstream,
    })
}
