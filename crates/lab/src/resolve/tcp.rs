//! TCP endpoints of a scenario, and the proxy on their way.

use super::flow::{Sizes, congestion, initial_window, stream_windows};
use super::path::Resolved;
use bentpipe_quic::AckRule;
use bentpipe_quic::congestion::{CongestionConfig, SlowStartName};
use bentpipe_scenario::Problem;
use bentpipe_scenario::profiles::idle_delay;
use bentpipe_scenario::{PepMode, PepSection, Scenario, Transport, Window};
use bentpipe_sim::{Failure, PepSpec, TcpStack};
use bentpipe_tcp::http::{self, Version};
use bentpipe_tcp::{AckPolicy, Segment, Settings};
use bentpipe_units::{Bytes, Rate, Span};
use serde_spanned::Spanned;

/// Connections that browsers open to one server for HTTP/1.1.
const BROWSER_CONNECTIONS: u64 = 6;
/// The controller that knows its rate.
const FIXED_RATE: &str = "fixed-rate";

/// What the flow of `keys` is, whose visits have up to `objects` objects.
pub(super) fn tcp(
    keys: &Transport,
    version: Version,
    sizes: Sizes,
    path: &Resolved,
    scenario: &Scenario,
    objects: usize,
) -> Result<TcpStack, Problem> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let default = Settings::default();
    // Half of the buffer is window.
    let doubled = |bytes: Bytes| Bytes::new(bytes.get().saturating_mul(2));
    let receive_buffer = match keys.tcp.receive_buffer {
        None | Some(Window::Auto) => doubled(sizes.auto()),
        Some(Window::Bytes(bytes)) => bytes,
        Some(Window::Bdp(_)) => doubled(sizes.window(keys.tcp.receive_buffer, Bytes::ZERO, mtu)),
    };
    let tcp = Settings {
        segment: segment(mtu),
        initial_window: initial_window(keys, default.initial_window),
        receive_buffer,
        receive_buffer_start: default.receive_buffer_start.min(receive_buffer),
        autotune: keys.tcp.receive_autotune.unwrap_or(true),
        send_buffer: sizes.window(keys.flow_control.send_buffer, sizes.auto(), mtu),
        ack: AckPolicy {
            coalesce: keys.tcp.coalesce.filter(|span| !span.is_zero()),
            ..ack(keys.ack.as_ref(), keys.max_ack_delay)
        },
        ecn: keys.tcp.ecn.unwrap_or(false),
        idle_restart: keys.tcp.idle_restart.unwrap_or(true),
        ..default
    };
    let connections = match version {
        Version::H1 => {
            *keys.tcp.connections.as_ref().map_or(&BROWSER_CONNECTIONS, Spanned::get_ref) as usize
        }
        Version::H2 | Version::Raw => 1,
    };
    let (stream_window, connection_window) = stream_windows(keys, sizes, mtu);
    let http = http::Settings { version, connections, stream_window, connection_window };
    let pep = pep(keys, path, scenario, sizes, connections.min(objects.max(1)))?;
    Ok(TcpStack { tcp, congestion: congestion(keys, sizes, mtu), http, pep })
}

fn segment(mtu: Bytes) -> u32 {
    Segment::payload_of(u32::try_from(mtu.get()).unwrap_or(u32::MAX))
}

/// `1:N` is an acknowledgement for N segments; what a Linux host does otherwise. Others are QUIC's,
/// and refused before.
fn ack(rule: Option<&Spanned<AckRule>>, delay: Option<Span>) -> AckPolicy {
    let default =
        AckPolicy { delay: delay.unwrap_or(AckPolicy::default().delay), ..AckPolicy::default() };
    match rule.map(Spanned::get_ref) {
        Some(&AckRule::Every(every)) => AckPolicy { every, ..default },
        _ => default,
    }
}

/// When the proxy acknowledges.
fn proxied(section: &PepSection) -> Result<Option<&Spanned<AckRule>>, Problem> {
    match &section.ack {
        Some(rule) if !matches!(rule.get_ref(), AckRule::Stack | AckRule::Every(_)) => {
            let message = format!(
                "`{}` is a policy of QUIC; allowed for a proxy: \"stack\" or \"1:N\"",
                rule.get_ref()
            );
            Err(Problem::new(rule.span(), message))
        }
        rule => Ok(rule.as_ref()),
    }
}

/// The proxy that the flow passes; `parallel` connections share what it knows of the rate.
fn pep(
    keys: &Transport,
    path: &Resolved,
    scenario: &Scenario,
    sizes: Sizes,
    parallel: usize,
) -> Result<Option<PepSpec>, Problem> {
    let Some(mode) = keys.tcp.pep.as_ref().filter(|mode| *mode.get_ref() != PepMode::None) else {
        return Ok(None);
    };
    if path.orbit.is_some() {
        let message =
            "a proxy needs a hop, and a path with an orbit has none; allowed: tcp.pep = \"none\"";
        return Err(Problem::new(mode.span(), message));
    }
    let default = PepSection::default();
    let section = scenario.path.get_ref().pep.as_ref().map_or(&default, Spanned::get_ref);
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let hop = match &section.hop {
        Some(name) => path.hops.iter().position(|hop| hop.name == *name.get_ref()),
        // The first of those with the longest delay.
        None => path
            .configs
            .iter()
            .map(|(forward, _)| idle_delay(forward))
            .enumerate()
            .rev()
            .max_by_key(|&(_, delay)| delay)
            .map(|(hop, _)| hop),
    }
    .unwrap_or_default();
    let (gateway, terminal) = match mode.get_ref() {
        PepMode::None | PepMode::Filter => (false, false),
        PepMode::Gateway => (true, false),
        PepMode::Both => (true, true),
    };
    let name = &path.hops[hop].name;
    if gateway && hop + 1 == path.hops.len() {
        let message = format!(
            "a gateway stands between the hop `{name}` and the server; allowed: a [[path.hop]] \
                after it"
        );
        return Err(Problem::new(mode.span(), message));
    }
    if terminal && hop == 0 {
        let message = format!(
            "a terminal stands between the client and the hop `{name}`; allowed: a [[path.hop]] \
                before it"
        );
        return Err(Problem::new(mode.span(), message));
    }
    if *mode.get_ref() == PepMode::Filter && section.ack_filter.is_none() {
        let message = "tcp.pep = \"filter\" needs to know how long to hold acknowledgements; \
            allowed: `ack_filter` in [path.pep]";
        return Err(Problem::new(mode.span(), message));
    }
    let sharing = scenario.flows().len().max(1) * parallel;
    let rates = [path.hops[hop].forward.nominal_rate(), path.hops[hop].reverse.nominal_rate()];
    let [downward, upward] = rates.map(|rate| told(section, rate, path.rtt, mtu, sharing));
    Ok(Some(PepSpec {
        hop,
        terminal,
        gateway,
        to_client: downward,
        to_server: upward,
        initial_window: section
            .initial_window
            .as_ref()
            .map_or(Settings::default().initial_window, |window| {
                u32::try_from(*window.get_ref()).unwrap_or(u32::MAX)
            }),
        ack: ack(proxied(section)?, None),
        buffer: sizes.window(section.buffer, sizes.auto(), mtu),
        ack_filter: section.ack_filter.as_ref().map(|interval| *interval.get_ref()),
        failure: section
            .fails_at
            .map(|at| Failure { at, mode: section.failure.unwrap_or_default() }),
    }))
}

/// The controller on the proxy's hop, told the hop's `rate` where it is one that wants to know it.
fn told(
    section: &PepSection,
    rate: Rate,
    rtt: Span,
    mtu: Bytes,
    sharing: usize,
) -> CongestionConfig {
    let controller = section.congestion.unwrap_or_else(|| FIXED_RATE.parse().unwrap_or_default());
    let mut parameters = section
        .parameters
        .as_ref()
        .map(|parameters| parameters.get_ref().clone())
        .unwrap_or_default();
    if controller.as_str() == FIXED_RATE {
        let fixed = parameters.entry(FIXED_RATE.to_owned()).or_default();
        // What counts is payload; headers take their share of the link.
        let payload = rate.as_mbps_f64() * f64::from(segment(mtu)) / mtu.get() as f64;
        fixed
            .entry("mbps".to_owned())
            .or_insert((payload / sharing as f64).clamp(0.001, 100_000.0));
        fixed.entry("rtt_ms".to_owned()).or_insert(rtt.as_millis_f64().clamp(0.1, 60_000.0));
    }
    let start = section.slow_start.unwrap_or(SlowStartName::STANDARD);
    CongestionConfig { controller, slow_start: start, parameters, ..CongestionConfig::default() }
}
