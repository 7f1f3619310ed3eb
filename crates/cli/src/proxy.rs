//! `bentpipe proxy`: HTTP/3, and HTTP/1.1 and HTTP/2 beside it, in front of a web server.

use crate::args::Proxy;
use crate::front::Opens;
use crate::{USAGE, front, output};
use bentpipe_lab::LabError;
use bentpipe_net::Trust;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::serve::Server;

/// Serves until told to stop.
pub fn run(args: &Proxy) -> Result<u8, LabError> {
    Ok(match upstream(args) {
        Ok(upstream) => {
            let opens = Opens::Upstream(args.upstream_connections);
            front::run(&args.front, &args.upstream, opens, |certificate| {
                Server::proxy(upstream, certificate)
            })
        }
        Err(reason) => output::refuse(&reason, USAGE),
    })
}

fn upstream(args: &Proxy) -> Result<Upstream, String> {
    let mut upstream = Upstream::new(&args.upstream).map_err(|error| error.to_string())?;
    if let Some(host) = &args.upstream_host {
        upstream = upstream.host(host).map_err(|error| error.to_string())?;
    }
    // Whoever names one believes that it is looked at.
    if !upstream.is_https() {
        let unused = [
            ("--upstream-ca", args.upstream_ca.is_some()),
            ("--upstream-insecure", args.upstream_insecure),
        ];
        if let Some((option, _)) = unused.into_iter().find(|(_, given)| *given) {
            return Err(format!(
                "{option} is only for an https upstream, and this is {}",
                args.upstream
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
        .connections(args.upstream_connections);
    Ok(match args.max_body {
        Some(most) => upstream.max_body(most),
        None => upstream,
    })
}
