//! Lengths in millimetres.

use crate::parse::{EXACT, Kind, Unit, quantity};

const LENGTH: Kind = Kind {
    name: "length",
    example: "1260 km",
    range: "0 to 9 billion km",
    most: EXACT,
    units: &[
        Unit { names: &["km"], size: 1e6 },
        Unit { names: &["m"], size: 1e3 },
        Unit { names: &["mm"], size: 1.0 },
    ],
};

/// A length in millimetres, written `"1260 km"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Length(u64);
quantity!(Length, LENGTH, r"^[0-9._]+ ?(km|m|mm)$");

impl Length {
    /// Returns a length of whole kilometres.
    pub const fn from_km(km: u64) -> Self {
        Self(km * 1_000_000)
    }
    /// Returns the length in metres.
    pub fn as_metres_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// Returns the length in kilometres.
    pub fn as_km_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns true if the length is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_parsed_as_people_write_them() {
        assert_eq!("5443 km".parse(), Ok(Length::from_km(5443)));
        assert_eq!("1089.7 km".parse::<Length>().map(Length::as_metres_f64), Ok(1_089_700.0));
        assert_eq!(Length::from_km(550).to_string(), "550 km");
    }

    #[test]
    fn a_wrong_unit_is_named_with_the_allowed_ones() {
        let error = "550 miles".parse::<Length>().unwrap_err().to_string();
        assert!(error.contains("`miles`") && error.contains("km, m, mm"), "{error}");
    }
}
