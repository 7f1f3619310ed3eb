//! Swept values as numbers, for the axes of plots.

use bentpipe_units::{Bytes, Rate, Ratio, Span};

/// Parses a quantity to a number and its base unit: bytes, seconds (`s`), bits per second (`bps`),
/// or an empty unit for a plain number or a percentage. Returns `None` for other text.
///
/// `"2 MB"` is 2,000,000 bytes, `"600 ms"` is 0.6 s, `"0.1 %"` is 0.001.
pub fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some((number, ""));
    }
    let bytes = text.parse::<Bytes>().map(|bytes| (bytes.get() as f64, "bytes"));
    let span = || text.parse::<Span>().map(|span| (span.as_secs_f64(), "s"));
    let rate = || text.parse::<Rate>().map(|rate| (rate.as_bps() as f64, "bps"));
    let ratio = || text.parse::<Ratio>().map(|ratio| (ratio.get(), ""));
    bytes.or_else(|_| span()).or_else(|_| rate()).or_else(|_| ratio()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_become_numbers_in_base_units() {
        assert_eq!(quantity("2 MB"), Some((2e6, "bytes")));
        assert_eq!(quantity("600 ms"), Some((0.6, "s")));
        assert_eq!(quantity("50 Mbps"), Some((5e7, "bps")));
        assert_eq!(quantity("0.1 %"), Some((0.001, "")));
        assert_eq!(quantity("0.25"), Some((0.25, "")));
        assert_eq!(quantity("inf"), None);
        assert_eq!(quantity("geo-50-10"), None);
    }
}
