//! What a loss model implements.

use super::fields::{Field, Fields};
use crate::random::Stream;
use crate::{ConfigError, LinkError};
use bentpipe_units::Time;
use std::path::Path;

/// A loss model that scenarios select with `model = "NAME"`.
///
/// To add one, write `loss/NAME.rs` with an implementation of this trait, its [`Process`] and its
/// tests, declare it in `loss/mod.rs`, and describe it in the book.
pub trait Model: Sized {
    /// The value of `model` in a scenario.
    const NAME: &'static str;
    /// The keys of its table, besides `model`, `windows` and `repeat`.
    const FIELDS: &'static [Field];
    /// What decides about each packet.
    type Process: Process;

    /// Builds the model from the keys of a table. Defaults and missing keys are its business.
    ///
    /// # Errors
    /// A missing key, or a key that does not go with the others.
    fn from_fields(fields: &Fields) -> Result<Self, ConfigError>;

    /// The keys that describe this model: the inverse of [`Self::from_fields`].
    fn to_fields(&self) -> Fields;

    /// Refuses parameters that no process can have.
    ///
    /// # Errors
    /// The first such value, and what is allowed.
    fn check(&self) -> Result<(), ConfigError>;

    /// Whether two runs with different seeds may lose different packets.
    fn is_random(&self) -> bool {
        true
    }

    /// The process, before it has drawn its first state. Files are relative to `base_dir`.
    ///
    /// # Errors
    /// A file that cannot be read, or a line in it that does not belong there.
    fn load(&self, base_dir: &Path) -> Result<Self::Process, LinkError>;
}

/// Decides which packets are lost.
///
/// It draws from the stream that it is given and from nothing else.
pub trait Process {
    /// Draws the initial state from the long-run distribution, so that the first packets are lost
    /// as often as any other. Called once, before [`Self::loses`].
    fn start(&mut self, random: &mut Stream);

    /// Whether the next packet is lost, which leaves the transmitter at `at`.
    fn loses(&mut self, at: Time, random: &mut Stream) -> bool;
}
