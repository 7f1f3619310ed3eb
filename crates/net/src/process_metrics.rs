//! What the process takes from its machine, and which program it is, for Prometheus.
//!
//! The names are those that Prometheus's client libraries give the same figures.

use crate::prometheus::{Series, text};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeValLike;
use std::fs;

/// Returns the metrics of this process. What the system does not tell is left out.
pub(crate) fn process_metrics() -> String {
    let build = Series::values(
        "build_info",
        "gauge",
        "Version of Bentpipe",
        vec![(concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1.0)],
    );
    let single = |name, kind, help, value: Option<f64>| {
        Some(Series::values(name, kind, help, vec![("", value?)]))
    };
    let series = [
        single("cpu_seconds_total", "counter", "Processor time in seconds", cpu_seconds()),
        single("resident_memory_bytes", "gauge", "Memory in bytes", resident_memory()),
        single("open_fds", "gauge", "Open file descriptors", open_descriptors()),
        single("max_fds", "gauge", "Most open file descriptors", most_descriptors()),
    ];
    let series: Vec<_> = series.into_iter().flatten().collect();
    text("bentpipe_", &[build]) + &text("process_", &series)
}

fn cpu_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Some(us as f64 / 1e6)
}

/// The line `VmRSS` of `/proc/self/status` (proc(5)).
fn resident_memory() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib as f64 * 1024.0)
}

fn open_descriptors() -> Option<f64> {
    // One of them reads the directory.
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64)
}

fn most_descriptors() -> Option<f64> {
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, name: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} in {text}")).parse().expect("a number")
    }

    #[test]
    fn a_process_says_what_it_takes() {
        let held: Vec<_> = (0..20).map(|_| fs::File::open("/proc/self/stat").unwrap()).collect();
        let text = process_metrics();
        let version = format!("bentpipe_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        assert_eq!(value(&text, &version), 1.0);
        assert!(text.contains("# TYPE process_cpu_seconds_total counter\n"), "{text}");
        let memory = value(&text, "process_resident_memory_bytes");
        assert!((1e6..1e11).contains(&memory), "{memory}");
        let (open, most) = (value(&text, "process_open_fds"), value(&text, "process_max_fds"));
        assert!(open >= 20.0 && open <= most, "{open} of {most}");
        // Busy until the clock of the kernel has moved.
        let before = value(&text, "process_cpu_seconds_total");
        let mut work = 0u64;
        while value(&process_metrics(), "process_cpu_seconds_total") <= before {
            work = work.wrapping_add(1);
        }
        drop((held, work));
    }
}
