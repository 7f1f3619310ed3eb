//! What a rate sends.

use bentpipe_units::{Rate, Span};

/// Returns what `rate` sends in `span`, in units of 10⁻⁹ bits (exact).
pub(crate) fn sent(rate: Rate, span: Span) -> u128 {
    u128::from(rate.as_bps()) * u128::from(span.as_nanos())
}
