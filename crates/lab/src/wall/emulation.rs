//! What the emulator did in a run, so that its results can be believed or not.

use bentpipe_emu::{DirectionReport, Report};
use bentpipe_units::Span;
use serde::{Deserialize, Serialize};

/// What the emulator did in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Emulation {
    /// What makes the run doubtful, in words: packets that the emulator lost, or let go late. Empty
    /// where nothing does.
    pub doubts: Vec<String>,
    /// To the clients, and to the server.
    pub directions: Vec<DirectionEmulation>,
}

/// What the emulator did in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionEmulation {
    /// `forward` or `return`.
    pub name: String,
    /// Packets that it read.
    pub packets: u64,
    /// Of those, packets that the path would have carried and the emulator did not.
    pub dropped: u64,
    /// Packets that nobody knows the fate of: not zero only if Bentpipe is wrong.
    pub unaccounted: i64,
    /// How late packets left, against their deadlines: half of them within this.
    pub late_p50_us: f64,
    /// 99 of 100 within this.
    pub late_p99_us: f64,
    /// The latest.
    pub late_max_us: f64,
    /// Whether its thread had real-time priority.
    pub realtime: bool,
    /// Processor time of its thread.
    pub processor_s: f64,
}

impl Emulation {
    /// Of an emulation that ended; packets may be `tolerated` late.
    pub fn new(report: &Report, tolerated: Span) -> Self {
        Self {
            doubts: report.warnings(tolerated),
            directions: report.directions().map(DirectionEmulation::new).into(),
        }
    }
}

impl DirectionEmulation {
    fn new(direction: &DirectionReport) -> Self {
        let us = |span: Span| span.as_nanos() as f64 / 1e3;
        Self {
            name: direction.name.to_owned(),
            packets: direction.packets_read,
            dropped: direction.dropped_by_emulator(),
            unaccounted: i64::try_from(direction.unaccounted()).unwrap_or(i64::MAX),
            late_p50_us: us(direction.lateness.p50),
            late_p99_us: us(direction.lateness.p99),
            late_max_us: us(direction.lateness.max),
            realtime: direction.without_realtime.is_none(),
            processor_s: direction.cpu_time.as_secs_f64(),
        }
    }
}
