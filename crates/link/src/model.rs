//! A direction with its traces read: all that is needed to build links without touching a file again.

use crate::config::{Bursts, onset};
use crate::timeline::Timeline;
use crate::trace::{DeliveryTrace, load_losses};
use crate::{
    CodelConfig, DelayConfig, DirectionConfig, Distribution, LinkError, LossModel, LossProcessConfig, PolicerConfig,
    QueueConfig, QueueLimit, RateConfig, Window,
};
use bentpipe_units::{Bytes, Rate, Span};
use std::path::Path;
use std::sync::Arc;

/// One direction of one hop, checked and with its traces read. Cheap to clone: traces and schedules are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionModel {
    pub(crate) rate: RateModel,
    pub(crate) delay: DelayModel,
    pub(crate) losses: Vec<LossProcessModel>,
    pub(crate) queue: QueueConfig,
    pub(crate) policer: PolicerConfig,
    pub(crate) frame: Option<Span>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RateModel {
    Constant(Rate),
    Schedule { timeline: Arc<Timeline>, rates: Arc<[Rate]> },
    Trace(Arc<DeliveryTrace>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DelayModel {
    Constant(Span),
    Jitter { base: Span, jitter: Span, distribution: Distribution, keep_order: bool },
    Schedule { timeline: Arc<Timeline>, delays: Arc<[Span]>, interpolate: bool, keep_order: bool },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LossProcessModel {
    pub kind: LossKind,
    pub windows: Arc<[Window]>,
    pub repeat: Option<Span>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LossKind {
    Bernoulli { ratio: f64 },
    GilbertElliott { p: f64, r: f64, good: f64, bad: f64 },
    Bursts(Bursts),
    Periodic { every: u64, offset: u64 },
    Trace(Arc<[bool]>),
}

impl DirectionConfig {
    /// Checks the description and reads the traces it names, relative to `base_dir`.
    ///
    /// A rate trace is used as mahimahi does (`link_queue.cc`): each line is an opportunity of 1504 bytes, a packet costs
    /// its IP bytes and 4 more, may begin in what an opportunity has left and may end in a later one; it leaves at the time of the
    /// opportunity that completes it. What no packet uses is lost, and a packet that arrives at the very time of an
    /// opportunity is too late for it. The trace starts over at the time of its last line.
    ///
    /// # Errors
    /// A value that cannot be, a file that cannot be read, or a line in it that does not belong there.
    pub fn load(&self, base_dir: &Path) -> Result<DirectionModel, LinkError> {
        self.check()?;
        let rate = match &self.rate {
            RateConfig::Constant(rate) => RateModel::Constant(*rate),
            RateConfig::Schedule { schedule, repeat } => RateModel::Schedule {
                timeline: Arc::new(Timeline::new(schedule.iter().map(|step| step.at), *repeat)),
                rates: schedule.iter().map(|step| step.rate).collect(),
            },
            RateConfig::Trace { file } => RateModel::Trace(Arc::new(DeliveryTrace::load(&base_dir.join(file))?)),
        };
        let delay = match &self.delay {
            DelayConfig::Constant(delay) => DelayModel::Constant(*delay),
            DelayConfig::Jitter { base, jitter, distribution, keep_order } => DelayModel::Jitter {
                base: *base,
                jitter: *jitter,
                distribution: *distribution,
                keep_order: *keep_order,
            },
            DelayConfig::Schedule { schedule, interpolate, repeat, keep_order } => DelayModel::Schedule {
                timeline: Arc::new(Timeline::new(schedule.iter().map(|step| step.at), *repeat)),
                delays: schedule.iter().map(|step| step.delay).collect(),
                interpolate: *interpolate,
                keep_order: *keep_order,
            },
        };
        let losses = self.loss.processes.iter().map(|process| loss_model(process, base_dir));
        Ok(DirectionModel {
            rate,
            delay,
            losses: losses.collect::<Result<_, _>>()?,
            queue: self.queue.clone(),
            policer: self.policer,
            frame: self.frame.filter(|frame| !frame.is_zero()),
        })
    }
}

fn loss_model(process: &LossProcessConfig, base_dir: &Path) -> Result<LossProcessModel, LinkError> {
    let kind = match &process.model {
        LossModel::Bernoulli { ratio } => LossKind::Bernoulli { ratio: ratio.get() },
        LossModel::GilbertElliott { p, r, loss_good, loss_bad } => {
            LossKind::GilbertElliott { p: p.get(), r: r.get(), good: loss_good.get(), bad: loss_bad.get() }
        }
        LossModel::Gilbert { loss, mean_burst } => {
            LossKind::Bursts(Bursts::new(onset(*loss, *mean_burst), *mean_burst, None))
        }
        LossModel::LongBurst { loss, mean_burst, long } => {
            LossKind::Bursts(Bursts::new(onset(*loss, *mean_burst), *mean_burst, Some(*long)))
        }
        LossModel::Periodic { every, offset } => LossKind::Periodic { every: *every, offset: *offset },
        LossModel::Trace { file } => LossKind::Trace(load_losses(&base_dir.join(file))?.into()),
        LossModel::Preset(preset) => LossKind::Bursts(Bursts::new(preset.p, 1.0 / preset.r, preset.long)),
    };
    Ok(LossProcessModel { kind, windows: process.windows.as_slice().into(), repeat: process.repeat })
}

impl DirectionModel {
    /// The rate that the link is sized by: its constant rate, the highest of its schedule, or its trace's mean for
    /// packets of 1500 bytes.
    pub fn nominal_rate(&self) -> Rate {
        match &self.rate {
            RateModel::Constant(rate) => *rate,
            RateModel::Schedule { rates, .. } => rates.iter().copied().max().unwrap_or_default(),
            RateModel::Trace(trace) => trace.mean_rate(),
        }
    }

    /// The delay without jitter of a packet sent when the run begins.
    pub fn base_delay(&self) -> Span {
        match &self.delay {
            DelayModel::Constant(delay) => *delay,
            DelayModel::Jitter { base, .. } => *base,
            DelayModel::Schedule { delays, .. } => delays.first().copied().unwrap_or_default(),
        }
    }

    /// The rate, where it never changes.
    pub fn constant_rate(&self) -> Option<Rate> {
        match &self.rate {
            RateModel::Constant(rate) => Some(*rate),
            RateModel::Schedule { .. } | RateModel::Trace(_) => None,
        }
    }

    /// How many bytes may wait in the queue where the whole path's base round trip is `rtt`; `None` where the queue
    /// counts packets.
    pub fn queue_limit_bytes(&self, rtt: Span) -> Option<u64> {
        match self.queue_limit(rtt) {
            ResolvedLimit::Bytes(bytes) => Some(bytes),
            ResolvedLimit::Packets(_) => None,
        }
    }

    /// How much may wait in the queue where the whole path's base round trip is `rtt`, in bytes or else in packets.
    pub(crate) fn queue_limit(&self, rtt: Span) -> ResolvedLimit {
        let rate = self.nominal_rate();
        match self.queue.limit {
            QueueLimit::Bytes(bytes) => ResolvedLimit::Bytes(bytes.get()),
            QueueLimit::Packets(packets) => ResolvedLimit::Packets(packets),
            QueueLimit::Time(span) => ResolvedLimit::Bytes(at_least_a_packet(rate, span).get()),
            QueueLimit::Bdp(factor) => ResolvedLimit::Bytes(at_least_a_packet(rate, rtt.mul_f64(factor)).get()),
        }
    }

    pub(crate) fn codel(&self) -> Option<CodelConfig> {
        self.queue.codel
    }
}

/// A queue limit in the unit in which the queue counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResolvedLimit {
    Bytes(u64),
    Packets(u64),
}

/// The size of a queue that holds what `rate` sends in `span`, at least one full packet.
fn at_least_a_packet(rate: Rate, span: Span) -> Bytes {
    rate.bytes_in(span).max(Bytes::new(1500))
}
