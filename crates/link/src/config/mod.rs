//! What a scenario writes about one direction of one hop.
//!
//! Everything impossible is refused while it is read, so that the error carries the line; what is built in code is
//! checked by [`DirectionConfig::load`].

mod acm;
mod allocation;
mod delay;
mod loss;
mod policer;
mod queue;
mod rate;
mod schedule;
mod written;

pub use acm::{AcmConfig, FadeConfig, FadeEvent, FadePoint};
pub use allocation::{AllocationConfig, Dama};
pub use delay::{DelayConfig, DelayStep, Distribution};
pub(crate) use loss::{Bursts, onset};
pub use loss::{LossConfig, LossModel, LossProcessConfig, Window};
pub use policer::PolicerConfig;
pub use queue::{CodelConfig, QueueConfig, QueueLimit};
pub use rate::{RateConfig, RateStep};

use crate::ConfigError;
use bentpipe_units::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One direction of one hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionConfig {
    /// How fast it sends.
    pub rate: RateConfig,
    /// How long a packet is on the way.
    pub delay: DelayConfig,
    /// Which packets it loses; none unless told.
    #[serde(default)]
    pub loss: LossConfig,
    /// What waits when it is busy; one bandwidth-delay product unless told.
    #[serde(default)]
    pub queue: QueueConfig,
    /// What it refuses before the queue, for going beyond a contract of rate and burst; nothing unless told.
    #[serde(default, skip_serializing_if = "PolicerConfig::is_none")]
    pub policer: PolicerConfig,
    /// The length of the frames in which it sends: packets whose transmission ended within a frame leave together at
    /// its end. Where frames begin is drawn for each run. None, or zero, for a link without frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// How its capacity is given to the terminals that share it; nothing unless told.
    #[serde(rename = "capacity_allocation", default, skip_serializing_if = "AllocationConfig::is_none")]
    pub allocation: AllocationConfig,
}

impl DirectionConfig {
    /// A direction of constant rate and delay, without loss, with a drop-tail queue of one bandwidth-delay product.
    pub fn new(rate: Rate, delay: Span) -> Self {
        Self {
            rate: RateConfig::Constant(rate),
            delay: DelayConfig::Constant(delay),
            loss: LossConfig::none(),
            queue: QueueConfig::default(),
            policer: PolicerConfig::None,
            frame: None,
            allocation: AllocationConfig::None,
        }
    }

    /// Refuses what no link can do.
    ///
    /// # Errors
    /// The first value that cannot be, and what is allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.rate.check()?;
        self.delay.check()?;
        self.loss.check()?;
        self.queue.check()?;
        self.policer.check()?;
        self.allocation.check()?;
        let AllocationConfig::Dama(dama) = &self.allocation else { return Ok(()) };
        if let Some(frame) = self.frame.filter(|frame| !frame.is_zero()) {
            let problem = "stands beside `capacity_allocation`, which has frames of its own";
            return Err(ConfigError::refused(format!("frame = {frame}"), problem, "frame = \"0 s\""));
        }
        let Some(rate) = self.rate.highest() else {
            let problem = "cannot be allocated: it has no capacity that a plan could count on";
            return Err(ConfigError::refused("a rate trace", problem, "a rate, a schedule or `acm`"));
        };
        if u32::try_from(rate.bytes_in(dama.frame).get()).is_err() {
            let problem = format!("holds more than a plan can count at {rate}");
            return Err(ConfigError::refused(format!("frame = {}", dama.frame), problem, "frames of up to 4.29 GB"));
        }
        Ok(())
    }
}

/// What a scenario overrides of a [`DirectionConfig`], field by field.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionPatch {
    /// How fast it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateConfig>,
    /// How long a packet is on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayConfig>,
    /// Which packets it loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossConfig>,
    /// What waits when it is busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
    /// What it refuses before the queue; "none" for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<PolicerConfig>,
    /// The length of the frames in which it sends; "0 s" for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Span>,
    /// How its capacity is given to the terminals that share it; "none" for first come, first served.
    #[serde(rename = "capacity_allocation", default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationConfig>,
}

impl DirectionPatch {
    /// Puts what the patch sets into `config`, and leaves the rest.
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
        if let Some(frame) = self.frame {
            config.frame = Some(frame).filter(|frame| !frame.is_zero());
        }
        if let Some(allocation) = &self.allocation {
            config.allocation = allocation.clone();
        }
    }
}
