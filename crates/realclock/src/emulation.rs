//! The emulator's report in the types of a run's outcome.

use super::proxies::ProxyReports;
use bentpipe_emu::{CaptureReport, DirectionReport, Report};
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
    let captures = report.captures.iter().flat_map(captured);
    EmulationOutcome {
        warnings: report
            .warnings(max_lateness)
            .into_iter()
            .chain(captures)
            .chain(proxies.warnings)
            .collect(),
        directions: report.directions().map(direction).into(),
        proxies: proxies.reports,
    }
}

/// Says what a capture lacks. Readers of the file would take it for losses.
fn captured(capture: &CaptureReport) -> Vec<String> {
    let CaptureReport { packets, missed, error, .. } = capture;
    let missed = (*missed > 0).then(|| {
        format!(
            "the capture has {packets} packets, and {missed} more were missed because the file was \
             full or the disk too slow"
        )
    });
    let error = error.as_ref().map(|error| format!("the capture ended early: {error}"));
    missed.into_iter().chain(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_that_is_not_whole_gives_a_warning() {
        let capture = |missed, error: Option<&str>| CaptureReport {
            file: "capture.pcapng".into(),
            packets: 7,
            missed,
            error: error.map(str::to_owned),
        };
        assert_eq!(captured(&capture(0, None)), [""; 0]);
        let both = captured(&capture(3, Some("no space left")));
        assert!(both[0].contains("7 packets, and 3 more") && both[1].contains("no space left"));
    }
}
