//! The upstreams of `bentpipe proxy` and `bentpipe front`.

use crate::args::UpstreamOptions;
use bentpipe_net::proxy::Upstream;
use bentpipe_net::{Trust, raise_descriptor_limit};

/// Most servers of one upstream. Our choice: selecting one looks at each.
const MAX_SERVERS: usize = 64;

/// Default of `--upstream-connections`. Our choice. A quarter of the limit on descriptors if that
/// is less, so that most are left to clients.
const UPSTREAM_CONNECTIONS: u64 = 1024;

/// Returns the concurrent requests of each of `count` upstreams.
pub fn connections(options: &UpstreamOptions, count: usize) -> usize {
    let shared = raise_descriptor_limit() / 4 / count.max(1) as u64;
    let default = shared.clamp(1, UPSTREAM_CONNECTIONS);
    options.upstream_connections.unwrap_or(default as usize)
}

/// Returns the upstream with the servers at `urls`, before its options.
///
/// # Errors
/// What is wrong, and what is allowed.
pub fn servers(urls: &[&str]) -> Result<Upstream, String> {
    let [first, others @ ..] = urls else {
        return Err("no upstream is given; allowed: --upstream URL".to_owned());
    };
    if others.len() >= MAX_SERVERS {
        return Err(format!("{} upstreams; allowed: 1 to {MAX_SERVERS}", urls.len()));
    }
    let mut upstream = Upstream::new(first).map_err(|error| error.to_string())?;
    for url in others {
        upstream = upstream.and(url).map_err(|error| error.to_string())?;
    }
    Ok(upstream)
}

/// Returns an upstream with its options.
///
/// # Errors
/// What is wrong, and what is allowed.
pub fn with_options(
    mut upstream: Upstream,
    options: &UpstreamOptions,
    connections: usize,
) -> Result<Upstream, String> {
    if let Some(path) = &options.upstream_health {
        let checked = upstream.health_check(path, options.upstream_health_interval);
        upstream = checked.map_err(|error| error.to_string())?;
    }
    let trust = match &options.upstream_ca {
        Some(file) => Trust::from_pem(file).map_err(|error| error.to_string())?,
        None if options.upstream_insecure => Trust::Anybody,
        None => Trust::System,
    };
    upstream = upstream
        .trust(trust)
        .answer_time(options.upstream_timeout)
        .connections(connections)
        .min_upload_rate(options.min_upload_rate);
    if let Some(limit) = options.upstream_per_client {
        upstream = upstream.per_client(limit);
    }
    Ok(match options.max_body {
        Some(limit) => upstream.max_body(limit),
        None => upstream,
    })
}

/// Checks that options for TLS have an effect on one of the upstreams at `urls`: a user might
/// wrongly rely on them.
///
/// # Errors
/// The option without effect.
pub fn check_tls_options(
    urls: &[String],
    https: bool,
    options: &UpstreamOptions,
) -> Result<(), String> {
    let unused = [
        ("--upstream-ca", options.upstream_ca.is_some()),
        ("--upstream-insecure", options.upstream_insecure),
    ];
    match unused.into_iter().find(|(_, given)| *given && !https) {
        None => Ok(()),
        Some((option, _)) => Err(format!(
            "{option} is only for an https upstream, but the upstream is {}",
            urls.join(", ")
        )),
    }
}
