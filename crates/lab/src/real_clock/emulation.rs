//! The emulator's report in the types of the results.

use super::proxies::ProxyReports;
use bentpipe_emu::{DirectionReport, Report};
use bentpipe_results::{DirectionEmulation, Emulation};
use bentpipe_units::Span;

/// Converts the reports of the emulator and of the proxies. Packets that are later than
/// `max_lateness` at the 99th percentile give a warning.
pub(super) fn emulation(report: &Report, proxies: ProxyReports, max_lateness: Span) -> Emulation {
    let us = |span: Span| span.as_nanos() as f64 / 1e3;
    let direction = |direction: &DirectionReport| DirectionEmulation {
        name: direction.name.to_owned(),
        packets: direction.packets_read,
        dropped: direction.dropped_by_emulator(),
        unaccounted: i64::try_from(direction.unaccounted()).unwrap_or(i64::MAX),
        late_p50_us: us(direction.lateness.p50),
        late_p99_us: us(direction.lateness.p99),
        late_max_us: us(direction.lateness.max),
        realtime: direction.without_realtime.is_none(),
        cpu_s: direction.cpu_time.as_secs_f64(),
    };
    Emulation {
        warnings: report.warnings(max_lateness).into_iter().chain(proxies.warnings).collect(),
        directions: report.directions().map(direction).into(),
        proxies: proxies.reports,
    }
}
