//! Packets of a visit, as the network sees them.

use crate::loss_reason::LossReason;
use crate::outcome::{Arrivals, ReverseBytes};
use bentpipe_link::DropCause;
use bentpipe_timeseries::{BinnedSum, BoundedSeries, SeriesLimit, SpanHistogram};
use bentpipe_units::{Span, Time};

/// Width of a bin of the reverse rate: a few return frames, and a fraction of a satellite RTT.
const RETURN_BIN: Span = Span::from_millis(100);

/// Packet counters of the active visit.
pub struct PacketCounters {
    pub data_packets: u64,
    pub data_bytes: u64,
    /// Packets of the data that proxies sent.
    pub forwarded: u64,
    pub lost_policer: u64,
    pub lost_queue: u64,
    pub lost_random: u64,
    pub lost_route: u64,
    /// Packets of both directions without a route.
    pub no_route: u64,
    pub arrivals: Arrivals,
    pub delays: SpanHistogram,
    pub reverse_packets: u64,
    pub reverse_lost: u64,
    pub reverse_bytes: ReverseBytes,
    /// Time series, if recorded.
    pub series: Option<CounterSeries>,
}

/// Time series of a visit, as the network sees it.
pub struct CounterSeries {
    /// IP bytes of the reverse direction, in kbps.
    pub reverse_rate: BinnedSum,
    pub dropped_policer: BoundedSeries,
    pub dropped_queue: BoundedSeries,
    pub dropped_loss: BoundedSeries,
    pub dropped_route: BoundedSeries,
}

impl CounterSeries {
    /// Creates empty series of at most `limit` points for a visit that starts at `start`.
    fn new(start: Time, limit: SeriesLimit) -> Self {
        // Bits per millisecond are kilobits per second.
        let kbps = 8.0 / RETURN_BIN.as_millis_f64();
        let dropped = || BoundedSeries::new(limit);
        Self {
            reverse_rate: BinnedSum::new(RETURN_BIN, kbps, limit).starting_at(start),
            dropped_policer: dropped(),
            dropped_queue: dropped(),
            dropped_loss: dropped(),
            dropped_route: dropped(),
        }
    }
}

impl PacketCounters {
    /// Creates zero counts for a visit that starts at `start`. With a limit, it records time
    /// series.
    pub fn new(start: Time, series: Option<SeriesLimit>) -> Self {
        Self {
            data_packets: 0,
            data_bytes: 0,
            forwarded: 0,
            lost_policer: 0,
            lost_queue: 0,
            lost_random: 0,
            lost_route: 0,
            no_route: 0,
            arrivals: Arrivals::default(),
            delays: SpanHistogram::default(),
            reverse_packets: 0,
            reverse_lost: 0,
            reverse_bytes: ReverseBytes::default(),
            series: series.map(|limit| CounterSeries::new(start, limit)),
        }
    }

    /// Counts a packet of the data that its sender sends.
    #[inline]
    pub fn count_data_sent(&mut self, bytes: u32) {
        self.data_packets += 1;
        self.data_bytes += u64::from(bytes);
    }

    /// Counts a packet that the data's receiver sends. `layers` divides its bytes.
    #[inline]
    pub fn count_reverse_sent(&mut self, now: Time, bytes: u32, layers: ReverseBytes) {
        self.reverse_packets += 1;
        self.reverse_bytes += layers;
        if let Some(series) = &mut self.series {
            series.reverse_rate.add(now, bytes.into());
        }
    }

    /// Returns the number of packets of the data that were lost.
    pub fn data_lost(&self) -> u64 {
        self.lost_policer + self.lost_queue + self.lost_random + self.lost_route
    }

    /// Counts the loss of a packet of the data, which ended at `position` of the sent bytes.
    pub fn count_data_lost(&mut self, now: Time, lost: LossReason, position: f64) {
        let series = self.series.as_mut();
        let (count, series) = match lost {
            LossReason::OnLink(DropCause::Policer) => {
                (&mut self.lost_policer, series.map(|all| &mut all.dropped_policer))
            }
            LossReason::OnLink(DropCause::QueueFull | DropCause::Aqm) => {
                (&mut self.lost_queue, series.map(|all| &mut all.dropped_queue))
            }
            LossReason::OnLink(DropCause::Loss(_)) | LossReason::Node => {
                (&mut self.lost_random, series.map(|all| &mut all.dropped_loss))
            }
            LossReason::Handover | LossReason::NoRoute | LossReason::HopLimit => {
                (&mut self.lost_route, series.map(|all| &mut all.dropped_route))
            }
        };
        *count += 1;
        if let Some(series) = series {
            series.push(now, position);
        }
    }
}
