//! Amounts of data in bytes.

use crate::parse::{EXACT, Kind, Unit, quantity};
use std::ops::{Add, AddAssign, Sub, SubAssign};

const BYTES: Kind = Kind {
    name: "size",
    example: "10 MB",
    range: "0 to 9000 TB",
    most: EXACT,
    units: &[
        Unit { names: &["GB"], size: 1e9 },
        Unit { names: &["MB"], size: 1e6 },
        Unit { names: &["kB", "KB"], size: 1e3 },
        Unit { names: &["GiB"], size: 1_073_741_824.0 },
        Unit { names: &["MiB"], size: 1_048_576.0 },
        Unit { names: &["KiB"], size: 1024.0 },
        Unit { names: &["B", "bytes", "byte"], size: 1.0 },
    ],
};

/// An amount of data in bytes, written `"10 MB"` (10⁷ bytes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);
quantity!(Bytes, BYTES, r"^[0-9._]+ ?(GB|MB|kB|KB|GiB|MiB|KiB|B|bytes?)$");

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);
    /// The largest amount, used for "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// Creates an amount of `bytes`.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// Creates an amount of `mb` megabytes (10⁶ bytes).
    pub const fn from_mb(mb: u64) -> Self {
        Self(mb * 1_000_000)
    }
    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Returns true if the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns this amount times `factor`, rounded to bytes.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
    /// Returns the difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        debug_assert!(self.0 >= other.0, "negative amount: {self} - {other}");
        self.saturating_sub(other)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_as_people_write_them() {
        assert_eq!("10 MB".parse(), Ok(Bytes::from_mb(10)));
        assert_eq!("64 KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("1500 B".parse(), Ok(Bytes::new(1500)));
        assert_eq!(Bytes::from_mb(100).to_string(), "100 MB");
        assert_eq!(Bytes::ZERO.to_string(), "0 B");
    }

    #[test]
    fn a_rate_is_not_an_amount_of_data() {
        let error = "10 Mbps".parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains("GB, MB, kB"), "{error}");
    }
}
