//! The pacing rate that a sender uses if its controller leaves it open.

use crate::controller::SendControl;
use bentpipe_units::{Rate, Span};

/// Ratio of the pacing rate to one cwnd per smoothed RTT. RFC 9002 §7.7 recommends a little more
/// than 1, so that cwnd remains the limit.
const PACING_GAIN: f64 = 1.25;

/// Time within which the initial window may leave unpaced (RFC 9002 §7.7).
pub const INITIAL_BURST_INTERVAL: Span = Span::from_millis(1);

/// Returns the controller's pacing rate, or else the one that RFC 9002 §7.7 recommends.
pub fn pacing_rate(control: &SendControl, smoothed_rtt: Span) -> Rate {
    let interval = if smoothed_rtt.is_zero() { INITIAL_BURST_INTERVAL } else { smoothed_rtt };
    control.pacing_rate.unwrap_or_else(|| Rate::over(control.cwnd, interval).mul_f64(PACING_GAIN))
}
