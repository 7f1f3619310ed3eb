//! Flow queueing without active queue management.

use super::discipline::{Discipline, QueueContext};
use super::fair_queue::{FairQueue, FlowQueueing};
use crate::ConfigError;
use crate::fields::{Field, Fields};
use crate::random::Stream;

/// A queue for each flow, which take turns, as in FQ-CoDel (RFC 8290 §4) without CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fq(pub FlowQueueing);

impl Discipline for Fq {
    const NAME: &'static str = "fq";
    const ABOUT: &'static str = "Flow queueing: each flow has a queue of its own, and they take \
        turns; a flow that starts, or sends little, comes first.";
    const FIELDS: &'static [Field] =
        &[FlowQueueing::FLOWS, FlowQueueing::HASH, FlowQueueing::QUANTUM, FlowQueueing::OVERFLOW];
    const NEEDS_FLOW: bool = true;
    const ACTS_ON_DEQUEUE: bool = false;
    type Queue<P> = FairQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        FlowQueueing::from_fields(fields).map(Self)
    }

    fn to_fields(&self) -> Fields {
        self.0.add_fields(Fields::new(Self::NAME))
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.0.check()
    }

    fn is_random(&self) -> bool {
        self.0.is_random()
    }

    fn queue<P>(&self, context: QueueContext, random: impl FnOnce() -> Stream) -> FairQueue<P> {
        FairQueue::new(&self.0, None, 1, context.limit, random)
    }
}
