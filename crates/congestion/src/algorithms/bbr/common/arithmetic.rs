//! Data volumes, send quanta and initial rates.

use bentpipe_units::{Bytes, Rate, Span};

/// Returns the bytes that `rate` carries in `span`. It uses floating point, since a 128-bit
/// division would be the most expensive operation per ACK.
pub fn volume(rate: Rate, span: Span) -> Bytes {
    // The cast saturates.
    Bytes::new((rate.as_bps() as f64 * span.as_nanos() as f64 / 8e9) as u64)
}

/// Returns the send quantum: one millisecond at `rate`, between two packets and 64 KiB (draft
/// §5.6.3).
pub fn send_quantum(rate: Rate, mtu: Bytes) -> Bytes {
    volume(rate, Span::from_millis(1)).min(Bytes::new(64 * 1024)).max(mtu + mtu)
}

/// Returns the initial pacing rate: `gain` initial windows per RTT (InitPacingRate). `None` without
/// an RTT; the sender then chooses the rate.
pub fn first_pacing_rate(window: Bytes, rtt: Span, gain: f64) -> Option<Rate> {
    (!rtt.is_zero()).then(|| Rate::over(window, rtt).mul_f64(gain))
}
