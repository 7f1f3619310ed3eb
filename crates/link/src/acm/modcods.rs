//! Modulation and coding by standard: spectral efficiency and required Es/N0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A modulation and coding scheme.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Modcod {
    /// Name in the standard.
    pub name: &'static str,
    /// Information bits per symbol, after coding and physical-layer framing.
    pub efficiency: f64,
    /// Required Es/N0 in dB for quasi-error-free reception.
    pub threshold: f64,
}

/// A set of MODCODs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModcodTable {
    /// DVB-S2: ETSI EN 302 307, table 13. FECFRAMEs of 64,800 bits, no pilots, quasi error free
    /// (packet error ratio 10⁻⁷). Efficiency is the bits of the baseband frame without its header
    /// per symbol of the whole physical-layer frame: 15,928 / 32,490 = 0.490243 for QPSK 1/4.
    DvbS2,
    /// DVB-RCS2: turbo-coded waveforms of 536 symbols (ETSI EN 301 545-2, ids 3 to 12) as in
    /// OpenSAND's `rcs2/definition_RLE.txt`: packet error ratio 10⁻⁵, no implementation losses.
    DvbRcs2,
}

impl ModcodTable {
    /// Returns the MODCODs.
    pub const fn modcods(self) -> &'static [Modcod] {
        match self {
            Self::DvbS2 => &DVB_S2,
            Self::DvbRcs2 => &DVB_RCS2,
        }
    }

    /// Returns the MODCOD with the lowest threshold.
    pub const fn most_robust(self) -> &'static Modcod {
        match self {
            Self::DvbS2 => &DVB_S2[0],
            Self::DvbRcs2 => &DVB_RCS2[0],
        }
    }
}

const fn modcod(name: &'static str, efficiency: f64, threshold: f64) -> Modcod {
    Modcod { name, efficiency, threshold }
}

static DVB_S2: [Modcod; 28] = [
    modcod("QPSK 1/4", 0.490243, -2.35),
    modcod("QPSK 1/3", 0.656448, -1.24),
    modcod("QPSK 2/5", 0.789412, -0.30),
    modcod("QPSK 1/2", 0.988858, 1.00),
    modcod("QPSK 3/5", 1.188304, 2.23),
    modcod("QPSK 2/3", 1.322253, 3.10),
    modcod("QPSK 3/4", 1.487473, 4.03),
    modcod("QPSK 4/5", 1.587196, 4.68),
    modcod("QPSK 5/6", 1.654663, 5.18),
    modcod("QPSK 8/9", 1.766451, 6.20),
    modcod("QPSK 9/10", 1.788612, 6.42),
    modcod("8PSK 3/5", 1.779991, 5.50),
    modcod("8PSK 2/3", 1.980636, 6.62),
    modcod("8PSK 3/4", 2.228124, 7.91),
    modcod("8PSK 5/6", 2.478562, 9.35),
    modcod("8PSK 8/9", 2.646012, 10.69),
    modcod("8PSK 9/10", 2.679207, 10.98),
    modcod("16APSK 2/3", 2.637201, 8.97),
    modcod("16APSK 3/4", 2.966728, 10.21),
    modcod("16APSK 4/5", 3.165623, 11.03),
    modcod("16APSK 5/6", 3.300184, 11.61),
    modcod("16APSK 8/9", 3.523143, 12.89),
    modcod("16APSK 9/10", 3.567342, 13.13),
    modcod("32APSK 3/4", 3.703295, 12.73),
    modcod("32APSK 4/5", 3.951571, 13.64),
    modcod("32APSK 5/6", 4.119540, 14.28),
    modcod("32APSK 8/9", 4.397854, 15.69),
    modcod("32APSK 9/10", 4.453027, 16.05),
];

static DVB_RCS2: [Modcod; 10] = [
    modcod("QPSK 1/3", 0.56, 0.22),
    modcod("QPSK 1/2", 0.87, 2.34),
    modcod("QPSK 2/3", 1.26, 4.29),
    modcod("QPSK 3/4", 1.42, 5.36),
    modcod("QPSK 5/6", 1.60, 6.68),
    modcod("8PSK 2/3", 1.70, 8.08),
    modcod("8PSK 3/4", 1.93, 9.31),
    modcod("8PSK 5/6", 2.13, 10.82),
    modcod("16QAM 3/4", 2.59, 11.17),
    modcod("16QAM 5/6", 2.87, 12.56),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_efficiency_of_dvb_s2_is_that_of_its_frame() {
        // Kbch by code rate (EN 302 307, table 5a), minus a header of 80 bits; slots of 90 symbols,
        // plus one for the physical-layer header.
        for (name, kbch, bits) in [
            ("QPSK 1/4", 16_008, 2),
            ("8PSK 3/4", 48_408, 3),
            ("16APSK 2/3", 43_040, 4),
            ("32APSK 9/10", 58_192, 5),
        ] {
            let symbols = 64_800 / bits + 90;
            let efficiency = f64::from(kbch - 80) / f64::from(symbols);
            let found = DVB_S2.iter().find(|modcod| modcod.name == name).unwrap();
            assert!((found.efficiency - efficiency).abs() < 1e-6, "{name}: {efficiency}");
        }
    }

    #[test]
    fn the_first_of_each_table_is_the_most_robust() {
        for table in [ModcodTable::DvbS2, ModcodTable::DvbRcs2] {
            let first = table.most_robust();
            let others = &table.modcods()[1..];
            assert!(
                others
                    .iter()
                    .all(|m| m.threshold > first.threshold && m.efficiency > first.efficiency)
            );
        }
    }
}
