//! QUIC endpoints of a scenario.

use super::bottleneck::Bottleneck;
use super::extremes::Extremes;
use super::transport::{congestion, initial_window, is_scalable, stream_windows};
use bentpipe_quic::{EcnMode, FlowControlRule, Http, LossDetection, QuicSettings};
use bentpipe_scenario::{
    ConnectionWindow, Flow, FlowControlPreset, IdleTimeout, PresetName, Problem, Transport, Window,
};
use bentpipe_units::{Bytes, Span};
use serde_spanned::Spanned;

/// Initial connection window of `bentpipe get`.
const GET_RECEIVE_WINDOW: Bytes = Bytes::from_mb(4);

/// Returns the settings of a QUIC flow.
pub(super) fn quic(
    flow: &Flow,
    http: Http,
    bottleneck: Bottleneck,
    extremes: Extremes,
    mtu: Bytes,
) -> Result<QuicSettings, Problem> {
    let keys = &flow.transport;
    let (ack, ack_by) = keys.acknowledges(flow.protocol)?;
    let largest = max_datagram(mtu);
    let discovery = keys.quic.mtu_discovery.unwrap_or(false);
    let default = QuicSettings::default();
    // Without discovery, the MTU of the path is known. Discovery starts from the smallest maximum
    // datagram size that every path must support (RFC 9000 §14).
    let initial = keys
        .quic
        .initial_mtu
        .as_ref()
        .map(|bytes| u16::try_from(bytes.get_ref().get()).unwrap_or(largest));
    let initial = initial.unwrap_or(if discovery { 1200 } else { largest });
    let rule = flow_control_rule(keys);
    let (stream_window, connection_window) = windows(keys, &rule, bottleneck, mtu)?;
    Ok(QuicSettings {
        congestion: congestion(keys, bottleneck, mtu),
        resume_via: keys.quic.resume_state.unwrap_or_default().into(),
        http,
        pacing: keys.quic.pacing.unwrap_or(true),
        ack,
        ack_by,
        ack_auto: default.ack_auto,
        stock: None,
        flow_control: rule,
        max_ack_delay: keys.max_ack_delay.unwrap_or(default.max_ack_delay),
        initial_rtt: initial_rtt(keys, extremes),
        loss_detection: loss_detection(keys),
        initial_window: initial_window(keys, default.initial_window),
        stream_window,
        connection_window,
        send_buffer: bottleneck.window(
            keys.flow_control.send_buffer,
            bottleneck.auto_window(),
            mtu,
        ),
        initial_mtu: initial,
        max_mtu: if discovery { largest } else { initial },
        idle_timeout: idle_timeout(keys, extremes),
        ecn: ecn(keys),
    })
}

/// Returns the ECN field of packets. A controller for L4S belongs into the queue with the short
/// delay (RFC 9331 §4.1).
fn ecn(keys: &Transport) -> EcnMode {
    keys.quic.ecn.unwrap_or(if is_scalable(keys) { EcnMode::Ect1 } else { EcnMode::default() })
}

/// Returns the RTT that is assumed before the first sample. A deep-space endpoint knows that of its
/// path, and its first probe timeout, three times this, is one RTT.
fn initial_rtt(keys: &Transport, extremes: Extremes) -> Span {
    let default = QuicSettings::default().initial_rtt;
    match &keys.quic.initial_rtt {
        Some(rtt) => *rtt.get_ref(),
        None if keys.preset == Some(PresetName::DeepSpace) => default.max(extremes.rtt / 3),
        None => default,
    }
}

/// Returns when packets are declared lost.
fn loss_detection(keys: &Transport) -> LossDetection {
    let rfc = LossDetection::RFC;
    LossDetection {
        packet_threshold: keys
            .quic
            .packet_threshold
            .map_or(rfc.packet_threshold, |threshold| threshold.0),
        time_threshold: keys
            .quic
            .time_threshold
            .as_ref()
            .map_or(rfc.time_threshold, |rtts| *rtts.get_ref() as f32),
        persistent_congestion: keys.quic.persistent_congestion.unwrap_or(true),
    }
}

/// Returns the idle timeout. `auto` outlives the longest time in which nothing may arrive.
///
/// Three times: a gap in each direction, the RTT, and probes that were lost. RFC 9000 §10.1 asks
/// for three probe timeouts, which the stack adds once it knows the RTT; before, it assumes the
/// initial RTT.
fn idle_timeout(keys: &Transport, extremes: Extremes) -> Span {
    match keys.quic.idle_timeout.unwrap_or_default() {
        IdleTimeout::Auto => {
            QuicSettings::default().idle_timeout.max((extremes.rtt + extremes.gap) * 3)
        }
        IdleTimeout::None => Span::MAX,
        IdleTimeout::After(span) => span,
    }
}

/// Returns the initial receive windows of a stream and of the connection.
fn windows(
    keys: &Transport,
    rule: &FlowControlRule,
    bottleneck: Bottleneck,
    mtu: Bytes,
) -> Result<(Bytes, Bytes), Problem> {
    let (stream, connection) = stream_windows(keys, bottleneck, mtu);
    let keys = &keys.flow_control;
    let preset = keys.preset.unwrap_or_default();
    if rule.tuned {
        let default = if preset == FlowControlPreset::Bentpipe {
            GET_RECEIVE_WINDOW.min(rule.max_window)
        } else {
            QuicSettings::default().connection_window
        };
        let first = keys.initial_receive_window.as_ref().map_or(default, |first| *first.get_ref());
        if first > rule.max_window {
            let key = keys.initial_receive_window.as_ref().or(keys.max_receive_window.as_ref());
            let message = format!(
                "the initial window of {first} is larger than the maximum of {}; allowed: an \
                    `initial_receive_window` up to `max_receive_window`",
                rule.max_window
            );
            return Err(Problem::new(key.map_or(0..0, Spanned::span), message));
        }
        // The stack cannot change the window of a stream later, so the connection's is the limit.
        return Ok((if keys.stream_window.is_none() { rule.max_window } else { stream }, first));
    }
    let auto = match keys.connection_window {
        None => !matches!(preset, FlowControlPreset::Program(_)),
        Some(window) => window == ConnectionWindow::Given(Window::Auto),
    };
    // Data behind a gap is held for the RTT that the retransmission takes. Without room for it,
    // `auto` would limit the sender.
    Ok((stream, if auto { connection.mul_f64(1.5) } else { connection }))
}

/// Returns when the receiver announces larger windows.
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
            .map_or(default.update_fraction, |after| *after.get_ref()),
        update_interval: keys.window_update_interval.as_ref().map(|every| *every.get_ref()),
    }
}

/// Returns the largest UDP payload in packets of `mtu` bytes.
fn max_datagram(mtu: Bytes) -> u16 {
    let headers = bentpipe_scenario::HEADERS;
    u16::try_from(mtu.get().saturating_sub(headers)).unwrap_or(u16::MAX)
}
