//! What an emulation says of itself when it ends.

use crate::{CaptureReport, LinkSeries, PortCounters};
use bentpipe_link::Counters;
use bentpipe_units::Span;
use hdrhistogram::Histogram;

/// How late packets left: the time at which a packet was handed to the kernel of the receiving side, less its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Packets that left.
    pub packets: u64,
    /// Half of them left within this.
    pub p50: Span,
    /// 99 of 100 left within this.
    pub p99: Span,
    /// The latest.
    pub max: Span,
}

/// Collects lateness, up to a minute with three digits.
#[derive(Debug)]
pub(crate) struct LatenessHistogram(Option<Histogram<u64>>);

impl LatenessHistogram {
    const MOST: u64 = 60_000_000_000;

    pub fn new() -> Self {
        Self(Histogram::new_with_max(Self::MOST, 3).ok())
    }
    #[inline]
    pub fn record(&mut self, lateness: Span) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(lateness.as_nanos());
        }
    }
    pub fn summary(&self) -> Lateness {
        let Some(histogram) = &self.0 else { return Lateness::default() };
        let at = |quantile| Span::from_nanos(histogram.value_at_quantile(quantile));
        Lateness {
            packets: histogram.len(),
            p50: at(0.5),
            p99: at(0.99),
            max: Span::from_nanos(if histogram.is_empty() { 0 } else { histogram.max() }),
        }
    }
}

/// One link of the path.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkReport {
    /// `hop/forward` or `hop/return`, with `#terminal` where terminals have links of their own.
    pub name: String,
    /// What it has counted.
    pub counters: Counters,
    /// The same for each terminal, where several share the link; empty otherwise.
    pub terminals: Vec<Counters>,
    /// Mean time that its packets waited in its queue.
    pub queue_mean: Span,
    /// What happened when, where series were asked for.
    pub series: Option<LinkSeries>,
}

/// What one direction did, and what became of every packet that it read: [`Self::unaccounted`] is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionReport {
    /// `forward` (to the clients) or `return` (to the server).
    pub name: &'static str,
    /// Why its thread had no real-time priority; none where it had.
    pub without_realtime: Option<String>,
    /// Processor time of its thread: the kernel's work of receiving what it wrote is in it.
    pub cpu_time: Span,
    /// IP packets read, super-packets as what they were cut into.
    pub packets_read: u64,
    /// Bytes of these.
    pub bytes_read: u64,
    /// IP packets handed to the receiving side.
    pub packets_written: u64,
    /// Bytes of these.
    pub bytes_written: u64,
    /// Lost by the path's links, for causes that their counters have.
    pub lost: u64,
    /// For groups of hosts or for the link only, which no path carries.
    pub not_carried: u64,
    /// Neither IPv4 nor IPv6, or of lengths that do not fit.
    pub malformed: u64,
    /// For an address that no terminal has.
    pub unroutable: u64,
    /// Dropped by the emulator, which held as much as it may.
    pub dropped_memory: u64,
    /// Dropped by the emulator, since the receiving kernel did not take them.
    pub dropped_write: u64,
    /// Packets or super-packets dropped before the emulator, since it did not read them in time. They are not among those read.
    pub dropped_ring: u64,
    /// In the links when it ended.
    pub in_flight: u64,
    /// How late packets left.
    pub lateness: Lateness,
    /// Its links, in the order in which packets pass them.
    pub links: Vec<LinkReport>,
    /// The flows that were watched, in the order of [`Monitor::ports`](crate::Watch::ports).
    pub ports: Vec<PortCounters>,
}

impl DirectionReport {
    /// Packets that were read and of which nothing is known: not zero only if this program is wrong.
    pub fn unaccounted(&self) -> i128 {
        let known = [
            self.packets_written,
            self.lost,
            self.not_carried,
            self.malformed,
            self.unroutable,
            self.dropped_memory,
            self.dropped_write,
            self.in_flight,
        ];
        i128::from(self.packets_read) - known.iter().map(|packets| i128::from(*packets)).sum::<i128>()
    }

    /// Packets that the path would have carried and the emulator did not.
    pub fn dropped_by_emulator(&self) -> u64 {
        self.dropped_memory + self.dropped_write + self.dropped_ring
    }
}

/// What an emulation did.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How long it ran.
    pub length: Span,
    /// To the clients.
    pub forward: DirectionReport,
    /// To the server.
    pub reverse: DirectionReport,
    /// The captures that were made.
    pub captures: Vec<CaptureReport>,
}

impl Report {
    /// Both directions.
    pub fn directions(&self) -> [&DirectionReport; 2] {
        [&self.forward, &self.reverse]
    }

    /// In words, what makes the results doubtful: packets that the emulator dropped, or let go more than `tolerated` late (at the 99th percentile).
    pub fn warnings(&self, tolerated: Span) -> Vec<String> {
        let mut warnings = Vec::new();
        for direction in self.directions() {
            let name = direction.name;
            let DirectionReport { dropped_ring, dropped_memory, dropped_write, lateness, .. } = direction;
            if *dropped_ring > 0 {
                warnings
                    .push(format!("{name}: fell behind, {dropped_ring} packets or super-packets were dropped unread"));
            }
            if *dropped_memory > 0 {
                warnings.push(format!("{name}: {dropped_memory} packets dropped for want of memory"));
            }
            if *dropped_write > 0 {
                warnings.push(format!("{name}: {dropped_write} packets were not taken by the receiving kernel"));
            }
            if lateness.p99 > tolerated {
                warnings.push(format!("{name}: fell behind, 1 of 100 packets left more than {} late", lateness.p99));
            }
            if direction.unaccounted() != 0 {
                warnings.push(format!("{name}: {} packets are not accounted for", direction.unaccounted()));
            }
        }
        warnings
    }
}
