//! TCP endpoints of a scenario, and the proxy on their path.

use super::bottleneck::Bottleneck;
use super::path::ResolvedPath;
use super::transport::{congestion, initial_window, is_scalable, stream_windows};
use bentpipe_quic::AckRule;
use bentpipe_quic::congestion::algorithms::fixed_rate;
use bentpipe_quic::congestion::{CongestionConfig, LossFilterName, SlowStartName};
use bentpipe_scenario::Problem;
use bentpipe_scenario::profiles::idle_delay;
use bentpipe_scenario::{PepMode, PepSection, Scenario, TcpBuffers, TcpEcn, Transport, Window};
use bentpipe_sim::{Failure, PepSpec, TcpStack};
use bentpipe_tcp::http::{self, Version};
use bentpipe_tcp::{AckPolicy, BufferModel, EcnSupport, Segment, TcpSettings};
use bentpipe_units::{Bytes, Rate, Span};
use serde_spanned::Spanned;

/// Connections that browsers open to one server for HTTP/1.1.
const BROWSER_CONNECTIONS: u64 = 6;

/// Returns the stack of a TCP flow whose visits have up to `objects` objects.
pub(super) fn tcp(
    keys: &Transport,
    version: Version,
    bottleneck: Bottleneck,
    path: &ResolvedPath,
    scenario: &Scenario,
    objects: usize,
) -> Result<TcpStack, Problem> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let default = TcpSettings::default();
    let receive_buffer = receive_buffer(keys, bottleneck, mtu);
    let tcp = TcpSettings {
        segment: segment(mtu),
        buffers: match keys.tcp.buffers.unwrap_or_default() {
            TcpBuffers::Payload => BufferModel::Payload,
            TcpBuffers::Linux => BufferModel::Linux,
        },
        initial_window: initial_window(keys, default.initial_window),
        receive_buffer,
        receive_buffer_start: default.receive_buffer_start.min(receive_buffer),
        autotune: keys.tcp.receive_autotune.unwrap_or(true),
        send_buffer: bottleneck.window(
            keys.flow_control.send_buffer,
            bottleneck.auto_window(),
            mtu,
        ),
        ack: AckPolicy {
            coalesce: keys.tcp.coalesce.filter(|span| !span.is_zero()),
            ..ack_policy(keys.ack.as_ref(), keys.max_ack_delay)
        },
        ecn: ecn(keys),
        idle_restart: keys.tcp.idle_restart.unwrap_or(true),
        ..default
    };
    let connections = match version {
        Version::H1 => {
            *keys.tcp.connections.as_ref().map_or(&BROWSER_CONNECTIONS, Spanned::get_ref) as usize
        }
        Version::H2 | Version::Raw | Version::Echo => 1,
    };
    let (stream_window, connection_window) = stream_windows(keys, bottleneck, mtu);
    // A visit may set them.
    let priorities = false;
    let http =
        http::HttpSettings { version, connections, stream_window, connection_window, priorities };
    let pep = pep(keys, path, scenario, bottleneck, connections.min(objects.max(1)))?;
    Ok(TcpStack { tcp, congestion: congestion(keys, bottleneck, mtu), http, pep })
}

/// Returns the use of ECN. A controller for L4S needs the number of marks.
fn ecn(keys: &Transport) -> EcnSupport {
    let l4s = is_scalable(keys);
    let default = if l4s { TcpEcn::Accurate } else { TcpEcn::Off };
    match keys.tcp.ecn.unwrap_or(default) {
        TcpEcn::Off => EcnSupport::Off,
        TcpEcn::Classic => EcnSupport::Classic,
        TcpEcn::Accurate => EcnSupport::Accurate { l4s },
    }
}

/// Returns the largest receive buffer. Half of it is offered as window.
pub(super) fn receive_buffer(keys: &Transport, bottleneck: Bottleneck, mtu: Bytes) -> Bytes {
    let doubled = |bytes: Bytes| Bytes::new(bytes.get().saturating_mul(2));
    match keys.tcp.receive_buffer {
        None | Some(Window::Auto) => doubled(bottleneck.auto_window()),
        Some(Window::Bytes(bytes)) => bytes,
        Some(Window::Bdp(_)) => {
            doubled(bottleneck.window(keys.tcp.receive_buffer, Bytes::ZERO, mtu))
        }
    }
}

/// Returns the largest payload of a segment in packets of `mtu` bytes.
fn segment(mtu: Bytes) -> u32 {
    Segment::payload_of(u32::try_from(mtu.get()).unwrap_or(u32::MAX))
}

/// Converts `1:N` to one acknowledgement for N segments, and every other rule to the policy of a
/// Linux host. The rules of QUIC were refused before.
fn ack_policy(rule: Option<&Spanned<AckRule>>, delay: Option<Span>) -> AckPolicy {
    let default =
        AckPolicy { delay: delay.unwrap_or(AckPolicy::default().delay), ..AckPolicy::default() };
    match rule.map(Spanned::get_ref) {
        Some(&AckRule::Every(every)) => AckPolicy { every, ..default },
        _ => default,
    }
}

/// Returns the acknowledgement rule of the proxy, or an error if only QUIC has that rule.
fn pep_ack_rule(section: &PepSection) -> Result<Option<&Spanned<AckRule>>, Problem> {
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

/// Returns the proxy of a flow, or `None` without one. Its `parallel` connections share the rate
/// of the hop.
pub(super) fn pep(
    keys: &Transport,
    path: &ResolvedPath,
    scenario: &Scenario,
    bottleneck: Bottleneck,
    parallel: usize,
) -> Result<Option<PepSpec>, Problem> {
    let Some(mode) = keys.tcp.pep.as_ref().filter(|mode| *mode.get_ref() != PepMode::None) else {
        return Ok(None);
    };
    if path.orbit.is_some() {
        let message = "a path with an orbit has no hop for a proxy; allowed: tcp.pep = \"none\"";
        return Err(Problem::new(mode.span(), message));
    }
    let default = PepSection::default();
    let section = scenario.path.get_ref().pep.as_ref().map_or(&default, Spanned::get_ref);
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let hop = match &section.hop {
        Some(name) => path.hops.iter().position(|hop| hop.name == *name.get_ref()),
        // The hop with the longest delay; the first of several.
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
        let message = "tcp.pep = \"filter\" needs the time for which to hold acknowledgements; \
            allowed: `ack_filter` in [path.pep]";
        return Err(Problem::new(mode.span(), message));
    }
    let sharing = scenario.flows().len().max(1) * parallel;
    let rates = [path.hops[hop].forward.nominal_rate(), path.hops[hop].reverse.nominal_rate()];
    let [forward, reverse] =
        rates.map(|rate| pep_congestion(section, rate, path.rtt, mtu, sharing));
    Ok(Some(PepSpec {
        hop,
        terminal,
        gateway,
        to_client: forward,
        to_server: reverse,
        initial_window: section
            .initial_window
            .as_ref()
            .map_or(TcpSettings::default().initial_window, |window| {
                u32::try_from(*window.get_ref()).unwrap_or(u32::MAX)
            }),
        ack: ack_policy(pep_ack_rule(section)?, None),
        buffer: bottleneck.window(section.buffer, bottleneck.auto_window(), mtu),
        ack_filter: section.ack_filter.as_ref().map(|interval| *interval.get_ref()),
        failure: section
            .fails_at
            .map(|at| Failure { at, mode: section.failure.unwrap_or_default() }),
    }))
}

/// Returns the congestion configuration for the proxy's hop. `fixed-rate` gets its share of the
/// hop's `rate` if the scenario sets none.
fn pep_congestion(
    section: &PepSection,
    rate: Rate,
    rtt: Span,
    mtu: Bytes,
    sharing: usize,
) -> CongestionConfig {
    let controller =
        section.congestion.unwrap_or_else(|| fixed_rate::NAME.parse().unwrap_or_default());
    let mut parameters = section
        .parameters
        .as_ref()
        .map(|parameters| parameters.get_ref().clone())
        .unwrap_or_default();
    if controller.as_str() == fixed_rate::NAME {
        let fixed = parameters.entry(fixed_rate::NAME.to_owned()).or_default();
        // The parameter counts payload, the rate of the link includes headers.
        let payload = rate.as_mbps_f64() * f64::from(segment(mtu)) / mtu.get() as f64;
        fixed
            .entry("mbps".to_owned())
            .or_insert((payload / sharing as f64).clamp(0.001, 100_000.0));
        fixed
            .entry("rtt_ms".to_owned())
            .or_insert(rtt.as_millis_f64().clamp(0.1, fixed_rate::MAX_RTT_MS));
    }
    let slow_start = section.slow_start.unwrap_or(SlowStartName::STANDARD);
    let loss_filter = LossFilterName::NONE;
    CongestionConfig { controller, slow_start, loss_filter, parameters, ..Default::default() }
}
