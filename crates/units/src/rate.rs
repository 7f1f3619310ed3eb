//! Rates in bits per second.

use crate::parse::{EXACT, Kind, Unit, quantity};
use crate::{Bytes, Span};

const RATE: Kind = Kind {
    name: "rate",
    example: "50 Mbps",
    range: "0 to 9000 Tbps",
    most: EXACT,
    units: &[
        Unit { names: &["Gbps", "Gbit/s"], size: 1e9 },
        Unit { names: &["Mbps", "Mbit/s"], size: 1e6 },
        Unit { names: &["kbps", "kbit/s"], size: 1e3 },
        Unit { names: &["bps", "bit/s"], size: 1.0 },
    ],
};

/// A rate in bits per second, written `"50 Mbps"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);
quantity!(Rate, RATE, r"^[0-9._]+ ?(Gbps|Gbit/s|Mbps|Mbit/s|kbps|kbit/s|bps|bit/s)$");

impl Rate {
    /// Zero bits per second: nothing is sent.
    pub const ZERO: Self = Self(0);

    /// Returns a rate of whole bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// Returns a rate of whole megabits (10⁶) per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }
    /// Returns the rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns the rate in megabits per second.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns true if the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the time to send `bytes` at this rate, rounded up to a nanosecond. [`Span::MAX`] if
    /// the rate is zero.
    pub fn time_for(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // Up to 2.3 GB the product fits 64 bits; 128-bit division costs ten times as much.
        if let Some(bit_nanos) = bytes.get().checked_mul(8_000_000_000) {
            return Span::from_nanos(bit_nanos.div_ceil(self.0));
        }
        let nanos = (u128::from(bytes.get()) * 8_000_000_000).div_ceil(u128::from(self.0));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the bytes sent in `span` at this rate, rounded down: the bandwidth-delay product if
    /// `span` is an RTT.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Returns the rate at which `bytes` pass in `span`. The maximum rate if `span` is zero.
    pub fn over(bytes: Bytes, span: Span) -> Self {
        let bit_nanos = u128::from(bytes.get()) * 8_000_000_000;
        let bps = bit_nanos.checked_div(u128::from(span.as_nanos())).unwrap_or(u128::MAX);
        Self(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Returns this rate times `factor`, rounded to bits per second.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_parsed_as_people_write_them() {
        assert_eq!("50 Mbps".parse(), Ok(Rate::from_mbps(50)));
        assert_eq!("0.5 Mbit/s".parse(), Ok(Rate::from_bps(500_000)));
        assert_eq!(Rate::from_bps(8_500_000).to_string(), "8.5 Mbps");
    }

    #[test]
    fn a_wrong_unit_is_named_with_the_allowed_ones() {
        let error = "50 ms".parse::<Rate>().unwrap_err().to_string();
        assert!(error.contains("`ms`") && error.contains("Gbps, Mbps, kbps, bps"), "{error}");
    }

    #[test]
    fn the_bdp_of_a_geo_path_matches_the_published_one() {
        // draft-kuhn-quic-4-sat: 50 Mbps and 650 ms make 4.06 MB.
        assert_eq!(Rate::from_mbps(50).bytes_in(Span::from_millis(650)), Bytes::new(4_062_500));
    }

    proptest! {
        #[test]
        fn time_for_and_bytes_in_are_inverse(
            bps in 1_000u64..10_000_000_000,
            bytes in 0u64..100_000_000,
        ) {
            let rate = Rate::from_bps(bps);
            let back = rate.bytes_in(rate.time_for(Bytes::new(bytes))).get();
            prop_assert_eq!(back / bytes.max(1), u64::from(bytes > 0));
            let back = rate.bytes_in(rate.time_for(Bytes::new(bytes))).get();
            prop_assert!(back >= bytes && back <= bytes + bps / 8_000_000_000 + 1);
        }
    }
}
