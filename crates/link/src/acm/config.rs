//! Configuration of a carrier with adaptive coding and modulation.

use super::fade::FadeConfig;
use super::modcods::ModcodTable;
use crate::ConfigError;
use bentpipe_units::{Decibels, Ratio, Span, SymbolRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adaptive coding and modulation over a fade; see [`crate::ModcodTable`] for what it chooses from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcmConfig {
    /// Symbols per second of the carrier.
    pub symbol_rate: SymbolRate,
    /// What it chooses from.
    pub modcods: ModcodTable,
    /// Es/N0 at the receiver without any fade.
    pub clear_sky: Decibels,
    /// How much more than a MODCOD needs must be there for it to be chosen; "0.5 dB" unless told.
    #[serde(default = "margin")]
    pub margin: Decibels,
    /// From a change of Es/N0 at the receiver until packets with the new MODCOD leave the transmitter: reports and a satellite hop; "1.5 s" unless told.
    #[serde(default = "loop_delay")]
    pub loop_delay: Span,
    /// Share of the bits that IP packets have: pilots and encapsulation take the rest; 0.97 unless told.
    #[serde(default = "framing")]
    pub framing: Ratio,
    /// Attenuation over time.
    pub fade: FadeConfig,
    /// Share of packets lost while the MODCOD in use cannot be decoded; all unless told, since thresholds of these codes are steep.
    #[serde(default = "all")]
    pub loss: Ratio,
}

/// 0.5 to 1 dB are usual; a choice.
fn margin() -> Decibels {
    Decibels::new(0.5).unwrap_or_default()
}
/// 0.5 s for a report over a satellite hop and back, and a report a second.
const fn loop_delay() -> Span {
    Span::from_millis(1500)
}
/// Pilots are 36 symbols for each 1440 (EN 302 307 §5.5.3): 0.976 is left. The rest is a guess at encapsulation.
fn framing() -> Ratio {
    Ratio::new(0.97).unwrap_or_default()
}
fn all() -> Ratio {
    Ratio::ONE
}

impl AcmConfig {
    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.symbol_rate.is_zero() {
            return Err(ConfigError::refused("symbol_rate = 0 Bd", "sends nothing", "above 0 Bd"));
        }
        if self.margin.get() < 0.0 {
            let value = format!("margin = {}", self.margin);
            return Err(ConfigError::refused(value, "chooses what cannot be decoded", "0 dB or more"));
        }
        if self.framing.is_zero() {
            return Err(ConfigError::refused("framing = 0", "leaves nothing for packets", "above 0, up to 1"));
        }
        let robust = self.modcods.most_robust();
        let least = robust.threshold + self.margin.get();
        if self.clear_sky.get() < least {
            let problem = format!("is not enough for {}, the most robust MODCOD, and the margin", robust.name);
            let value = format!("clear_sky = {}", self.clear_sky);
            return Err(ConfigError::refused(value, problem, format!("{least} dB or more")));
        }
        self.fade.check()?;
        if self.timeline().steps.iter().any(|step| step.rate.is_zero()) {
            let value = format!("symbol_rate = {}", self.symbol_rate);
            return Err(ConfigError::refused(value, "carries less than a bit in a second", "more symbols"));
        }
        Ok(())
    }
}
