//! The traits of a queue discipline and its queue.

use crate::fields::{Field, Fields};
use crate::queue::accepted::Accepted;
use crate::queue::limit::{QueueLimit, ResolvedLimit};
use crate::random::Stream;
use crate::{ConfigError, DropCause, Ecn};
use bentpipe_units::{Rate, Time};

/// A queue discipline that scenarios select with `aqm = "NAME"`.
///
/// To add one, write `queue/disciplines/NAME.rs` with an implementation of this trait, its
/// [`PacketQueue`] and its tests, list it in `queue/disciplines/mod.rs`, and describe it in the
/// book.
pub(crate) trait Discipline: Sized {
    /// Value of `aqm` in a scenario.
    const NAME: &'static str;
    /// What it does, for the schema and the book: one sentence.
    const ABOUT: &'static str;
    /// Keys of its table, besides `aqm` and `limit`.
    const FIELDS: &'static [Field];
    /// True if it reads [`Packet::flow`](crate::Packet::flow). The emulator fills that only if a
    /// queue needs it.
    const NEEDS_FLOW: bool = false;
    /// True if [`PacketQueue::dequeue`] may drop or mark packets. If not, a simulator may leave out
    /// the wake-up at the start of a transmission.
    const ACTS_ON_DEQUEUE: bool = true;
    /// The packets that wait.
    type Queue<P>: PacketQueue<P>;

    /// Builds the discipline from the keys of a table, which are among [`Self::FIELDS`]. It handles
    /// defaults and missing keys.
    ///
    /// # Errors
    ///
    /// If a key is missing, or does not match the others.
    fn from_fields(fields: &Fields) -> Result<Self, ConfigError>;

    /// Returns the keys that describe this discipline: the inverse of [`Self::from_fields`].
    fn to_fields(&self) -> Fields {
        Fields::new(Self::NAME)
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// Returns the first invalid value, and the allowed ones.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Returns the limit of a queue whose table has none.
    fn default_limit(&self) -> QueueLimit {
        QueueLimit::Bdp(1.0)
    }

    /// Returns true if two runs with different seeds may treat packets differently.
    fn is_random(&self) -> bool {
        false
    }

    /// Creates an empty queue. All its random draws come from the stream that `random` returns,
    /// which belongs to this queue alone.
    fn queue<P>(
        &self,
        context: QueueContext,
        random: impl FnOnce() -> Stream,
    ) -> <Self as Discipline>::Queue<P>;
}

/// What a queue knows of its link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueContext {
    /// Most that may wait.
    pub limit: ResolvedLimit,
    /// The nominal rate of the link ([`DirectionModel::nominal_rate`]).
    ///
    /// [`DirectionModel::nominal_rate`]: crate::DirectionModel::nominal_rate
    pub rate: Rate,
}

/// The packets that wait for a transmitter: all that wait on the link or, with capacity allocation,
/// at one terminal.
///
/// The packet in transmission does not belong to it. A packet that finds the link idle passes
/// without being offered, and frames of a terminal take several packets at one instant.
///
/// It has no timers. Parameters that change at regular times are updated before each packet that is
/// offered or taken, once for each such time that has passed: what the updates read does not change
/// in between.
pub(crate) trait PacketQueue<P> {
    /// Offers a packet at `now`. May drop others that wait. Returns the packet if it is refused,
    /// with the cause.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Accepted<P>,
        effects: &mut Effects<P>,
    ) -> Result<(), Refused<P>>;

    /// Takes the packet to be sent next at `now`. May drop others that wait; `None` only if no
    /// packet is left.
    fn dequeue(&mut self, now: Time, effects: &mut Effects<P>) -> Option<Accepted<P>>;

    /// Removes all packets of `port`. Those of each flow stay in order, the removed ones too.
    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>>;

    /// Calls `see` with each packet that waits, in any order.
    fn for_each(&self, see: impl FnMut(&Accepted<P>));
}

/// A packet that a queue refuses, and the cause.
pub(crate) type Refused<P> = (DropCause, Accepted<P>);

/// What a queue does to packets beside those that it accepts, refuses and releases.
#[derive(Debug, Clone)]
pub(crate) struct Effects<P> {
    dropped: Vec<(DropCause, Accepted<P>)>,
    marked: bool,
}

impl<P> Effects<P> {
    /// No effects.
    pub fn new() -> Self {
        Self { dropped: Vec::new(), marked: false }
    }

    /// Drops a packet that has waited in the queue because of `cause`: [`DropCause::QueueFull`] or
    /// [`DropCause::Aqm`].
    pub fn drop(&mut self, cause: DropCause, packet: Accepted<P>) {
        self.dropped.push((cause, packet));
    }

    /// Marks the packet that is being accepted or released, which must be ECN-capable.
    pub fn mark(&mut self, packet: &mut Accepted<P>) {
        // A packet that another queue has already marked carries the signal.
        self.marked = std::mem::replace(&mut packet.packet.ecn, Ecn::Ce) != Ecn::Ce;
    }

    /// Returns the packets that have been dropped since [`Self::take_dropped`].
    #[inline]
    pub fn dropped(&self) -> &[(DropCause, Accepted<P>)] {
        &self.dropped
    }

    /// Removes and returns the packets that have been dropped.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (DropCause, Accepted<P>)> {
        self.dropped.drain(..)
    }

    /// Returns true if a packet has been marked since the last call.
    #[inline]
    pub fn take_marked(&mut self) -> bool {
        std::mem::take(&mut self.marked)
    }
}
