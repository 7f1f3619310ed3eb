//! Reports of an emulation.

use crate::capture::CaptureReport;
use crate::monitor::PortCounters;
use bentpipe_link::{Counters, LinkRecorder};
use bentpipe_units::Span;
use hdrhistogram::Histogram;

/// Lateness of packets: time from the deadline to delivery to the receiving kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// Packets delivered.
    pub packets: u64,
    /// Median.
    pub p50: Span,
    /// 99th percentile.
    pub p99: Span,
    /// Maximum.
    pub max: Span,
}

/// Histogram of lateness, up to a minute, with three significant digits.
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

/// A link of the path.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkReport {
    /// `hop/forward` or `hop/return`, with `#terminal` if each terminal has its own link.
    pub name: String,
    /// Its counters.
    pub counters: Counters,
    /// The counters of each terminal if several share the link; otherwise empty.
    pub terminals: Vec<Counters>,
    /// Mean queueing delay.
    pub queue_mean: Span,
    /// Time series, if recorded.
    pub recorder: Option<LinkRecorder>,
}

/// Report of one direction. Accounts for every packet read: [`Self::unaccounted`] is zero.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionReport {
    /// `forward` (to the clients) or `return` (to the server).
    pub name: &'static str,
    /// Reason why its thread had no real-time priority; `None` if it had.
    pub without_realtime: Option<String>,
    /// CPU time of its thread, including the kernel's work to receive what it wrote.
    pub cpu_time: Span,
    /// IP packets read; super-packets count as the packets they contain.
    pub packets_read: u64,
    /// Bytes of these.
    pub bytes_read: u64,
    /// IP packets delivered to the receiving kernel.
    pub packets_written: u64,
    /// Bytes of these.
    pub bytes_written: u64,
    /// Lost by the links, which count the causes.
    pub lost: u64,
    /// Multicast or link-local packets, which a path does not carry.
    pub not_carried: u64,
    /// Neither IPv4 nor IPv6, or with inconsistent lengths.
    pub malformed: u64,
    /// Addressed to no terminal.
    pub unroutable: u64,
    /// Dropped by the emulator at its memory limit.
    pub dropped_memory: u64,
    /// Dropped because the receiving kernel refused them.
    pub dropped_write: u64,
    /// Packets or super-packets that the kernel dropped before the emulator read them. Not included
    /// in the packets read.
    pub dropped_ring: u64,
    /// Inside the links at the end.
    pub in_flight: u64,
    /// Lateness of delivered packets.
    pub lateness: Lateness,
    /// Its links, in the order in which packets pass them.
    pub links: Vec<LinkReport>,
    /// Counters of the monitored flows, in the order of [`Monitor::ports`](crate::Monitor::ports).
    pub ports: Vec<PortCounters>,
}

impl DirectionReport {
    /// Packets read that are not accounted for: zero unless there is a bug.
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
        i128::from(self.packets_read)
            - known.iter().map(|packets| i128::from(*packets)).sum::<i128>()
    }

    /// Packets that the emulator dropped and the path would have carried.
    pub fn dropped_by_emulator(&self) -> u64 {
        self.dropped_memory + self.dropped_write + self.dropped_ring
    }
}

/// Report of an emulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Duration of the emulation.
    pub length: Span,
    /// To the clients.
    pub forward: DirectionReport,
    /// To the server.
    pub reverse: DirectionReport,
    /// The captures.
    pub captures: Vec<CaptureReport>,
}

impl Report {
    /// Both directions.
    pub fn directions(&self) -> [&DirectionReport; 2] {
        [&self.forward, &self.reverse]
    }

    /// Returns warnings as text, if the emulator dropped packets or the 99th percentile of lateness
    /// exceeds `tolerated`.
    pub fn warnings(&self, tolerated: Span) -> Vec<String> {
        let mut warnings = Vec::new();
        for direction in self.directions() {
            let name = direction.name;
            let DirectionReport { dropped_ring, dropped_memory, dropped_write, lateness, .. } =
                direction;
            if *dropped_ring > 0 {
                warnings.push(format!(
                    "{name}: fell behind, {dropped_ring} packets or super-packets were \
                     dropped unread"
                ));
            }
            if *dropped_memory > 0 {
                warnings.push(format!(
                    "{name}: {dropped_memory} packets were dropped at the memory limit"
                ));
            }
            if *dropped_write > 0 {
                warnings
                    .push(format!("{name}: the receiving kernel rejected {dropped_write} packets"));
            }
            if lateness.p99 > tolerated {
                warnings.push(format!(
                    "{name}: fell behind, 1 of 100 packets left more than {} late",
                    lateness.p99
                ));
            }
            if direction.unaccounted() != 0 {
                warnings.push(format!(
                    "{name}: {} packets are not accounted for",
                    direction.unaccounted()
                ));
            }
        }
        warnings
    }
}
