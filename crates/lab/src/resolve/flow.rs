//! The flows of a case: visits, and settings with `BDP` and `auto` turned into bytes.

use super::path::Resolved;
use super::tcp::tcp;
use crate::outcome;
use bentpipe_quic::congestion::CongestionConfig;
use bentpipe_quic::congestion::PathChangeResponse;
use bentpipe_quic::{FlowControlRule, Handshake, Http, Settings};
use bentpipe_results::Direction;
use bentpipe_scenario::Problem;
use bentpipe_scenario::profiles::queue_bytes;
use bentpipe_scenario::workload::{PlannedObject, Sequence, Transfer, Visit as VisitText, Work};
use bentpipe_scenario::{
    ConnectionWindow, Flow, FlowControlPreset, MeasuredVisit, Placement, Protocol, Scenario,
    Transport, Window, Workload,
};
use bentpipe_sim::{DatagramTraffic, FlowSpec, Object, ProgramStack, Stack, Visit};
use bentpipe_units::{Bytes, Rate, Span};
use serde_spanned::Spanned;

/// Smallest window that `auto` gives.
const SMALLEST_AUTO_WINDOW: Bytes = Bytes::from_mb(1);
/// Idle time between the implied first visit and the one that is measured.
const DEFAULT_IDLE: Span = Span::from_secs(10);
/// Initial size of the connection window that `bentpipe get` announces.
const SHIPPED_RECEIVE_WINDOW: Bytes = Bytes::from_mb(4);

/// What the implied first visit fetches, in BDP: slow start and a few round trips at the path's
/// full rate.
const FILL_BDP: f64 = 10.0;

/// The sizes that windows are made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub bdp: Bytes,
    queue: Bytes,
}

pub(super) fn flow(flow: &Flow, path: &Resolved, scenario: &Scenario) -> Result<FlowSpec, Problem> {
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let visits = visits(flow, path, scenario);
    let direction =
        visits.first().map_or(Direction::Download, |visit| outcome::direction(visit.direction));
    let sizes = sizes(path, direction, mtu);
    let objects = visits.iter().map(|visit| visit.objects.len()).max().unwrap_or_default();
    let mut stack = match (flow.work.first(), flow.protocol) {
        (Workload::Cbr(cbr), _) => Stack::DatagramTraffic(DatagramTraffic::Constant {
            rate: *cbr.rate.get_ref(),
            packet: cbr.packet.as_ref().map_or(mtu, |packet| *packet.get_ref()),
            bursts: cbr.bursts(),
        }),
        (Workload::Ping(ping), _) => Stack::DatagramTraffic(DatagramTraffic::Ping {
            interval: *ping.interval.get_ref(),
            packet: ping.packet(),
        }),
        (Workload::External(external), _) => Stack::Program(Box::new(ProgramStack {
            server: external.server.clone().unwrap_or_default(),
            client: external.client.clone().unwrap_or_default(),
            mtu,
        })),
        (_, Protocol::Tcp(version)) => {
            Stack::Tcp(Box::new(tcp(&flow.transport, version, sizes, path, scenario, objects)?))
        }
        (_, Protocol::Quic(http)) => Stack::quic(settings(flow, http, sizes, mtu)?),
        // Their workloads stand above.
        (_, Protocol::Datagrams | Protocol::External) => {
            return Err(Problem::new(flow.span.clone(), "this workload has no transport"));
        }
    };
    let ends = path.orbit.as_ref().and_then(|orbit| orbit.ends(flow.name()));
    if let Some(congestion) = congestion_mut(&mut stack) {
        congestion.distance_m = ends.map(|ends| ends.distance_m as u64);
    }
    let placement = &flow.placement;
    Ok(FlowSpec {
        ends: crossed(placement, path).or(ends.map(|ends| ends.stations)),
        name: flow.name().to_owned(),
        terminal: placement.terminal.as_ref().map_or(0, |terminal| *terminal.get_ref()),
        server: placement.server.clone().unwrap_or_else(|| "server".to_owned()),
        start: placement.start_time.unwrap_or_default(),
        stack,
        visits,
    })
}

/// The recipe of the data's sender, if something controls congestion.
fn congestion_mut(stack: &mut Stack) -> Option<&mut CongestionConfig> {
    match stack {
        Stack::Quic(settings) => Some(&mut settings.congestion),
        Stack::Tcp(stack) => Some(&mut stack.congestion),
        Stack::DatagramTraffic(_) | Stack::Program(_) => None,
    }
}

/// The nodes between which a flow goes if it does not cross the whole path.
fn crossed(placement: &Placement, path: &Resolved) -> Option<(usize, usize)> {
    let Placement { from_hop, to_hop, .. } = placement;
    from_hop.as_ref().or(to_hop.as_ref())?;
    let place =
        |name: &Spanned<String>| path.hops.iter().position(|hop| hop.name == *name.get_ref());
    let first = from_hop.as_ref().and_then(place).unwrap_or(0);
    let last = to_hop.as_ref().and_then(place).unwrap_or(path.hops.len() - 1);
    Some((first, last + 1))
}

/// BDP and queue of the bottleneck in the direction of the data.
pub(super) fn sizes(path: &Resolved, direction: Direction, mtu: Bytes) -> Sizes {
    let bottleneck = path.links(direction).into_iter().min_by_key(|(rate, _)| *rate);
    bottleneck.map_or(Sizes { bdp: Bytes::ZERO, queue: Bytes::ZERO }, |(rate, limit): (Rate, _)| {
        Sizes { bdp: rate.bytes_in(path.rtt), queue: queue_bytes(limit, rate, path.rtt, mtu) }
    })
}

impl Sizes {
    /// A window that never limits: what fits on the path and in its queue, twice, since credit
    /// returns a round trip late.
    pub fn auto(&self) -> Bytes {
        (self.bdp + self.queue).mul_f64(2.0).max(SMALLEST_AUTO_WINDOW)
    }

    /// The window that `key` asks for, or `otherwise`.
    pub fn window(&self, key: Option<Window>, otherwise: Bytes, mtu: Bytes) -> Bytes {
        match key {
            None => otherwise,
            Some(Window::Auto) => self.auto(),
            Some(Window::Bytes(bytes)) => bytes,
            // Never below a packet: a window of nothing would wait for ever.
            Some(Window::Bdp(factor)) => self.bdp.mul_f64(factor).max(mtu),
        }
    }
}

/// Controller, start and resumption that `keys` ask for.
pub(super) fn congestion(keys: &Transport, sizes: Sizes, mtu: Bytes) -> CongestionConfig {
    CongestionConfig {
        controller: keys.congestion.unwrap_or_default(),
        slow_start: keys.slow_start.unwrap_or_default(),
        resume: keys.resume.unwrap_or_default(),
        parameters: keys
            .parameters
            .as_ref()
            .map(|parameters| parameters.get_ref().clone())
            .unwrap_or_default(),
        distance_m: None,
        path_change: keys.path_change_response.map(PathChangeResponse::from).unwrap_or_default(),
        max_window: keys.max_window.map(|window| sizes.window(Some(window), Bytes::MAX, mtu)),
    }
}

/// Windows of a stream and of the connection.
pub(super) fn stream_windows(keys: &Transport, sizes: Sizes, mtu: Bytes) -> (Bytes, Bytes) {
    let keys = &keys.flow_control;
    let (stream, connection) = match keys.preset.unwrap_or_default() {
        FlowControlPreset::Auto | FlowControlPreset::Bentpipe => (sizes.auto(), sizes.auto()),
        FlowControlPreset::Program(name) => {
            (name.preset().stream_window, name.preset().connection_window)
        }
    };
    (
        sizes.window(keys.stream_window, stream, mtu),
        sizes.window(keys.connection_window.map(ConnectionWindow::given), connection, mtu),
    )
}

/// When QUIC announces larger windows.
fn flow_control_rule(keys: &Transport) -> FlowControlRule {
    let keys = &keys.flow_control;
    let tuned = match keys.connection_window {
        Some(window) => window == ConnectionWindow::Tuned,
        None => keys.preset == Some(FlowControlPreset::Bentpipe),
    };
    let default = if tuned { FlowControlRule::tuned() } else { FlowControlRule::default() };
    FlowControlRule {
        tuned,
        max_window: keys
            .max_receive_window
            .as_ref()
            .map_or(default.max_window, |max| *max.get_ref()),
        update_fraction: keys
            .window_update_fraction
            .as_ref()
            .map_or(default.update_fraction, |fraction| *fraction.get_ref()),
        update_interval: keys
            .window_update_interval
            .as_ref()
            .map(|interval| *interval.get_ref())
            .or(default.update_interval),
    }
}

/// Initial window in packets.
pub(super) fn initial_window(keys: &Transport, default: u32) -> u32 {
    let window = keys.initial_window.as_ref();
    window.map_or(default, |window| u32::try_from(*window.get_ref()).unwrap_or(u32::MAX))
}

fn settings(flow: &Flow, http: Http, sizes: Sizes, mtu: Bytes) -> Result<Settings, Problem> {
    let keys = &flow.transport;
    let (ack, ack_by) = keys.acknowledges(flow.protocol)?;
    let largest = payload(mtu);
    let discovery = keys.quic.mtu_discovery.unwrap_or(false);
    let default = Settings::default();
    // Without discovery the path's size is known; with it, it starts from what every path carries
    // (RFC 9000 §14).
    let initial = keys
        .quic
        .initial_mtu
        .as_ref()
        .map(|bytes| u16::try_from(bytes.get_ref().get()).unwrap_or(largest));
    let initial = initial.unwrap_or(if discovery { 1200 } else { largest });
    let flow_control = flow_control_rule(keys);
    let (stream_window, connection_window) = windows(keys, &flow_control, sizes, mtu)?;
    Ok(Settings {
        congestion: congestion(keys, sizes, mtu),
        resume_via: keys.quic.resume_state.unwrap_or_default().into(),
        http,
        pacing: keys.quic.pacing.unwrap_or(true),
        ack,
        ack_by,
        ack_auto: default.ack_auto,
        stock: None,
        flow_control,
        max_ack_delay: keys.max_ack_delay.unwrap_or(default.max_ack_delay),
        initial_rtt: keys
            .quic
            .initial_rtt
            .as_ref()
            .map_or(default.initial_rtt, |rtt| *rtt.get_ref()),
        initial_window: initial_window(keys, default.initial_window),
        stream_window,
        connection_window,
        send_buffer: sizes.window(keys.flow_control.send_buffer, sizes.auto(), mtu),
        initial_mtu: initial,
        max_mtu: if discovery { largest } else { initial },
        idle_timeout: default.idle_timeout,
    })
}

/// QUIC's windows of a stream and of the connection.
fn windows(
    keys: &Transport,
    flow_control: &FlowControlRule,
    sizes: Sizes,
    mtu: Bytes,
) -> Result<(Bytes, Bytes), Problem> {
    let (stream, connection) = stream_windows(keys, sizes, mtu);
    let keys = &keys.flow_control;
    let preset = keys.preset.unwrap_or_default();
    if flow_control.tuned {
        let shipped = if preset == FlowControlPreset::Bentpipe {
            SHIPPED_RECEIVE_WINDOW.min(flow_control.max_window)
        } else {
            Settings::default().connection_window
        };
        let first = keys.initial_receive_window.as_ref().map_or(shipped, |first| *first.get_ref());
        if first > flow_control.max_window {
            let place = keys.initial_receive_window.as_ref().or(keys.max_receive_window.as_ref());
            let message = format!(
                "a window cannot start at {first} and grow to {}; allowed: an \
                    `initial_receive_window` up to `max_receive_window`",
                flow_control.max_window
            );
            return Err(Problem::new(place.map_or(0..0, Spanned::span), message));
        }
        // The stack cannot change a stream's window later: the connection's limits.
        return Ok((
            if keys.stream_window.is_none() { flow_control.max_window } else { stream },
            first,
        ));
    }
    let auto = match keys.connection_window {
        None => !matches!(preset, FlowControlPreset::Program(_)),
        Some(window) => window == ConnectionWindow::Given(Window::Auto),
    };
    // Data behind a gap is withheld for the round trip of its repair: once more what fits, or
    // `auto` would limit.
    Ok((stream, if auto { connection.mul_f64(1.5) } else { connection }))
}

fn payload(mtu: Bytes) -> u16 {
    let headers = bentpipe_scenario::HEADERS;
    u16::try_from(mtu.get().saturating_sub(headers)).unwrap_or(u16::MAX)
}

/// The visits of a flow, with the implied first one if a repeat visit is measured.
fn visits(flow: &Flow, path: &Resolved, scenario: &Scenario) -> Vec<Visit> {
    let handshake = match flow.protocol {
        Protocol::Quic(_) | Protocol::Tcp(_) => flow.transport.handshake.unwrap_or_default(),
        Protocol::Datagrams | Protocol::External => Handshake::OneRtt,
    };
    let workload = match &flow.work {
        Work::Visits(visits) => {
            let visits = visits.iter().enumerate();
            return visits
                .map(|(index, visit)| explicit(visit, index == 0, handshake, scenario.seed))
                .collect();
        }
        Work::Once(workload) => workload,
    };
    let visit = planned(workload.transfer(scenario.seed), handshake);
    let repeat =
        handshake == Handshake::ZeroRtt || flow.transport.visit == Some(MeasuredVisit::Repeat);
    if !repeat || workload.has_own_transport() {
        return vec![visit];
    }
    // A first visit gets the ticket and the token, and fills the path so that there is something to
    // remember: slow start alone takes about two BDP.
    let mtu = *scenario.path.get_ref().mtu.get_ref();
    let fill = sizes(path, outcome::direction(visit.direction), mtu)
        .bdp
        .mul_f64(FILL_BDP)
        .max(Bytes::from_mb(1));
    let first = Visit {
        duration: None,
        handshake: Handshake::OneRtt,
        objects: vec![Object::new("first-visit", fill)],
        measured: false,
        ..visit.clone()
    };
    let Sequence { idle_before, .. } = &flow.sequence;
    let wait = idle_before.as_ref().map_or(DEFAULT_IDLE, |idle| *idle.get_ref());
    vec![first, Visit { idle_before: wait, ..visit }]
}

/// The simulator's name of a direction.
fn simulated(direction: Direction) -> bentpipe_sim::Direction {
    match direction {
        Direction::Download => bentpipe_sim::Direction::Download,
        Direction::Upload => bentpipe_sim::Direction::Upload,
    }
}

fn explicit(visit: &VisitText, first: bool, handshake: Handshake, seed: u64) -> Visit {
    let later = if first { Handshake::OneRtt } else { handshake };
    let handshake = visit.keys.handshake.as_ref().map_or(later, |handshake| *handshake.get_ref());
    Visit {
        idle_before: visit.keys.idle_before.unwrap_or_default(),
        measured: visit.keys.measured.unwrap_or(true),
        ..planned(visit.workload.transfer(seed), handshake)
    }
}

/// A visit without any pause before it.
fn planned(transfer: Transfer, handshake: Handshake) -> Visit {
    let Transfer { direction, objects, duration } = transfer;
    let objects = objects.into_iter().map(|PlannedObject { name, bytes, after, delay }| Object {
        name,
        bytes,
        after,
        delay,
    });
    Visit {
        duration,
        handshake,
        idle_before: Span::ZERO,
        start_jitter: Span::ZERO,
        direction: simulated(direction),
        objects: objects.collect(),
        measured: true,
    }
}
