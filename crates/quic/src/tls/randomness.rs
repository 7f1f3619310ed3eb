//! The sources of randomness.

use rand_core::{Rng, SeedableRng};
use rustls::crypto::{GetRandomFailed, SecureRandom, ring as provider};
use std::cell::RefCell;

thread_local! {
    static SEEDED: RefCell<Option<rand_pcg::Pcg64Mcg>> = const { RefCell::new(None) };
}

/// Seeds the generator of [`Randomness::Seeded`] configurations on this thread. A simulated run
/// stays on one thread, so its draws have a fixed order whatever else runs.
pub fn seed_this_thread(seed: [u8; 16]) {
    SEEDED.with_borrow_mut(|generator| *generator = Some(rand_pcg::Pcg64Mcg::from_seed(seed)));
}

/// The thread's seeded generator for rustls. Reproducible, for simulation only.
#[derive(Debug)]
struct SeededRandom;

impl SecureRandom for SeededRandom {
    fn fill(&self, buf: &mut [u8]) -> Result<(), GetRandomFailed> {
        SEEDED.with_borrow_mut(|generator| {
            generator.as_mut().map(|generator| generator.fill_bytes(buf)).ok_or(GetRandomFailed)
        })
    }
}

/// The source of hello randoms, session identifiers and ticket ages.
///
/// Ephemeral keys always come from the operating system, since the cryptography library accepts no
/// other generator. Their length is fixed, so only the encrypted bytes depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system.
    System,
    /// The generator seeded by [`seed_this_thread`]. Never on a real network.
    Seeded,
}

impl Randomness {
    /// Returns the generator, for nonces and secrets.
    pub fn generator(self) -> &'static dyn SecureRandom {
        match self {
            Self::System => provider::default_provider().secure_random,
            Self::Seeded => &SeededRandom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seeded_thread_draws_the_same_bytes_again() {
        let draw = || {
            seed_this_thread([3; 16]);
            let mut bytes = [0; 32];
            SeededRandom.fill(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(draw(), draw());
    }
}
