//! The pacing rate that a sender uses if its controller sets none.

use crate::controller::SendControl;
use bentpipe_units::{Rate, Span};

/// Pacing rate divided by one cwnd per smoothed RTT. RFC 9002 §7.7 recommends slightly more than 1,
/// so that cwnd remains the limit.
const PACING_GAIN: f64 = 1.25;

/// Interval within which the initial window may be sent without pacing (RFC 9002 §7.7).
pub const INITIAL_BURST_INTERVAL: Span = Span::from_millis(1);

/// Returns the controller's pacing rate, or the one that RFC 9002 §7.7 recommends if it sets none.
pub fn pacing_rate(control: &SendControl, smoothed_rtt: Span) -> Rate {
    let interval = if smoothed_rtt.is_zero() { INITIAL_BURST_INTERVAL } else { smoothed_rtt };
    control.pacing_rate.unwrap_or_else(|| Rate::over(control.cwnd, interval).mul_f64(PACING_GAIN))
}
