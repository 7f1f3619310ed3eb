//! A loss process as a table: which fields go with which model.

use super::{LossModel, LossProcessConfig, ModelName, Window};
use crate::{ConfigError, LongBursts};
use bentpipe_units::{Ratio, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A loss process as a table. One table for all models, rather than one variant each, keeps the line of a wrong value
/// in the error: serde buffers the contents of tagged variants and forgets where they stood.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LossTable")]
pub(in crate::config) struct Table {
    /// Which model.
    model: ModelName,
    /// bernoulli: share of packets lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ratio: Option<Ratio>,
    /// gilbert-elliott: probability of going from good to bad, per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<Ratio>,
    /// gilbert-elliott: probability of going from bad to good, per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r: Option<Ratio>,
    /// gilbert-elliott: loss in the good state; 0 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_good: Option<Ratio>,
    /// gilbert-elliott: loss in the bad state; 1 unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_bad: Option<Ratio>,
    /// gilbert-elliott (instead of p and r), long-burst: share of packets lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss: Option<Ratio>,
    /// gilbert-elliott (instead of p and r), long-burst: mean number of packets lost in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mean_burst: Option<f64>,
    /// long-burst: share of bursts that are long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    long_share: Option<f64>,
    /// long-burst: mean number of packets in the long ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    long_burst: Option<f64>,
    /// periodic: one packet of this many is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    every: Option<u64>,
    /// periodic: the first packet lost, counted from 0; the last of the first period unless told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// trace: a file with one 0 (received) or 1 (lost) per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    /// Any model: active in these times only, rising and apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    active: Vec<Window>,
    /// Any model: the active times come again with this period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<Span>,
}

impl Table {
    fn empty(model: ModelName) -> Self {
        Self {
            model,
            ratio: None,
            p: None,
            r: None,
            loss_good: None,
            loss_bad: None,
            loss: None,
            mean_burst: None,
            long_share: None,
            long_burst: None,
            every: None,
            offset: None,
            file: None,
            active: Vec::new(),
            repeat: None,
        }
    }

    /// The fields that are set, with their values as text.
    fn set(&self) -> impl Iterator<Item = (&'static str, String)> {
        fn text(value: &Option<impl ToString>) -> Option<String> {
            value.as_ref().map(ToString::to_string)
        }
        [
            ("ratio", text(&self.ratio)),
            ("p", text(&self.p)),
            ("r", text(&self.r)),
            ("loss_good", text(&self.loss_good)),
            ("loss_bad", text(&self.loss_bad)),
            ("loss", text(&self.loss)),
            ("mean_burst", text(&self.mean_burst)),
            ("long_share", text(&self.long_share)),
            ("long_burst", text(&self.long_burst)),
            ("every", text(&self.every)),
            ("offset", text(&self.offset)),
            ("file", text(&self.file.as_ref().map(|file| file.display()))),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    }

    /// Refuses fields that the model does not know, and the lack of those that it needs.
    fn fields(&self, needed: &[&str], optional: &[&str]) -> Result<(), ConfigError> {
        let model = self.model.as_str();
        let allowed = || {
            let more = if optional.is_empty() { String::new() } else { format!(", optional {}", optional.join(", ")) };
            if needed.is_empty() {
                "no field but active and repeat".to_owned()
            } else {
                format!("{}{more}", needed.join(", "))
            }
        };
        if let Some((name, value)) = self.set().find(|(name, _)| !needed.contains(name) && !optional.contains(name)) {
            return Err(ConfigError::refused(
                format!("{name} = {value}"),
                format!("is no field of model {model}"),
                allowed(),
            ));
        }
        match needed.iter().find(|name| self.set().all(|(set, _)| set != **name)) {
            Some(name) => Err(ConfigError::refused(model, format!("lacks `{name}`"), allowed())),
            None => Ok(()),
        }
    }

    /// The process that the table describes.
    pub fn process(self) -> Result<LossProcessConfig, ConfigError> {
        // `fields` has made sure that what is unwrapped here is there; the defaults of the needed ones are never used.
        let model = match self.model {
            ModelName::Bernoulli => {
                self.fields(&["ratio"], &[])?;
                LossModel::Bernoulli { ratio: self.ratio.unwrap_or_default() }
            }
            ModelName::GilbertElliott if self.p.is_none() && self.r.is_none() => {
                if self.loss.is_none() && self.mean_burst.is_none() {
                    let allowed = "p, r, optional loss_good, loss_bad; or loss, mean_burst";
                    return Err(ConfigError::refused("gilbert-elliott", "lacks its parameters", allowed));
                }
                self.fields(&["loss", "mean_burst"], &[])?;
                LossModel::Gilbert {
                    loss: self.loss.unwrap_or_default(),
                    mean_burst: self.mean_burst.unwrap_or_default(),
                }
            }
            ModelName::GilbertElliott => {
                self.fields(&["p", "r"], &["loss_good", "loss_bad"])?;
                LossModel::GilbertElliott {
                    p: self.p.unwrap_or_default(),
                    r: self.r.unwrap_or_default(),
                    loss_good: self.loss_good.unwrap_or(Ratio::ZERO),
                    loss_bad: self.loss_bad.unwrap_or(Ratio::ONE),
                }
            }
            ModelName::LongBurst => {
                self.fields(&["loss", "mean_burst", "long_share", "long_burst"], &[])?;
                LossModel::LongBurst {
                    loss: self.loss.unwrap_or_default(),
                    mean_burst: self.mean_burst.unwrap_or_default(),
                    long: LongBursts {
                        share: self.long_share.unwrap_or_default(),
                        mean: self.long_burst.unwrap_or_default(),
                    },
                }
            }
            ModelName::Periodic => {
                self.fields(&["every"], &["offset"])?;
                let every = self.every.unwrap_or_default();
                LossModel::Periodic { every, offset: self.offset.unwrap_or(every.saturating_sub(1)) }
            }
            ModelName::Trace => {
                self.fields(&["file"], &[])?;
                LossModel::Trace { file: self.file.unwrap_or_default() }
            }
            ModelName::Preset(preset) => {
                self.fields(&[], &[])?;
                LossModel::Preset(preset)
            }
        };
        Ok(LossProcessConfig { model, windows: self.active, repeat: self.repeat })
    }

    /// The table that describes `process`.
    pub fn of(process: &LossProcessConfig) -> Self {
        let mut table = Self::empty(process.model.name());
        table.active = process.windows.clone();
        table.repeat = process.repeat;
        match process.model.clone() {
            LossModel::Bernoulli { ratio } => table.ratio = Some(ratio),
            LossModel::GilbertElliott { p, r, loss_good, loss_bad } => {
                (table.p, table.r) = (Some(p), Some(r));
                (table.loss_good, table.loss_bad) = (Some(loss_good), Some(loss_bad));
            }
            LossModel::Gilbert { loss, mean_burst } => {
                (table.loss, table.mean_burst) = (Some(loss), Some(mean_burst));
            }
            LossModel::LongBurst { loss, mean_burst, long } => {
                (table.loss, table.mean_burst) = (Some(loss), Some(mean_burst));
                (table.long_share, table.long_burst) = (Some(long.share), Some(long.mean));
            }
            LossModel::Periodic { every, offset } => (table.every, table.offset) = (Some(every), Some(offset)),
            LossModel::Trace { file } => table.file = Some(file),
            LossModel::Preset(_) => {}
        }
        table
    }
}
