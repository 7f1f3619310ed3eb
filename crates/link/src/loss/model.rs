//! The traits of a loss model and its process.

use crate::fields::{Field, Fields};
use crate::random::Stream;
use crate::{ConfigError, LinkError, ReadFiles};
use bentpipe_units::Time;

/// A loss model that scenarios select with `model = "NAME"`.
///
/// To add one, write `loss/NAME.rs` with an implementation of this trait, its [`Process`] and its
/// tests, declare it in `loss/mod.rs`, and describe it in the book.
pub trait Model: Sized {
    /// Value of `model` in a scenario.
    const NAME: &'static str;
    /// Keys of its table, besides `model`, `active` and `repeat`.
    const FIELDS: &'static [Field];
    /// The process that decides about each packet.
    type Process: Process;

    /// Builds the model from the keys of a table. It handles defaults and missing keys.
    ///
    /// # Errors
    ///
    /// If a key is missing, or does not match the others.
    fn from_fields(fields: &Fields) -> Result<Self, ConfigError>;

    /// Returns the keys that describe this model: the inverse of [`Self::from_fields`].
    fn to_fields(&self) -> Fields;

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// Returns the first invalid value, and the allowed ones.
    fn check(&self) -> Result<(), ConfigError>;

    /// Returns true if two runs with different seeds may lose different packets.
    fn is_random(&self) -> bool {
        true
    }

    /// Creates the process, before it has drawn its first state.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or contains an invalid line.
    fn load(&self, files: &dyn ReadFiles) -> Result<Self::Process, LinkError>;
}

/// Decides which packets are lost.
///
/// All its random draws come from the given stream.
pub trait Process {
    /// Draws the initial state from the long-run distribution, so that the first packets are lost
    /// with the same probability as any other. Called once, before [`Self::loses`].
    fn start(&mut self, random: &mut Stream);

    /// Returns true if the next packet, which leaves the transmitter at `at`, is lost.
    fn loses(&mut self, at: Time, random: &mut Stream) -> bool;
}
