//! Two classes of which one is always served first.

use super::discipline::{Discipline, Effects, PacketQueue, QueueContext, Refused};
use super::fifo::Fifo;
use crate::fields::{Field, Fields, Kind};
use crate::queue::accepted::Accepted;
use crate::random::Stream;
use crate::{ConfigError, DropCause, Dscp};
use bentpipe_units::Time;

/// Strict priority by DSCP: two classes, each first in, first out with the whole limit to itself. A
/// packet of the low class is sent only if none of the high class waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priority {
    /// Code points of the high class.
    pub high: Vec<Dscp>,
}

impl Default for Priority {
    /// Expedited forwarding, voice admit and signalling (RFC 4594 §2.3, RFC 5865).
    fn default() -> Self {
        Self { high: [46, 44, 40].into_iter().filter_map(Dscp::new).collect() }
    }
}

impl Discipline for Priority {
    const NAME: &'static str = "priority";
    const ABOUT: &'static str = "Strict priority: packets with a DSCP of the high class are sent \
        before all others. Each class is first in, first out, with the whole limit to itself.";
    const FIELDS: &'static [Field] = &[Field {
        name: "high",
        kind: Kind::Dscps,
        about: "Priority: DSCPs of the high class. Default: [\"EF\", \"VA\", \"CS5\"].",
    }];
    const ACTS_ON_DEQUEUE: bool = false;
    type Queue<P> = PriorityQueue<P>;

    fn from_fields(fields: &Fields) -> Result<Self, ConfigError> {
        Ok(fields.dscps("high").map_or_else(Self::default, |high| Self { high }))
    }

    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME).with("high", self.high.clone())
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.high.is_empty() {
            let allowed = "one DSCP or more, such as \"EF\"";
            return Err(ConfigError::refused("high = []", "leaves no high class", allowed));
        }
        Ok(())
    }

    fn queue<P>(&self, context: QueueContext, _: impl FnOnce() -> Stream) -> PriorityQueue<P> {
        let high = self.high.iter().fold(0, |set, dscp| set | 1 << dscp.get());
        PriorityQueue(Box::new(Classes {
            high,
            classes: [Fifo::new(context.limit), Fifo::new(context.limit)],
        }))
    }
}

/// The packets of a [`Priority`] queue.
// Boxed, since few of a network's many links have it.
#[derive(Debug, Clone)]
pub(crate) struct PriorityQueue<P>(Box<Classes<P>>);

#[derive(Debug, Clone)]
struct Classes<P> {
    /// A bit for each DSCP of the high class.
    high: u64,
    /// The high class, then the low one.
    classes: [Fifo<P>; 2],
}

impl<P> PacketQueue<P> for PriorityQueue<P> {
    fn enqueue(
        &mut self,
        _: Time,
        packet: Accepted<P>,
        _: &mut Effects<P>,
    ) -> Result<(), Refused<P>> {
        let Classes { high, classes: [first, second] } = &mut *self.0;
        let is_high = *high & (1 << packet.packet.dscp.get()) != 0;
        let class = if is_high { first } else { second };
        class.push(packet).map_err(|packet| (DropCause::QueueFull, packet))
    }

    fn dequeue(&mut self, _: Time, _: &mut Effects<P>) -> Option<Accepted<P>> {
        self.0.classes.iter_mut().find_map(Fifo::pop)
    }

    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>> {
        self.0.classes.iter_mut().flat_map(|class| class.withdraw(port)).collect()
    }

    fn for_each(&self, mut see: impl FnMut(&Accepted<P>)) {
        self.0.classes.iter().for_each(|class| class.for_each(&mut see));
    }
}
