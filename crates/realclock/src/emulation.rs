//! The emulator's report in the types of a run's outcome.

use super::proxies::ProxyReports;
use bentpipe_emu::{DirectionReport, Report};
use bentpipe_sim::{EmulatedDirection, EmulationOutcome};
use bentpipe_units::Span;

/// Converts the reports of the emulator and of the proxies. Packets that are later than
/// `max_lateness` at the 99th percentile give a warning.
pub(super) fn emulation(
    report: &Report,
    proxies: ProxyReports,
    max_lateness: Span,
) -> EmulationOutcome {
    let direction = |direction: &DirectionReport| EmulatedDirection {
        name: direction.name,
        packets: direction.packets_read,
        dropped: direction.dropped_by_emulator(),
        unaccounted: i64::try_from(direction.unaccounted()).unwrap_or(i64::MAX),
        late_p50: direction.lateness.p50,
        late_p99: direction.lateness.p99,
        late_max: direction.lateness.max,
        realtime: direction.without_realtime.is_none(),
        cpu_time: direction.cpu_time,
    };
    EmulationOutcome {
        warnings: report.warnings(max_lateness).into_iter().chain(proxies.warnings).collect(),
        directions: report.directions().map(direction).into(),
        proxies: proxies.reports,
    }
}
