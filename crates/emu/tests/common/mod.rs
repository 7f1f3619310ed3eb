//! What the tests of the emulator have in common: paths, and whether this process may make them.

// Each test file uses some of it.
#![allow(dead_code)]

use bentpipe_emu::{Emulator, Hop, PathSpec, Report, Settings, Testbed};
use bentpipe_link::DirectionConfig;
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;

/// True, with a word on standard error, where the kernel does not let this process make namespaces.
pub fn cannot_run() -> bool {
    Testbed::new(1, Bytes::new(1500)).inspect_err(|error| eprintln!("not run: {error}")).is_err()
}

pub fn direction(mbps: u64, delay_ms: u64) -> DirectionConfig {
    DirectionConfig::new(Rate::from_mbps(mbps), Span::from_millis(delay_ms))
}

pub fn hop(name: &str, forward: &DirectionConfig, reverse: &DirectionConfig, shared: bool) -> Hop {
    let load = |config: &DirectionConfig| config.load(Path::new(".")).expect("a direction");
    Hop { name: name.to_owned(), forward: load(forward), reverse: load(reverse), shared }
}

pub fn path(hops: Vec<Hop>) -> PathSpec {
    let rtt = hops.iter().map(|hop| hop.forward.base_delay() + hop.reverse.base_delay());
    PathSpec { base_rtt: rtt.fold(Span::ZERO, |sum, delay| sum + delay), hops, seed: 7, run: 0 }
}

pub fn start(hops: Vec<Hop>, clients: usize) -> Emulator {
    let testbed = Testbed::new(clients, Bytes::new(1500)).expect("namespaces");
    Emulator::start(testbed, &path(hops), Settings::default()).expect("an emulator")
}

pub fn one_hop(forward: &DirectionConfig, reverse: &DirectionConfig) -> Emulator {
    start(vec![hop("access", forward, reverse, true)], 1)
}

/// Stops, and holds that every packet is accounted for and that links and emulator agree.
pub fn stop(emulator: Emulator) -> Report {
    let report = emulator.stop().expect("a report");
    for direction in report.directions() {
        assert_eq!(direction.unaccounted(), 0, "{direction:?}");
        let lost: u64 = direction
            .links
            .iter()
            .map(|link| {
                let counters = &link.counters;
                [
                    counters.dropped_policer,
                    counters.dropped_queue,
                    counters.dropped_aqm,
                    counters.dropped_loss,
                ]
                .iter()
                .map(|tally| tally.packets)
                .sum::<u64>()
            })
            .sum();
        assert_eq!(direction.lost, lost, "{direction:?}");
    }
    report
}
