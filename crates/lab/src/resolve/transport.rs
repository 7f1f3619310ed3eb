//! Transport keys that QUIC and TCP share.

use super::bottleneck::Bottleneck;
use bentpipe_quic::congestion::{CongestionConfig, PathChangeResponse};
use bentpipe_scenario::{ConnectionWindow, FlowControlPreset, Transport};
use bentpipe_units::Bytes;

/// Returns the congestion configuration that `keys` request.
pub(super) fn congestion(keys: &Transport, bottleneck: Bottleneck, mtu: Bytes) -> CongestionConfig {
    CongestionConfig {
        controller: keys.congestion.unwrap_or_default(),
        slow_start: keys.slow_start.unwrap_or_default(),
        loss_filter: keys.loss_filter.unwrap_or_default(),
        resume: keys.resume.unwrap_or_default(),
        parameters: keys
            .parameters
            .as_ref()
            .map(|parameters| parameters.get_ref().clone())
            .unwrap_or_default(),
        distance_m: None,
        path_change: keys.path_change_response.map(PathChangeResponse::from).unwrap_or_default(),
        max_window: keys.max_window.map(|window| bottleneck.window(Some(window), Bytes::MAX, mtu)),
    }
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
