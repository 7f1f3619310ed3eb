//! Flow queueing with CoDel in each queue, RFC 8290.

use super::codel::CoDel;
use super::discipline::{Discipline, QueueContext};
use super::fair_queue::{FairQueue, FlowCoDel, FlowQueueing};
use crate::ConfigError;
use crate::fields::{Field, Fields, Kind};
use crate::random::Stream;
use bentpipe_units::Span;

/// FQ-CoDel (RFC 8290), as in Linux, but for its limit of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCoDel {
    /// How flows are told apart and share the link.
    pub queueing: FlowQueueing,
    /// CoDel in each queue.
    pub codel: CoDel,
    /// Wait above which ECN-capable packets are marked, whatever CoDel says; `None` for never.
    pub ce_threshold: Option<Span>,
    /// Most packets that are dropped at once, up to half of the flow with most bytes, if the queue
    /// is full.
    pub drop_batch: u32,
}

impl Default for FqCoDel {
    fn default() -> Self {
        Self {
            queueing: FlowQueueing::default(),
            codel: CoDel { ecn: true, ..CoDel::default() },
            ce_threshold: None,
            drop_batch: 64,
        }
    }
}

impl Discipline for FqCoDel {
    const NAME: &'static str = "fq-codel";
    const ABOUT: &'static str = "FQ-CoDel (RFC 8290): flow queueing with CoDel in each queue.";
    const FIELDS: &'static [Field] = &[
        FlowQueueing::FLOWS,
        FlowQueueing::HASH,
        FlowQueueing::QUANTUM,
        FlowQueueing::OVERFLOW,
        Field {
            name: "drop_batch",
            kind: Kind::Count,
            about: "FQ-CoDel: most packets that a full queue drops at once. Default: 64.",
        },
        CoDel::TARGET,
        CoDel::INTERVAL,
        CoDel::ECN,
        Field {
            name: "ce_threshold",
            kind: Kind::Span,
            about: "FQ-CoDel: wait above which every ECN-capable packet is marked. Default: never.",
        },
    ];
    const NEEDS_FLOW: bool = true;
    type Queue<P> = FairQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        let default = Self::default();
        let drop_batch = match fields.count("drop_batch") {
            None => default.drop_batch,
            Some(batch) => {
                u32::try_from(batch).ok().filter(|batch| *batch > 0).ok_or_else(|| {
                    let value = format!("drop_batch = {batch}");
                    ConfigError::refused(
                        value,
                        "is no number of packets to drop",
                        "1 to 4294967295",
                    )
                })?
            }
        };
        Ok(Self {
            queueing: FlowQueueing::from_fields(fields)?,
            codel: CoDel::with_default(fields, default.codel),
            ce_threshold: fields.span("ce_threshold"),
            drop_batch,
        })
    }

    fn to_fields(&self) -> Fields {
        let Self { queueing, codel, ce_threshold, drop_batch } = self;
        let fields = queueing.add_fields(Fields::new(Self::NAME));
        let fields = codel.add_fields(fields.with("drop_batch", u64::from(*drop_batch)));
        match ce_threshold {
            None => fields,
            Some(threshold) => fields.with("ce_threshold", *threshold),
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.queueing.check()?;
        self.codel.check()
    }

    fn is_random(&self) -> bool {
        self.queueing.is_random()
    }

    fn queue<P>(&self, context: QueueContext, random: impl FnOnce() -> Stream) -> FairQueue<P> {
        let Self { queueing, codel, ce_threshold, drop_batch } = *self;
        let law = codel.law();
        let codel = FlowCoDel { law, ecn: codel.ecn, ce_threshold, max_packet: 0 };
        FairQueue::new(&queueing, Some(codel), drop_batch, context.limit, random)
    }
}
