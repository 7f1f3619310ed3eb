//! `bentpipe pep`: a performance-enhancing proxy, which splits TCP connections.

use crate::args::{LogStyle, Mode, Pep as Args, Side};
use crate::output;
use crate::service::messages::Messages;
use crate::service::notify::ServiceManager;
use crate::service::stop::StopSignals;
use crate::status::{FAILED, OK, USAGE};
use bentpipe_lab::LabError;
use bentpipe_net::pep::{
    Config, Credentials, Limits, Listener, Logs, NextHop, Pep, SatelliteSide, Secret, rules,
};
use bentpipe_net::{check_descriptors, raise_descriptor_limit};
use bentpipe_scenario::profiles::profile;
use bentpipe_units::Bytes;
use std::net::{SocketAddr, ToSocketAddrs};

/// Error message and exit status.
type Failed = (String, u8);

fn usage(error: impl std::fmt::Display) -> Failed {
    (error.to_string(), USAGE)
}

/// Runs until a signal stops it.
pub fn run(args: &Args) -> Result<u8, LabError> {
    if let Some(file) = &args.make_secret {
        return Ok(Secret::make(file)
            .map_or_else(|error| output::refuse(&error.to_string(), USAGE), |()| OK));
    }
    let config = match config(args) {
        Ok(config) => config,
        Err((reason, status)) => return Ok(output::refuse(&reason, status)),
    };
    if args.print_rules {
        // `--print-rules` requires `--interface`.
        let interface = args.interface.as_deref().unwrap_or_default();
        return match rules(&config.listener, config.listen, interface) {
            Some(text) => output::document(&text),
            None => Ok(output::refuse(
                "--print-rules is only for --mode transparent and redirect",
                USAGE,
            )),
        };
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // These threads resolve names. More requests wait.
        .max_blocking_threads(64)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Ok(output::refuse(&error.to_string(), FAILED)),
    };
    Ok(runtime
        .block_on(proxy(args, config))
        .unwrap_or_else(|(reason, status)| output::refuse(&reason, status)))
}

async fn proxy(args: &Args, config: Config) -> Result<u8, Failed> {
    let failed = |error: &dyn std::fmt::Display| (error.to_string(), FAILED);
    let log = args
        .log
        .format()
        .map(|format| (format, Box::new(std::io::stdout()) as Box<dyn std::io::Write + Send>));
    let what = match (&config.listener, &config.next_hop) {
        (Listener::Explicit { .. }, _) => "explicit proxy (SOCKS5, HTTP CONNECT)",
        (Listener::Transparent { .. }, _) => "transparent proxy",
        (Listener::Redirected, _) => "proxy for redirected connections",
        (Listener::Tunnel { .. }, _) => "exit of tunnels",
    };
    let next_hop = match &config.next_hop {
        NextHop::Direct => String::new(),
        NextHop::Tunnel { egress, .. } => format!(", through a tunnel to {egress}"),
    };
    let messages = Messages::new(args.log);
    let errors = Some((messages.format(), Box::new(std::io::stderr()) as Box<_>));
    let logs = Logs { connections: log, errors };
    let mut pep = Pep::start(config, logs).await.map_err(usage)?;
    // Handles signals before printing the address, because a reader may then stop the proxy at
    // once.
    let mut signals = StopSignals::new().map_err(|error| failed(&error))?;
    // For people, and for scripts that wait for it. Missing readers are not an error.
    let _ = output::print(&match args.log {
        LogStyle::Json => format!("{}\n", serde_json::json!({ "listening": pep.address() })),
        _ => format!("{what} at {}{next_hop}\n", pep.address()),
    });
    pep.warnings().iter().for_each(|warning| messages.warn(warning));
    if let Some(address) = pep.metrics_address() {
        messages.info(&format!("metrics at http://{address}/metrics"));
    }
    let mut manager = ServiceManager::from_env();
    manager.ready();
    loop {
        tokio::select! {
            error = pep.failed() => return Err(failed(&error)),
            () = manager.alive() => {}
            () = signals.next() => break,
        }
    }
    manager.stopping();
    messages.stopping(pep.connections(), args.drain);
    let left = tokio::select! {
        left = pep.stop(args.drain) => left,
        () = signals.next() => return Ok(FAILED),
    };
    if left > 0 {
        messages.info(&format!("{left} connections were reset"));
    }
    Ok(OK)
}

fn config(args: &Args) -> Result<Config, Failed> {
    let refuse = |what: &str, only: &str| Err(usage(format!("{what} is only for {only}")));
    if args.secret.is_some() && args.tunnel_to.is_none() && args.tunnel_listen.is_none() {
        return refuse("--secret", "--tunnel-to and --tunnel-listen");
    }
    let secret = args.secret.as_deref().map(Secret::from_file).transpose().map_err(usage)?;
    let listener = match (args.tunnel_listen, &secret, args.mode) {
        (Some(_), Some(secret), _) => Listener::Tunnel { secret: secret.clone() },
        (_, _, Mode::Explicit) => Listener::Explicit {
            credentials: args
                .credentials
                .as_deref()
                .map(Credentials::from_file)
                .transpose()
                .map_err(usage)?,
        },
        (_, _, Mode::Transparent) => Listener::Transparent { keep_source: args.keep_source },
        (_, _, Mode::Redirect) => Listener::Redirected,
    };
    if args.keep_source && (args.mode != Mode::Transparent || args.tunnel_to.is_some()) {
        return refuse("--keep-source", "--mode transparent without a tunnel");
    }
    if args.credentials.is_some() && args.mode != Mode::Explicit {
        return refuse("--credentials", "--mode explicit");
    }
    let mut config = Config::new(listener);
    config.listen = args.tunnel_listen.unwrap_or(args.listen);
    config.next_hop = match (&args.tunnel_to, secret) {
        (Some(egress), Some(secret)) => NextHop::Tunnel { egress: resolve(egress)?, secret },
        _ => NextHop::Direct,
    };
    if !args.clients.is_empty() {
        config.allowed.clients.clone_from(&args.clients);
    }
    if !args.allow.is_empty() {
        config.allowed.destinations.clone_from(&args.allow);
    }
    config.satellite = match args.satellite {
        Side::Client => SatelliteSide::Client,
        Side::Server => SatelliteSide::Server,
        Side::Both => SatelliteSide::Both,
    };
    if args.tunnel_to.is_some() || args.tunnel_listen.is_some() {
        if let Some(name) = &args.congestion {
            config.tunnel_congestion.controller = name.parse().map_err(usage)?;
        }
        config.tunnel_paths.clone_from(&args.store);
    } else {
        config.congestion.clone_from(&args.congestion);
    }
    if let Some(buffer) = buffer(args)? {
        config.buffer = buffer;
    }
    config.limits = Limits {
        connections: connections(args.max_connections)?,
        per_client: args.max_per_client,
        memory: args.memory,
        idle_time: args.idle,
        ..Limits::default()
    };
    config.metrics = args.metrics;
    Ok(config)
}

/// Descriptors per connection: one socket to the client, and one to the server.
const DESCRIPTORS: u64 = 2;

/// Returns the maximum number of connections: as requested, or the default reduced to the limit on
/// open descriptors.
fn connections(requested: Option<usize>) -> Result<usize, Failed> {
    let limit = raise_descriptor_limit();
    let wanted = requested.unwrap_or(Limits::default().connections);
    match check_descriptors(limit, wanted, DESCRIPTORS, 0) {
        Ok(()) => Ok(wanted),
        Err(error) if requested.is_none() && error.fitting > 0 => {
            Ok(usize::try_from(error.fitting).unwrap_or(wanted))
        }
        Err(error) => Err(usage(error)),
    }
}

/// Returns the requested buffer, or twice the BDP of the given path: one BDP for packets in flight,
/// and one for a queue of that size.
fn buffer(args: &Args) -> Result<Option<Bytes>, Failed> {
    let bdp = match (&args.profile, args.rate, args.rtt) {
        (Some(name), ..) => profile(name).map(|profile| profile.bdp()).ok_or_else(|| {
            usage(format!("no profile is named `{name}`; allowed: one of `bentpipe profiles`"))
        })?,
        (None, Some(rate), Some(rtt)) => rate.bytes_in(rtt),
        _ => return Ok(args.buffer),
    };
    Ok(Some(bdp.mul_f64(2.0)))
}

fn resolve(exit: &str) -> Result<SocketAddr, Failed> {
    let found =
        exit.to_socket_addrs().map_err(|error| usage(format!("--tunnel-to {exit}: {error}")))?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| usage(format!("--tunnel-to {exit}: the name has no address")))
}
