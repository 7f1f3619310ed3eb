//! Configuration of a carrier with adaptive coding and modulation.

use super::fade::FadeConfig;
use super::modcods::ModcodTable;
use crate::ConfigError;
use bentpipe_units::{Decibels, Ratio, Span, SymbolRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adaptive coding and modulation over a fade, with the MODCODs of a [`ModcodTable`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcmConfig {
    /// Symbol rate of the carrier.
    pub symbol_rate: SymbolRate,
    /// The MODCODs to choose from.
    pub modcods: ModcodTable,
    /// Es/N0 at the receiver under clear sky.
    #[serde(rename = "clear_sky_esn0")]
    pub clear_sky: Decibels,
    /// Margin above the threshold that a MODCOD needs to be selected. Default: "0.5 dB".
    #[serde(default = "margin")]
    pub margin: Decibels,
    /// Time from a change of Es/N0 at the receiver until packets with the new MODCOD leave the
    /// transmitter: reporting and a satellite hop. Default: "1.5 s".
    #[serde(default = "loop_delay")]
    pub loop_delay: Span,
    /// Fraction of the bits available to IP packets. Pilots and encapsulation take the rest.
    /// Default: 0.97.
    #[serde(default = "framing")]
    pub framing: Ratio,
    /// Attenuation over time.
    pub fade: FadeConfig,
    /// Fraction of packets lost while the MODCOD in use cannot be decoded. Default: 1, because the
    /// thresholds of these codes are steep.
    #[serde(default = "all")]
    pub loss: Ratio,
}

/// Typical values are 0.5 to 1 dB. The lower end is our choice, since it shows more MODCOD changes.
fn margin() -> Decibels {
    Decibels::new(0.5).unwrap_or_default()
}
/// 0.5 s for a report over a satellite hop and the return, plus one report per second.
const fn loop_delay() -> Span {
    Span::from_millis(1500)
}
/// Pilots take 36 symbols per 1440 (EN 302 307 §5.5.3), which leaves 0.976. The rest is an estimate
/// of encapsulation.
fn framing() -> Ratio {
    Ratio::new(0.97).unwrap_or_default()
}
fn all() -> Ratio {
    Ratio::ONE
}

impl AcmConfig {
    /// Checks all values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.symbol_rate.is_zero() {
            return Err(ConfigError::refused("symbol_rate = 0 Bd", "sends nothing", "above 0 Bd"));
        }
        if self.margin.get() < 0.0 {
            let value = format!("margin = {}", self.margin);
            return Err(ConfigError::refused(
                value,
                "would select MODCODs that cannot be decoded",
                "0 dB or more",
            ));
        }
        if self.framing.is_zero() {
            return Err(ConfigError::refused(
                "framing = 0",
                "leaves no capacity for packets",
                "above 0, up to 1",
            ));
        }
        let robust = self.modcods.most_robust();
        let least = robust.threshold + self.margin.get();
        if self.clear_sky.get() < least {
            let problem = format!(
                "is not enough for {}, the most robust MODCOD, and the margin",
                robust.name
            );
            let value = format!("clear_sky_esn0 = {}", self.clear_sky);
            return Err(ConfigError::refused(value, problem, format!("{least} dB or more")));
        }
        self.fade.check()?;
        // Of a recorded fade, which is read later, the least that may be.
        let slowest = match self.timeline() {
            Ok(timeline) => timeline.steps.iter().map(|step| step.rate).min(),
            Err(_) => Some(self.rate_of(robust)),
        };
        if slowest.is_some_and(|rate| rate.is_zero()) {
            let value = format!("symbol_rate = {}", self.symbol_rate);
            return Err(ConfigError::refused(
                value,
                "carries less than 1 bit per second",
                "a higher symbol rate",
            ));
        }
        Ok(())
    }
}
