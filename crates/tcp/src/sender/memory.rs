//! The memory of the send buffer, as Linux counts it.

use super::Sender;
use crate::settings::BufferModel;
use bentpipe_units::Span;

/// Memory that the kernel needs for each buffer, beside its payload, in bytes: `SKB_TRUESIZE` of
/// the space for headers (256). Measured by `SO_MEMINFO` on Linux 6.18.
const OVERHEAD: u64 = 832;
/// Minimum and maximum number of segments in a buffer that is sent (`tcp_min_tso_segs`,
/// `gso_max_size`).
const MIN_SEGMENTS: u64 = 2;
const MAX_BYTES: u64 = 65_536;
/// A buffer holds what leaves in this time at the pacing rate (`sk_pacing_shift`: 2⁻¹⁰ s).
const BUFFERS_PER_SECOND: u64 = 1024;
/// Pacing rate in cwnd per RTT, in percent: in the first half of slow start, and later
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_PERCENT: u64 = 200;
const LATER_PERCENT: u64 = 120;
/// A buffer grows beyond that on paths with a minimum RTT below a millisecond or so: by
/// `gso_max_size` halved for each 512 us (`tcp_tso_rtt_log`). Longer ones are not affected.
const RTT_UNIT: Span = Span::from_micros(512);

impl Sender {
    /// Returns the part of the send buffer that is in use, in bytes.
    pub(crate) fn buffer_used(&self) -> u64 {
        match self.settings.buffers {
            BufferModel::Linux => self.memory(),
            BufferModel::Payload => self.end.saturating_sub(self.una),
        }
    }

    /// Returns true if the application may have more data, for which the send buffer has no room.
    pub(super) fn is_buffer_full(&self) -> bool {
        !self.finishing && self.buffer_used() >= self.settings.send_buffer.get()
    }

    /// Returns the memory that written data takes until it is acknowledged, in bytes
    /// (`sk_wmem_queued`).
    ///
    /// Unsent data is in buffers of up to 64 kB. What is sent is in buffers of the size at which
    /// `tcp_tso_autosize` splits it. Segments that are lost, and ranges of segments that were
    /// received, have buffers of their own.
    fn memory(&self) -> u64 {
        let segment = u64::from(self.settings.segment.max(1));
        let unsent = self.end.saturating_sub(self.nxt);
        let outstanding = self.nxt.saturating_sub(self.una);
        let (segments, odd, ranges) = self.board.buffers();
        let whole = MAX_BYTES / segment * segment;
        let buffers = unsent.div_ceil(whole.max(1))
            + segments.div_ceil(self.buffer_segments(segment))
            + odd
            + ranges;
        unsent + outstanding + OVERHEAD * buffers
    }

    /// Returns the number of segments in a buffer that is sent now.
    fn buffer_segments(&self, segment: u64) -> u64 {
        let control = self.controller.send_control();
        let srtt = self.rto.srtt().unwrap_or_default();
        let rate = match control.pacing_rate {
            Some(rate) if self.controller.is_rate_based() => rate.as_bps() / 8,
            _ if srtt.is_zero() => return MIN_SEGMENTS,
            _ => {
                let early = control
                    .ssthresh
                    .is_none_or(|threshold| control.cwnd.get() * 2 < threshold.get());
                let percent = if early { SLOW_START_PERCENT } else { LATER_PERCENT };
                let per_second = u128::from(control.cwnd.get()) * u128::from(percent) / 100
                    * 1_000_000_000
                    / u128::from(srtt.as_nanos());
                u64::try_from(per_second).unwrap_or(u64::MAX)
            }
        };
        let min_rtt = self.rto.min_rtt().unwrap_or(srtt);
        let halvings = min_rtt.as_nanos() / RTT_UNIT.as_nanos();
        let extra = if halvings < 32 { MAX_BYTES >> halvings } else { 0 };
        let bytes = (rate / BUFFERS_PER_SECOND).saturating_add(extra).min(MAX_BYTES);
        (bytes / segment).max(MIN_SEGMENTS)
    }
}
