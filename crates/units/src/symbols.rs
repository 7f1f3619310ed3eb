//! Symbol rates of modems.

use crate::Rate;
use crate::parse::{EXACT, Kind, Unit, quantity};

const SYMBOL_RATE: Kind = Kind {
    name: "symbol rate",
    example: "10 MBd",
    range: "0 to 9000 TBd",
    most: EXACT,
    units: &[
        Unit { names: &["GBd", "Gbaud"], size: 1e9 },
        Unit { names: &["MBd", "Mbaud"], size: 1e6 },
        Unit { names: &["kBd", "kbaud"], size: 1e3 },
        Unit { names: &["Bd", "baud"], size: 1.0 },
    ],
};

/// A symbol rate in baud, written `"10 MBd"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SymbolRate(u64);
quantity!(SymbolRate, SYMBOL_RATE, r"^[0-9._]+ ?(GBd|Gbaud|MBd|Mbaud|kBd|kbaud|Bd|baud)$");

impl SymbolRate {
    /// Returns a rate of whole symbols per second.
    pub const fn from_baud(baud: u64) -> Self {
        Self(baud)
    }
    /// Returns true if the rate is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns the bit rate at `bits` bits per symbol, rounded to bits per second. `bits` must not
    /// be negative.
    pub fn carrying(self, bits: f64) -> Rate {
        Rate::from_bps((self.0 as f64 * bits).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_carry_bits() {
        let rate: SymbolRate = "28.8 MBd".parse().unwrap();
        assert_eq!(rate, "28800 kbaud".parse().unwrap());
        assert_eq!(rate.carrying(2.5), Rate::from_mbps(72));
        assert_eq!(rate.to_string(), "28.8 MBd");
    }
}
