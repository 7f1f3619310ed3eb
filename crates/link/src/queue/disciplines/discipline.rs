//! The traits of a queue discipline and its queue.

use crate::fields::{Field, Fields};
use crate::queue::accepted::Accepted;
use crate::queue::limit::ResolvedLimit;
use crate::random::Stream;
use crate::{ConfigError, DropCause};
use bentpipe_units::Time;

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

    /// Returns true if two runs with different seeds may treat packets differently.
    fn is_random(&self) -> bool {
        false
    }

    /// Creates an empty queue of at most `limit`. All its random draws come from the stream that
    /// `random` returns, which belongs to this queue alone.
    fn queue<P>(
        &self,
        limit: ResolvedLimit,
        random: impl FnOnce() -> Stream,
    ) -> <Self as Discipline>::Queue<P>;
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
    /// Offers a packet at `now`. May drop others that wait.
    fn enqueue(&mut self, now: Time, packet: Accepted<P>, dropped: &mut Dropped<P>) -> Enqueued<P>;

    /// Takes the packet to be sent next at `now`. May drop others that wait; `None` only if no
    /// packet is left.
    fn dequeue(&mut self, now: Time, dropped: &mut Dropped<P>) -> Option<Dequeued<P>>;

    /// Removes all packets of `port`. Those of each flow stay in order, the removed ones too.
    fn withdraw(&mut self, port: u32) -> Vec<Accepted<P>>;

    /// Calls `see` with each packet that waits, in any order.
    fn for_each(&self, see: impl FnMut(&Accepted<P>));
}

/// What becomes of a packet that is offered to a queue.
#[derive(Debug)]
pub(crate) enum Enqueued<P> {
    /// It waits.
    Queued {
        /// True if it was marked ([`Accepted::mark_ce`]).
        marked: bool,
    },
    /// It is dropped.
    Refused(DropCause, Accepted<P>),
}

/// A packet that a queue has released.
#[derive(Debug)]
pub(crate) struct Dequeued<P> {
    /// The packet.
    pub packet: Accepted<P>,
    /// True if it was marked just now ([`Accepted::mark_ce`]).
    pub marked: bool,
}

/// Packets that a queue has dropped after they had waited in it, each with its cause:
/// [`DropCause::QueueFull`] or [`DropCause::Aqm`].
pub(crate) type Dropped<P> = Vec<(DropCause, Accepted<P>)>;
