//! Transport keys that QUIC and TCP share.

use super::bottleneck::Bottleneck;
use bentpipe_quic::congestion::algorithms::{fixed_rate, prague};
use bentpipe_quic::congestion::config::Parameters;
use bentpipe_quic::congestion::{CongestionConfig, PathChangeResponse};
use bentpipe_scenario::{ConnectionWindow, FlowControlPreset, PresetName, Transport};
use bentpipe_units::Bytes;

/// Returns the congestion configuration that `keys` request.
pub(super) fn congestion(keys: &Transport, bottleneck: Bottleneck, mtu: Bytes) -> CongestionConfig {
    CongestionConfig {
        controller: keys.congestion.unwrap_or_default(),
        slow_start: keys.slow_start.unwrap_or_default(),
        loss_filter: keys.loss_filter.unwrap_or_default(),
        resume: keys.resume.unwrap_or_default(),
        parameters: parameters(keys, bottleneck, mtu),
        distance_m: None,
        path_change: keys.path_change_response.map(PathChangeResponse::from).unwrap_or_default(),
        max_window: keys.max_window.map(|window| bottleneck.window(Some(window), Bytes::MAX, mtu)),
    }
}

/// Returns true if the controller is one for L4S: it answers to the fraction of marked packets.
pub(super) fn is_scalable(keys: &Transport) -> bool {
    keys.congestion.is_some_and(|name| name.as_str() == prague::NAME)
}

/// Returns the parameters that `keys` set. A deep-space endpoint knows the rate of its path, and
/// how long it may be without an answer.
fn parameters(keys: &Transport, bottleneck: Bottleneck, mtu: Bytes) -> Parameters {
    let given = keys.parameters.as_ref().map(|parameters| parameters.get_ref().clone());
    let mut parameters = given.unwrap_or_default();
    if keys.preset == Some(PresetName::DeepSpace) {
        // The rate counts what is inside of the IP and UDP headers.
        let payload = mtu.get().saturating_sub(bentpipe_scenario::HEADERS) as f64;
        let mbps = bottleneck.peak.as_mbps_f64() * payload / mtu.get() as f64;
        let fixed = parameters.entry(fixed_rate::NAME.to_owned()).or_default();
        fixed.entry("mbps".to_owned()).or_insert(mbps.clamp(0.001, 100_000.0));
        // The window has to last over a gap.
        let ms = bottleneck.longest.as_millis_f64();
        fixed.entry("rtt_ms".to_owned()).or_insert(ms.clamp(0.1, fixed_rate::MAX_RTT_MS));
    }
    parameters
}

/// Returns the receive windows of a stream and of the connection.
pub(super) fn stream_windows(
    keys: &Transport,
    bottleneck: Bottleneck,
    mtu: Bytes,
) -> (Bytes, Bytes) {
    let keys = &keys.flow_control;
    let (stream, connection) = match keys.preset.unwrap_or_default() {
        FlowControlPreset::Auto | FlowControlPreset::Bentpipe => {
            (bottleneck.auto_window(), bottleneck.auto_window())
        }
        FlowControlPreset::Program(name) => {
            (name.preset().stream_window, name.preset().connection_window)
        }
    };
    (
        bottleneck.window(keys.stream_window, stream, mtu),
        bottleneck.window(keys.connection_window.map(ConnectionWindow::given), connection, mtu),
    )
}

/// Returns the initial congestion window, in packets.
pub(super) fn initial_window(keys: &Transport, default: u32) -> u32 {
    let window = keys.initial_window.as_ref();
    window.map_or(default, |window| u32::try_from(*window.get_ref()).unwrap_or(u32::MAX))
}
