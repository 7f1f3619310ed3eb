//! Configuration of one end of a visit's connection.

use super::recording::Recording;
use crate::datagram::Role;
use crate::error::SimError;
use crate::flow::current_visit::VisitStart;
use crate::flow::progress::{FlowProgress, server_of};
use crate::flow::shared::Shared;
use crate::hosts::Host;
use bentpipe_quic::path_memory::Holder;
use bentpipe_quic::path_memory::token::{ClientWindows, Tokens};
use bentpipe_quic::{ConnectionConfig, PathLease, QuicSettings, ResumeVia};

/// Returns the configuration at `side` of the connection to an origin, 0 but for other origins of
/// a page, which `recording` records. Each origin is a host of its own.
///
/// # Errors
/// QUIC does not support a setting, or the host has no tokens.
pub fn configure(
    (side, origin): (Role, usize),
    settings: &QuicSettings,
    start: &VisitStart,
    progress: &FlowProgress,
    recording: &Recording,
    shared: &Shared,
) -> Result<ConnectionConfig, SimError> {
    let flow = &progress.spec.name;
    let mut config = ConnectionConfig::new(settings.clone(), shared.clock)
        .map_err(|source| SimError::Settings { flow: flow.clone(), source })?;
    let sends_data = start.data_direction.source() == side;
    if sends_data {
        config = config.with_path_changes(progress.path_changes.clone());
    }
    let server = server_of(progress, start, origin);
    let name = if side == Role::Server { server.as_str() } else { progress.host(side) };
    let host = shared.hosts.get(name)?;
    let peer = progress.address(side.peer()).ip();
    let resumes = config.controller().resumes();
    let by_token = resumes && settings.resume_via == ResumeVia::Token;
    let path_lease = match side {
        _ if !resumes => None,
        Role::Server if by_token => Some(PathLease::without_store()),
        _ => {
            // Unique in the run: flow, visit, origin and side.
            let place = (progress.index as u64) << 32 | u64::from(start.number) << 12;
            let holder = place | (origin as u64) << 1 | side as u64;
            let lease = host.memory.begin(peer, Holder(holder), start.now);
            Some(lease.map_err(|error| SimError::Spec(error.to_string()))?)
        }
    };
    let tokens = by_token.then(|| tokens(side, &host, path_lease.as_ref(), settings, &server));
    // A sending client does not know other clients behind its address.
    let start_lease = (side == Role::Server && config.controller().needs_start_slot())
        .then(|| host.start_lease(peer));
    let config = config
        .with_path_lease(path_lease)
        .with_tokens(tokens.flatten())
        .with_start_lease(start_lease);
    let config = recording.attach(config, side);
    Ok(if sends_data { config } else { config.with_acknowledger() })
}

/// Returns what `side` does with tokens of the path.
fn tokens(
    side: Role,
    host: &Host,
    path_lease: Option<&PathLease>,
    settings: &QuicSettings,
    server: &str,
) -> Option<Tokens> {
    match side {
        Role::Server => {
            path_lease.map(|lease| Tokens::server(&host.token_server, lease.resume_handle()))
        }
        Role::Client => {
            let windows = ClientWindows {
                present: settings.connection_window,
                max: settings.flow_control.max_window,
            };
            Some(Tokens::client(&host.token_client, server, windows))
        }
    }
}
