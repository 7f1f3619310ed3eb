//! Runs of both versions of BBR.

use super::{MTU, Path, Run};
use bentpipe_congestion::controller::{Controller, ControllerConfig};
use bentpipe_units::{Bytes, Rate, Span, Time};

/// Starts a run over `path` with the controller that `make` creates.
pub fn run<C: Controller + 'static>(
    path: Path,
    seed: u64,
    make: impl FnOnce(&ControllerConfig) -> C,
) -> Run {
    let config = ControllerConfig {
        now: Time::ZERO,
        mtu: MTU,
        initial_window: Bytes::new(12_000),
        distance_m: None,
        rtt: None,
    };
    Run::new(path, Box::new(make(&config)), seed)
}

/// Returns the time `secs` seconds after the start.
pub fn secs(secs: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(secs)
}

/// 50 Mbps and 100 ms.
pub fn plain() -> Path {
    Path::new(Rate::from_mbps(50), Span::from_millis(100))
}

/// Returns the controller's estimate of the bottleneck rate.
pub fn bandwidth_mbps(run: &mut Run) -> f64 {
    run.controller.rate_based().and_then(|bbr| bbr.bandwidth()).map_or(0.0, Rate::as_mbps_f64)
}
