//! Measured loss processes, by name.
//!
//! For each access network, the source prints the loss ratio, the four probabilities that a packet
//! is received or lost given the previous packet, and the longest burst:
//!
//! | access | loss | P(g\|g) | P(b\|g) | P(g\|b) | P(b\|b) | longest burst |
//! |---|---|---|---|---|---|---|
//! | wired | 0.017 | 0.983 | 0.017 | 0.935 | 0.065 | 15 |
//! | wifi | 0.028 | 0.982 | 0.018 | 0.645 | 0.355 | 47 |
//!
//! (g: received, b: lost. The source prints `p_gb` = 0.935 and `p_bg` = 0.017; the rows sum to one
//! only if P(x|y) is the probability of x after y.)
//!
//! **Two states.** `wired` and `wifi` are the Gilbert process with p = P(b|g) and r = P(g|b). The
//! printed p gives a loss of 0.0179 and 0.0272, which do not round to the printed ones. Of the
//! values that round to the printed p, 0.0166 and 0.0184 reproduce all five figures.
//!
//! **Long tails.** With two states, burst lengths are geometric: the longest of a million packets
//! is 4 or 5 (wired) and about 10 (wifi), not 15 and 47. `wired-long` and `wifi-long` have two
//! regimes of bursts instead. A burst is short or, rarely, long; both have geometric lengths, and
//! each is followed by a received packet. Loss and all four transition probabilities depend only on
//! p and the mean burst 1/r, so the mean of the short bursts is set such that 1/r stays the same.
//! The source does not determine two parameters:
//!
//! * The mean length of long bursts is our choice: a third of the longest burst printed (5 and 15.7
//!   packets), so that a burst of that length is rare but not extreme.
//! * The fraction of long bursts follows from the requirement that half of all measurements of a
//!   million packets contain a burst at least as long as the longest printed. A download of about
//!   1.4 GB takes a million packets. The source reports 1 GB downloads next to these figures but
//!   not the length of this measurement; one ten times shorter would need ten times the fraction.
//!
//! A million packets then contain about 15 long bursts, which make up 0.5 % (wired) and 0.8 %
//! (wifi) of all losses, so only the tail changes. The longest burst varies widely, in the model as
//! in a measurement: in nine of ten samples of a million packets it lies between 8 and 27 (wired)
//! or 25 and 84 (wifi).

use super::bursts::{BurstProcess, LongBursts};
use std::fmt;

/// A measured loss process.
#[derive(Debug, PartialEq)]
pub struct LossPreset {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Source of the figures.
    pub source: &'static str,
    /// P(b|g): probability that a packet is lost after a received one.
    pub p: f64,
    /// P(g|b): probability that a packet is received after a lost one. 1/r is the mean burst in
    /// packets.
    pub r: f64,
    /// Rare long bursts, if the process has them.
    pub long: Option<LongBursts>,
}

const SOURCE: &str =
    "CNES, \"QUIC and satellite: accelerating start-up\", measured end-to-end loss process";

// From ln 2 = bursts in 10⁶ packets x share x (1 - 1/mean)^(longest - 1): half of all such
// measurements contain no longer burst.
static PRESETS: [LossPreset; 4] = [
    LossPreset {
        name: "wired",
        about: "1.7 % loss in bursts of 1.07 packets",
        source: SOURCE,
        p: 0.0166,
        r: 0.935,
        long: None,
    },
    LossPreset {
        name: "wifi",
        about: "2.8 % loss in bursts of 1.55 packets",
        source: SOURCE,
        p: 0.0184,
        r: 0.645,
        long: None,
    },
    LossPreset {
        name: "wired-long",
        about: "1.7 % loss in bursts of 1.07 packets, the longest of a million packets 15",
        source: SOURCE,
        p: 0.0166,
        r: 0.935,
        long: Some(LongBursts { share: 9.66e-4, mean: 5.0 }),
    },
    LossPreset {
        name: "wifi-long",
        about: "2.8 % loss in bursts of 1.55 packets, the longest of a million packets 47",
        source: SOURCE,
        p: 0.0184,
        r: 0.645,
        long: Some(LongBursts { share: 8.05e-4, mean: 47.0 / 3.0 }),
    },
];

/// Returns every measured loss process that scenarios may name.
pub fn loss_presets() -> &'static [LossPreset] {
    &PRESETS
}

impl LossPreset {
    /// Returns the preset called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// Returns all names, for error messages: `wired, wifi, …`.
    pub fn names() -> String {
        PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn process(&self) -> BurstProcess {
        BurstProcess::new(self.p, 1.0 / self.r, self.long)
    }

    /// Returns the long-run fraction of packets lost: p / (p + r).
    pub fn loss(&self) -> f64 {
        self.p / (self.p + self.r)
    }
}

impl fmt::Display for LossPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::testing::{assert_near, measure, outcomes};

    /// Figures in the source: loss, P(b|g), P(b|b), longest burst.
    const PRINTED: [(&str, f64, f64, f64, u64); 2] =
        [("wired", 0.017, 0.017, 0.065, 15), ("wifi", 0.028, 0.018, 0.355, 47)];

    #[test]
    fn preset_parameters_give_every_printed_figure() {
        for (name, loss, p_bg, p_bb, _) in PRINTED {
            for preset in [name.to_owned(), format!("{name}-long")] {
                let preset = LossPreset::find(&preset).unwrap();
                let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
                assert_eq!(rounded(preset.loss()), loss, "{preset}");
                assert_eq!(rounded(preset.p), p_bg, "{preset}");
                assert_eq!(rounded(1.0 - preset.r), p_bb, "{preset}");
            }
        }
    }

    #[test]
    fn presets_have_the_printed_figures_over_a_million_packets() {
        for (name, loss, p_bg, p_bb, _) in PRINTED {
            for suffix in ["", "-long"] {
                let measured = measure(&outcomes(&format!("\"{name}{suffix}\""), 11, 1_000_000));
                // Half a unit of the last printed digit, plus the sampling error.
                assert_near("loss", measured.loss, loss, 0.0005 + 0.0008);
                assert_near("P(b|g)", measured.p_bg, p_bg, 0.0005 + 0.0007);
                assert_near("P(b|b)", measured.p_bb, p_bb, 0.0005 + 0.018);
                assert_near("mean burst", measured.mean_burst, 1.0 / (1.0 - p_bb), 0.05);
            }
        }
    }

    #[test]
    fn long_presets_reach_the_printed_burst_and_short_ones_never() {
        for (name, _, _, _, longest) in PRINTED {
            let runs = 40;
            let reach = |preset: &str| {
                let text = format!("\"{preset}\"");
                (0..runs)
                    .filter(|seed| measure(&outcomes(&text, *seed, 250_000)).max_burst >= longest)
                    .count() as f64
                    / runs as f64
            };
            assert_eq!(reach(name), 0.0, "{name}");
            // Half of all measurements of a million packets reach it, so 1 - 2^(-1/4) = 0.16 of
            // those of a quarter of a million.
            let share = reach(&format!("{name}-long"));
            assert!((0.02..=0.42).contains(&share), "{name}-long: {share}");
        }
    }

    #[test]
    fn every_preset_names_its_source() {
        for preset in loss_presets() {
            assert!(!preset.source.is_empty() && !preset.about.is_empty());
            assert_eq!(LossPreset::find(preset.name), Some(preset));
        }
    }
}
