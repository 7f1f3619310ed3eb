//! Configuration of one direction of one hop.
//!
//! Invalid values are rejected while they are read, so that the error carries the line.
//! [`DirectionConfig::load`] checks configurations that are built in code.

use crate::capacity_allocation::config::CapacityAllocation;
use crate::delay::config::{DelayConfig, RecordedDelayConfig};
use crate::flow_meter::config::FlowMeterConfig;
use crate::loss::Recording;
use crate::loss::config::LossConfig;
use crate::policer::PolicerConfig;
use crate::queue::config::QueueConfig;
use crate::rate::config::RateConfig;
use crate::recorded::file::RecordedFile;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionConfig {
    /// Transmission rate.
    pub rate: RateConfig,
    /// Configuration of propagation delay.
    pub delay: DelayConfig,
    /// Loss on the link. Default: none.
    #[serde(default)]
    pub loss: LossConfig,
    /// Queue of packets that wait for the transmitter. Default: one bandwidth-delay product.
    #[serde(default)]
    pub queue: QueueConfig,
    /// Policer before the queue. Default: none.
    #[serde(default, skip_serializing_if = "PolicerConfig::is_none")]
    pub policer: PolicerConfig,
    /// Meter of each flow before the queue. Default: none.
    #[serde(default, skip_serializing_if = "FlowMeterConfig::is_none")]
    pub flow_meter: FlowMeterConfig,
    /// Frame length. Packets whose transmission ends within a frame leave together at its end.
    ///
    /// The phase of the frames is random for each run. `None` or zero disables frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// How terminals share the capacity. Default: first come, first served.
    #[serde(
        rename = "capacity_allocation",
        default,
        skip_serializing_if = "CapacityAllocation::is_none"
    )]
    pub allocation: CapacityAllocation,
}

impl DirectionConfig {
    /// Creates a direction of constant rate and delay, without loss, with a drop-tail queue of one
    /// bandwidth-delay product.
    pub fn new(rate: Rate, delay: Span) -> Self {
        Self {
            rate: RateConfig::Constant(rate),
            delay: DelayConfig::Constant(delay),
            loss: LossConfig::none(),
            queue: QueueConfig::default(),
            policer: PolicerConfig::None,
            flow_meter: FlowMeterConfig::None,
            frame: None,
            allocation: CapacityAllocation::None,
        }
    }

    /// Checks all values.
    ///
    /// # Errors
    ///
    /// Returns the first invalid value, and the allowed ones.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.rate.check()?;
        self.delay.check()?;
        self.loss.check()?;
        self.queue.check()?;
        self.policer.check()?;
        self.flow_meter.check()?;
        self.allocation.check()?;
        let CapacityAllocation::Dama(dama) = &self.allocation else { return Ok(()) };
        if let Some(frame) = self.frame.filter(|frame| !frame.is_zero()) {
            let problem = "cannot be combined with `capacity_allocation`, which has its own frames";
            return Err(ConfigError::refused(
                format!("frame = {frame}"),
                problem,
                "frame = \"0 s\"",
            ));
        }
        if !self.flow_meter.is_none() {
            let problem = "cannot be combined with `capacity_allocation`, whose terminals have \
                queues of their own";
            let value = format!("flow_meter = {}", self.flow_meter);
            return Err(ConfigError::refused(value, problem, "a flow meter on another hop"));
        }
        if let RateConfig::Demand(demand) = &self.rate {
            let value = format!("demand with base = {}", demand.base);
            let problem = "cannot be combined with `capacity_allocation`: each gives capacity \
                on demand";
            return Err(ConfigError::refused(value, problem, "one of the two"));
        }
        let Some(rate) = self.rate.highest() else {
            let problem = "cannot be allocated, since its capacity cannot be planned";
            return Err(ConfigError::refused(
                "a rate trace or recording, or a recorded fade",
                problem,
                "a rate, a schedule or `acm` over a fade of the scenario",
            ));
        };
        if u32::try_from(rate.bytes_in(dama.frame).get()).is_err() {
            let problem = format!("holds more bytes at {rate} than a plan can represent");
            return Err(ConfigError::refused(
                format!("frame = {}", dama.frame),
                problem,
                "frames of up to 4.29 GB",
            ));
        }
        Ok(())
    }
}

/// Overrides of a [`DirectionConfig`], field by field.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionPatch {
    /// A recording: a CSV file, of which each column is used that the keys beside it do not give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<PathBuf>,
    /// Transmission rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateConfig>,
    /// Configuration of propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayConfig>,
    /// Loss on the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossConfig>,
    /// Queue of packets that wait for the transmitter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
    /// Policer before the queue; "none" disables it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<PolicerConfig>,
    /// Meter of each flow before the queue; "none" disables it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_meter: Option<FlowMeterConfig>,
    /// Frame length; "0 s" disables frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// How terminals share the capacity; "none" for first come, first served.
    #[serde(rename = "capacity_allocation", default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<CapacityAllocation>,
}

impl DirectionPatch {
    /// Returns the patch with the columns of its recording as rate, delay and loss, where it gives
    /// none itself.
    ///
    /// # Errors
    ///
    /// The recording cannot be read or contains an invalid line, or nothing of it is used.
    pub fn with_recording<F: ReadFiles + ?Sized>(&self, files: &F) -> Result<Self, LinkError> {
        let mut patch = self.clone();
        let Some(file) = patch.recording.take() else { return Ok(patch) };
        let recorded = RecordedFile::load(files, &file)?;
        let mut used = false;
        if recorded.has_rate() && patch.rate.is_none() {
            used = true;
            patch.rate = Some(RateConfig::Recording { file: file.clone(), scale: 1.0 });
        }
        if recorded.has_delay() && patch.delay.is_none() {
            used = true;
            patch.delay = Some(DelayConfig::Recording(RecordedDelayConfig {
                file: file.clone(),
                interpolate: false,
                keep_order: true,
                scale: 1.0,
                offset: Span::ZERO,
            }));
        }
        if recorded.has_loss() && patch.loss.is_none() {
            used = true;
            patch.loss = Some(Recording { file: file.clone() }.into());
        }
        if used {
            return Ok(patch);
        }
        let value = format!("recording = {}", file.display());
        let problem = "has no column that the keys beside it leave open";
        let allowed = "a recording with another column, or fewer keys beside it";
        Err(ConfigError::refused(value, problem, allowed).into())
    }

    /// Writes the fields that are set to `config`. A recording needs [`Self::with_recording`]
    /// before.
    pub fn apply_to(&self, config: &mut DirectionConfig) {
        if let Some(rate) = &self.rate {
            config.rate = rate.clone();
        }
        if let Some(delay) = &self.delay {
            config.delay = delay.clone();
        }
        if let Some(loss) = &self.loss {
            config.loss = loss.clone();
        }
        if let Some(queue) = &self.queue {
            config.queue = queue.clone();
        }
        if let Some(policer) = self.policer {
            config.policer = policer;
        }
        if let Some(flow_meter) = self.flow_meter {
            config.flow_meter = flow_meter;
        }
        if let Some(frame) = self.frame {
            config.frame = Some(frame).filter(|frame| !frame.is_zero());
        }
        if let Some(allocation) = &self.allocation {
            config.allocation = allocation.clone();
        }
    }
}
